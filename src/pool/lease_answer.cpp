#include "pool/lease_answer.hpp"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "pool/json.hpp"

namespace ob::pool {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kLookAgain{1};

std::string to_json(const LeaseState& lease, Clock::time_point asked) {
  JsonWriter json;
  const auto asked_ns = std::chrono::duration_cast<nanoseconds>(asked.time_since_epoch()).count();
  json.object().key("asked_ns").value(static_cast<std::uint64_t>(asked_ns));
  json.key("state").value(lease.state);
  json.key("now_ms").value(static_cast<std::uint64_t>(lease.now_ms));
  json.key("end_ms").value(static_cast<std::uint64_t>(lease.end_ms));
  json.key("handles").array();
  for (const LeaseHandle& handle : lease.handles) {
    json.object().key("device").value(handle.device).key("daemon").value(handle.daemon);
    json.key("addresses").array();
    for (const std::string& address : handle.addresses) json.value(address);
    json.end().key("machine").value(handle.machine);
    json.key("epoch").value(handle.epoch).key("token").value(handle.token).end();
  }
  return json.end().end().text();
}

bool may(int access, const std::string& path) { return ::access(path.c_str(), access) == 0; }

Result<LeaseState> read_answer(const std::string& file) {
  std::ifstream from(file, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(from), {});
  OB_ASSIGN_OR_RETURN(const JsonObject json, JsonObject::parse(text));
  const Clock::time_point asked{nanoseconds(json.number("asked_ns"))};
  OB_RETURN_IF_ERROR(json.status());
  OB_ASSIGN_OR_RETURN(LeaseState lease, read_lease(text));
  const auto since = std::chrono::duration_cast<milliseconds>(Clock::now() - asked);
  if (lease.state != "held") return lease;
  if (since < milliseconds(0) || since > lease.until_renewal()) {
    return Status(Code::unavailable, "the answer to `outboard run` is old");
  }
  lease.now_ms += since.count();  // less than end_ms
  return lease;
}

}  // namespace

Status hand_over(const std::string& file, const LeaseState& lease, Clock::time_point asked) {
  const std::string part = file + ".part";
  std::ofstream to(part, std::ios::binary | std::ios::trunc);
  to << to_json(lease, asked);
  to.close();
  if (to && std::rename(part.c_str(), file.c_str()) == 0) return {};
  return {Code::unavailable, "the lease cannot be handed over (" + file +
                                 " cannot be written) free space there, or set TMPDIR"};
}

Result<LeaseState> take_over(const std::string& file, transport::Deadline deadline) {
  const std::string folder = file.substr(0, file.rfind('/'));
  while (!may(R_OK, file)) {
    if (!may(X_OK, folder)) {
      return Status(Code::unavailable,
                    "`outboard run` has ended, is on another machine, or is of another user");
    }
    if (Clock::now() >= deadline) {
      return Status(Code::deadline_exceeded, "the manager has not answered `outboard run` yet");
    }
    std::this_thread::sleep_for(kLookAgain);
  }
  auto lease = read_answer(file);
  if (lease.ok() && lease->state != "held") {
    return Status(Code::fenced, "`outboard run` got no accelerators; calls stay local");
  }
  return lease.ok() ? std::move(lease) : Status(Code::unavailable, lease.status().message());
}

}  // namespace ob::pool
