#include "interpose/resident.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <tuple>

namespace ob::interpose {
namespace {

// The first connection keeps copies in a quarter of the device's memory, each further one in half
// as much as the one before: together at most half.
constexpr unsigned kFirstShift = 2;
constexpr unsigned kMostShift = 16;
// Shapes of one program; one that has more forgets them all now and then.
constexpr std::size_t kMostSchedules = 256;

std::atomic<unsigned> g_keepers{0};  // connections that keep copies

struct Kept final : client::Attachment {
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t, double>;

  ~Kept() override {
    if (residency) --g_keepers;
  }

  std::optional<algorithms::Residency> residency;
  std::map<Key, algorithms::ProductSchedule> schedules;
};

Kept& kept_with(client::Lease& lease) {
  std::unique_ptr<client::Attachment>& attachment = lease.attachment();
  if (attachment == nullptr) attachment = std::make_unique<Kept>();
  return static_cast<Kept&>(*attachment);
}

std::uint64_t share_of(const DeviceInfo& device) {
  return device.memory_bytes >> std::min(kFirstShift + g_keepers.load(), kMostShift);
}

}  // namespace

algorithms::Residency* residency_of(client::Lease& lease, const Settings& settings,
                                    const Link& link) {
  const std::optional<std::uint64_t>& wanted = settings.resident_bytes;
  if (wanted == 0) return nullptr;
  Kept& kept = kept_with(lease);
  if (!kept.residency) {
    algorithms::Residency::Config config;
    config.capacity_bytes = wanted ? *wanted : share_of(lease.device().info());
    config.link_bytes_per_s = link.to_bytes_per_s;
    kept.residency.emplace(lease.device(), config);
    ++g_keepers;
  }
  return &*kept.residency;
}

const algorithms::ProductSchedule& schedule_of(client::Lease& lease,
                                               const algorithms::ProductShape& shape,
                                               const algorithms::PipelineModel& model) {
  auto& schedules = kept_with(lease).schedules;
  const Kept::Key key{shape.m, shape.n, shape.k, shape.element_bytes, shape.flop_per_term};
  if (const auto at = schedules.find(key); at != schedules.end()) return at->second;
  if (schedules.size() >= kMostSchedules) schedules.clear();
  return schedules.emplace(key, algorithms::choose_schedule(shape, model)).first->second;
}

}  // namespace ob::interpose
