#pragma once
// The text in front of sources, by which portable ones compile everywhere.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/kernels/module.hpp"

namespace ob::kernels {

/// Returns the text in front of portable sources and OpenCL C for an OpenCL compiler. It defines
/// OB_LOCAL_ARG, OB_LOCAL_BIND and OB_LOCAL_PTR, and switches contraction of a * b + c off.
std::string_view opencl_prelude() noexcept;
/// Returns a source as a compiler gets it: the text in front of it, the definitions of its options,
/// and the source itself, whose lines keep their numbers in a file "module". The definitions are
/// not options of the compiler, because those would also change the text in front.
std::string with_prelude(std::string_view prelude, const std::vector<Definition>& definitions,
                         std::string_view source);

/// Returns the text in front of portable sources for NVRTC, which takes them with
/// cuda_options(). A parameter OB_LOCAL_ARG is an unsigned
/// int there: the offset of its memory in the dynamic shared memory of the launch, a multiple
/// of 16.
std::string_view cuda_prelude() noexcept;
/// Returns the options of NVRTC for portable sources: no contraction of a * b + c.
/// Memory: zero-terminated texts
std::span<const std::string_view> cuda_options() noexcept;
/// Returns the macros that NVRTC and its prelude define, as far as conditions may ask for them.
std::vector<Definition> cuda_definitions();

/// Returns the macros that an OpenCL compiler defines, as far as conditions may ask for them.
/// @param has_fp64 the device has double precision
std::vector<Definition> opencl_definitions(bool has_fp64);

}  // namespace ob::kernels
