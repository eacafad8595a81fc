#include "offload/connection_record.hpp"

#include <memory>

namespace ob::offload {
namespace {

// The most shapes of one program. If a program has more, all of them are forgotten from time to
// time.
constexpr std::size_t kMostSchedules = 256;

template <class Schedules, class Choose>
typename Schedules::mapped_type& found_or_chosen(Schedules& schedules,
                                                 const typename Schedules::key_type& key,
                                                 const Choose& choose) {
  if (const auto at = schedules.find(key); at != schedules.end()) return at->second;
  if (schedules.size() >= kMostSchedules) schedules.clear();
  return schedules.emplace(key, choose()).first->second;
}

}  // namespace

ConnectionRecord& ConnectionRecord::of(client::AcquiredDevice& acquired) {
  std::unique_ptr<client::Attachment>& attachment = acquired.attachment();
  if (attachment == nullptr) attachment = std::make_unique<ConnectionRecord>();
  return static_cast<ConnectionRecord&>(*attachment);
}

ConnectionRecord* ConnectionRecord::find(client::AcquiredDevice& acquired) noexcept {
  return static_cast<ConnectionRecord*>(acquired.attachment().get());
}

const algorithms::ProductSchedule& ConnectionRecord::schedule(
    const algorithms::ProductShape& shape, const algorithms::PipelineModel& model) {
  const Product key{shape.m, shape.n, shape.k, shape.element_bytes, shape.flop_per_term};
  return found_or_chosen(products_, key, [&] { return algorithms::choose_schedule(shape, model); });
}

const algorithms::PanelSchedule& ConnectionRecord::schedule(
    const Descriptor& routine, const algorithms::PanelShape& shape,
    const algorithms::PipelineModel& model) {
  return found_or_chosen(panels_, {routine.id, shape},
                         [&] { return algorithms::choose_panels(shape, model); });
}

DeviceTrials& ConnectionRecord::trials(std::uint64_t shape) {
  return found_or_chosen(trials_, shape, [] { return DeviceTrials(); });
}

}  // namespace ob::offload
