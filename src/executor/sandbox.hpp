#pragma once
// The restrictions of an executor process. What it computes on comes from clients, so it may be
// taken over: it then must reach nothing but its own memory.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace ob::executor {

/// Lets the process end when the daemon ends. The first step of a process: until then nothing ends
/// it, because a daemon that is killed sends no request.
/// @param daemon the process that started this one
/// Errors: unavailable if the daemon has ended
Status end_with(pid_t daemon);

/// Takes away privileges, most files and the network. Programs' libraries and the descriptions of
/// the processor stay readable (Landlock, where the kernel has it). Threads that start later
/// inherit this.
/// @param readable further folders to read libraries from
/// @param writable a folder for files of a compiler, which may then also read its configuration;
///        empty: none
/// Threads: the first thread, before others
Status restrict_files(const std::vector<std::string>& readable, const std::string& writable = {});
/// Errors: unsupported if the kernel cannot restrict the files that a process reaches
Status can_restrict_files();

/// Leaves the process no system calls but those that computing needs: memory, threads of its own,
/// futexes, and messages on descriptors that are open. Limits its private memory to `memory_bytes`
/// more than it has now. Applies to all threads.
/// Source: seccomp(2), setrlimit(2) RLIMIT_DATA
/// Errors: unavailable if the kernel refuses
Status restrict_calls(std::uint64_t memory_bytes);
/// The same for a process that compiles and runs kernels. It may also use files, as far as
/// restrict_files() lets it, and load machine code. It starts neither processes nor threads.
Status restrict_kernel_calls(std::uint64_t memory_bytes);
/// Leaves the process the calls that a linker needs. It may become another program, but starts
/// neither processes nor threads.
Status restrict_linker_calls();

}  // namespace ob::executor
