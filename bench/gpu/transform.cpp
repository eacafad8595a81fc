// Runs complex transforms in double precision with cuFFT.

#include <cstdio>
#include <cstdlib>

#include "bench/gpu/problem.hpp"
#include "bench/or_exit.hpp"

namespace ob::bench::gpu {
namespace {

class Transform final : public Problem {
 public:
  Transform(const Device& device, std::vector<long long> lengths)
      : device_(device), table_(*or_exit(device.libraries().fft())), lengths_(std::move(lengths)) {
    fill(host_in_.as<double>(), bytes() / sizeof(double));
    std::size_t work = 0;
    good(table_.cufftCreate(&plan_));
    // Planning is not in the times, as with FFTW.
    good(table_.cufftMakePlanMany64(plan_, static_cast<int>(lengths_.size()), lengths_.data(),
                                    nullptr, 1, 0, nullptr, 1, 0, CUFFT_Z2Z, 1, &work));
    good(table_.cufftSetStream(plan_, device.stream()));
  }
  ~Transform() override { (void)table_.cufftDestroy(plan_); }
  Transform(const Transform&) = delete;
  Transform& operator=(const Transform&) = delete;

  void copy_to_device() override { copy(device_, in_, host_in_, cudaMemcpyHostToDevice); }
  void compute() override {
    auto* const data = in_.as<cufftDoubleComplex>();
    good(table_.cufftExecZ2Z(plan_, data, data, CUFFT_FORWARD));
  }
  void copy_back() override { copy(device_, host_out_, in_, cudaMemcpyDeviceToHost); }
  void check() override {}

 private:
  static void good(cufftResult result) {
    if (result == CUFFT_SUCCESS) return;
    std::fprintf(stderr, "device_calls: cuFFT says %d; is there enough memory?\n", result);
    std::exit(1);
  }
  std::size_t bytes() const {
    std::size_t points = 1;
    for (const long long n : lengths_) points *= static_cast<std::size_t>(n);
    return points * sizeof(cufftDoubleComplex);
  }

  const Device& device_;
  const cuda::FftTable& table_;
  std::vector<long long> lengths_;
  cufftHandle plan_ = 0;
  Block host_in_{device_, Block::Where::host, bytes()},
      host_out_{device_, Block::Where::host, bytes()};
  Block in_{device_, Block::Where::device, bytes()};
};

}  // namespace

std::unique_ptr<Problem> make_transform(const Device& device, std::vector<long long> lengths) {
  return std::make_unique<Transform>(device, std::move(lengths));
}

}  // namespace ob::bench::gpu
