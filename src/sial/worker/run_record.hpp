#pragma once
// Checkpoints of a program, and the record of its run.   docs/sial/runtime.md, "Checkpoints"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sial/persist/run_progress.hpp"

namespace ob::sial {

/// The record of a run, which another run can go on with.
struct RunRecord {
  RunProgress progress;                ///< when the program began
  std::optional<double> checkpoint_s;  ///< time between two checkpoints; 0: one at each barrier
  bool resumes = false;                ///< the program goes on from progress.checkpoint
};

/// The part of a worker in the checkpoints of its program.
struct CheckpointState {
  std::string folder;    ///< of the checkpoint that is being made; empty: none is
  bool written = false;  ///< this worker has written its files
  bool resuming = false;
  // Of worker 0:
  std::int64_t last_ns = 0;
  std::vector<bool> unsaved;                                 ///< arrays changed since
  std::map<std::uint32_t, std::vector<std::string>> arrays;  ///< their files
};

}  // namespace ob::sial
