#include "backend/cuda/dense_plan.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "base/contract.hpp"

namespace ob::cuda {
namespace {

std::uint64_t product(const std::vector<std::uint64_t>& n, std::size_t from, std::size_t to) {
  return std::accumulate(n.begin() + static_cast<std::ptrdiff_t>(from),
                         n.begin() + static_cast<std::ptrdiff_t>(to), std::uint64_t{1},
                         std::multiplies<>());
}

bool is_aligned(const std::byte* data, std::uint64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
}

constexpr std::size_t kInner = 3;  // dimensions that one plan of cuFFT transforms

}  // namespace

DensePlan::DensePlan(const FftPlan& plan)
    : plan_(plan), complex_bytes_(plan.precision == Precision::c ? 8 : 16) {}

Result<std::unique_ptr<CudaFftPlan>> DensePlan::create(const FftTable& table, const FftPlan& plan) {
  OB_EXPECT(plan.kind != FftKind::r2r);
  std::unique_ptr<DensePlan> made(new DensePlan(plan));
  const bool real = plan.kind != FftKind::c2c;
  made->pointwise_ = real && plan.n[plan.rank - 1U] == 1;
  std::vector<std::uint64_t> n;
  for (std::size_t i = 0; i < plan.rank; ++i) {
    if (plan.n[i] != 1) n.push_back(plan.n[i]);
  }
  OB_RETURN_IF_ERROR(made->add_inner(table, n));
  OB_RETURN_IF_ERROR(made->add_strided(table, n));
  return std::unique_ptr<CudaFftPlan>(std::move(made));
}

Status DensePlan::add_inner(const FftTable& table, std::vector<std::uint64_t> n) {
  if (n.empty()) return {};
  const std::size_t outer = n.size() > kInner ? n.size() - kInner : 0;
  FftShape shape;
  shape.kind = pointwise_ ? FftKind::c2c : plan_.kind;
  shape.single = complex_bytes_ == 8;
  shape.sign = plan_.kind == FftKind::c2c ? plan_.sign : plan_.kind == FftKind::r2c ? -1 : 1;
  shape.rank = static_cast<int>(n.size() - outer);
  std::copy(n.begin() + static_cast<std::ptrdiff_t>(outer), n.end(), shape.n.begin());
  shape.batch = plan_.batch * product(n, 0, outer);
  OB_ASSIGN_OR_RETURN(FftPass pass, FftPass::create(table, shape));
  inner_.push_back(std::move(pass));
  return {};
}

Status DensePlan::add_strided(const FftTable& table, const std::vector<std::uint64_t>& n) {
  if (n.size() <= kInner) return {};
  std::vector<std::uint64_t> stored = n;  // on the complex side
  if (plan_.kind != FftKind::c2c && !pointwise_) stored.back() = n.back() / 2 + 1;
  for (std::size_t d = n.size() - kInner; d-- > 0;) {
    FftShape shape;
    shape.single = complex_bytes_ == 8;
    shape.sign = inner_.front().shape().sign;
    shape.rank = 1;
    shape.n[0] = n[d];
    shape.stride = product(stored, d + 1, stored.size());
    shape.batch = shape.stride;
    shape.distance = 1;
    OB_ASSIGN_OR_RETURN(FftPass pass, FftPass::create(table, shape));
    strided_.push_back({.pass = std::move(pass),
                        .runs = plan_.batch * product(n, 0, d),
                        .step_bytes = n[d] * shape.stride * complex_bytes_});
  }
  return {};
}

std::uint64_t DensePlan::work_bytes() const {
  std::uint64_t bytes = 0;
  for (const FftPass& pass : inner_) bytes = std::max(bytes, pass.work_bytes());
  for (const Strided& strided : strided_) bytes = std::max(bytes, strided.pass.work_bytes());
  return bytes;
}

Status DensePlan::copy(StreamContext& context, std::byte* to, const std::byte* from,
                       std::uint64_t bytes) const {
  if (to == from) return {};
  return context.runtime().check(
      context.runtime().cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, context.stream),
      "copying an array");
}

// Converts real numbers to complex ones, or back.
Status DensePlan::move_real_parts(StreamContext& context, const std::byte* input,
                                  std::byte* output) const {
  const Runtime& runtime = context.runtime();
  const std::uint64_t real = complex_bytes_ / 2;
  const std::uint64_t count = points(plan_) * plan_.batch;
  const bool widen = plan_.kind == FftKind::r2c;
  if (widen) {
    OB_RETURN_IF_ERROR(
        runtime.check(runtime.cudaMemsetAsync(output, 0, count * complex_bytes_, context.stream),
                      "clearing an array"));
  }
  return runtime.check(runtime.cudaMemcpy2DAsync(output, widen ? complex_bytes_ : real, input,
                                                 widen ? real : complex_bytes_, real, count,
                                                 cudaMemcpyDeviceToDevice, context.stream),
                       "copying real parts");
}

Status DensePlan::run_strided(StreamContext& context, std::byte* data, void* work) const {
  for (const Strided& strided : strided_) {
    for (std::uint64_t run = 0; run < strided.runs; ++run) {
      std::byte* const at = data + run * strided.step_bytes;
      OB_RETURN_IF_ERROR(strided.pass.run(context.stream, at, at, work));
    }
  }
  return {};
}

// Transforms aligned arrays. The input of c2r may be overwritten. Only c2c may be in place.
Status DensePlan::transform(StreamContext& context, std::byte* input, std::byte* output) const {
  OB_ASSIGN_OR_RETURN(std::byte * work,
                      context.work.device_bytes(std::max<std::uint64_t>(1, work_bytes())));
  const bool back = plan_.kind == FftKind::c2r;
  if (pointwise_) {
    std::byte* const spectrum = back ? input : output;
    if (!back) OB_RETURN_IF_ERROR(move_real_parts(context, input, output));
    for (const FftPass& pass : inner_) {
      OB_RETURN_IF_ERROR(pass.run(context.stream, spectrum, spectrum, work));
    }
    OB_RETURN_IF_ERROR(run_strided(context, spectrum, work));
    return back ? move_real_parts(context, input, output) : Status();
  }
  if (inner_.empty()) return copy(context, output, input, input_bytes(plan_));
  if (back) OB_RETURN_IF_ERROR(run_strided(context, input, work));
  OB_RETURN_IF_ERROR(inner_.front().run(context.stream, input, output, work));
  return back ? Status() : run_strided(context, output, work);
}

// cuFFT overwrites the input of some c2r transforms. Its in-place real transforms need padded rows.
// A misaligned load breaks the whole context. So this function copies such arrays to workspace.
Status DensePlan::execute(StreamContext& context, const std::byte* input, std::byte* output) {
  const bool keeps_input = plan_.kind != FftKind::c2r && is_aligned(input, complex_bytes_);
  const bool direct =
      !(plan_.kind == FftKind::r2c && plan_.in_place) && is_aligned(output, complex_bytes_);
  auto* source = const_cast<std::byte*>(input);  // not overwritten, see above
  if (!keeps_input) {
    OB_ASSIGN_OR_RETURN(source, context.work.device_bytes(input_bytes(plan_)));
    OB_RETURN_IF_ERROR(copy(context, source, input, input_bytes(plan_)));
  }
  std::byte* target = output;
  if (!direct) {
    OB_ASSIGN_OR_RETURN(target, context.work.device_bytes(output_bytes(plan_)));
  }
  OB_RETURN_IF_ERROR(transform(context, source, target));
  return copy(context, output, target, output_bytes(plan_));
}

}  // namespace ob::cuda
