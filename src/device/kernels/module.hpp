#pragma once
// Modules of kernels: programs in source or machine code that a device compiles and runs.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace ob {

// Limits of kernels, so that a source or a launch takes a bounded time to check.
inline constexpr std::size_t kMostKernelArguments = 64;
inline constexpr std::size_t kMostSourceBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMostBinaryBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMostModules = 256;  ///< of one device
inline constexpr std::size_t kMostVariants = 16;
inline constexpr std::size_t kMostLogBytes = std::size_t{64} << 10;
/// The largest value that a kernel takes: 16 doubles.
inline constexpr std::size_t kMostScalarBytes = 128;

/// The language of a module. The values are those of OB_PORTABLE and so on in outboard/device.h.
enum class SourceKind : std::uint8_t {
  portable = 1,  ///< the subset of OpenCL C 1.2 that CUDA takes, too (docs/device-api.md)
  opencl = 2,    ///< OpenCL C 1.2
  cuda = 3,      ///< CUDA C++
  ptx = 4,
  cubin = 5,
};
/// Returns the name for messages, e.g. "portable".
const char* to_string(SourceKind kind) noexcept;

/// One form of a module.
struct ModuleVariant {
  SourceKind kind = SourceKind::portable;
  std::string text;
  std::string architecture;  ///< of a cubin, e.g. "sm_90"; else empty
};

/// A module. The device takes the first variant that it can use.
struct ModuleSource {
  std::vector<ModuleVariant> variants;
  std::string options;  ///< "-D NAME" and "-D NAME=VALUE", separated by blanks
};

/// A macro that the options define.
struct Definition {
  std::string name;
  std::string value;
};
/// Errors: invalid_argument for all that is not -D with a name, or a value of other characters than
///         letters, digits, and + - . _
Result<std::vector<Definition>> parse_options(std::string_view options);

/// Checks the sizes and kinds of a module, and its options.   Errors: invalid_argument
Status check_source(const ModuleSource& source);

enum class ParameterKind : std::uint8_t { buffer = 1, scalar = 2, local = 3 };

/// A parameter of a kernel.
struct KernelParameter {
  ParameterKind kind = ParameterKind::scalar;
  bool read_only = false;   ///< a buffer that the kernel cannot write
  std::uint32_t bytes = 0;  ///< of a scalar, or of an element of memory; 0: not known
  std::string type;         ///< e.g. "double*", as clGetKernelArgInfo says it
  std::string name;

  friend bool operator==(const KernelParameter&, const KernelParameter&) = default;
};

struct KernelSignature {
  std::string name;
  std::vector<KernelParameter> parameters;
  /// The group size that the source demands; 0 0 0: any
  std::array<std::uint32_t, 3> required_group{};

  friend bool operator==(const KernelSignature&, const KernelSignature&) = default;
};

/// A compiled kernel.
struct KernelFacts {
  KernelSignature signature;
  std::uint64_t largest_group = 0;                 ///< work-items of a group
  std::array<std::uint64_t, 3> largest_extents{};  ///< of a group, in each dimension
  std::uint64_t static_local_bytes = 0;
  std::uint64_t largest_local_bytes = 0;  ///< static and that of arguments together
};

/// The end of a compilation.
struct ModuleReport {
  Status status;    ///< build_failed; unsupported if no variant suits the device
  std::string log;  ///< the compiler's words, at most kMostLogBytes
  std::vector<KernelFacts> kernels;
};

/// Returns the failure for a kernel that a module does not have.
Status no_such_kernel(std::string_view name, const std::vector<KernelFacts>& kernels);

/// Returns the line of a compiler's words that tells the first error, or else the first line; at
/// most 300 bytes.
std::string first_error(const std::string& log);

/// Cuts a compiler's words to kMostLogBytes: the beginning, where the first errors are, and the
/// end.
std::string shorten_log(std::string log);

}  // namespace ob
