#include "backend/cpu/libraries.hpp"

#include <utility>

#include "backend/cpu/call_checks.hpp"
#include "backend/cpu/fft_plan.hpp"
#include "backend/cpu/refusal.hpp"
#include "device/checked_elements.hpp"

namespace ob::cpu {
namespace {

class LocalPlan final : public TransformPlan {
 public:
  LocalPlan(const FftPlan& plan, std::shared_ptr<const FftLibrary> library, unsigned threads)
      : plan_(plan, std::move(library), threads) {}

  const FftPlan& plan() const noexcept override { return plan_.plan(); }
  void build() override { plan_.build(); }
  bool built() const noexcept override { return plan_.built(); }
  Status wait(std::uint64_t& plan_ns) override { return plan_.wait(plan_ns); }
  Status execute(const HostTransform& transform, const Caller& /*caller*/) override {
    return plan_.execute(transform.input, transform.output);
  }

 private:
  CpuFftPlan plan_;
};

}  // namespace

std::shared_ptr<const Libraries> Libraries::open(bool own_instance, unsigned threads) {
  auto libraries = std::make_shared<Libraries>();
  auto blas = BlasLibrary::open({.own_instance = own_instance, .threads = threads});
  libraries->no_blas = blas.status();
  if (blas.ok()) libraries->blas = std::move(blas).value();
  for (const bool single : {false, true}) {
    auto fft = FftLibrary::open(single);
    libraries->no_fft[single ? 1 : 0] = fft.status();
    if (fft.ok()) libraries->fft[single ? 1 : 0] = std::move(fft).value();
  }
  return libraries;
}

std::string Libraries::description() const {
  std::string text = blas != nullptr ? blas->description() : no_blas.message();
  for (std::size_t i = 0; i < fft.size(); ++i) {
    text += "; " + (fft[i] != nullptr ? fft[i]->description() : no_fft[i].message());
  }
  if (blas != nullptr && !blas->warning().empty()) text += "; warning: " + blas->warning();
  return text;
}

Status prepare_call(const Libraries& libraries, const MemoryTable& memory,
                    const Descriptor& routine, const Argument* arguments, HostCall& call) {
  if (libraries.blas == nullptr) {
    return Status(Code::unsupported, libraries.no_blas.message()).in(std::string(routine.name));
  }
  if (libraries.blas->find(routine.id) == nullptr) {
    return {Code::unsupported, std::string(routine.name) + " is not in this device's library (" +
                                   libraries.blas->description() + ")"};
  }
  OB_RETURN_IF_ERROR(resolve_call(memory, routine, arguments, call));
  OB_RETURN_IF_ERROR(check_for_library(routine, call.arguments));
  make_unused_strides_dense(routine, call.arguments);
  drop_product_if_alpha_zero(routine, call.arguments);
  return {};
}

Result<std::shared_ptr<const FftLibrary>> Libraries::fft_for(const FftPlan& plan) const {
  const std::size_t precision = plan.precision == Precision::c ? 1 : 0;
  if (fft[precision] == nullptr) return no_fft[precision];
  return fft[precision];
}

Status LocalRunner::run(const HostCall& call, const Caller& /*caller*/) {
  const Descriptor& routine = *call.routine;
  CheckedElements checked;
  OB_RETURN_IF_ERROR(checked.check(routine, call.arguments));
  const bool ran = libraries_->blas->run(*libraries_->blas->find(routine.id), checked.arguments());
  const std::string name(routine.name);
  if (!ran) return {Code::out_of_memory, name + ": no memory for the workspace of this call"};
  const std::string refusal = take_refusal();
  if (refusal.empty()) return {};
  return {Code::invalid_argument, name + ": this device's library refuses it (" + refusal + ")"};
}

Result<std::shared_ptr<TransformPlan>> LocalRunner::plan(const FftPlan& plan,
                                                         const Account& /*account*/) {
  OB_ASSIGN_OR_RETURN(auto library, libraries_->fft_for(plan));
  return std::shared_ptr<TransformPlan>(
      std::make_shared<LocalPlan>(plan, std::move(library), threads_));
}

}  // namespace ob::cpu
