#pragma once
// Where a run of a job begins, and the record that it leaves.   docs/sial/runtime.md, "Checkpoints"

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/status.hpp"
#include "sial/job/job.hpp"
#include "sial/persist/saved_objects.hpp"
#include "sial/worker/run_record.hpp"
#include "sial_options.hpp"

namespace ob::apps {

/// Threads: owner only
class SialProgress {
 public:
  /// @param saved must live longer
  SialProgress(const sial::SavedObjects& saved, sial::JobIdentity identity,
               const SialOptions& options);

  /// Finds out where the run begins.
  /// Errors: invalid_argument (R04) if the run cannot go on with the last one, naming what differs;
  ///         those of SavedObjects::read()
  Status open();
  /// Returns a number that is the same on all ranks if they begin at the same place.
  std::uint64_t place() const noexcept;
  /// Sets predefined statics to the values that finished programs have left.
  /// Errors: invalid_argument (R12)
  Status take_statics(sial::Job& job) const;
  /// Forgets the last run, if this one begins anew. Only one rank does that, after all have
  /// opened theirs.   Errors: unavailable
  Status forget_last_run() const;

  /// Returns the number of the first program to run.
  std::size_t first() const noexcept { return first_; }
  /// Says in a line where the run begins; empty if it is a run from the start like any other.
  std::string announcement() const;
  /// Returns the record for a program; nullptr if the run leaves none. It is valid until the next
  /// call.   Errors: those of SavedObjects::read()
  Result<const sial::RunRecord*> record_for(std::size_t program);

 private:
  const sial::SavedObjects& saved_;
  const SialOptions& options_;
  const bool keeps_;    // progress is kept
  bool found_ = false;  // there was a run to go on with
  std::size_t first_ = 0;
  sial::RunRecord record_;
};

}  // namespace ob::apps
