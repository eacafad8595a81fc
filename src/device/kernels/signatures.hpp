#pragma once
// The signatures of the kernels in a source.

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "device/kernels/module.hpp"

namespace ob::kernels {

/// The languages whose signatures can be read.
enum class Dialect : std::uint8_t {
  portable,  ///< refuses types whose size differs between OpenCL and CUDA
  opencl,
};

/// Reads the parameters of all kernels. The source is that of the user, without a prelude. Kernels
/// that macros with parameters make are not seen.
/// @param definitions of the compiler and of the module's options
/// Errors: build_failed for signatures that cannot be read or passed: images, pointers to pointers,
///         size_t, structs by value, more than kMostKernelArguments parameters
/// Source: OpenCL C 1.2, sections 6.1 and 6.9
Result<std::vector<KernelSignature>> parse_signatures(std::string_view source, Dialect dialect,
                                                      const std::vector<Definition>& definitions);

}  // namespace ob::kernels
