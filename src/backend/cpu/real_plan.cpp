#include "backend/cpu/real_plan.hpp"

#include <algorithm>
#include <utility>

#include "base/aligned_memory.hpp"
#include "base/contract.hpp"

namespace ob::cpu {
namespace {

Result<std::unique_ptr<CpuDensePlan>> planned(const FftPlan& plan,
                                              const std::shared_ptr<const FftLibrary>& library,
                                              unsigned threads) {
  auto made = std::make_unique<CpuDensePlan>(plan, library, threads);
  OB_RETURN_IF_ERROR(made->prepare());
  return made;
}

}  // namespace

Result<std::unique_ptr<CpuRealPlan>> CpuRealPlan::create(const FftPlan& plan,
                                                         std::shared_ptr<const FftLibrary> library,
                                                         unsigned threads) {
  OB_EXPECT(plan.kind == FftKind::r2r && plan.rank > 0);
  std::unique_ptr<CpuRealPlan> made(new CpuRealPlan(plan));
  for (std::size_t d = plan.rank; d-- > 0;) {
    OB_RETURN_IF_ERROR(made->add_pass(d, library, threads));
  }
  return made;
}

Status CpuRealPlan::add_pass(std::size_t dimension,
                             const std::shared_ptr<const FftLibrary>& library, unsigned threads) {
  const std::uint64_t n = plan_.n[dimension];
  const RealTransform real = plan_.real[dimension];
  FftPlan through = embedding(real, n, plan_.precision);
  Pass pass{RealFolds(real, n), plan_.batch * (points(plan_) / n), n, 1, nullptr, nullptr};
  for (std::size_t d = dimension + 1; d < plan_.rank; ++d) pass.inner *= plan_.n[d];
  const std::uint64_t line_bytes = std::max(input_bytes(through), output_bytes(through));
  through.batch = std::clamp<std::uint64_t>(kBlockBytes / line_bytes, 1, pass.lines);
  OB_ASSIGN_OR_RETURN(pass.block, planned(through, library, threads));
  through.batch = pass.lines % through.batch;
  if (through.batch > 0) {
    OB_ASSIGN_OR_RETURN(pass.rest, planned(through, library, threads));
  }
  passes_.push_back(std::move(pass));
  return {};
}

Status CpuRealPlan::allocate() {
  if (after_ != nullptr) return {};
  std::uint64_t before_bytes = 0;
  std::uint64_t after_bytes = 0;
  for (const Pass& pass : passes_) {
    before_bytes = std::max(before_bytes, input_bytes(pass.block->plan()));
    after_bytes = std::max(after_bytes, output_bytes(pass.block->plan()));
  }
  OB_ASSIGN_OR_RETURN(before_, aligned_memory(before_bytes));
  OB_ASSIGN_OR_RETURN(after_, aligned_memory(after_bytes));
  return {};
}

template <class Real>
Status CpuRealPlan::run(const Pass& pass, std::byte* input, std::byte* output) {
  const auto stride = static_cast<std::int64_t>(pass.inner * sizeof(Real));
  const auto line_of = [&](std::byte* array, std::uint64_t line) {
    const std::uint64_t outer = line / pass.inner;
    const std::uint64_t first = outer * pass.points * pass.inner + line % pass.inner;
    return StridedLine<Real>{array + first * sizeof(Real), stride};
  };
  const std::uint64_t step = pass.block->plan().batch;
  for (std::uint64_t first = 0; first < pass.lines; first += step) {
    CpuDensePlan& transforms = pass.lines - first < step ? *pass.rest : *pass.block;
    const FftPlan& through = transforms.plan();
    const std::uint64_t input_step = input_bytes(through) / through.batch;
    const std::uint64_t output_step = output_bytes(through) / through.batch;
    for (std::uint64_t i = 0; i < through.batch; ++i) {
      pass.folds.fold_in(line_of(input, first + i), before_.get() + i * input_step);
    }
    OB_RETURN_IF_ERROR(transforms.execute(before_.get(), after_.get()));
    for (std::uint64_t i = 0; i < through.batch; ++i) {
      pass.folds.fold_out(after_.get() + i * output_step, line_of(output, first + i));
    }
  }
  return {};
}

// The first pass reads the input; the others work in place on the output.
Status CpuRealPlan::execute(std::byte* input, std::byte* output) {
  OB_RETURN_IF_ERROR(allocate());
  for (const Pass& pass : passes_) {
    OB_RETURN_IF_ERROR(with_real(plan_, [&](auto real) {
      return run<decltype(real)>(pass, &pass == passes_.data() ? input : output, output);
    }));
  }
  return {};
}

}  // namespace ob::cpu
