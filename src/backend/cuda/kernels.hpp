#pragma once
// Our own kernels on one device.

#include <memory>
#include <string>

#include "backend/cuda/libraries.hpp"

namespace ob::cuda {

/// The kernels of kernels/*.cuh as a module of the driver. Compiled once per kind of device:
/// machine code is kept in $XDG_CACHE_HOME/outboard (or ~/.cache/outboard), under a name made from
/// all that it follows from.
/// Threads: the one that submits, with the device current
class Kernels {
 public:
  /// Errors: unavailable without driver or compiler; device_error, with the compiler's words
  static Result<std::unique_ptr<Kernels>> create(const Libraries& libraries, int device);
  ~Kernels();
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  /// Submits a kernel with these arguments, which must have its parameters' types, and a thread
  /// for each of `elements` (up to a limit, beyond which threads take several).
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
