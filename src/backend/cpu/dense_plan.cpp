#include "backend/cpu/dense_plan.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/aligned_memory.hpp"
#include "base/contract.hpp"

namespace ob::cpu {
namespace {

using Dimension = FftLibrary::Dimension;

// Below this many points, threads cost more than they save (measured with FFTW 3.3.10 on two
// cores).
constexpr std::uint64_t kThreadedPoints = 1 << 15;

// Inaccessible address space for planning: an estimated plan uses addresses only.
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

// Returns the elements of the last dimension on the complex side of a real transform.
std::uint64_t half(std::uint64_t n) noexcept { return n / 2 + 1; }

struct Shape {
  Dimension dims[FftPlan::kMaxRank] = {};
  Dimension batch = {};
};

// Returns FFTW's dimensions of packed arrays, first dimension slowest; strides in elements.
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

CpuDensePlan::CpuDensePlan(const FftPlan& plan, std::shared_ptr<const FftLibrary> library,
                           unsigned threads)
    : plan_(plan),
      halves_(plan.kind == FftKind::r2c || plan.kind == FftKind::c2r),
      library_(std::move(library)),
      threads_(threads) {
  OB_EXPECT(plan.rank > 0);
}

CpuDensePlan::~CpuDensePlan() {
  const std::lock_guard lock(FftLibrary::planner());
  if (aligned_ != nullptr) library_->destroy_plan(aligned_);
  if (unaligned_ != nullptr) library_->destroy_plan(unaligned_);
}

Status CpuDensePlan::prepare() { return plan_for(nullptr, nullptr).status(); }

Result<FftLibrary::Plan> CpuDensePlan::make(unsigned flags, bool in_place) const {
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

Result<FftLibrary::Plan> CpuDensePlan::plan_for(void* input, void* output) {
  const bool aligned = (input == nullptr || library_->alignment_of(input) == 0) &&
                       (output == nullptr || library_->alignment_of(output) == 0);
  FftLibrary::Plan& plan = aligned ? aligned_ : unaligned_;
  if (plan != nullptr) return plan;
  // FFTW cannot preserve the input of a multi-dimensional complex-to-real transform; execute()
  // copies it.
  const bool destroys = plan_.kind == FftKind::c2r && (plan_.rank > 1 || plan_.in_place);
  const unsigned flags = FftLibrary::kEstimate | (aligned ? 0 : FftLibrary::kUnaligned) |
                         (destroys ? FftLibrary::kDestroyInput : FftLibrary::kPreserveInput);
  OB_ASSIGN_OR_RETURN(plan, make(flags, plan_.in_place && !halves_));
  return plan;
}

Status CpuDensePlan::run(void* input, void* output) {
  OB_ASSIGN_OR_RETURN(const FftLibrary::Plan plan, plan_for(input, output));
  switch (plan_.kind) {
    case FftKind::c2c: library_->execute_dft(plan, input, output); break;
    case FftKind::r2c: library_->execute_real(plan, input, output); break;
    case FftKind::c2r: library_->execute_back(plan, input, output); break;
    case FftKind::r2r: library_->execute_r2r(plan, input, output); break;
  }
  return {};
}

Status CpuDensePlan::execute(std::byte* input, std::byte* output) {
  const bool real_in_place = plan_.in_place && halves_;
  const bool keeps_input = !plan_.in_place && plan_.kind == FftKind::c2r && plan_.rank > 1;
  if (!real_in_place && !keeps_input) return run(input, output);
  const std::uint64_t needed = real_in_place ? output_bytes(plan_) : input_bytes(plan_);
  if (scratch_ == nullptr) {
    OB_ASSIGN_OR_RETURN(scratch_, aligned_memory(needed));
  }
  if (real_in_place) {
    OB_RETURN_IF_ERROR(run(input, scratch_.get()));
    std::memcpy(output, scratch_.get(), needed);
    return {};
  }
  std::memcpy(scratch_.get(), input, needed);
  return run(scratch_.get(), output);
}

}  // namespace ob::cpu
