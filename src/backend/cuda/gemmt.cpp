#include "backend/cuda/gemmt.hpp"

#include <string>

#include "backend/cuda/blas_call.hpp"
#include "base/contract.hpp"
#include "device/blocked_gemmt.hpp"

namespace ob::cuda {
namespace {

// The order of the blocks. It is large enough for gemm's full speed.
constexpr std::int64_t kBlock = 1024;

class Steps final : public GemmtSteps {
 public:
  Steps(StreamContext& context, char precision)
      : context_(context), precision_(1, precision), gemm_(*routines::find(precision_ + "gemm")) {}

  Result<std::byte*> scratch(std::uint64_t size_bytes) override {
    return context_.work.device_bytes(size_bytes);
  }
  Status gemm(const Argument* arguments) override { return run_cublas(context_, gemm_, arguments); }
  Status copy_triangle(char uplo, std::int64_t n, HostOperand from, HostOperand to) override {
    OB_ASSIGN_OR_RETURN(const Kernels* kernels, context_.handles.kernels(context_.device));
    const auto size = static_cast<long long>(n);
    return kernels->launch(context_.stream, "ob_copy_" + precision_, size * size,
                           uplo == 'U' ? 1 : 2, size, size, from.data,
                           static_cast<long long>(from.ld), to.data, static_cast<long long>(to.ld));
  }

 private:
  StreamContext& context_;
  const std::string precision_;
  const Descriptor& gemm_;
};

}  // namespace

Status run_gemmt(StreamContext& context, const Descriptor& routine, const Argument* arguments) {
  OB_EXPECT(is_gemmt(routine) && gemmt_order(arguments) > 0);
  Steps steps(context, routine.name.front());
  return run_blocked_gemmt(steps, routine.precision, arguments, kBlock);
}

}  // namespace ob::cuda
