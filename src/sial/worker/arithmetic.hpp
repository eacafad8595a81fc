#pragma once
// Comparisons and assignments of numbers.

#include <cstdint>

#include "sial/code/opcode.hpp"

namespace ob::sial {

template <class Number>
bool holds(Relation relation, Number left, Number right) noexcept {
  switch (relation) {
    case Relation::less: return left < right;
    case Relation::less_equal: return left <= right;
    case Relation::greater: return left > right;
    case Relation::greater_equal: return left >= right;
    case Relation::equal: return left == right;
    case Relation::not_equal: return left != right;
  }
  return false;
}

/// Computes `target = target op value`. Returns false after an overflow, with `target` unchanged.
inline bool assign_int(Assign how, std::int64_t& target, std::int64_t value) noexcept {
  std::int64_t result = value;
  bool overflow = false;
  switch (how) {
    case Assign::set: break;
    case Assign::add: overflow = __builtin_add_overflow(target, value, &result); break;
    case Assign::subtract: overflow = __builtin_sub_overflow(target, value, &result); break;
    case Assign::multiply: overflow = __builtin_mul_overflow(target, value, &result); break;
  }
  if (!overflow) target = result;
  return !overflow;
}

/// Computes `target = target op value`.
inline void assign_scalar(Assign how, double& target, double value) noexcept {
  switch (how) {
    case Assign::set: target = value; break;
    case Assign::add: target += value; break;
    case Assign::subtract: target -= value; break;
    case Assign::multiply: target *= value; break;
  }
}

}  // namespace ob::sial
