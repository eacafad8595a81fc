#include "backend/opencl/gemmt.hpp"

#include <string>

#include "backend/opencl/blas_call.hpp"
#include "base/contract.hpp"
#include "device/blocked_gemmt.hpp"

namespace ob::opencl {
namespace {

class Steps final : public GemmtSteps {
 public:
  Steps(QueueContext& context, const Descriptor& routine)
      : context_(context), gemm_(*routines::find(std::string(1, routine.name.front()) + "gemm")) {}

  Result<std::byte*> scratch(std::uint64_t size_bytes) override {
    return context_.work.device_bytes(size_bytes);
  }
  Status gemm(const Argument* arguments) override {
    return submit_clblast(context_, gemm_, arguments);
  }
  Status copy_triangle(char uplo, std::int64_t n, HostOperand from, HostOperand to) override {
    OB_ASSIGN_OR_RETURN(const Kernels* kernels, context_.libraries.kernels());
    const auto offset = [&](const Place& place) {
      return static_cast<cl_long>(place.offset_bytes / element_bytes(gemm_.precision));
    };
    const Place source = context_.memory.place(static_cast<std::byte*>(from.data));
    const Place target = context_.memory.place(static_cast<std::byte*>(to.data));
    const auto size = static_cast<std::uint64_t>(n);
    return kernels->launch(context_.queue, std::string("ob_copy_") + gemm_.name.front(), size, size,
                           cl_int{uplo == 'U' ? 1 : 2}, source.buffer, offset(source),
                           static_cast<cl_long>(from.ld), target.buffer, offset(target),
                           static_cast<cl_long>(to.ld));
  }

 private:
  QueueContext& context_;
  const Descriptor& gemm_;
};

}  // namespace

Status run_gemmt(QueueContext& context, const Descriptor& routine, const Argument* arguments) {
  OB_EXPECT(is_gemmt(routine) && gemmt_order(arguments) > 0);
  Steps steps(context, routine);
  return run_blocked_gemmt(steps, routine.precision, arguments, kGemmtBlock);
}

}  // namespace ob::opencl
