#include "backend/cuda/blas_call.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "backend/cuda/blas_quick.hpp"
#include "backend/cuda/row_parameters.hpp"
#include "base/contract.hpp"

namespace ob::cuda {
namespace {

using BlasFunction = cublasStatus_t (*)(const BlasTable& table, cublasHandle_t handle,
                                        RowParameters& row);

template <auto kFunction>
cublasStatus_t call_blas(const BlasTable& table, cublasHandle_t handle, RowParameters& row) {
  if (table.*kFunction == nullptr) return CUBLAS_STATUS_NOT_SUPPORTED;
  return call_with(table.*kFunction, handle, row);
}

struct BlasRow {
  std::string_view name;
  BlasFunction call;
};
#define OB_CUDA_ROW(routine, function) {#routine, &call_blas<&BlasTable::function>},
constexpr BlasRow kBlasRows[] = {OB_CUBLAS_ROWS(OB_CUDA_ROW)};
#undef OB_CUDA_ROW

BlasFunction find_function(const Descriptor& routine) {
  static const auto rows = [] {
    std::unordered_map<std::uint32_t, BlasFunction> calls;
    for (const BlasRow& row : kBlasRows) {
      if (const Descriptor* known = routines::find(row.name)) calls[known->id] = row.call;
    }
    return calls;
  }();
  const auto found = rows.find(routine.id);
  return found == rows.end() ? nullptr : found->second;
}

cublasMath_t math_mode(Accuracy accuracy, Precision precision) {
  const bool single = real_bytes(precision) == 4;
  switch (accuracy) {
    case Accuracy::strict: return CUBLAS_PEDANTIC_MATH;
    case Accuracy::fast: return single ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH;
#if CUBLAS_VER_MAJOR >= 13
    case Accuracy::emulated:
      return single ? CUBLAS_FP32_EMULATED_BF16X9_MATH : CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH;
#endif
    default: return CUBLAS_DEFAULT_MATH;  // this mode never uses TF32
  }
}

// If the library or device does not know a mode, the default is used, which every mode allows.
Status set_modes(StreamContext& context, const BlasTable& table, cublasHandle_t handle,
                 const Descriptor& routine) {
  const cublasMath_t mode = math_mode(context.accuracy, routine.precision);
  if (table.cublasSetMathMode(handle, mode) != CUBLAS_STATUS_SUCCESS) {
    OB_RETURN_IF_ERROR(
        table.check(table.cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH), "cublasSetMathMode"));
  }
  // Results, and the matrix of rotm, lie on the device. Other scalars are parts of the call.
  const bool on_device =
      routine.base == "rotm" ||
      std::find(routine.kinds.begin(), routine.kinds.end(), Kind::result) != routine.kinds.end();
  return table.check(table.cublasSetPointerMode(
                         handle, on_device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST),
                     "cublasSetPointerMode");
}

}  // namespace

std::uint8_t accuracies_of_blas() noexcept {
  std::uint8_t modes = 0;
  for (const Accuracy mode : {Accuracy::strict, Accuracy::fast, Accuracy::emulated}) {
    const bool differs = math_mode(mode, Precision::s) != CUBLAS_DEFAULT_MATH;
    if (differs) modes |= static_cast<std::uint8_t>(1U << static_cast<unsigned>(mode));
  }
  return modes;
}

bool cublas_has(const Descriptor& routine) noexcept { return find_function(routine) != nullptr; }

Status run_cublas(StreamContext& context, const Descriptor& routine, const Argument* arguments) {
  OB_EXPECT(cublas_has(routine));
  const Operands operands = routine.operands(arguments);
  OB_ASSIGN_OR_RETURN(const bool done, return_quickly(context, routine, arguments, operands));
  if (done) return {};
  OB_ASSIGN_OR_RETURN(const BlasTable* table, context.libraries.blas());
  OB_ASSIGN_OR_RETURN(cublasHandle_t handle, context.handles.blas());
  OB_RETURN_IF_ERROR(set_modes(context, *table, handle, routine));
  RowParameters row(routine, arguments, operands);
  return table->check(find_function(routine)(*table, handle, row), routine.name);
}

}  // namespace ob::cuda
