// cudart: functions of the driver, for cudaGetDriverEntryPointByVersion.

#include <cuda.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "core/devices.hpp"
#include "core/faults.hpp"
#include "core/report.hpp"
#include "core/settings.hpp"
#include "cudart/entry.hpp"
#include "cudart/kernel_module.hpp"

using standin::Devices;
using standin::KernelModule;

namespace {

// The runtime and the driver use the same error numbers.
CUresult result(cudaError_t error) { return static_cast<CUresult>(error); }

#define STANDIN_DRIVER_ENTER()                            \
  do {                                                    \
    const cudaError_t entered = standin::enter(__func__); \
    if (entered != cudaSuccess) return result(entered);   \
  } while (false)

CUresult refuse(const char* call, const char* what, CUresult error) {
  standin::Report::instance().violation(call, what);
  return error;
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned) {
  STANDIN_DRIVER_ENTER();
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  STANDIN_DRIVER_ENTER();
  if (ordinal < 0 || ordinal >= Devices::instance().count()) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  STANDIN_DRIVER_ENTER();
  *count = Devices::instance().count();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  STANDIN_DRIVER_ENTER();
  if (device < 0 || device >= Devices::instance().count()) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(name, length, "Stand-in for a GPU %d", device);
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char** name) {
  *name = cudaGetErrorName(static_cast<cudaError_t>(error));
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = cudaGetErrorString(static_cast<cudaError_t>(error));
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  STANDIN_DRIVER_ENTER();
  CUresult why = CUDA_SUCCESS;
  std::shared_ptr<KernelModule> loaded = KernelModule::load(image, why);
  if (loaded == nullptr) return refuse(__func__, "an image that is none", why);
  *module = static_cast<CUmodule>(KernelModule::all().add(std::move(loaded)));
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  return cuModuleLoadData(module, image);
}

CUresult cuModuleUnload(CUmodule handle) {
  const auto module = KernelModule::all().remove(handle);
  STANDIN_DRIVER_ENTER();
  if (module == nullptr) return refuse(__func__, "no module", CUDA_ERROR_INVALID_HANDLE);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule handle, const char* name) {
  STANDIN_DRIVER_ENTER();
  const auto module = KernelModule::all().find(handle);
  if (module == nullptr) return refuse(__func__, "no module", CUDA_ERROR_INVALID_HANDLE);
  *function = static_cast<CUfunction>(module->function(name));
  return *function == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

// The stand-in does not count shared memory.
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute what, CUfunction function) {
  STANDIN_DRIVER_ENTER();
  if (KernelModule::owner(function) == nullptr)
    return refuse(__func__, "no function", CUDA_ERROR_INVALID_HANDLE);
  *value = what == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void** arguments, void** extra) {
  STANDIN_DRIVER_ENTER();
  const unsigned grid[3] = {grid_x, grid_y, grid_z};
  const unsigned block[3] = {block_x, block_y, block_z};
  const bool too_many = grid_x == 0 || grid_y == 0 || grid_z == 0 || block_x == 0 || block_y == 0 ||
                        block_z == 0 || grid_x > 2147483647U || grid_y > 65535 || grid_z > 65535 ||
                        block_z > 64 || std::uint64_t{block_x} * block_y * block_z > 1024 ||
                        shared_bytes > 49152;
  if (too_many) return refuse(__func__, "no such grid or block", CUDA_ERROR_INVALID_VALUE);
  if (extra != nullptr)
    return refuse(__func__, "arguments in a buffer (not supported here)", CUDA_ERROR_INVALID_VALUE);
  const auto found = Devices::instance().stream(stream);
  const auto module = KernelModule::owner(function);
  if (found == nullptr || module == nullptr)
    return refuse(__func__, "no stream or no function", CUDA_ERROR_INVALID_HANDLE);
  if (found->device() != Devices::current() || module->device() != Devices::current())
    return refuse(__func__, "the stream or the function is of another device than the current one",
                  CUDA_ERROR_INVALID_HANDLE);
  return result(module->launch(function, grid, block, found, arguments));
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  STANDIN_ENTER();
#define STANDIN_DRIVER(name) \
  { #name, reinterpret_cast < void*>(&name) }
  static const struct {
    const char* name;
    void* function;
  } kFunctions[] = {
      STANDIN_DRIVER(cuInit),
      STANDIN_DRIVER(cuDriverGetVersion),
      STANDIN_DRIVER(cuDeviceGet),
      STANDIN_DRIVER(cuDeviceGetCount),
      STANDIN_DRIVER(cuDeviceGetName),
      STANDIN_DRIVER(cuGetErrorName),
      STANDIN_DRIVER(cuGetErrorString),
      STANDIN_DRIVER(cuModuleLoadData),
      STANDIN_DRIVER(cuModuleUnload),
      STANDIN_DRIVER(cuModuleLoadDataEx),
      STANDIN_DRIVER(cuFuncGetAttribute),
      STANDIN_DRIVER(cuLaunchKernel),
      STANDIN_DRIVER(cuModuleGetFunction),
  };
  *function = nullptr;
  for (const auto& entry : kFunctions) {
    if (std::strcmp(entry.name, symbol) == 0) *function = entry.function;
  }
  // The version of a function is that of the first driver that has it.
  const bool too_new = version > CUDA_VERSION;
  if (too_new) *function = nullptr;
  const auto why = too_new ? cudaDriverEntryPointVersionNotSufficent
                           : (*function == nullptr ? cudaDriverEntryPointSymbolNotFound
                                                   : cudaDriverEntryPointSuccess);
  if (found != nullptr) *found = why;
  return cudaSuccess;
}

}  // extern "C"
