#include "backend/cpu/fft_plan.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "backend/cpu/real_plan.hpp"
#include "device/real_transform.hpp"

namespace ob::cpu {
namespace {

using Dimension = FftLibrary::Dimension;

// Below this many points starting threads costs more than they save (seen with FFTW 3.3.10 on two
// cores).
constexpr std::uint64_t kThreadedPoints = 1 << 15;

// Address space that nothing may touch, to plan with: an estimated plan looks at addresses only.
class Addresses {
 public:
  explicit Addresses(std::uint64_t size_bytes)
      : size_bytes_(std::max<std::uint64_t>(1, size_bytes)) {
    at_ = mmap(nullptr, size_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  ~Addresses() {
    if (ok()) munmap(at_, size_bytes_);
  }
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;
  bool ok() const noexcept { return at_ != MAP_FAILED; }
  void* get() const noexcept { return at_; }

 private:
  std::uint64_t size_bytes_;
  void* at_;
};

// Elements of the last dimension in the input or output of a real transform's complex side.
std::uint64_t half(std::uint64_t n) noexcept { return n / 2 + 1; }

// Tables of FFTW's plan for lines of n points, as measured with FFTW 3.3.10: little for powers of
// two, up to an element per point if only small primes divide n, else over four (large primes go by
// transforms of twice the size).
std::uint64_t table_bytes(std::uint64_t n, std::uint64_t element) noexcept {
  constexpr std::uint64_t kOfPowerOfTwo = std::uint64_t{1} << 20;
  if (std::has_single_bit(n)) return std::min(n * element, kOfPowerOfTwo);
  std::uint64_t rest = n;
  for (const std::uint64_t prime : {2, 3, 5, 7, 11, 13}) {
    while (rest % prime == 0) rest /= prime;
  }
  return (rest == 1 ? 1 : 5) * n * element;
}

// Plans are for aligned arrays and for others. Real-to-real transforms go by way of others, ours or
// inside FFTW, through two lines or blocks of them (CpuRealPlan).
std::uint64_t dimension_bytes(const FftPlan& plan, std::size_t i) noexcept {
  const std::uint64_t element = plan.precision == Precision::c ? 8 : 16;
  if (plan.kind != FftKind::r2r) return 2 * table_bytes(plan.n[i], element);
  const FftPlan through = embedding(plan.real[i], plan.n[i], plan.precision);
  const std::uint64_t line = std::max(input_bytes(through), output_bytes(through));
  return 2 * (table_bytes(through.n[0], element) + std::max(line, CpuRealPlan::kBlockBytes));
}

struct Shape {
  Dimension dims[FftPlan::kMaxRank] = {};
  Dimension batch = {};
};

// Packed, first dimension slowest; strides in elements of each side.
Shape shape_of(const FftPlan& plan) {
  Shape shape;
  std::ptrdiff_t input = 1;
  std::ptrdiff_t output = 1;
  for (int i = plan.rank - 1; i >= 0; --i) {
    const bool last = i == plan.rank - 1;
    const std::uint64_t n = plan.n[static_cast<std::size_t>(i)];
    shape.dims[i] = {static_cast<std::ptrdiff_t>(n), input, output};
    input *= static_cast<std::ptrdiff_t>(last && plan.kind == FftKind::c2r ? half(n) : n);
    output *= static_cast<std::ptrdiff_t>(last && plan.kind == FftKind::r2c ? half(n) : n);
  }
  shape.batch = {static_cast<std::ptrdiff_t>(plan.batch), input, output};
  return shape;
}

}  // namespace

CpuFftPlan::CpuFftPlan(const FftPlan& plan, std::shared_ptr<const FftLibrary> library,
                       unsigned threads)
    : plan_(plan),
      halves_(plan.kind == FftKind::r2c || plan.kind == FftKind::c2r),
      library_(std::move(library)),
      threads_(threads) {}

CpuFftPlan::~CpuFftPlan() {
  const std::lock_guard lock(FftLibrary::planner());
  if (aligned_ != nullptr) library_->destroy_plan(aligned_);
  if (unaligned_ != nullptr) library_->destroy_plan(unaligned_);
}

std::uint64_t CpuFftPlan::host_bytes(const FftPlan& plan) noexcept {
  constexpr std::uint64_t kAnyPlan = std::uint64_t{16} << 10;
  const bool halves = plan.kind == FftKind::r2c || plan.kind == FftKind::c2r;
  const bool scratch = halves && (plan.in_place || (plan.kind == FftKind::c2r && plan.rank > 1));
  std::uint64_t bytes = scratch ? std::max(input_bytes(plan), output_bytes(plan)) : 0;
  for (std::size_t i = 0; i < plan.rank; ++i) bytes += dimension_bytes(plan, i);
  return bytes + kAnyPlan;
}

void CpuFftPlan::build() {
  if (plan_.rank > 0) build_status_ = prepare();
  built_.set();
}

// Libraries with FFTW's interface may lack r2r plans, or make none of some kinds.
Status CpuFftPlan::prepare() {
  const bool real = plan_.kind == FftKind::r2r;
  if (!real || library_->has_r2r()) {
    const Status status = plan_for(nullptr, nullptr).status();
    if (!real || status.code() != Code::unsupported) return status;
  }
  OB_ASSIGN_OR_RETURN(by_others_, CpuRealPlan::create(plan_, library_, threads_));
  return {};
}

Status CpuFftPlan::wait(std::uint64_t& plan_ns) {
  plan_ns += built_.wait();
  return build_status_;
}

Result<FftLibrary::Plan> CpuFftPlan::make(unsigned flags, bool in_place) const {
  const Addresses input(input_bytes(plan_));
  const Addresses output(in_place ? 1 : output_bytes(plan_));
  if (!input.ok() || !output.ok()) {
    return Status(Code::out_of_memory, "no address space left to plan a transform");
  }
  void* const in = input.get();
  void* const out = in_place ? in : output.get();
  const Shape shape = shape_of(plan_);
  const bool threaded = points(plan_) >= kThreadedPoints / plan_.batch;
  const std::lock_guard lock(FftLibrary::planner());
  library_->plan_with_threads(threaded ? threads_ : 1);
  FftLibrary::Plan made = nullptr;
  const int rank = plan_.rank;
  switch (plan_.kind) {
    case FftKind::c2c:
      made = library_->plan_dft(rank, shape.dims, 1, &shape.batch, in, out, plan_.sign, flags);
      break;
    case FftKind::r2c:
      made = library_->plan_real(rank, shape.dims, 1, &shape.batch, in, out, flags);
      break;
    case FftKind::c2r:
      made = library_->plan_back(rank, shape.dims, 1, &shape.batch, in, out, flags);
      break;
    case FftKind::r2r: {
      int kinds[FftPlan::kMaxRank];  // fftw_r2r_kind has the same numbers
      std::transform(plan_.real.begin(), plan_.real.end(), kinds,
                     [](RealTransform real) { return static_cast<int>(real); });
      made = library_->plan_r2r(rank, shape.dims, 1, &shape.batch, in, out, kinds, flags);
      break;
    }
  }
  library_->note_plan();
  if (made == nullptr) return Status(Code::unsupported, "FFTW has no plan for this transform");
  return made;
}

Result<FftLibrary::Plan> CpuFftPlan::plan_for(void* input, void* output) {
  const bool aligned = (input == nullptr || library_->alignment_of(input) == 0) &&
                       (output == nullptr || library_->alignment_of(output) == 0);
  FftLibrary::Plan& plan = aligned ? aligned_ : unaligned_;
  if (plan != nullptr) return plan;
  // The input of a multi-dimensional complex-to-real transform cannot be kept by FFTW; execute()
  // copies it.
  const bool destroys = plan_.kind == FftKind::c2r && (plan_.rank > 1 || plan_.in_place);
  const unsigned flags = FftLibrary::kEstimate | (aligned ? 0 : FftLibrary::kUnaligned) |
                         (destroys ? FftLibrary::kDestroyInput : FftLibrary::kPreserveInput);
  OB_ASSIGN_OR_RETURN(plan, make(flags, plan_.in_place && !halves_));
  return plan;
}

Status CpuFftPlan::run(void* input, void* output) {
  OB_ASSIGN_OR_RETURN(const FftLibrary::Plan plan, plan_for(input, output));
  switch (plan_.kind) {
    case FftKind::c2c: library_->execute_dft(plan, input, output); break;
    case FftKind::r2c: library_->execute_real(plan, input, output); break;
    case FftKind::c2r: library_->execute_back(plan, input, output); break;
    case FftKind::r2r: library_->execute_r2r(plan, input, output); break;
  }
  return {};
}

Status CpuFftPlan::execute(std::byte* input, std::byte* output) {
  if (plan_.rank == 0) {
    if (input != output) std::memcpy(output, input, input_bytes(plan_));
    return {};
  }
  if (by_others_ != nullptr) return by_others_->execute(input, output);
  const bool real_in_place = plan_.in_place && halves_;
  const bool keeps_input = !plan_.in_place && plan_.kind == FftKind::c2r && plan_.rank > 1;
  if (!real_in_place && !keeps_input) return run(input, output);
  const std::uint64_t needed = real_in_place ? output_bytes(plan_) : input_bytes(plan_);
  if (scratch_ == nullptr) {
    OB_ASSIGN_OR_RETURN(scratch_, HostBuffer::create(needed));
  }
  if (real_in_place) {
    OB_RETURN_IF_ERROR(run(input, scratch_->data()));
    std::memcpy(output, scratch_->data(), needed);
    return {};
  }
  std::memcpy(scratch_->data(), input, needed);
  return run(scratch_->data(), output);
}

}  // namespace ob::cpu
