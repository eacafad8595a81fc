#include "offload/residents.hpp"

#include <algorithm>
#include <optional>

#include "offload/connection_record.hpp"

namespace ob::offload {
namespace {

// The first connection to a device keeps copies in a quarter of its memory, each further one in
// half as much as the one before: together at most half.
constexpr unsigned kFirstShift = 2;
constexpr unsigned kMostShift = 16;

std::uint64_t share_of(const DeviceInfo& device, unsigned users) {
  return device.memory_bytes >> std::min(kFirstShift + users, kMostShift);
}

}  // namespace

std::atomic<unsigned>& Residents::users_of(const client::AcquiredDevice& acquired) const noexcept {
  const std::size_t device = acquired.server() * 16 + acquired.device_index();
  return support_.users[device % ResidencySupport::kCounters];
}

// Returns the tracker of pages. nullptr unless the user allows it and the kernel can report writes.
PageTracker* Residents::tracker() {
  if (!config_.track_pages) return nullptr;
  if (support_.pages.available()) return &support_.pages;
  report_.set_notice("operands are compared whole: " + support_.pages.why_not());
  return nullptr;
}

algorithms::Residency* Residents::of(client::AcquiredDevice& acquired) {
  const std::optional<std::uint64_t>& wanted = config_.resident_bytes;
  if (wanted == 0) return nullptr;
  ConnectionRecord& record = ConnectionRecord::of(acquired);
  if (!record.residency) {
    algorithms::Residency::Config copies;
    record.users = &users_of(acquired);
    copies.capacity_bytes = wanted ? *wanted : share_of(acquired.device().info(), *record.users);
    // A user who asks for copies gets them, also where comparing takes as long as sending.
    if (!wanted) copies.link_bytes_per_s = connections_.link(acquired.server()).to_bytes_per_s;
    copies.tracking.tracker = tracker();
    record.residency.emplace(acquired.device(), copies);
    ++*record.users;
  }
  // The amount that the user asked for stays. The daemon drops connections that hold much if it
  // needs the memory.
  if (!wanted && !record.residency->keep_at_most(acquired.device().keep_bytes() / 2).ok())
    return nullptr;
  return &*record.residency;
}

bool Residents::release(client::AcquiredDevice& acquired) {
  bool released = acquired.device().has_cached_buffers();
  ConnectionRecord* const record = ConnectionRecord::find(acquired);
  if (record != nullptr && record->residency && record->residency->copies() > 0) {
    released = record->residency->release().ok();
  }
  return released && acquired.device().drop_cached_buffers().ok();
}

double Residents::bytes_on_device(std::size_t server, const Descriptor& routine,
                                  const Argument* arguments) const noexcept {
  if (config_.resident_bytes == 0) return 0;
  try {
    auto acquired = connections_.acquire_idle(server);
    if (!acquired) return 0;
    const ConnectionRecord* const record = ConnectionRecord::find(*acquired);
    if (record == nullptr || !record->residency) return 0;
    double found = 0;
    const Operands operands = routine.operands(arguments);
    for (const Operand& operand : operands.span()) {
      const HostOperand& host = arguments[operand.argument].host;
      if (!operand.read || host.data == nullptr) continue;
      const Region region = region_of(operand, routine.kinds[operand.argument], host.ld);
      const auto* begin = static_cast<const std::byte*>(host.data);
      const std::uint64_t on_device =
          record->residency->expected_bytes(begin, begin + extent_bytes(region));
      found += static_cast<double>(std::min(on_device, packed_bytes(region)));
    }
    return found;
  } catch (...) {
    return 0;
  }
}

}  // namespace ob::offload
