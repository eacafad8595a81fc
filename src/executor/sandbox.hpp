#pragma once
// The restrictions of an executor process. What it computes on comes from clients, so it may be
// taken over: it then must reach nothing but its own memory.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace ob::executor {

/// Ties the process to the daemon, and takes away privileges, most files and the network. Programs'
/// libraries and the descriptions of the processor stay readable (Landlock, where the kernel has
/// it). Threads that start later inherit this.
/// @param daemon   the process that started this one
/// @param readable further folders to read libraries from
/// Threads: the first thread, before others
/// Errors: unavailable if the daemon has ended
Status restrict_files(pid_t daemon, const std::vector<std::string>& readable);

/// Leaves the process no system calls but those that computing needs: memory, threads of its own,
/// futexes, and messages on descriptors that are open. Limits its private memory to `memory_bytes`
/// more than it has now. Applies to all threads.
/// Source: seccomp(2), setrlimit(2) RLIMIT_DATA
/// Errors: unavailable if the kernel refuses
Status restrict_calls(std::uint64_t memory_bytes);

}  // namespace ob::executor
