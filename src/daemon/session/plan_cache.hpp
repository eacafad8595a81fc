#pragma once
// The plans of a device, shared by the sessions that ask for the same transform.

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/ids.hpp"
#include "base/status.hpp"
#include "device/device.hpp"
#include "routines/fft.hpp"

namespace ob::daemon {

/// Keeps plans that nobody uses any more. When they are too many, or would take too much of the
/// device's memory, the least recently used one goes first. (A library's work area is about as
/// large as its data.)
/// Threads: any
class PlanCache {
 public:
  struct Limits {
    std::size_t idle_plans = 256;
    /// of the transforms' data, or of the plans if they have more; 0: an eighth of the device's
    /// memory
    std::uint64_t idle_bytes = 0;
  };
  struct Counts {
    std::uint64_t hits = 0;
    std::uint64_t made = 0;
    std::size_t idle = 0;
    std::uint64_t idle_bytes = 0;
  };

  explicit PlanCache(Device& device) : PlanCache(device, Limits()) {}
  PlanCache(Device& device, const Limits& limits);
  /// @pre no plan is in use
  ~PlanCache();
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

 private:
  struct Entry {
    FftPlan key;
    PlanId local;
    std::uint64_t bytes = 0;
    std::size_t users = 0;
    bool withdrawn = false;
  };
  using Entries = std::list<Entry>;
  using Place = Entries::iterator;

 public:
  /// A plan in use; it returns to the cache when the last holder releases it.
  class Plan {
   public:
    Plan(PlanCache& cache, Place place) : cache_(cache), place_(place) {}
    ~Plan() { cache_.release(place_); }
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;
    PlanId local() const noexcept { return place_->local; }
    /// Takes the plan out of the cache, because work with it failed. The next request gets a new
    /// plan.
    void withdraw() const { cache_.withdraw(place_); }

   private:
    PlanCache& cache_;
    const Place place_;
  };

  /// Errors: those of Device::make_plan.
  /// @param account the client for whom the device makes it, if there is none yet
  Result<std::unique_ptr<const Plan>> plan_for(const FftPlan& plan, const Account& account = {});
  /// Destroys the plans that nobody uses, because their memory is needed.   @returns their number
  std::size_t drop_idle();
  Counts counts() const;

 private:
  struct Hash {
    std::size_t operator()(const FftPlan& plan) const noexcept;
  };

  void release(Place place);
  void withdraw(Place place);
  Entries take_surplus();  // @pre mutex_ is held
  void destroy(const Entries& gone);

  Device& device_;
  const Limits limits_;
  mutable std::mutex mutex_;
  Entries used_;                                    // any order; includes withdrawn plans
  Entries idle_;                                    // least recently used first
  std::unordered_map<FftPlan, Place, Hash> known_;  // plans of both lists, not withdrawn
  std::uint64_t idle_bytes_ = 0;
  std::uint64_t hits_ = 0;
  std::uint64_t made_ = 0;
};

}  // namespace ob::daemon
