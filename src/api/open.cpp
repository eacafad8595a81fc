#include "api/open.hpp"

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "backend/cpu/backend.hpp"
#include "backend/null/backend.hpp"
#include "transport/security.hpp"
#include "wire/byte_swap.hpp"

namespace ob::api {
namespace {

constexpr std::string_view kLocal = "local:";

Status bad_where(std::string_view where) {
  return {Code::invalid_argument,
          "no device \"" + std::string(where) +
              "\" (the form is unknown); write HOST:PORT, HOST:PORT/INDEX, unix:PATH, local:cpu or "
              "local:null"};
}

Result<DevicePtr> open_local(std::string_view where) {
  const std::string_view backend = where.substr(kLocal.size());
  if (backend != "cpu" && backend != "null") return bad_where(where);
  auto device = backend == "cpu" ? cpu::create({}) : null::create({});
  if (!device.ok()) return device.status();
  return std::make_shared<OpenDevice>(std::move(device).value(), nullptr, wire::kBigEndian);
}

// Cuts "/INDEX" off an address. A path of a Unix socket has none.
Result<std::string> cut_index(std::string_view where, std::uint32_t& index) {
  const std::size_t slash = where.rfind('/');
  if (slash == std::string_view::npos || where.starts_with("unix:")) return std::string(where);
  const std::string_view digits = where.substr(slash + 1);
  // A daemon never has a million devices.
  if (digits.empty() || digits.size() > 6 ||
      digits.find_first_not_of("0123456789") != std::string_view::npos) {
    return bad_where(where);
  }
  index = static_cast<std::uint32_t>(std::strtoul(std::string(digits).c_str(), nullptr, 10));
  return std::string(where.substr(0, slash));
}

Result<client::ConnectionConfig> connection_config(const ob_device_options& options,
                                                   bool over_network) {
  client::ConnectionConfig config;
  if (options.plain > 1 || options.streams > transport::StripedStream::kMaxStreams) {
    return Status(Code::invalid_argument,
                  "options of a device are out of range; plain is 0 or 1, "
                  "and streams is 0 to 16");
  }
  if (options.streams != 0) config.streams = options.streams;
  if (options.dead_after_ms > 0) {
    const auto limit_ms = static_cast<int>(std::min(options.dead_after_ms, std::uint32_t{1} << 30));
    config.timeouts.dead_after_ms = limit_ms;
    config.timeouts.silent_after_ms = limit_ms;
  }
  const char* folder = options.key_folder;
  if (folder == nullptr) folder = std::getenv("OUTBOARD_KEY");
  if (over_network && folder != nullptr && *folder != 0) {
    OB_ASSIGN_OR_RETURN(config.security,
                        transport::load_key(folder, transport::Side::client, options.plain == 1));
  }
  return config;
}

Result<DevicePtr> open_remote(std::string_view where, const ob_device_options& options) {
  std::uint32_t index = UINT32_MAX;
  OB_ASSIGN_OR_RETURN(const std::string address, cut_index(where, index));
  // The kernel proves who is at the other end of a Unix socket.
  OB_ASSIGN_OR_RETURN(client::ConnectionConfig config,
                      connection_config(options, !where.starts_with("unix:")));
  config.device = index;
  OB_ASSIGN_OR_RETURN(auto device, client::SharedDevice::open(address, config));
  client::SharedDevice* const remote = device.get();
  const bool big_endian = remote->big_endian();
  return std::make_shared<OpenDevice>(std::move(device), remote, big_endian);
}

// Tries the daemons of a list in order, and reports the failure of the first one.
Result<DevicePtr> open_first_of(std::string_view list, const ob_device_options& options) {
  Status first(Code::unavailable,
               "no device named (OUTBOARD_SERVER is not set); set it to "
               "HOST:PORT, or name the device");
  bool any = false;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view where = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    if (where.empty()) continue;
    auto device = open_remote(where, options);
    if (device.ok()) return device;
    if (!std::exchange(any, true)) first = device.status();
  }
  return first;
}

}  // namespace

Result<DevicePtr> open_device(const char* where, const ob_device_options& options) {
  if (where == nullptr) {
    const char* const list = std::getenv("OUTBOARD_SERVER");
    return open_first_of(list == nullptr ? "" : list, options);
  }
  const std::string_view name = where;
  return name.starts_with(kLocal) ? open_local(name) : open_remote(name, options);
}

}  // namespace ob::api
