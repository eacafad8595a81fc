#include "backend/opencl/blas_call.hpp"

#include <string>
#include <unordered_map>

#include "backend/opencl/row_parameters.hpp"
#include "base/contract.hpp"
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

bool clblast_has(const Descriptor& routine) noexcept { return find(routine) != nullptr; }

Result<bool> return_quickly(QueueContext& context, const Descriptor& routine,
                            const Argument* arguments) {
  const Operands operands = routine.operands(arguments);
  const QuickReturn quick = quick_return(routine, arguments, operands);
  if (quick.left == QuickReturn::Left::everything) return false;
  // Level 3 has no results that must become 0. A call that does not scale is empty.
  if (quick.left == QuickReturn::Left::scaling) {
    OB_RETURN_IF_ERROR(scale(context, routine, arguments, quick));
  }
  return true;
}

Status submit_clblast(QueueContext& context, const Descriptor& routine, const Argument* arguments) {
  OB_EXPECT(clblast_has(routine));
  OB_ASSIGN_OR_RETURN(const bool done, return_quickly(context, routine, arguments));
  if (done) return {};
  OB_ASSIGN_OR_RETURN(const BlasTable* table, context.libraries.blas());
  RowParameters row(context.memory, routine, arguments, &context.queue);
  return BlasTable::check(find(routine)(*table, row), routine.name);
}

}  // namespace ob::opencl
