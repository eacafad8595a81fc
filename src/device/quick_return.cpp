#include "device/quick_return.hpp"

namespace ob {
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

QuickReturn of_vectors(const Descriptor& routine, const Argument* arguments,
                       const Operand* result) {
  if (!is_empty_dim(named(routine, arguments, "n"))) {
    const bool nothing = routine.base == "axpy" && is_zero(named(routine, arguments, "a"));
    return {.left = nothing ? QuickReturn::Left::nothing : QuickReturn::Left::everything};
  }
  if (result == nullptr || routine.kinds[result->argument] != Kind::result) {
    return {.left = QuickReturn::Left::nothing};
  }
  return {.left = QuickReturn::Left::zero, .result = *result};
}

}  // namespace

QuickReturn quick_return(const Descriptor& routine, const Argument* arguments,
                         const Operands& operands) noexcept {
  const Operand* result = result_of(operands);
  if (routine.level == 1) return of_vectors(routine, arguments, result);
  constexpr QuickReturn kNothing{.left = QuickReturn::Left::nothing};
  if (result == nullptr || result->rows == 0 || result->cols == 0) return kNothing;
  if (routine.level == 2 && (is_empty_dim(named(routine, arguments, "m")) ||
                             is_empty_dim(named(routine, arguments, "n")))) {
    return kNothing;
  }
  // In level 2, k is the width of a band.
  const bool no_sum = routine.level == 3 && is_empty_dim(named(routine, arguments, "k"));
  if (!is_zero(named(routine, arguments, "alpha")) && !no_sum) return {};
  Complex factor{1, 0};  // of rank-one updates, which have no beta
  if (routine.base == "trmm" || routine.base == "trsm") factor = {0, 0};
  if (const Argument* beta = named(routine, arguments, "beta"); beta != nullptr) {
    factor = beta->scalar;
  }
  if (factor.re == 1 && factor.im == 0) return kNothing;
  const bool triangle = result->written_triangle != Triangle::full;
  return {.left = QuickReturn::Left::scaling,
          .result = *result,
          .factor = factor,
          .hermitian = triangle && routine.base.starts_with("he")};
}

}  // namespace ob
