#pragma once
// A loaded "cubin": kernels that were compiled as C++.

#include <cuda.h>
#include <driver_types.h>

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "core/kernel_abi.hpp"
#include "core/live_set.hpp"
#include "core/stream.hpp"

namespace standin {

/// A module of the device that is current when it is loaded.   Threads: any
class KernelModule : public std::enable_shared_from_this<KernelModule> {
 public:
  /// Returns nullptr on failure, and the reason in `why`.
  static std::shared_ptr<KernelModule> load(const void* image, CUresult& why);
  ~KernelModule();
  KernelModule(const KernelModule&) = delete;
  KernelModule& operator=(const KernelModule&) = delete;

  int device() const noexcept { return device_; }
  /// Returns a handle; nullptr if there is no such kernel.
  void* function(const std::string& name);
  /// Returns the module that a function handle belongs to; nullptr if there is none.
  static std::shared_ptr<KernelModule> owner(const void* function);
  /// Copies the arguments. Those that are pointers must point to memory of the device.
  cudaError_t launch(const void* function, const unsigned* grid, const unsigned* block,
                     const std::shared_ptr<Stream>& stream, void** arguments);

  static LiveSet<KernelModule>& all();

 private:
  KernelModule(void* object, int device) : object_(object), device_(device) {}
  void* const object_;  // handle of dlopen
  const int device_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<Bind>> functions_;
};

}  // namespace standin
