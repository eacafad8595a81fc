#include "pool/registration.hpp"

#include <cstdio>
#include <utility>

#include "base/machine.hpp"
#include "pool/base64.hpp"
#include "pool/json.hpp"

namespace ob::pool {
namespace {

// Limits of the manager (python/outboard/pool/serve/bodies.py).
constexpr std::size_t kMostModelBytes = 200;

void write(JsonWriter& json, const DeviceFacts& device) {
  json.object();
  json.key("id").value(device.id);
  json.key("kind").value(device.kind);
  json.key("model").value(std::string_view(device.model).substr(0, kMostModelBytes));
  json.key("memory_bytes").value(device.memory_bytes);
  json.key("gflops").value(device.gflops);
  json.key("epoch_seen").value(device.epoch_seen);
  json.end();
}

void write(JsonWriter& json, const DeviceReport::LeaseUse& lease) {
  json.object();
  json.key("epoch").value(lease.epoch);
  json.key("compute_ns").value(lease.use.compute_ns);
  json.key("waited_ns").value(lease.use.waited_ns);
  json.key("bytes_in").value(lease.use.received_bytes);
  json.key("bytes_out").value(lease.use.sent_bytes);
  json.end();
}

void write(JsonWriter& json, const DeviceReport& device) {
  json.object();
  json.key("id").value(device.id);
  json.key("floor").value(device.floor);
  json.key("failed_sessions").value(device.failed_sessions);
  json.key("fatal").value(device.fatal);
  json.key("self_tests_ok").value(device.self_tests_ok);
  json.key("memory_used_bytes").value(device.memory_used_bytes);
  json.key("sessions").array();
  for (const DeviceReport::Session& session : device.sessions) {
    json.object();
    json.key("epoch").value(session.epoch);
    json.key("busy").value(session.busy);
    json.end();
  }
  json.end();
  json.key("uses").array();
  for (const DeviceReport::LeaseUse& lease : device.uses) write(json, lease);
  json.end();
  json.end();
}

DesiredDevice device_of(const JsonObject& json) {
  DesiredDevice device{json.text("id"),
                       static_cast<std::uint64_t>(json.number("floor")),
                       {},
                       json.truth_or("closed", false),
                       json.truth_or("broken", false)};
  for (const JsonObject& lease : json.objects("leases")) {
    device.leases.push_back({static_cast<std::uint64_t>(lease.number("epoch")),
                             lease.number("end_ms"),
                             static_cast<std::uint64_t>(lease.number("memory_bytes")),
                             static_cast<std::uint64_t>(lease.number("share"))});
  }
  return device;
}

DesiredState state_of(const JsonObject& json) {
  DesiredState state{
      json.number("rev"), json.number("now_ms"), {}, json.truth_or("restart", false)};
  for (const JsonObject& device : json.objects("devices")) {
    state.devices.push_back(device_of(device));
  }
  return state;
}

}  // namespace

std::string machine_name() {
  const std::uint64_t id = machine_id();
  if (id == 0) return {};
  char digits[17] = {};
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(id));
  return digits;
}

std::string to_json(const Registration& registration) {
  JsonWriter json;
  json.object();
  json.key("instance").value(registration.instance);
  json.key("devices").array();
  for (const DeviceFacts& device : registration.devices) write(json, device);
  json.end();
  json.key("wire").array();
  for (const std::uint16_t version : registration.wire) json.value(std::uint64_t{version});
  json.end();
  json.key("addresses").array();
  for (const std::string& address : registration.addresses) json.value(address);
  json.end();
  json.key("machine").value(registration.machine);
  json.key("labels").object();
  for (const auto& [name, value] : registration.labels) {
    json.key(name).value(value);
  }
  json.end();
  json.end();
  return json.text();
}

std::string to_json(const Heartbeat& heartbeat) {
  JsonWriter json;
  json.object();
  json.key("instance").value(heartbeat.instance);
  json.key("seq").value(heartbeat.seq);
  json.key("rev").value(static_cast<std::uint64_t>(heartbeat.rev));
  json.key("devices").array();
  for (const DeviceReport& device : heartbeat.devices) write(json, device);
  json.end();
  json.key("wait_s").value(heartbeat.wait_s);
  json.end();
  return json.text();
}

Result<Registered> read_registered(std::string_view text) {
  OB_ASSIGN_OR_RETURN(const JsonObject json, JsonObject::parse(text));
  Registered registered{json.text("pool"), {}, json.real("heartbeat_s"), state_of(json)};
  for (const JsonObject& key : json.objects("keys")) {
    auto der = decode_base64(key.text("der"));
    if (!der) return Status(Code::protocol_error, "a key of the manager is not in base64");
    registered.keys.push_back({key.text("kid"), std::move(*der)});
  }
  OB_RETURN_IF_ERROR(json.status());
  return registered;
}

Result<DesiredState> read_desired(std::string_view text) {
  OB_ASSIGN_OR_RETURN(const JsonObject json, JsonObject::parse(text));
  DesiredState state = state_of(json);
  OB_RETURN_IF_ERROR(json.status());
  return state;
}

}  // namespace ob::pool
