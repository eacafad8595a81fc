#pragma once
// Turns the runs of calls into counters, the timeline, and knowledge for the next decisions.

#include <cstdint>

#include "algorithms/call_timings.hpp"
#include "offload/decide.hpp"
#include "offload/journal.hpp"
#include "offload/routine_records.hpp"
#include "offload/tuning.hpp"
#include "policy/model.hpp"

namespace ob::offload {

/// The start and the end of a remote run.   Units: ns of now_ns()
struct RemoteSpan {
  std::uint64_t asked_ns = 0;      ///< the caller made the call
  std::uint64_t connected_ns = 0;  ///< a connection was acquired
  std::uint64_t ended_ns = 0;
  std::size_t server = 0;
};

/// Threads: any
class Observer {
 public:
  Observer(Journal& journal, RoutineRecords& records, Tuning& tuning, Decider& decider) noexcept
      : journal_(journal), records_(records), tuning_(tuning), decider_(decider) {}

  /// Records a successful remote run.
  void remote_run(RoutineRecord& record, const policy::Work& work,
                  const algorithms::CallTimings& timings, const RemoteSpan& span) noexcept;
  /// Records a successful remote run whose results the program does not see.
  void trial_run(RoutineRecord& record, const policy::Work& work,
                 const algorithms::CallTimings& timings, const RemoteSpan& span) noexcept;
  /// Records a local run that has just ended.
  void local_run(RoutineRecord& record, const policy::Work& work,
                 std::uint64_t started_ns) noexcept;

 private:
  void learn(RoutineRecord& record, const policy::Work& work,
             const algorithms::CallTimings& timings, double seconds, std::size_t server) noexcept;
  void note_loss() noexcept;

  Journal& journal_;
  RoutineRecords& records_;
  Tuning& tuning_;
  Decider& decider_;
};

}  // namespace ob::offload
