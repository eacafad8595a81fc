#pragma once
// The engine: decides whether a call leaves the process, places it on devices, runs it, and learns
// from it. A program may have several engines. They share only the table of the descriptors of all
// connections of the process (client/inherited_connections.cpp), which a forked child closes.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/accuracy.hpp"
#include "base/status.hpp"
#include "offload/config.hpp"
#include "offload/fft_transform.hpp"
#include "policy/model.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::offload {

/// A call of BLAS or LAPACK, or a batch of calls of one routine that leave together or not at all.
/// Memory: owns nothing; arguments hold Argument::host in the normal form (column-major, upper-case
///         flags)
struct LibraryCall {
  const Descriptor& routine;
  const Argument* arguments;                  ///< for a batch: those of its smallest call
  std::span<const CallArguments> batch = {};  ///< all calls of a batch; empty: one call
  /// Any function of the library that computes locally. It identifies the library, and is never
  /// called.
  const void* library = nullptr;
  std::optional<Accuracy> accuracy = {};  ///< empty: Config::accuracy
};

/// The decision where a call runs.
struct CallDecision {
  policy::Work work;
  bool remote = false;  ///< an accelerator is to run the call
  /// The call runs locally, and before that on an accelerator, to measure it: see
  /// Engine::rehearse()
  bool trial = false;
  /// The part of a product that an accelerator is to compute while the local library computes the
  /// rest; 0: one of them does all. Takes precedence over `remote`.
  double share = 0;
  std::uint64_t shared_at_ns = 0;  ///< when a share was chosen
  bool is_watched = true;          ///< count_local() needs the time of the local run
};

/// One execution or planning of an FFT.   Memory: owns nothing
struct FftCall {
  const FftTransform& transform;
  const void* library = nullptr;          ///< see LibraryCall::library
  std::optional<Accuracy> accuracy = {};  ///< empty: Config::accuracy
};

/// Threads: any, also several at once. After a fork the child must not use the engine, only
/// close_inherited().
/// Errors: functions never throw unless their comment says so
class Engine {
 public:
  /// Makes no connection.   Errors: throws without memory
  explicit Engine(Config config);
  /// Closes all connections.   @pre no call is running
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const Config& config() const noexcept;
  /// Calls with fewer operations stay local, and callers need not report them.   Units: flop
  double least_flop() const noexcept;

  /// Counts the call and decides where it goes. Operands are not touched.
  /// @pre routine.legal(arguments, lds); no call of a batch is trivial
  CallDecision decide(const LibraryCall& call) noexcept;
  /// Runs the call on an accelerator. True if the results are in place and the local library must
  /// not run. Memory that the call reads as well as writes changes only then.
  bool run(const LibraryCall& call, const CallDecision& decision) noexcept;
  /// Runs the call on an accelerator and drops the results. Operands that the call writes are
  /// copied before, so the program's memory does not change.
  void rehearse(const LibraryCall& call, const CallDecision& decision) noexcept;
  /// Runs the accelerator's part of a product that is shared with the local library.
  bool run_part(const LibraryCall& part) noexcept;
  /// Records that a shared product is complete, and that the accelerator computed its part.
  void count_shared(const Descriptor& routine, const CallDecision& decision) noexcept;
  /// Records that the local library has run the call since `started_ns`.   Units: ns of the steady
  /// clock
  void count_local(const Descriptor& routine, const CallDecision& decision,
                   std::uint64_t started_ns) noexcept;

  /// Decides about a plan, or about one execution of a plan that is open. Never blocks long when
  /// the answer is local.
  FftDecision decide_fft(const FftCall& call, FftMoment moment) noexcept;
  /// Lets the daemon plan the transform now. False if this failed, or would not help.
  bool plan_fft(const FftTransform& transform) noexcept;
  /// Runs the transform. True if results are in place. Memory that is both input and output changes
  /// only then.
  bool run_fft(const FftCall& call, const FftArrays& arrays) noexcept;
  /// Runs the transform on an accelerator, to measure it, and drops the output. Changes nothing of
  /// the program's.
  void rehearse_fft(const FftCall& call, const FftArrays& arrays) noexcept;
  /// Counts a transform that is about to run locally.
  void begin_local_fft(const FftCall& call) noexcept;
  /// Records that the local library has run the transform since `started_ns`.
  void count_local_fft(const FftTransform& transform, std::uint64_t started_ns) noexcept;

  /// Explains where a call would run in mode auto, and why: lines "key value" that docs/decision.md
  /// lists. Connects to the server, if there is no connection.
  /// @param routine "dgemm", "fftw c2c"   @param sizes as outboard_explain()
  /// @param library as LibraryCall::library
  /// Errors: invalid_argument with a line that names the mistake; throws without memory
  Result<std::string> explain(std::string_view routine, std::string_view sizes,
                              const void* library);

  /// Prints the report and saves the measurements, as far as the configuration asks for that. Calls
  /// may still follow.
  void close() noexcept;
  /// Waits a moment for connections that are being made in the background, and makes no more. Gives
  /// the process's own lease of a pool back. For handlers at exit, which run before those of
  /// libraries that this engine uses.
  void stop_connecting() noexcept;

  /// Closes, in a forked child, the descriptors of all connections of its parent, and the other
  /// kernel resources of `inherited`, which may be nullptr. No other function may use `inherited`.
  /// Threads: the child's only one; async-signal-safe
  static void close_inherited(Engine* inherited) noexcept;

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace ob::offload
