#pragma once
// One compilation of CUDA C++ by NVRTC.

#include <span>
#include <string>

#include "backend/cuda/nvrtc_table.hpp"

namespace ob::cuda {

/// Compiles a source to machine code.
/// @param name shown in the compiler's words   @param log gets these words
/// @param options zero-terminated; the architecture is one of them
/// Threads: any
/// Errors: build_failed, if the source does not compile; device_error
Result<std::string> compile_cuda(const NvrtcTable& compiler, const std::string& source,
                                 const char* name, std::span<const char* const> options,
                                 std::string& log);

/// Returns the option for devices of a compute capability (90 for 9.0).
std::string architecture_option(int capability);

}  // namespace ob::cuda
