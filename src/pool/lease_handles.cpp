#include "pool/lease_handles.hpp"

#include <algorithm>

#include "pool/json.hpp"
#include "pool/registration.hpp"

namespace ob::pool {

// Sockets of other machines are no use.
std::vector<std::string> LeaseHandle::reachable() const {
  const bool here = !machine.empty() && machine == machine_name();
  const auto is_socket = [](const std::string& address) { return address.starts_with("unix:"); };
  std::vector<std::string> found = addresses;
  if (!here) std::erase_if(found, is_socket);
  // std::ranges::stable_partition returns a subrange, which clang 14 does not compile with the
  // library of GCC 12.
  std::stable_partition(found.begin(), found.end(), is_socket);
  return found;
}

Status LeaseHandle::unreachable() const {
  return {Code::unavailable, "the daemon " + daemon +
                                 " has no address that this machine reaches; start it with "
                                 "--advertise HOST:PORT"};
}

// The numbers are the manager's, so they may be any.
std::chrono::milliseconds LeaseState::left() const noexcept {
  constexpr std::uint64_t day = 86'400'000;
  if (end_ms <= now_ms) return {};
  const auto left = static_cast<std::uint64_t>(end_ms) - static_cast<std::uint64_t>(now_ms);
  return std::chrono::milliseconds(std::min(left, day));
}

Result<LeaseState> read_lease(std::string_view text) {
  OB_ASSIGN_OR_RETURN(const JsonObject json, JsonObject::parse(text));
  LeaseState lease{json.text("state"), json.number("now_ms"), json.number("end_ms"), {}};
  for (const JsonObject& handle : json.objects("handles")) {
    lease.handles.push_back({handle.text("device"), handle.text("daemon"),
                             handle.texts("addresses"), handle.text("machine"),
                             static_cast<std::uint64_t>(handle.number("epoch")),
                             handle.text("token")});
  }
  OB_RETURN_IF_ERROR(json.status());
  return lease;
}

}  // namespace ob::pool
