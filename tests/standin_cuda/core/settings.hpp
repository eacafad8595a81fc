#pragma once
// The properties that the stand-in simulates, read from the environment.

#include <cstdint>

namespace standin {

/// Settings that are read once, when the first function is called.
struct Settings {
  int devices = 1;                          ///< STANDIN_CUDA_DEVICES
  std::uint64_t memory_bytes = 2ULL << 30;  ///< STANDIN_CUDA_MEMORY, per device, [K M G]
  unsigned delay_us = 0;                    ///< STANDIN_CUDA_DELAY_US: longest delay before an op
  std::uint64_t sticky = 0;                 ///< STANDIN_CUDA_STICKY: this op of a stream faults
  bool no_driver = false;                   ///< STANDIN_CUDA_NO_DRIVER
  bool peers = true;                        ///< STANDIN_CUDA_PEERS=0: no access between devices
  bool abort_on_violation = false;          ///< STANDIN_CUDA_ABORT: stop at the first broken rule
  bool exit_code = false;                   ///< STANDIN_CUDA_EXIT: exit with kDirtyExit on a report
  bool quiet = false;                       ///< STANDIN_CUDA_QUIET: nothing on standard error
  std::uint64_t seed = 0;                   ///< OUTBOARD_TEST_SEED, else a fresh seed
};

/// The exit code of a process that broke a rule or leaked, where STANDIN_CUDA_EXIT is set.
inline constexpr int kDirtyExit = 86;

const Settings& settings();

}  // namespace standin
