#include "backend/cpu/corruption.hpp"

#include <cmath>
#include <cstring>

namespace ob::cpu {
namespace {

// Returns a value far from the given one.
template <class Real>
void spoil(std::byte* at) noexcept {
  Real value = 0;
  std::memcpy(&value, at, sizeof value);
  value = 3 + 5 * std::abs(value);
  std::memcpy(at, &value, sizeof value);
}

void spoil(std::byte* at, Precision precision) noexcept {
  real_bytes(precision) == sizeof(float) ? spoil<float>(at) : spoil<double>(at);
}

}  // namespace

bool Corruption::due() noexcept {
  return every_ != 0 && (results_.fetch_add(1, std::memory_order_relaxed) + 1) % every_ == 0;
}

void Corruption::after(const Descriptor& routine, const Argument* arguments) noexcept {
  if (every_ == 0) return;
  const Operands operands = routine.operands(arguments);
  const Operand* last = nullptr;
  for (const Operand& operand : operands.span()) {
    const bool has_elements = operand.rows > 0 && operand.cols > 0;
    if (operand.written && routine.kinds[operand.argument] == Kind::matrix && has_elements)
      last = &operand;
  }
  if (last == nullptr || !due()) return;
  // Choose the corner that belongs to the triangle.
  const HostOperand& host = arguments[last->argument].host;
  const bool upper =
      last->written_triangle == Triangle::upper || last->written_triangle == Triangle::upper_strict;
  const std::uint64_t i = upper ? 0 : last->rows - 1;
  const std::uint64_t j = upper ? last->cols - 1 : 0;
  const std::uint64_t at = i + j * static_cast<std::uint64_t>(host.ld);
  spoil(static_cast<std::byte*>(host.data) + at * last->element_bytes, routine.precision);
}

void Corruption::after(const FftPlan& plan, std::byte* output) noexcept {
  const std::uint64_t bytes = output_bytes(plan);
  if (bytes == 0 || !due()) return;
  const std::uint64_t element_bytes = real_bytes(plan.precision);
  spoil(output + bytes / element_bytes / 2 * element_bytes, plan.precision);
}

}  // namespace ob::cpu
