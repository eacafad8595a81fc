#include "backend/cuda/real_plan.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/contract.hpp"
#include "device/real_transform.hpp"

namespace ob::cuda {
namespace {

// The size of a block of lines. It is large enough to keep any device busy.
constexpr std::uint64_t kBatchBytes = std::uint64_t{64} << 20;

Result<FftPass> pass_of(const FftTable& table, const FftPlan& through, std::uint64_t batch) {
  FftShape shape;
  shape.kind = through.kind;
  shape.single = through.precision == Precision::c;
  shape.sign = through.sign;
  shape.rank = 1;
  shape.n[0] = through.n[0];
  shape.batch = batch;
  return FftPass::create(table, shape);
}

// The number of elements of a line before and after the transform. An element of a real side is a
// number, an element of a complex side is a pair.
std::uint64_t input_count(const FftPlan& through) {
  return through.kind == FftKind::c2r ? through.n[0] / 2 + 1 : through.n[0];
}
std::uint64_t output_count(const FftPlan& through) {
  return through.kind == FftKind::r2c ? through.n[0] / 2 + 1 : through.n[0];
}

}  // namespace

Result<std::unique_ptr<CudaFftPlan>> RealPlan::create(const FftTable& table, const FftPlan& plan) {
  OB_EXPECT(plan.kind == FftKind::r2r);
  std::unique_ptr<RealPlan> made(new RealPlan(plan));
  for (std::size_t d = plan.rank; d-- > 0;) {
    OB_RETURN_IF_ERROR(made->add(table, d));
  }
  return std::unique_ptr<CudaFftPlan>(std::move(made));
}

Status RealPlan::add(const FftTable& table, std::size_t dimension) {
  const std::uint64_t n = plan_.n[dimension];
  const RealTransform real = plan_.real[dimension];
  const FftPlan through = embedding(real, n, plan_.precision);
  const std::uint64_t lines = plan_.batch * (points(plan_) / n);
  std::uint64_t inner = 1;
  for (std::size_t d = dimension + 1; d < plan_.rank; ++d) inner *= plan_.n[d];
  const std::uint64_t line_bytes = std::max(input_bytes(through), output_bytes(through));
  const std::uint64_t batch = std::clamp<std::uint64_t>(kBatchBytes / line_bytes, 1, lines);
  OB_ASSIGN_OR_RETURN(FftPass block, pass_of(table, through, batch));
  std::vector<FftPass> rest;
  if (lines % batch != 0) {
    OB_ASSIGN_OR_RETURN(FftPass last, pass_of(table, through, lines % batch));
    rest.push_back(std::move(last));
  }
  dimensions_.push_back({.real = real,
                         .points = n,
                         .lines = lines,
                         .inner = inner,
                         .through = through,
                         .block = std::move(block),
                         .rest = std::move(rest)});
  return {};
}

Status RealPlan::run(StreamContext& context, const Dimension& d, const std::byte* input,
                     std::byte* output) const {
  OB_ASSIGN_OR_RETURN(const Kernels* kernels, context.handles.kernels(context.device));
  const std::uint64_t batch = d.block.shape().batch;
  std::uint64_t work_bytes = std::max<std::uint64_t>(1, d.block.work_bytes());
  for (const FftPass& pass : d.rest) work_bytes = std::max(work_bytes, pass.work_bytes());
  OB_ASSIGN_OR_RETURN(std::byte * before,
                      context.work.device_bytes(input_bytes(d.through) * batch));
  OB_ASSIGN_OR_RETURN(std::byte * after,
                      context.work.device_bytes(output_bytes(d.through) * batch));
  OB_ASSIGN_OR_RETURN(std::byte * work, context.work.device_bytes(work_bytes));
  const std::string suffix = plan_.precision == Precision::c ? "s" : "d";
  const auto number = [](std::uint64_t value) { return static_cast<long long>(value); };
  const int kind = static_cast<int>(d.real);
  const int complex_in = d.through.kind == FftKind::r2c ? 0 : 1;
  const int complex_out = d.through.kind == FftKind::c2r ? 0 : 1;
  for (std::uint64_t first = 0; first < d.lines; first += batch) {
    const bool whole = d.lines - first >= batch;
    const FftPass& pass = whole ? d.block : d.rest.front();
    const std::uint64_t lines = pass.shape().batch;
    const std::uint64_t count = input_count(d.through);
    OB_RETURN_IF_ERROR(kernels->launch(context.stream, "ob_fold_in_" + suffix,
                                       number(lines * count), kind, complex_in, number(d.points),
                                       number(d.inner), number(first), number(lines), number(count),
                                       input, before));
    OB_RETURN_IF_ERROR(pass.run(context.stream, before, after, work));
    OB_RETURN_IF_ERROR(
        kernels->launch(context.stream, "ob_fold_out_" + suffix, number(lines * d.points), kind,
                        complex_out, number(d.points), number(d.inner), number(first),
                        number(lines), number(output_count(d.through)), after, output));
  }
  return {};
}

// The first pass reads the input. The others work in place on its results in the output. Their
// workspaces add up, because the command keeps all of them.
Status RealPlan::execute(StreamContext& context, const std::byte* input, std::byte* output) {
  for (const Dimension& dimension : dimensions_) {
    const bool first = &dimension == dimensions_.data();
    OB_RETURN_IF_ERROR(run(context, dimension, first ? input : output, output));
  }
  return {};
}

}  // namespace ob::cuda
