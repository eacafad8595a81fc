// Runs LU with a solution, Cholesky and QR with cuSOLVER.

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "bench/gpu/problem.hpp"
#include "bench/or_exit.hpp"

namespace ob::bench::gpu {
namespace {

constexpr auto kDevice = Block::Where::device;
constexpr auto kHost = Block::Where::host;

enum class Kind : std::uint8_t { lu, cholesky, qr };

// Factors A in place. LU also has one right-hand side, and QR the factors of its reflectors.
template <class Real>
class Factorisation final : public Problem {
 public:
  Factorisation(const Device& device, Kind kind, std::int64_t n)
      : device_(device), table_(*or_exit(device.libraries().solver())), kind_(kind), n_(n) {
    fill(host_a_.as<Real>(), static_cast<std::size_t>(n * n));
    for (std::int64_t i = 0; i < n; ++i) host_a_.as<Real>()[i * (n + 1)] += static_cast<Real>(n);
    fill(host_b_.as<Real>(), static_cast<std::size_t>(n));
    or_exit(table_.check(table_.cusolverDnCreate(&handle_), "cusolverDnCreate"));
    or_exit(
        table_.check(table_.cusolverDnSetStream(handle_, device.stream()), "cusolverDnSetStream"));
    std::size_t device_bytes = 0;
    std::size_t host_bytes = 0;
    or_exit(table_.check(ask(&device_bytes, &host_bytes), "its workspace"));
    work_.emplace(device_, kDevice, std::max<std::size_t>(device_bytes, 1));
    host_work_.resize(host_bytes);
  }
  ~Factorisation() override { (void)table_.cusolverDnDestroy(handle_); }
  Factorisation(const Factorisation&) = delete;
  Factorisation& operator=(const Factorisation&) = delete;

  void copy_to_device() override {
    copy(device_, a_, host_a_, cudaMemcpyHostToDevice);
    if (kind_ == Kind::lu) copy(device_, b_, host_b_, cudaMemcpyHostToDevice);
  }
  void compute() override {
    or_exit(table_.check(factor(), "the factorisation"));
    if (kind_ != Kind::lu) return;
    or_exit(table_.check(table_.cusolverDnXgetrs(handle_, nullptr, CUBLAS_OP_N, n_, 1, kType,
                                                 a_.as<void>(), n_, pivots_.as<std::int64_t>(),
                                                 kType, b_.as<void>(), n_, info_.as<int>() + 1),
                         "cusolverDnXgetrs"));
  }
  void copy_back() override {
    copy(device_, host_result_, a_, cudaMemcpyDeviceToHost);
    if (kind_ != Kind::cholesky) copy(device_, host_more_, b_, cudaMemcpyDeviceToHost);
    if (kind_ == Kind::lu) copy(device_, host_pivots_, pivots_, cudaMemcpyDeviceToHost);
    copy(device_, host_info_, info_, cudaMemcpyDeviceToHost);
  }
  void check() override {
    if (*host_info_.as<int>() == 0) return;
    std::fprintf(stderr, "device_calls: the routine says %d\n", *host_info_.as<int>());
    std::exit(1);
  }

 private:
  static constexpr cudaDataType kType = sizeof(Real) == 4 ? CUDA_R_32F : CUDA_R_64F;
  static constexpr auto kLower = CUBLAS_FILL_MODE_LOWER;

  cusolverStatus_t ask(std::size_t* device_bytes, std::size_t* host_bytes) {
    void* const a = a_.as<void>();
    switch (kind_) {
      case Kind::lu:
        return table_.cusolverDnXgetrf_bufferSize(handle_, nullptr, n_, n_, kType, a, n_, kType,
                                                  device_bytes, host_bytes);
      case Kind::cholesky:
        return table_.cusolverDnXpotrf_bufferSize(handle_, nullptr, kLower, n_, kType, a, n_, kType,
                                                  device_bytes, host_bytes);
      default:
        return table_.cusolverDnXgeqrf_bufferSize(handle_, nullptr, n_, n_, kType, a, n_, kType,
                                                  b_.as<void>(), kType, device_bytes, host_bytes);
    }
  }
  cusolverStatus_t factor() {
    void* const a = a_.as<void>();
    void* const work = work_->template as<void>();
    void* const host = host_work_.data();
    const std::size_t bytes = work_->bytes();
    const std::size_t host_bytes = host_work_.size();
    int* const info = info_.as<int>();
    switch (kind_) {
      case Kind::lu:
        return table_.cusolverDnXgetrf(handle_, nullptr, n_, n_, kType, a, n_,
                                       pivots_.as<std::int64_t>(), kType, work, bytes, host,
                                       host_bytes, info);
      case Kind::cholesky:
        return table_.cusolverDnXpotrf(handle_, nullptr, kLower, n_, kType, a, n_, kType, work,
                                       bytes, host, host_bytes, info);
      default:
        return table_.cusolverDnXgeqrf(handle_, nullptr, n_, n_, kType, a, n_, kType, b_.as<void>(),
                                       kType, work, bytes, host, host_bytes, info);
    }
  }

  std::size_t matrix() const { return static_cast<std::size_t>(n_ * n_) * sizeof(Real); }
  std::size_t vector() const { return static_cast<std::size_t>(n_) * sizeof(Real); }
  std::size_t indices() const { return static_cast<std::size_t>(n_) * sizeof(std::int64_t); }

  const Device& device_;
  const cuda::SolverTable& table_;
  const Kind kind_;
  const std::int64_t n_;
  cusolverDnHandle_t handle_ = nullptr;
  Block host_a_{device_, kHost, matrix()}, host_result_{device_, kHost, matrix()};
  Block host_b_{device_, kHost, vector()}, host_more_{device_, kHost, vector()};
  Block host_pivots_{device_, kHost, indices()}, host_info_{device_, kHost, 2 * sizeof(int)};
  Block a_{device_, kDevice, matrix()}, b_{device_, kDevice, vector()};
  Block pivots_{device_, kDevice, indices()}, info_{device_, kDevice, 2 * sizeof(int)};
  std::optional<Block> work_;
  std::vector<char> host_work_;
};

}  // namespace

std::unique_ptr<Problem> make_factorisation(const Device& device, const std::string& routine,
                                            std::int64_t n) {
  if (routine == "sgesv") return std::make_unique<Factorisation<float>>(device, Kind::lu, n);
  if (routine == "dpotrf")
    return std::make_unique<Factorisation<double>>(device, Kind::cholesky, n);
  if (routine == "dgeqrf") return std::make_unique<Factorisation<double>>(device, Kind::qr, n);
  return nullptr;
}

}  // namespace ob::bench::gpu
