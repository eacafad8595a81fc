#pragma once
// What every offloaded call does around the algorithm: acquired a connection, try again where that
// helps, count, and report failures without disturbing the program.

#include <cstdint>
#include <string_view>

#include "algorithms/call_timings.hpp"
#include "base/status.hpp"
#include "client/connection_cache.hpp"
#include "offload/state.hpp"
#include "policy/decision.hpp"

namespace ob::offload {

/// A job for a acquired device. May be run again after a failure: until it succeeds nothing of the
/// caller changed that a rerun would not put right.
class RemoteJob {
 public:
  virtual ~RemoteJob() = default;
  virtual Status run(State& state, client::AcquiredDevice& acquired,
                     algorithms::CallTimings& timings) = 0;
};

/// Runs the job on the first server that completes it. True if it did.
/// Threads: any; never throws
bool run_remotely(State& state, RoutineRecord& record, std::string_view name,
                  const policy::Work& work, RemoteJob& job) noexcept;

/// Adds a local run to the counters and to what is known of the local library.
void count_local(State& state, RoutineRecord& record, std::string_view name,
                 const policy::Work& work, std::uint64_t started_ns) noexcept;

}  // namespace ob::offload
