// The functions of leases.

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "api/handles.hpp"
#include "api/lease_objects.hpp"
#include "api/open.hpp"
#include "api/outcome.hpp"
#include "api/queue_use.hpp"
#include "api/sized_struct.hpp"

namespace ob::api {
namespace {

// The manager counts devices and seconds up to these.   Source: docs/pool-openapi.json
constexpr std::uint32_t kMostLeased = 1 << 14;
constexpr std::uint32_t kMostSeconds = 86'400;
constexpr unsigned kWhole = 1000;  // the share that is all of a device, per mille

std::string text_or_variable(const char* text, const char* variable) {
  if (text == nullptr) text = std::getenv(variable);
  return text == nullptr ? "" : text;
}

Outcome check(const ob_request& request) {
  if (request.count == 0) return mistake("a lease of 0 devices; set count");
  if (request.count > kMostLeased) {
    return mistake("a lease of " + std::to_string(request.count) + " devices; count is at most " +
                   std::to_string(kMostLeased));
  }
  if (request.reserved != 0)
    return mistake("reserved of ob_request is not 0; clear the struct first");
  if (request.exclusive > 1) return mistake("exclusive of ob_request is 0 or 1");
  if (request.share_percent > 100) {
    return mistake("a share of " + std::to_string(request.share_percent) +
                   " per cent; share_percent is at most 100, and 0 for any");
  }
  if (request.seconds > kMostSeconds) {
    return mistake("a lease time of " + std::to_string(request.seconds) +
                   " s; seconds is at most 86400, and 0 for 30");
  }
  if (request.near != nullptr) {
    return Outcome(Status(Code::unsupported,
                          "devices near another host cannot be asked for yet; leave near NULL: "
                          "those near this machine come first"));
  }
  return {};
}

Result<LeaseTerms> terms_of(const ob_request& request) {
  LeaseTerms terms;
  terms.manager = text_or_variable(request.pool, "OUTBOARD_POOL");
  if (terms.manager.empty()) {
    return Status(Code::invalid_argument,
                  "no pool is named (OUTBOARD_POOL is not set); set it, or pool of ob_request, to "
                  "the manager's URL");
  }
  const std::string key = text_or_variable(nullptr, "OUTBOARD_KEY");
  if (!key.empty()) {
    OB_ASSIGN_OR_RETURN(terms.security, transport::load_key(key, transport::Side::client, false));
  }
  pool::LeaseWish& wish = terms.wish;
  wish.kind = request.kind == nullptr ? "" : request.kind;
  wish.exclusive = request.exclusive == 1;
  wish.share = wish.exclusive ? kWhole : std::max(1U, 10 * request.share_percent);
  wish.memory = request.memory_bytes;
  if (request.seconds != 0) wish.seconds = request.seconds;
  terms.open = [security = terms.security](const pool::LeaseHandle& handle) -> Result<ob_device> {
    OB_ASSIGN_OR_RETURN(DevicePtr device, open_leased(handle, security));
    return add(std::move(device));
  };
  terms.fence = [](ob_device device) {
    if (const auto open = find<OpenDevice>(device); open.ok()) (*open)->remote()->fence();
  };
  terms.close = [](ob_device device) { (void)close_device(device); };
  return terms;
}

Outcome acquire(const ob_request* request, ob_lease* lease) {
  if (lease == nullptr) return mistake("no place for the lease (the pointer is NULL)");
  ob_request taken{};
  if (Outcome outcome = take(request, "ob_request", taken); !outcome.ok()) return outcome;
  if (Outcome outcome = check(taken); !outcome.ok()) return outcome;
  OB_RETURN_IF_ERROR(check_may_wait("ob_lease_acquire"));
  OB_ASSIGN_OR_RETURN(LeaseTerms terms, terms_of(taken));
  auto held = std::make_shared<HeldLease>(std::move(terms));
  OB_ASSIGN_OR_RETURN(const Deadline until, deadline_after(taken.wait_ms));
  OB_RETURN_IF_ERROR(held->add(taken.count, until));
  give_back_at_exit(held);
  *lease = add(std::move(held));
  return {};
}

Outcome grow(ob_lease lease, std::uint32_t count, std::int64_t wait_ms) {
  OB_ASSIGN_OR_RETURN(const auto held, find<HeldLease>(lease));
  if (count == 0 || count > kMostLeased) return mistake("count is 1 to 16384 devices");
  OB_RETURN_IF_ERROR(check_may_wait("ob_lease_grow"));
  OB_ASSIGN_OR_RETURN(const Deadline until, deadline_after(wait_ms));
  return held->add(count, until);
}

Outcome shrink(ob_lease lease, ob_device device) {
  OB_ASSIGN_OR_RETURN(const auto held, find<HeldLease>(lease));
  OB_RETURN_IF_ERROR(check_may_wait("ob_lease_shrink"));
  return held->remove(device);
}

Outcome release(ob_lease lease) {
  OB_RETURN_IF_ERROR(check_may_wait("ob_lease_release"));
  OB_ASSIGN_OR_RETURN(const auto held, take<HeldLease>(lease));
  held->release();
  return {};
}

}  // namespace
}  // namespace ob::api

using namespace ob::api;  // NOLINT(google-build-using-namespace): exported C functions only

OB_EXPORT ob_status ob_lease_acquire(const ob_request* request, ob_lease* lease) {
  return answer([&] { return acquire(request, lease); });
}

OB_EXPORT ob_status ob_lease_release(ob_lease lease) {
  return answer([&] { return release(lease); });
}

OB_EXPORT ob_status ob_lease_grow(ob_lease lease, uint32_t count, int64_t wait_ms) {
  return answer([&] { return grow(lease, count, wait_ms); });
}

OB_EXPORT ob_status ob_lease_shrink(ob_lease lease, ob_device device) {
  return answer([&] { return shrink(lease, device); });
}

OB_EXPORT ob_status ob_lease_device(ob_lease lease, uint32_t index, ob_device* device) {
  return answer([&]() -> Outcome {
    OB_ASSIGN_OR_RETURN(const auto held, find<HeldLease>(lease));
    if (device == nullptr) return mistake("no place for the device (the pointer is NULL)");
    OB_ASSIGN_OR_RETURN(*device, held->device(index));
    return {};
  });
}

OB_EXPORT ob_status ob_lease_watch(ob_lease lease,
                                   void (*changed)(void* user, int32_t what, ob_device device),
                                   void* user) {
  return answer([&]() -> Outcome {
    OB_ASSIGN_OR_RETURN(const auto held, find<HeldLease>(lease));
    return held->watch(changed, user);
  });
}
