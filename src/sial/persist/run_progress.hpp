#pragma once
// How far a run of a job has come, so that another run can go on.   docs/sial/jobs.md,
// "Checkpoints"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ob::sial {

/// The parts of a job that must not change between a run and one that goes on with it.
struct JobIdentity {
  struct Code {
    std::string program;   ///< as the job names it
    std::string checksum;  ///< of its byte code
    friend bool operator==(const Code&, const Code&) = default;
  };
  std::vector<Code> codes;  ///< in their order
  std::map<std::string, std::int64_t> ints;
  std::map<std::string, std::vector<std::int64_t>> segments;
  std::map<std::string, std::int64_t> subsegments;
};

/// Names all differences, separated by commas; empty if there are none.
std::string differences(const JobIdentity& before, const JobIdentity& now);

/// A program in the middle, as it was at a barrier. All files are in the folder of saved objects.
struct Checkpoint {
  std::vector<std::string> states;  ///< per worker: its variables, see worker_state.hpp
  std::vector<std::string> blocks;  ///< per worker: its statics, temps and locals
  /// By number of a distributed array: the files with its blocks.
  std::map<std::uint32_t, std::vector<std::string>> arrays;
};

/// A predefined static that a finished program has changed.
struct KeptStatic {
  std::string name;  ///< in the program that changed it last
  std::string file;
};

struct RunProgress {
  JobIdentity identity;
  std::uint64_t finished = 0;  ///< programs of the job
  std::vector<KeptStatic> statics;
  std::optional<Checkpoint> checkpoint;  ///< of the first program that is not finished

  bool has_finished() const noexcept { return finished >= identity.codes.size(); }
  /// Returns the names of all files.
  std::vector<std::string> files() const;
};

}  // namespace ob::sial
