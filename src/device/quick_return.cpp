#include "device/quick_return.hpp"

#include "base/contract.hpp"

namespace ob {
namespace {

// Finds an argument by name; nullptr if the routine has none.
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

// Returns the last operand that is written. No row of levels 2 and 3 has two.
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

// True if a dimension of a level 2 routine is zero; its result is then empty or unchanged.
bool is_empty_level2(const Descriptor& routine, const Argument* arguments) {
  return routine.level == 2 && (is_empty_dim(named(routine, arguments, "m")) ||
                                is_empty_dim(named(routine, arguments, "n")));
}

// True if alpha or the length of the sum is zero. In level 2, k is the width of a band.
bool has_no_product(const Descriptor& routine, const Argument* arguments) {
  return is_zero(named(routine, arguments, "alpha")) ||
         (routine.level == 3 && is_empty_dim(named(routine, arguments, "k")));
}

// Returns the factor of the result where there is no product. Rank-one updates have no beta.
Complex factor_of(const Descriptor& routine, const Argument* arguments) {
  if (const Argument* beta = named(routine, arguments, "beta")) return beta->scalar;
  const bool in_place = routine.base == "trmm" || routine.base == "trsm";
  return {in_place ? 0.0 : 1.0, 0};
}

}  // namespace

QuickReturn quick_return(const Descriptor& routine, const Argument* arguments,
                         const Operands& operands) noexcept {
  OB_EXPECT(routine.library == Library::blas);
  const Operand* result = result_of(operands);
  if (routine.level == 1) return of_vectors(routine, arguments, result);
  constexpr QuickReturn kNothing{.left = QuickReturn::Left::nothing};
  if (result == nullptr || result->rows == 0 || result->cols == 0) return kNothing;
  if (is_empty_level2(routine, arguments)) return kNothing;
  if (!has_no_product(routine, arguments)) return {};
  const Complex factor = factor_of(routine, arguments);
  if (factor.re == 1 && factor.im == 0) return kNothing;
  const bool triangle = result->written_triangle != Triangle::full;
  return {.left = QuickReturn::Left::scaling,
          .result = *result,
          .factor = factor,
          .hermitian = triangle && routine.base.starts_with("he")};
}

}  // namespace ob
