#pragma once
// The types of OpenCL C that a kernel's parameters have.

#include <cstdint>
#include <string>
#include <string_view>

namespace ob::kernels {

/// A type that has a size on every device.
struct ParameterType {
  std::string name;         ///< as clGetKernelArgInfo says it, e.g. "uint" for unsigned int
  std::uint32_t bytes = 0;  ///< 0: not known, as for structs
  std::uint32_t width = 1;  ///< elements of a vector
};

/// Returns a built-in type, e.g. "int", "float4".   @param name in one word
/// @returns a type of 0 bytes for all other names
ParameterType builtin_type(std::string_view name);

}  // namespace ob::kernels
