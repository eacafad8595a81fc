#pragma once
// The kernels of this backend on one device.

#include <memory>
#include <string>

#include "backend/cuda/libraries.hpp"

namespace ob::cuda {

/// The kernels of kernels/*.cuh as a module of the driver. They are compiled once per kind of
/// device: $XDG_CACHE_HOME/outboard (or ~/.cache/outboard) caches machine code, under a name made
/// from everything that it depends on.
/// Threads: the one that submits, with the device current
class Kernels {
 public:
  /// Errors: unavailable without driver or compiler; device_error, with the compiler's words
  static Result<std::unique_ptr<Kernels>> create(const Libraries& libraries, int device);
  ~Kernels();
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  /// Submits a kernel with these arguments, which must have the types of its parameters. Each
  /// thread computes one of `elements`, or several if there are very many.
  /// Errors: device_error
  template <class... Arguments>
  Status launch(cudaStream_t stream, const std::string& name, std::int64_t elements,
                Arguments... arguments) const {
    void* pointers[] = {static_cast<void*>(&arguments)...};
    return submit(stream, name, elements, pointers);
  }

 private:
  explicit Kernels(const Driver& driver) : driver_(driver) {}
  Status submit(cudaStream_t stream, const std::string& name, std::int64_t elements,
                void** arguments) const;

  const Driver& driver_;
  CUmodule module_ = nullptr;
};

}  // namespace ob::cuda
