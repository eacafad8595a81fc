#include "backend/cuda/fft_pass.hpp"

#include <utility>

namespace ob::cuda {
namespace {

cufftType type_of(const FftShape& shape) {
  switch (shape.kind) {
    case FftKind::r2c: return shape.single ? CUFFT_R2C : CUFFT_D2Z;
    case FftKind::c2r: return shape.single ? CUFFT_C2R : CUFFT_Z2D;
    default: return shape.single ? CUFFT_C2C : CUFFT_Z2Z;
  }
}

// The number of elements in the last dimension of one side.
long long last_of(const FftShape& shape, bool output) {
  const std::uint64_t n = shape.n[static_cast<std::size_t>(shape.rank - 1)];
  const bool half = shape.kind == (output ? FftKind::r2c : FftKind::c2r);
  return static_cast<long long>(half ? n / 2 + 1 : n);
}

}  // namespace

FftPass::FftPass(FftPass&& other) noexcept
    : table_(other.table_),
      shape_(other.shape_),
      plan_(other.plan_),
      made_(std::exchange(other.made_, false)),
      work_bytes_(other.work_bytes_) {}

FftPass& FftPass::operator=(FftPass&& other) noexcept {
  std::swap(table_, other.table_);
  std::swap(shape_, other.shape_);
  std::swap(plan_, other.plan_);
  std::swap(made_, other.made_);
  std::swap(work_bytes_, other.work_bytes_);
  return *this;
}

FftPass::~FftPass() {
  if (made_) (void)table_->cufftDestroy(plan_);
}

Result<FftPass> FftPass::create(const FftTable& table, const FftShape& shape) {
  FftPass pass(table, shape);
  OB_RETURN_IF_ERROR(FftTable::check(table.cufftCreate(&pass.plan_), "making a plan"));
  pass.made_ = true;
  // The workspace belongs to the stream, and all plans share it.
  OB_RETURN_IF_ERROR(FftTable::check(table.cufftSetAutoAllocation(pass.plan_, 0), "planning"));
  std::array<long long, 3> n{};
  std::array<long long, 3> input{};
  std::array<long long, 3> output{};
  long long input_points = 1;
  long long output_points = 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape.rank); ++i) {
    const bool last = i + 1 == static_cast<std::size_t>(shape.rank);
    n[i] = static_cast<long long>(shape.n[i]);
    input[i] = last ? last_of(shape, false) : n[i];
    output[i] = last ? last_of(shape, true) : n[i];
    input_points *= input[i];
    output_points *= output[i];
  }
  const auto stride = static_cast<long long>(shape.stride);
  const auto distance = static_cast<long long>(shape.distance);
  std::size_t work_bytes = 0;
  OB_RETURN_IF_ERROR(FftTable::check(
      table.cufftMakePlanMany64(pass.plan_, shape.rank, n.data(), input.data(), stride,
                                distance > 0 ? distance : input_points, output.data(), stride,
                                distance > 0 ? distance : output_points, type_of(shape),
                                static_cast<long long>(shape.batch), &work_bytes),
      "planning a transform"));
  pass.work_bytes_ = work_bytes;
  return pass;
}

Status FftPass::run(cudaStream_t stream, void* input, void* output, void* work) const {
  OB_RETURN_IF_ERROR(FftTable::check(table_->cufftSetStream(plan_, stream), "cufftSetStream"));
  OB_RETURN_IF_ERROR(FftTable::check(table_->cufftSetWorkArea(plan_, work), "cufftSetWorkArea"));
  cufftResult result = CUFFT_SUCCESS;
  const auto as = [](auto* number, void* data) { return static_cast<decltype(number)>(data); };
  cufftReal* const r = nullptr;  // only the types of these pointers matter
  cufftDoubleReal* const d = nullptr;
  cufftComplex* const c = nullptr;
  cufftDoubleComplex* const z = nullptr;
  switch (type_of(shape_)) {
    case CUFFT_C2C:
      result = table_->cufftExecC2C(plan_, as(c, input), as(c, output), shape_.sign);
      break;
    case CUFFT_Z2Z:
      result = table_->cufftExecZ2Z(plan_, as(z, input), as(z, output), shape_.sign);
      break;
    case CUFFT_R2C: result = table_->cufftExecR2C(plan_, as(r, input), as(c, output)); break;
    case CUFFT_D2Z: result = table_->cufftExecD2Z(plan_, as(d, input), as(z, output)); break;
    case CUFFT_C2R: result = table_->cufftExecC2R(plan_, as(c, input), as(r, output)); break;
    case CUFFT_Z2D: result = table_->cufftExecZ2D(plan_, as(z, input), as(d, output)); break;
  }
  return FftTable::check(result, "a transform");
}

}  // namespace ob::cuda
