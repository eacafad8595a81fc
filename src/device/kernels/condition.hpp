#pragma once
// The value of the expression behind #if.

#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "device/kernels/tokens.hpp"

namespace ob::kernels {

/// Evaluates || && == != < > <= >= + - * / % ! and parentheses over whole numbers, in 64 bits.
/// Names are 0. `defined` must have been replaced before.
/// Errors: build_failed for other expressions
Result<std::int64_t> evaluate_condition(std::span<const Token> expression);

}  // namespace ob::kernels
