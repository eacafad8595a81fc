#include "backend/cpu/fft_plan.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/contained.hpp"
#include "base/contract.hpp"
#include "device/real_transform.hpp"

namespace ob::cpu {
namespace {

// Returns the size of the tables of FFTW's plan for lines of n points, as measured with
// FFTW 3.3.10. They are small for powers of two, at most one element per point if only small primes
// divide n, and more than four otherwise (FFTW computes large primes by transforms of twice the
// size).
std::uint64_t table_bytes(std::uint64_t n, std::uint64_t element) noexcept {
  constexpr std::uint64_t kOfPowerOfTwo = std::uint64_t{1} << 20;
  if (std::has_single_bit(n)) return std::min(n * element, kOfPowerOfTwo);
  std::uint64_t rest = n;
  for (const std::uint64_t prime : {2, 3, 5, 7, 11, 13}) {
    while (rest % prime == 0) rest /= prime;
  }
  return (rest == 1 ? 1 : 5) * n * element;
}

// There are plans for aligned arrays and for others. Real-to-real transforms use other transforms,
// in CpuRealPlan or inside FFTW, and two lines or blocks of lines.
std::uint64_t dimension_bytes(const FftPlan& plan, std::size_t i) noexcept {
  const std::uint64_t element = plan.precision == Precision::c ? 8 : 16;
  if (plan.kind != FftKind::r2r) return 2 * table_bytes(plan.n[i], element);
  const FftPlan through = embedding(plan.real[i], plan.n[i], plan.precision);
  const std::uint64_t line = std::max(input_bytes(through), output_bytes(through));
  return 2 * (table_bytes(through.n[0], element) + std::max(line, CpuRealPlan::kBlockBytes));
}

}  // namespace

CpuFftPlan::CpuFftPlan(const FftPlan& plan, std::shared_ptr<const FftLibrary> library,
                       unsigned threads)
    : plan_(plan), library_(std::move(library)), threads_(threads) {}

std::uint64_t CpuFftPlan::host_bytes(const FftPlan& plan) noexcept {
  constexpr std::uint64_t kAnyPlan = std::uint64_t{16} << 10;
  const bool halves = plan.kind == FftKind::r2c || plan.kind == FftKind::c2r;
  const bool scratch = halves && (plan.in_place || (plan.kind == FftKind::c2r && plan.rank > 1));
  std::uint64_t bytes = scratch ? std::max(input_bytes(plan), output_bytes(plan)) : 0;
  for (std::size_t i = 0; i < plan.rank; ++i) bytes += dimension_bytes(plan, i);
  return bytes + kAnyPlan;
}

void CpuFftPlan::build() {
  if (plan_.rank > 0) build_status_ = contained([this] { return prepare(); });
  built_.set();
}

// Libraries with FFTW's interface may lack r2r plans, or refuse some kinds.
Status CpuFftPlan::prepare() {
  const bool real = plan_.kind == FftKind::r2r;
  if (!real || library_->has_r2r()) {
    dense_ = std::make_unique<CpuDensePlan>(plan_, library_, threads_);
    const Status status = dense_->prepare();
    if (!real || status.code() != Code::unsupported) return status;
    dense_.reset();
  }
  OB_ASSIGN_OR_RETURN(real_, CpuRealPlan::create(plan_, library_, threads_));
  return {};
}

Status CpuFftPlan::wait(std::uint64_t& plan_ns) {
  plan_ns += built_.wait();
  return build_status_;
}

Status CpuFftPlan::execute(std::byte* input, std::byte* output) {
  OB_EXPECT(built());
  if (plan_.rank == 0) {
    if (input != output) std::memcpy(output, input, input_bytes(plan_));
    return {};
  }
  return real_ != nullptr ? real_->execute(input, output) : dense_->execute(input, output);
}

}  // namespace ob::cpu
