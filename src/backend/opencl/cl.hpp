#pragma once
// OpenCL, as a table of its functions. The library is opened at run time, so that nothing needs
// libOpenCL to load.

#include <CL/cl.h>

#include <string>

#include "base/status.hpp"

#define OB_CL_FUNCTIONS(X)     \
  X(clBuildProgram)            \
  X(clCreateBuffer)            \
  X(clCreateCommandQueue)      \
  X(clCreateContext)           \
  X(clCreateKernel)            \
  X(clCreateProgramWithBinary) \
  X(clCreateProgramWithSource) \
  X(clCreateSubBuffer)         \
  X(clEnqueueCopyBuffer)       \
  X(clEnqueueCopyBufferRect)   \
  X(clEnqueueFillBuffer)       \
  X(clEnqueueNDRangeKernel)    \
  X(clEnqueueReadBuffer)       \
  X(clEnqueueReadBufferRect)   \
  X(clEnqueueWriteBuffer)      \
  X(clEnqueueWriteBufferRect)  \
  X(clFinish)                  \
  X(clGetDeviceIDs)            \
  X(clGetDeviceInfo)           \
  X(clGetKernelInfo)           \
  X(clGetKernelWorkGroupInfo)  \
  X(clGetPlatformIDs)          \
  X(clGetPlatformInfo)         \
  X(clGetProgramBuildInfo)     \
  X(clGetProgramInfo)          \
  X(clReleaseCommandQueue)     \
  X(clReleaseEvent)            \
  X(clReleaseKernel)           \
  X(clReleaseMemObject)        \
  X(clReleaseProgram)          \
  X(clSetKernelArg)            \
  X(clWaitForEvents)

namespace ob::opencl {

/// The loader that finds the vendors' implementations (libOpenCL, of any version from 1.2 on).
/// Threads: any
struct Cl {
#define OB_CL_MEMBER(name) decltype(&::name) name = nullptr;
  OB_CL_FUNCTIONS(OB_CL_MEMBER)
#undef OB_CL_MEMBER

  /// @param soname differs from the usual name only in tests
  /// Errors: unavailable, if there is no library or it lacks a function
  static Result<Cl> open(const std::string& soname);
  /// Returns the table of the process. The first call opens it. A failure is remembered.
  static Result<const Cl*> get();

  /// Converts the result of a call to a Status `what: why`.
  /// Errors: out_of_memory; unavailable without a platform; else device_error
  static Status check(cl_int result, const std::string& what);
};

}  // namespace ob::opencl
