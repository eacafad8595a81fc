#pragma once
// The linker of a process that compiles kernels. That process starts no programs itself: kernels
// run in it, and one of them may have taken it over.

#include <string>
#include <vector>

#include "base/status.hpp"

namespace ob::executor {

/// Starts the process that runs the linker, one at a time, when asked. It ends with this process.
/// Threads: the first thread, before others, after restrict_files()
/// Errors: unavailable
Status start_linker_service();
/// True after start_linker_service().
bool has_linker_service() noexcept;
/// Runs a linker and waits for its end.   @returns the status that wait4() gives
/// @param arguments the first one is the path of the program, whose name must be that of a linker
/// Errors: denied for other programs; device_error   Threads: any
Result<int> run_linker(const std::vector<std::string>& arguments);

}  // namespace ob::executor
