// Ints, scalars and comparisons.

#include <array>
#include <cmath>
#include <limits>

#include "sial/operations/elements.hpp"
#include "sial/worker/arithmetic.hpp"
#include "sial/worker/worker.hpp"

namespace ob::sial {
namespace {

constexpr const char* kOverflow = "R07 the result of an int operation does not fit into 64 bits";

}  // namespace

Worker::Step Worker::execute_expression() {
  const Instruction& now = instruction();
  switch (now.op) {
    case Opcode::push_int: push_int(program_.int_constants[now.a]); return Step::next;
    case Opcode::push_int_variable: push_int(ints_[now.a]); return Step::next;
    case Opcode::push_index: push_int(values_[now.a]); return Step::next;
    case Opcode::push_scalar: push_scalar(program_.scalar_constants[now.a]); return Step::next;
    case Opcode::push_scalar_variable: push_scalar(scalars_[now.a]); return Step::next;
    case Opcode::push_element: return push_element();
    case Opcode::push_contraction: return push_contraction();
    case Opcode::compare_ints: {
      const std::int64_t right = pop_int();
      const std::int64_t left = pop_int();
      push_int(holds(static_cast<Relation>(now.x), left, right) ? 1 : 0);
      return Step::next;
    }
    case Opcode::compare_scalars: {
      const double right = pop_scalar();
      const double left = pop_scalar();
      push_int(holds(static_cast<Relation>(now.x), left, right) ? 1 : 0);
      return Step::next;
    }
    case Opcode::store_int: return store_int();
    case Opcode::store_scalar: return store_scalar();
    default: break;
  }
  const bool on_ints = now.op <= Opcode::int_negate || now.op == Opcode::int_to_scalar;
  return on_ints ? int_operation() : scalar_operation();
}

Worker::Step Worker::int_operation() {
  const Opcode op = instruction().op;
  const std::int64_t right = pop_int();
  std::int64_t result = 0;
  bool overflow = false;
  if (op == Opcode::int_to_scalar) {
    push_scalar(static_cast<double>(right));
    return Step::next;
  }
  if (op == Opcode::int_negate) {
    overflow = __builtin_sub_overflow(std::int64_t{0}, right, &result);
  } else {
    const std::int64_t left = pop_int();
    if (op == Opcode::int_add) overflow = __builtin_add_overflow(left, right, &result);
    if (op == Opcode::int_subtract) overflow = __builtin_sub_overflow(left, right, &result);
    if (op == Opcode::int_multiply) overflow = __builtin_mul_overflow(left, right, &result);
    if (op == Opcode::int_divide) {
      if (right == 0) return fail("R07 an int is divided by zero");
      overflow = right == -1 && left == std::numeric_limits<std::int64_t>::min();
      if (!overflow) result = left / right;
    }
  }
  if (overflow) return fail(kOverflow);
  push_int(result);
  return Step::next;
}

Worker::Step Worker::scalar_operation() {
  const Opcode op = instruction().op;
  const double right = pop_scalar();
  switch (op) {
    case Opcode::scalar_negate: push_scalar(-right); return Step::next;
    case Opcode::scalar_sqrt:
      if (right < 0) return fail("R07 sqrt of a negative number, " + std::to_string(right));
      push_scalar(std::sqrt(right));
      return Step::next;
    case Opcode::scalar_to_int: {
      const double rounded = std::nearbyint(right);  // to nearest, ties to even
      // 2^63, the first double that an int cannot hold
      if (!(rounded >= -0x1p63 && rounded < 0x1p63)) {
        return fail("R07 the scalar " + std::to_string(right) + " does not fit into an int");
      }
      push_int(static_cast<std::int64_t>(rounded));
      return Step::next;
    }
    default: break;
  }
  const double left = pop_scalar();
  double result = 0;
  if (op == Opcode::scalar_add) result = left + right;
  if (op == Opcode::scalar_subtract) result = left - right;
  if (op == Opcode::scalar_multiply) result = left * right;
  if (op == Opcode::scalar_divide) {
    if (right == 0) return fail("R07 a scalar is divided by zero");
    result = left / right;
  }
  if (op == Opcode::scalar_power) {
    result = std::pow(left, right);
    const bool from_numbers = !std::isnan(left) && !std::isnan(right);
    if (from_numbers && (std::isnan(result) || (left == 0 && right < 0))) {
      return fail("R07 " + std::to_string(left) + " ** " + std::to_string(right) +
                  " has no real value");
    }
  }
  push_scalar(result);
  return Step::next;
}

Worker::Step Worker::store_int() {
  const Instruction& now = instruction();
  if (!assign_int(static_cast<Assign>(now.x), ints_[now.a], pop_int())) return fail(kOverflow);
  return Step::next;
}

Worker::Step Worker::store_scalar() {
  const Instruction& now = instruction();
  assign_scalar(static_cast<Assign>(now.x), scalars_[now.a], pop_scalar());
  return Step::next;
}

Worker::Step Worker::push_element() {
  const Step found = operand(instruction().a, left_);
  if (found == Step::next) push_scalar(*left_.data);
  return found;
}

Worker::Step Worker::push_contraction() {
  if (const Step found = operand(instruction().a, left_); found != Step::next) return found;
  if (const Step found = operand(instruction().b, right_); found != Step::next) return found;
  push_scalar(inner_product(left_, right_));
  return Step::next;
}

}  // namespace ob::sial
