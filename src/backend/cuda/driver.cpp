#include "backend/cuda/driver.hpp"

namespace ob::cuda {
namespace {

// The version of the interfaces below, which newer drivers provide, too.
constexpr unsigned kInterface = 12000;

void* find_driver_function(const Runtime& runtime, const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  const cudaError_t result = runtime.cudaGetDriverEntryPointByVersion(name, &function, kInterface,
                                                                      cudaEnableDefault, &found);
  if (result != cudaSuccess || found != cudaDriverEntryPointSuccess) {
    (void)runtime.cudaGetLastError();
    return nullptr;
  }
  return function;
}

}  // namespace

Result<Driver> Driver::open(const Runtime& runtime) {
  Driver table;
  const char* missing = nullptr;
#define OB_CUDA_ASK(name)                                                                    \
  table.name = reinterpret_cast<decltype(table.name)>(find_driver_function(runtime, #name)); \
  if (table.name == nullptr && missing == nullptr) missing = #name;
  OB_CUDA_DRIVER_FUNCTIONS(OB_CUDA_ASK)
#undef OB_CUDA_ASK
  if (missing == nullptr) return table;
  return Status(
      Code::unavailable,
      std::string("the CUDA driver has no ") + missing +
          " (no driver, or an old one?); install a driver for CUDA " OB_CUDA_TEXT(OB_CUDA_MAJOR));
}

Status Driver::check(CUresult result, const char* what) const {
  if (result == CUDA_SUCCESS) return {};
  const char* name = nullptr;
  const char* text = nullptr;
  (void)cuGetErrorName(result, &name);
  (void)cuGetErrorString(result, &text);
  const Code code = result == CUDA_ERROR_OUT_OF_MEMORY ? Code::out_of_memory : Code::device_error;
  return {code, std::string(what) + ": " + (text != nullptr ? text : "unknown error") + " (" +
                    (name != nullptr ? name : std::to_string(result)) + ")"};
}

}  // namespace ob::cuda
