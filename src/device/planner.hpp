#pragma once
// A thread that makes the plans of a device while their data may still be travelling.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/contract.hpp"
#include "base/status.hpp"
#include "device/account.hpp"
#include "device/fair_shares.hpp"
#include "routines/fft.hpp"

namespace ob {

/// Makes one plan at a time, on a thread of its own. Users get equal times for their plans, and so
/// do the sessions of one user, however many plans wait; those of one session are made in order.
/// Threads: any
class Planner {
 public:
  /// @param memory_bytes the memory of the device
  explicit Planner(std::uint64_t memory_bytes) : memory_bytes_(memory_bytes) {}
  /// Makes all submitted plans.
  ~Planner();
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  /// Checks a plan.
  /// Errors: invalid_argument if no backend could carry it out; out_of_memory if its arrays are
  ///         larger than the device's memory
  Status check(const FftPlan& plan) const;

  /// Reserves a place among the waiting plans.   Errors: out_of_memory if there are too many, of
  /// this user or of all
  Status admit(const Account& account);

  /// Calls make(Plan&) in its turn: on the planner's thread or, if that is idle and the plan is
  /// `quick`, on this one. Skips a plan that only the planner still holds, because its owner has
  /// destroyed it. `make` must not throw.
  /// @pre a call of admit() for this account was ok, one for each call of submit()
  template <class Plan, class Make>
  void submit(const Account& account, bool quick, std::shared_ptr<Plan> plan, Make make) {
    submit_work(account, quick, [plan = std::move(plan), make = std::move(make)] {
      if (plan.use_count() > 1) make(*plan);
    });
  }

  /// Waits until all submitted plans are made.
  void finish();

 private:
  using Work = std::function<void()>;
  struct Waiting {
    Account owner;  // a user, or a session without one
    FairShares::Claim claim;
    Work work;
  };

  void submit_work(const Account& account, bool quick, Work work);
  void make(std::unique_lock<std::mutex>& lock, Waiting next);
  void make_next(std::unique_lock<std::mutex>& lock);
  void start(std::unique_lock<std::mutex>& lock);
  void run();  // the planner's thread

  const std::uint64_t memory_bytes_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  FairShares shares_;
  std::list<Waiting> waiting_;            // in order of arrival
  std::map<Account, unsigned> admitted_;  // plans that are not made yet, by owner
  unsigned all_admitted_ = 0;
  bool making_ = false;
  bool stopping_ = false;
  std::thread thread_;  // started by the first plan that waits
};

}  // namespace ob
