// The functions of leases. They have no manager to ask yet.

#include <string>

#include "api/outcome.hpp"
#include "api/sized_struct.hpp"

namespace ob::api {
namespace {

Outcome no_pool() {
  return Outcome(Status(Code::unsupported,
                        "leases of a pool are not part of this version (no manager can be "
                        "reached); open devices by their names with ob_device_open"));
}

Outcome acquire(const ob_request* request, const ob_lease* lease) {
  if (lease == nullptr) return mistake("no place for the lease (the pointer is NULL)");
  ob_request taken{};
  if (Outcome outcome = take(request, "ob_request", taken); !outcome.ok()) return outcome;
  if (taken.count == 0) return mistake("a lease of 0 devices; set count");
  if (taken.reserved != 0)
    return mistake("reserved of ob_request is not 0; clear the struct first");
  if (taken.share_percent > 100) {
    return mistake("a share of " + std::to_string(taken.share_percent) +
                   " per cent; share_percent is at most 100, and 0 for any");
  }
  return no_pool();
}

// No lease can have been given.
Outcome unknown_lease(ob_lease lease) {
  return lease == nullptr ? mistake("no lease (the handle is NULL)") : no_pool();
}

}  // namespace
}  // namespace ob::api

using namespace ob::api;  // NOLINT(google-build-using-namespace): exported C functions only

OB_EXPORT ob_status ob_lease_acquire(const ob_request* request, ob_lease* lease) {
  return answer([&] { return acquire(request, lease); });
}

OB_EXPORT ob_status ob_lease_release(ob_lease lease) {
  return answer([&] { return unknown_lease(lease); });
}

OB_EXPORT ob_status ob_lease_grow(ob_lease lease, uint32_t /*count*/, int64_t /*wait_ms*/) {
  return answer([&] { return unknown_lease(lease); });
}

OB_EXPORT ob_status ob_lease_shrink(ob_lease lease, ob_device /*device*/) {
  return answer([&] { return unknown_lease(lease); });
}

OB_EXPORT ob_status ob_lease_device(ob_lease lease, uint32_t /*index*/, ob_device* /*device*/) {
  return answer([&] { return unknown_lease(lease); });
}

OB_EXPORT ob_status ob_lease_watch(ob_lease lease,
                                   void (* /*changed*/)(void* user, int32_t what, ob_device device),
                                   void* /*user*/) {
  return answer([&] { return unknown_lease(lease); });
}
