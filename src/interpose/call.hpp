#pragma once
// One intercepted BLAS or LAPACK call, as the emitted entry point sees it.

#include <cstdint>
#include <optional>
#include <span>

#include "base/accuracy.hpp"
#include "interpose/nesting.hpp"
#include "offload/engine.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::interpose {

/// Takes one call through the engine of the process. The engine counts the call, decides about it
/// and, if the decision is remote, runs it on the accelerator.
/// The entry's slow path is:
///
///     Call call(descriptor, arguments, original);
///     if (call.share() > 0 && <operands made ready> && run_shared(call, ...)) return;
///     if (call.leaves() && <operands made ready> && call.run(arguments)) return;
///     if (call.is_rehearsed() && <operands made ready>) call.rehearse(arguments);
///     call.begin_local();
///     original(...);                        // unchanged caller's arguments
///
/// Memory: arguments hold Argument::host in the normal form (column-major, upper-case flags). They
/// are not kept. Operands are not touched before run().
/// Threads: any, but the destructor runs on the constructor's thread
/// Errors:  no function throws, exits or touches errno
class Call {
 public:
  /// Counts the call and decides about it. `original` is the function that would run locally.
  /// @pre routine.legal(arguments, their lds)
  Call(const Descriptor& routine, const Argument* arguments, const void* original) noexcept;
  /// Does the same for several calls that are remote together or not at all. They count as one.
  /// @pre calls is not empty, none is trivial
  Call(const Descriptor& routine, std::span<const CallArguments> calls,
       const void* original) noexcept;
  /// Counts the time that the original library needed since begin_local().
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// True if an accelerator is to be tried.
  bool leaves() const noexcept { return decision_.remote; }
  /// The part of a product that an accelerator is to compute while the original computes the rest.
  /// 0 means that one of them computes all. This takes precedence over leaves().
  double share() const noexcept { return decision_.share; }
  /// Runs that part on the accelerator. True if its results are in place.
  /// Threads: any, one at a time
  bool run_part(const Argument* part) noexcept;
  /// Counts a product whose two parts are in place. `remotely`: the accelerator computed its part.
  void shared(bool remotely) noexcept;
  /// Runs the call on an accelerator. True if the results are in place and the original must not
  /// run.
  bool run(const Argument* arguments) noexcept;
  bool run(std::span<const CallArguments> calls) noexcept;
  /// True if the call is to run on an accelerator for measurement, before the original runs.
  bool is_rehearsed() const noexcept { return decision_.trial; }
  /// Makes that run. The program's memory does not change.
  void rehearse(const Argument* arguments) noexcept;
  /// Starts the time of the original, which runs from now on.
  void begin_local() noexcept;

 private:
  void decide(const offload::LibraryCall& call) noexcept;
  bool run(const offload::LibraryCall& call) noexcept;

  const Descriptor& routine_;
  Nesting nesting_;
  offload::CallDecision decision_;
  std::optional<Accuracy> accuracy_;  // the mode of the calling thread
  bool counted_ = false;
  std::uint64_t started_ns_ = 0;  // start of a local run that will be counted; 0: none
};

}  // namespace ob::interpose
