#include "backend/opencl/blas.hpp"

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "backend/opencl/blas_scratch.hpp"
#include "backend/opencl/gemmt.hpp"
#include "backend/opencl/row_parameters.hpp"
#include "device/blocked_gemmt.hpp"
#include "device/quick_return.hpp"

namespace ob::opencl {
namespace {

using Call = CLBlastStatusCode (*)(const BlasTable& table, RowParameters& row);

template <auto kFunction>
CLBlastStatusCode call(const BlasTable& table, RowParameters& row) {
  return call_with(table.*kFunction, row);
}

struct Row {
  std::string_view name;
  Call call;
};
#define OB_CL_ROW(routine, function) {#routine, &call<&BlasTable::function>},
constexpr Row kRows[] = {OB_CLBLAST_ROWS(OB_CL_ROW) OB_CLBLAST_SAME_ROWS(OB_CL_ROW)};
#undef OB_CL_ROW

Call find(const Descriptor& routine) {
  static const auto rows = [] {
    std::unordered_map<std::uint32_t, Call> calls;
    for (const Row& row : kRows) {
      if (const Descriptor* known = routines::find(row.name)) calls[known->id] = row.call;
    }
    return calls;
  }();
  const auto found = rows.find(routine.id);
  return found == rows.end() ? nullptr : found->second;
}

// CLBlast's kernels count elements with 32-bit integers, from the beginning of a buffer.
bool within_indices(const QueueContext& context, const Descriptor& routine,
                    const Argument* arguments) {
  const Operands operands = routine.operands(arguments);
  for (const Operand& operand : operands.span()) {
    const HostOperand& place = arguments[operand.argument].host;
    const Region region = region_of(operand, routine.kinds[operand.argument], place.ld);
    const std::uint64_t offset_bytes =
        context.memory.place(static_cast<const std::byte*>(place.data)).offset_bytes;
    const std::uint64_t end = offset_bytes + region.ld * region.cols * region.element_bytes;
    if (end / region.element_bytes > INT32_MAX) return false;
  }
  return true;
}

int triangle_code(Triangle triangle) {
  return triangle == Triangle::upper ? 1 : triangle == Triangle::lower ? 2 : 0;
}

// C := s C.
Status scale(QueueContext& context, const Descriptor& routine, const Argument* arguments,
             const QuickReturn& quick) {
  const Region region = quick.region(routine, arguments);
  const Place place = context.memory.place(
      static_cast<const std::byte*>(arguments[quick.result.argument].host.data));
  OB_ASSIGN_OR_RETURN(const Kernels* kernels, context.libraries.kernels());
  const auto launch = [&](auto re, auto im) {
    return kernels->launch(context.queue, std::string("ob_scale_") + routine.name.front(),
                           region.rows, region.cols, cl_int{triangle_code(region.triangle)},
                           cl_int{quick.hermitian ? 1 : 0}, re, im, place.buffer,
                           static_cast<cl_long>(place.offset_bytes / region.element_bytes),
                           static_cast<cl_long>(region.ld));
  };
  if (real_bytes(routine.precision) == 4) {
    return launch(static_cast<cl_float>(quick.factor.re), static_cast<cl_float>(quick.factor.im));
  }
  return launch(cl_double{quick.factor.re}, cl_double{quick.factor.im});
}

}  // namespace

bool blas_takes(const QueueContext& context, const Descriptor& routine, const Argument* arguments) {
  if (!is_gemmt(routine) && find(routine) == nullptr) return false;
  if (real_bytes(routine.precision) == 8 && !context.accelerator.has_fp64) return false;
  return context.libraries.blas().ok() && within_indices(context, routine, arguments);
}

// CLBlast allocates during a call, and lets go when its kernels are done.
Status run_blas(QueueContext& context, const Descriptor& routine, const Argument* arguments) {
  OB_ASSIGN_OR_RETURN(const BlasTable* table, context.libraries.blas());
  OB_ASSIGN_OR_RETURN(const std::uint64_t scratch_bytes,
                      blas_scratch_bytes(*table, context, routine, arguments));
  std::shared_ptr<const void> scratch;
  if (scratch_bytes > 0) {
    auto set_aside = context.counted.set_aside(scratch_bytes, DeviceMemory::Aside::for_a_command);
    OB_RETURN_IF_ERROR(set_aside.status().in("memory of CLBlast's own"));
    scratch = std::move(*set_aside);
  }
  Status submitted = submit_blas(context, routine, arguments);
  Status passed = context.synchronize();
  return submitted.ok() ? passed : submitted;
}

Status submit_blas(QueueContext& context, const Descriptor& routine, const Argument* arguments) {
  const Operands operands = routine.operands(arguments);
  const QuickReturn quick = quick_return(routine, arguments, operands);
  if (quick.left == QuickReturn::Left::scaling) return scale(context, routine, arguments, quick);
  if (quick.left != QuickReturn::Left::everything) return {};  // level 3 has no results to zero
  if (is_gemmt(routine)) return run_gemmt(context, routine, arguments);
  OB_ASSIGN_OR_RETURN(const BlasTable* table, context.libraries.blas());
  RowParameters row(context.memory, routine, arguments, &context.queue);
  return BlasTable::check(find(routine)(*table, row), routine.name);
}

}  // namespace ob::opencl
