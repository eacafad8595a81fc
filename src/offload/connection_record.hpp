#pragma once
// The things that stay with a connection: copies of operands on its device, and the schedules of
// large calls, which decide how operands are cut and must not change from call to call.

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "algorithms/panels/gemm_schedule.hpp"
#include "algorithms/panels/schedule.hpp"
#include "algorithms/residency/residency.hpp"
#include "client/connection_cache.hpp"
#include "offload/device_trials.hpp"
#include "routines/descriptor.hpp"

namespace ob::offload {

/// Threads: as the acquired device   Memory: lives as long as the connection
class ConnectionRecord final : public client::Attachment {
 public:
  ~ConnectionRecord() override {
    if (residency) --*users;
  }

  /// The record of the acquired device's connection, made on first use.
  static ConnectionRecord& of(client::AcquiredDevice& acquired);
  /// The same; nullptr if there is none yet.
  static ConnectionRecord* find(client::AcquiredDevice& acquired) noexcept;

  /// The schedule that products of this shape have over this connection, chosen by the first model
  /// that was known.
  const algorithms::ProductSchedule& schedule(const algorithms::ProductShape& shape,
                                              const algorithms::PipelineModel& model);
  /// The same for other routines: rates differ, so each has its own.
  const algorithms::PanelSchedule& schedule(const Descriptor& routine,
                                            const algorithms::PanelShape& shape,
                                            const algorithms::PipelineModel& model);
  /// The trials that decide how calls of this shape are split over this device and others.
  /// @param shape policy::Work::shape, with the routine's id
  DeviceTrials& trials(std::uint64_t shape);

  std::optional<algorithms::Residency> residency;
  /// Connections to the same device that keep copies; valid with `residency`. Outlives the record.
  std::atomic<unsigned>* users = nullptr;

 private:
  using Product = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t, double>;
  using Panels = std::pair<std::uint32_t, algorithms::PanelShape>;  // with the routine's id

  std::map<Product, algorithms::ProductSchedule> products_;
  std::map<Panels, algorithms::PanelSchedule> panels_;
  std::map<std::uint64_t, DeviceTrials> trials_;
};

}  // namespace ob::offload
