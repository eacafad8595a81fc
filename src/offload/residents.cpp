#include "offload/residents.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <tuple>

#include "offload/work.hpp"

namespace ob::offload {
namespace {

// The first connection to a device keeps copies in a quarter of its memory, each further one in
// half as much as the one before: together at most half.
constexpr unsigned kFirstShift = 2;
constexpr unsigned kMostShift = 16;
// Shapes of one program; one that has more forgets them all now and then.
constexpr std::size_t kMostSchedules = 256;

// Connections that keep copies, by server and device; of two with the same number, one counts more
// than there are.
constexpr std::size_t kCounters = 256;
std::atomic<unsigned> g_keepers[kCounters]{};

std::atomic<unsigned>& keepers_of(const client::AcquiredDevice& acquired) {
  return g_keepers[(acquired.server() * 16 + acquired.device_index()) % kCounters];
}

struct Kept final : client::Attachment {
  using Product = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t, double>;
  using Panels = std::pair<std::uint32_t, algorithms::PanelShape>;  // with the routine's id

  ~Kept() override {
    if (residency) --*keepers;
  }

  std::atomic<unsigned>* keepers = nullptr;  // of its device
  std::optional<algorithms::Residency> residency;
  std::map<Product, algorithms::ProductSchedule> products;
  std::map<Panels, algorithms::PanelSchedule> panels;
  std::map<std::uint64_t, DeviceTrials> trials;  // by a call's shape
};

Kept& kept_with(client::AcquiredDevice& acquired) {
  std::unique_ptr<client::Attachment>& attachment = acquired.attachment();
  if (attachment == nullptr) attachment = std::make_unique<Kept>();
  return static_cast<Kept&>(*attachment);
}

std::uint64_t share_of(const DeviceInfo& device, unsigned keepers) {
  return device.memory_bytes >> std::min(kFirstShift + keepers, kMostShift);
}

template <class Schedules, class Choose>
const typename Schedules::mapped_type& kept_or_chosen(Schedules& schedules,
                                                      const typename Schedules::key_type& key,
                                                      const Choose& choose) {
  if (const auto at = schedules.find(key); at != schedules.end()) return at->second;
  if (schedules.size() >= kMostSchedules) schedules.clear();
  return schedules.emplace(key, choose()).first->second;
}

// nullptr unless the user vouches for the program's memory and the kernel can say who writes it.
PageTracker* tracker_of(State& state) {
  if (!state.config.track_pages) return nullptr;
  if (state.pages.available()) return &state.pages;
  state.report.set_notice("operands are compared whole: " + state.pages.why_not());
  return nullptr;
}

}  // namespace

algorithms::Residency* residency_of(State& state, client::AcquiredDevice& acquired) {
  const std::optional<std::uint64_t>& wanted = state.config.resident_bytes;
  if (wanted == 0) return nullptr;
  Kept& kept = kept_with(acquired);
  if (!kept.residency) {
    algorithms::Residency::Config config;
    kept.keepers = &keepers_of(acquired);
    config.capacity_bytes = wanted ? *wanted : share_of(acquired.device().info(), *kept.keepers);
    // Who asks for copies gets them, also where comparing takes as long as sending.
    if (!wanted) config.link_bytes_per_s = state.pool.link(acquired.server()).to_bytes_per_s;
    config.tracking.tracker = tracker_of(state);
    kept.residency.emplace(acquired.device(), config);
    ++*kept.keepers;
  }
  // What the user asked for stays; the daemon lets whoever holds much go if it must.
  if (!wanted && !kept.residency->keep_at_most(acquired.device().keep_bytes() / 2).ok())
    return nullptr;
  return &*kept.residency;
}

bool release_kept(client::AcquiredDevice& acquired) {
  bool released = acquired.device().has_cached_buffers();
  if (acquired.attachment() != nullptr) {
    auto& kept = static_cast<Kept&>(*acquired.attachment());
    if (kept.residency && kept.residency->copies() > 0) {
      released = kept.residency->release().ok();
    }
  }
  return released && acquired.device().drop_cached_buffers().ok();
}

double bytes_there(State& state, std::size_t server, const Descriptor& routine,
                   const Argument* arguments) noexcept {
  if (state.config.resident_bytes == 0) return 0;
  try {
    auto acquired = state.pool.acquire_idle(server);
    if (!acquired || acquired->attachment() == nullptr) return 0;
    const auto& kept = static_cast<const Kept&>(*acquired->attachment());
    if (!kept.residency) return 0;
    double found = 0;
    const Operands operands = routine.operands(arguments);
    for (const Operand& operand : operands.span()) {
      const HostOperand& host = arguments[operand.argument].host;
      if (!operand.read || host.data == nullptr) continue;
      const Region region = region_of(operand, routine.kinds[operand.argument], host.ld);
      const auto* begin = static_cast<const std::byte*>(host.data);
      const std::uint64_t there =
          kept.residency->expected_bytes(begin, begin + extent_bytes(region));
      found += static_cast<double>(std::min(there, packed_bytes(region)));
    }
    return found;
  } catch (...) {
    return 0;
  }
}

DeviceTrials& trials_kept(client::AcquiredDevice& acquired, const Descriptor& routine,
                          const Argument* arguments) {
  auto& trials = kept_with(acquired).trials;
  if (trials.size() >= kMostSchedules) trials.clear();
  return trials[work_of(routine, arguments).shape ^ routine.id];
}

const algorithms::ProductSchedule& schedule_of(client::AcquiredDevice& acquired,
                                               const algorithms::ProductShape& shape,
                                               const algorithms::PipelineModel& model) {
  const Kept::Product key{shape.m, shape.n, shape.k, shape.element_bytes, shape.flop_per_term};
  return kept_or_chosen(kept_with(acquired).products, key,
                        [&] { return algorithms::choose_schedule(shape, model); });
}

const algorithms::PanelSchedule& schedule_of(client::AcquiredDevice& acquired,
                                             const Descriptor& routine,
                                             const algorithms::PanelShape& shape,
                                             const algorithms::PipelineModel& model) {
  return kept_or_chosen(kept_with(acquired).panels, {routine.id, shape},
                        [&] { return algorithms::choose_panels(shape, model); });
}

}  // namespace ob::offload
