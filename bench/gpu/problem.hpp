#pragma once
// One call of a library on the device, with operands in page-locked memory.

#include <memory>
#include <string>
#include <vector>

#include "bench/gpu/device.hpp"

namespace ob::bench::gpu {

/// Everything is submitted to the device's stream. Operands that a call overwrites are restored
/// before each run.
/// Threads: owner only; functions end the program if something fails
class Problem {
 public:
  /// "dgemm" "8000", "c2c" "512x512"; null if there is none.
  static std::unique_ptr<Problem> create(const Device& device, const std::string& routine,
                                         const std::string& size);
  virtual ~Problem() = default;

  virtual void copy_to_device() = 0;
  virtual void compute() = 0;
  virtual void copy_back() = 0;
  /// Checks, after all work is done, that the routine reported no error.
  virtual void check() = 0;
};

/// Each function makes problems of one kind. `n` is the order of the matrices.
std::unique_ptr<Problem> make_product(const Device& device, std::int64_t n);
/// `routine` is "sgesv", "dpotrf" or "dgeqrf".
std::unique_ptr<Problem> make_factorisation(const Device& device, const std::string& routine,
                                            std::int64_t n);
std::unique_ptr<Problem> make_transform(const Device& device, std::vector<long long> lengths);

/// Writes numbers in [0, 1), the same ones each time.
template <class Real>
void fill(Real* values, std::size_t count);
extern template void fill(float*, std::size_t);
extern template void fill(double*, std::size_t);

/// Copies between page-locked host memory and device memory, as many bytes as the smaller block
/// has.
void copy(const Device& device, const Block& to, const Block& from, cudaMemcpyKind kind);

}  // namespace ob::bench::gpu
