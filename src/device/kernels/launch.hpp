#pragma once
// The launch of a kernel, and its checks.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/ids.hpp"
#include "base/status.hpp"
#include "device/device.hpp"
#include "device/kernels/module.hpp"

namespace ob {

/// An argument of a kernel.
struct KernelArgument {
  ParameterKind kind = ParameterKind::scalar;
  std::uint32_t bytes = 0;      ///< of a scalar or of local memory
  const void* value = nullptr;  ///< of a scalar: `bytes` bytes
  BufferRef place{};            ///< of a buffer
  /// The bytes from `place` on that the kernel may use; 0: up to the end of the buffer
  std::uint64_t extent_bytes = 0;
};

/// A launch of groups x group_size work-items in three dimensions.
struct KernelLaunch {
  ModuleId module;
  std::string_view kernel;
  std::array<std::uint32_t, 3> groups{1, 1, 1};
  std::array<std::uint32_t, 3> group_size{1, 1, 1};
  /// Memory: arguments and their values are valid until launch() has returned
  std::span<const KernelArgument> arguments;
};

/// Checks one argument against its parameter.   @param index from 0
/// Errors: invalid_argument
Status check_argument(const KernelSignature& kernel, std::size_t index,
                      const KernelArgument& argument);
/// Checks a launch against the kernel: the number of arguments, each argument, groups and group
/// size, and local memory.   Errors: invalid_argument
Status check_launch(const KernelFacts& kernel, const KernelLaunch& launch);
/// Checks all of a launch that does not depend on the kernel.   Errors: invalid_argument
Status check_extents(const KernelLaunch& launch);
/// Checks that an argument's memory lies in its buffer.   @param index from 0
/// Errors: invalid_argument
Status check_extent(std::string_view kernel, std::size_t index, const KernelArgument& argument,
                    std::uint64_t buffer_bytes);

}  // namespace ob
