#pragma once
// One call of a library on the device, with operands in page-locked memory.

#include <memory>
#include <string>
#include <vector>

#include "bench/gpu/device.hpp"

namespace ob::bench::gpu {

/// Everything is submitted to the device's stream. What a call overwrites it gets anew in each run.
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
  /// Once all is done: that the routine did not complain.
  virtual void check() = 0;
};

/// Of one kind each; `n` is the order, or the lengths.
std::unique_ptr<Problem> make_product(const Device& device, std::int64_t n);
/// "sgesv" "dpotrf" "dgeqrf"
std::unique_ptr<Problem> make_factorisation(const Device& device, const std::string& routine,
                                            std::int64_t n);
std::unique_ptr<Problem> make_transform(const Device& device, std::vector<long long> lengths);

/// Numbers in [0, 1), the same each time.
template <class Real>
void fill(Real* values, std::size_t count);
extern template void fill(float*, std::size_t);
extern template void fill(double*, std::size_t);

/// Between the host's page-locked memory and the device's, all of the smaller one.
void copy(const Device& device, const Block& to, const Block& from, cudaMemcpyKind kind);

}  // namespace ob::bench::gpu
