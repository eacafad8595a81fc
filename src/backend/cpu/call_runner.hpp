#pragma once
// The code that carries out checked calls and transforms: in this process, or in executors.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/status.hpp"
#include "device/account.hpp"
#include "device/host_call.hpp"
#include "routines/fft.hpp"

namespace ob::cpu {

/// The client of a computation, and the reasons to stop it.
struct Caller {
  Account account;
  /// Fails as soon as the running computation must end; called many times a second, only if the
  /// runner can stop computations.
  /// @param had the time that it could have run: a busy machine gives it less than has passed
  std::function<Status(std::chrono::nanoseconds had)> stop;
  bool cheap = false;  ///< see TaskManner
};

/// A plan of transforms.
/// Threads: build() once; execute() of plans in one process one at a time; the rest any
class TransformPlan {
 public:
  virtual ~TransformPlan() = default;
  virtual const FftPlan& plan() const noexcept = 0;
  /// Makes the plan and ends wait().
  virtual void build() = 0;
  virtual bool built() const noexcept = 0;
  /// Waits for build(); adds the waiting time to plan_ns.   Errors: those of the plan
  virtual Status wait(std::uint64_t& plan_ns) = 0;
  /// Transforms arrays of the sizes and places that were planned, after wait() was ok.
  /// Errors: out_of_memory, device_error; those of caller.stop
  virtual Status execute(const HostTransform& transform, const Caller& caller) = 0;
};

/// Threads: any; one computation at a time of those that share a process
class CallRunner {
 public:
  virtual ~CallRunner() = default;
  /// Gets ready for a computation of a client, before its turn.   Errors: those of run()
  virtual Status prepare(const Account& account) = 0;
  /// Runs a call that prepare_call() has accepted.
  /// Errors: out_of_memory without memory for workspace; invalid_argument if the library refuses
  ///         it; device_error; those of caller.stop
  virtual Status run(const HostCall& call, const Caller& caller) = 0;
  /// Prepares a plan; its build() makes it.
  /// @param account the client that is likely to use it first
  /// Errors: unsupported without a library
  virtual Result<std::shared_ptr<TransformPlan>> plan(const FftPlan& plan,
                                                      const Account& account) = 0;
  /// Returns the number of executors that have ended before they were told to.
  virtual std::uint64_t executor_deaths() const noexcept { return 0; }
};

}  // namespace ob::cpu
