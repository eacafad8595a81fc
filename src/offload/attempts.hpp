#pragma once
// The run of a job on a server: acquire a connection, try again where that helps, and report
// failures without disturbing the program.

#include "base/accuracy.hpp"
#include "client/connection_cache.hpp"
#include "offload/device_job.hpp"
#include "offload/journal.hpp"
#include "offload/observer.hpp"
#include "offload/residents.hpp"
#include "offload/routine_records.hpp"
#include "offload/tuning.hpp"
#include "policy/model.hpp"

namespace ob::offload {

/// A job, or a part of a call, that fails runs at most this many times, on a new connection or on
/// another device.
inline constexpr int kMostAttempts = 3;

/// The call that a job is run for.   Memory: owns nothing
struct JobCall {
  RoutineRecord& record;
  const policy::Work& work;
  Accuracy accuracy = Accuracy::standard;
  bool is_trial = false;  ///< the results do not reach the program
};

/// Threads: any
class Attempts {
 public:
  Attempts(client::ConnectionCache& connections, Residents& residents, Journal& journal,
           RoutineRecords& records, Tuning& tuning, Observer& observer) noexcept
      : connections_(connections),
        residents_(residents),
        journal_(journal),
        records_(records),
        tuning_(tuning),
        observer_(observer) {}

  /// Runs the job on the first server that completes it, and counts it. True if one did.
  /// Never throws.
  bool run(const JobCall& call, DeviceJob& job) noexcept;

 private:
  struct Attempt;
  Status try_once(const JobCall& call, DeviceJob& job, bool is_last, Attempt& attempt);
  Status run_on(client::AcquiredDevice& acquired, const JobCall& call, DeviceJob& job,
                Attempt& attempt);
  bool may_help(client::AcquiredDevice& acquired, const Status& status);
  void avoid(std::size_t server) noexcept;

  client::ConnectionCache& connections_;
  Residents& residents_;
  Journal& journal_;
  RoutineRecords& records_;
  Tuning& tuning_;
  Observer& observer_;
};

}  // namespace ob::offload
