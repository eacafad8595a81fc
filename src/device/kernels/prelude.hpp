#pragma once
// The text in front of sources, by which portable ones compile everywhere.

#include <string_view>
#include <vector>

#include "device/kernels/module.hpp"

namespace ob::kernels {

/// Returns the text in front of portable sources and OpenCL C for an OpenCL compiler. Lines of the
/// source keep their numbers. It defines OB_LOCAL_ARG and OB_LOCAL_BIND, and switches contraction
/// of a * b + c off.
std::string_view opencl_prelude() noexcept;
/// Returns the macros that an OpenCL compiler defines, as far as conditions may ask for them.
/// @param has_fp64 the device has double precision
std::vector<Definition> opencl_definitions(bool has_fp64);

}  // namespace ob::kernels
