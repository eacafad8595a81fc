#include "backend/cpu/host_transforms.hpp"

#include <array>
#include <utility>

#include "backend/cpu/fft_plan.hpp"

namespace ob::cpu {
namespace {

class CpuHostPlan final : public HostPlan {
 public:
  CpuHostPlan(const FftPlan& plan, std::shared_ptr<const FftLibrary> library, unsigned threads)
      : plan_(plan, std::move(library), threads) {}

  Status build() {
    plan_.build();
    std::uint64_t waited_ns = 0;
    return plan_.wait(waited_ns);
  }
  Status execute(std::byte* input, std::byte* output) override {
    return plan_.execute(input, output);
  }

 private:
  CpuFftPlan plan_;
};

class CpuHostTransforms final : public HostTransforms {
 public:
  explicit CpuHostTransforms(unsigned threads)
      : threads_(threads), libraries_{FftLibrary::open(false), FftLibrary::open(true)} {}

  Result<std::unique_ptr<HostPlan>> plan(const FftPlan& plan) const override {
    const auto& library = libraries_[plan.precision == Precision::c ? 1 : 0];
    if (!library.ok()) return library.status();
    auto made = std::make_unique<CpuHostPlan>(plan, *library, threads_);
    OB_RETURN_IF_ERROR(made->build());
    return std::unique_ptr<HostPlan>(std::move(made));
  }
  std::uint64_t plan_bytes(const FftPlan& plan) const noexcept override {
    return CpuFftPlan::host_bytes(plan);
  }

 private:
  const unsigned threads_;
  const std::array<Result<std::shared_ptr<const FftLibrary>>, 2> libraries_;  // double, single
};

}  // namespace

std::unique_ptr<HostTransforms> open_host_transforms(unsigned threads) {
  return std::make_unique<CpuHostTransforms>(threads);
}

}  // namespace ob::cpu
