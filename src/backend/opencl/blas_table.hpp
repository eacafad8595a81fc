#pragma once
// CLBlast, as a table of its functions.

#include <string_view>

#include "backend/opencl/blas_rows.hpp"
#include "backend/opencl/cl.hpp"

// This header follows CL/cl.h, because it takes the version of that header.
#include <clblast_c.h>

namespace ob::opencl {

/// Threads: any
struct BlasTable {
#define OB_CLBLAST_MEMBER(routine, function) decltype(&::function) function = nullptr;
  OB_CLBLAST_ROWS(OB_CLBLAST_MEMBER)
  OB_CLBLAST_SIZES(OB_CLBLAST_MEMBER)
#undef OB_CLBLAST_MEMBER

  /// Errors: unavailable, if there is no library or it lacks a function
  static Result<BlasTable> open();

  /// Converts the result of a call to a Status `what: why`.   Errors: out_of_memory; device_error
  static Status check(CLBlastStatusCode result, std::string_view what);
};

}  // namespace ob::opencl
