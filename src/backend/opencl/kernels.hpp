#pragma once
// The kernels of this backend on a device.

#include <array>
#include <cstdint>
#include <string>

#include "backend/opencl/accelerator.hpp"
#include "base/status.hpp"

namespace ob::opencl {

/// The text of kernels/kernels.cl.
const char* kernel_source() noexcept;

/// The kernels, compiled for one device.
/// Threads: any
class Kernels {
 public:
  /// Errors: device_error, with the compiler's words
  static Result<Kernels> create(const Cl& cl, const Accelerator& accelerator);
  Kernels(Kernels&& other) noexcept;
  Kernels& operator=(Kernels&&) = delete;
  ~Kernels();

  /// Submits a kernel with a work-item for each of rows x cols elements. The parameters of the
  /// kernel are these two numbers, as long, and then `arguments`, which must have the same types.
  /// Errors: out_of_memory; device_error
  template <class... Arguments>
  Status launch(cl_command_queue queue, const std::string& name, std::uint64_t rows,
                std::uint64_t cols, const Arguments&... arguments) const {
    const auto m = static_cast<cl_long>(rows);
    const auto n = static_cast<cl_long>(cols);
    const std::array<Parameter, 2 + sizeof...(Arguments)> all{
        Parameter{sizeof m, &m}, Parameter{sizeof n, &n},
        Parameter{sizeof arguments, &arguments}...};
    return submit(queue, name, {rows, cols}, all.data(), all.size());
  }

 private:
  struct Parameter {
    std::size_t size_bytes;
    const void* value;
  };
  Kernels(const Cl& cl, cl_program program) : cl_(cl), program_(program) {}
  Status submit(cl_command_queue queue, const std::string& name, std::array<std::size_t, 2> size,
                const Parameter* parameters, std::size_t count) const;

  const Cl& cl_;
  cl_program program_;
};

}  // namespace ob::opencl
