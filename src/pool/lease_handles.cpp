#include "pool/lease_handles.hpp"

#include "pool/json.hpp"

namespace ob::pool {

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
