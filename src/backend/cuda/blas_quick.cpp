#include "backend/cuda/blas_quick.hpp"

#include <string>

namespace ob::cuda {
namespace {

// nullptr if the routine has no such argument.
const Argument* named(const Descriptor& routine, const Argument* arguments, std::string_view name) {
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (routine.argument_names[i] == name) return &arguments[i];
  }
  return nullptr;
}

bool is_zero(const Argument* scalar) {
  return scalar != nullptr && scalar->scalar.re == 0 && scalar->scalar.im == 0;
}

bool is_empty_dim(const Argument* dim) { return dim != nullptr && dim->dim == 0; }

// The last operand that is written: no row of levels 2 and 3 has two.
const Operand* result_of(const Operands& operands) {
  const Operand* last = nullptr;
  for (const Operand& operand : operands.span()) {
    if (operand.written) last = &operand;
  }
  return last;
}

// C := s C.
Status scale(StreamContext& context, const Descriptor& routine, const Argument* arguments,
             const Operand& operand, Complex factor) {
  if (factor.re == 1 && factor.im == 0) return {};
  const HostOperand& place = arguments[operand.argument].host;
  const Region region = region_of(operand, routine.kinds[operand.argument], place.ld, true);
  const bool hermitian = region.triangle != Triangle::full && routine.base.starts_with("he");
  OB_ASSIGN_OR_RETURN(const Kernels* kernels, context.handles.kernels(context.device));
  const auto rows = static_cast<long long>(region.rows);
  const auto cols = static_cast<long long>(region.cols);
  return kernels->launch(context.stream, std::string("ob_scale_") + routine.name.front(),
                         rows * cols, triangle_code(region.triangle), hermitian ? 1 : 0, rows, cols,
                         factor.re, factor.im, place.data, static_cast<long long>(region.ld));
}

// Level 1: the sum over nothing is 0.
Result<bool> quick_vector_return(StreamContext& context, const Descriptor& routine,
                                 const Argument* arguments, const Operands& operands) {
  if (!is_empty_dim(named(routine, arguments, "n"))) {
    return routine.base == "axpy" && is_zero(named(routine, arguments, "a"));
  }
  const Operand* result = result_of(operands);
  if (result == nullptr || routine.kinds[result->argument] != Kind::result) return true;
  OB_RETURN_IF_ERROR(context.runtime().check(
      context.runtime().cudaMemsetAsync(arguments[result->argument].host.data, 0,
                                        result->element_bytes, context.stream),
      "clearing a result"));
  return true;
}

}  // namespace

int triangle_code(Triangle triangle) noexcept {
  switch (triangle) {
    case Triangle::upper: return 1;
    case Triangle::lower: return 2;
    default: return 0;
  }
}

Result<bool> quick_return(StreamContext& context, const Descriptor& routine,
                          const Argument* arguments, const Operands& operands) {
  if (routine.level == 1) return quick_vector_return(context, routine, arguments, operands);
  const Operand* result = result_of(operands);
  if (result == nullptr || result->rows == 0 || result->cols == 0) return true;
  if (routine.level == 2 && (is_empty_dim(named(routine, arguments, "m")) ||
                             is_empty_dim(named(routine, arguments, "n")))) {
    return true;
  }
  const Argument* alpha = named(routine, arguments, "alpha");
  const Argument* beta = named(routine, arguments, "beta");
  // In level 2, k is the width of a band.
  const bool no_sum = routine.level == 3 && is_empty_dim(named(routine, arguments, "k"));
  if (!is_zero(alpha) && !no_sum) return false;
  Complex factor{1, 0};  // of rank-one updates, which have no beta
  if (routine.base == "trmm" || routine.base == "trsm") factor = {0, 0};
  if (beta != nullptr) factor = beta->scalar;
  OB_RETURN_IF_ERROR(scale(context, routine, arguments, *result, factor));
  return true;
}

}  // namespace ob::cuda
