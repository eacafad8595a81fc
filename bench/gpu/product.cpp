// Computes C := A B with cuBLAS.

#include "bench/gpu/problem.hpp"
#include "bench/or_exit.hpp"

namespace ob::bench::gpu {
namespace {

class Product final : public Problem {
 public:
  Product(const Device& device, std::int64_t n)
      : device_(device), table_(*or_exit(device.libraries().blas())), n_(n) {
    fill(host_a_.as<double>(), static_cast<std::size_t>(n * n));
    fill(host_b_.as<double>(), static_cast<std::size_t>(n * n));
    or_exit(table_.check(table_.cublasCreate(&handle_), "cublasCreate"));
    or_exit(table_.check(table_.cublasSetStream(handle_, device.stream()), "cublasSetStream"));
  }
  ~Product() override { (void)table_.cublasDestroy(handle_); }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  void copy_to_device() override {
    copy(device_, a_, host_a_, cudaMemcpyHostToDevice);
    copy(device_, b_, host_b_, cudaMemcpyHostToDevice);
  }
  void compute() override {
    const double one = 1;
    const double zero = 0;
    or_exit(table_.check(
        table_.cublasDgemm_64(handle_, CUBLAS_OP_N, CUBLAS_OP_N, n_, n_, n_, &one, a_.as<double>(),
                              n_, b_.as<double>(), n_, &zero, c_.as<double>(), n_),
        "cublasDgemm"));
  }
  void copy_back() override { copy(device_, host_c_, c_, cudaMemcpyDeviceToHost); }
  void check() override {}

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(n_ * n_) * sizeof(double); }

  const Device& device_;
  const cuda::BlasTable& table_;
  const std::int64_t n_;
  cublasHandle_t handle_ = nullptr;
  Block host_a_{device_, Block::Where::host, bytes()},
      host_b_{device_, Block::Where::host, bytes()}, host_c_{device_, Block::Where::host, bytes()};
  Block a_{device_, Block::Where::device, bytes()}, b_{device_, Block::Where::device, bytes()},
      c_{device_, Block::Where::device, bytes()};
};

}  // namespace

std::unique_ptr<Problem> make_product(const Device& device, std::int64_t n) {
  return std::make_unique<Product>(device, n);
}

}  // namespace ob::bench::gpu
