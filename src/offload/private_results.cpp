#include "offload/private_results.hpp"

#include <algorithm>

#include "base/layout.hpp"

namespace ob::offload {
namespace {

// Larger results are not worth a trial: the copy alone takes a tenth of a second.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

}  // namespace

PrivateResults::PrivateResults(const Descriptor& routine, const Argument* arguments) {
  std::copy_n(arguments, routine.kinds.size(), call_.items);
  const Operands operands = routine.operands(arguments);
  for (const Operand& operand : operands.span()) {
    if (known_ && operand.written) known_ = add(operand, routine.kinds[operand.argument]);
  }
}

bool PrivateResults::add(const Operand& operand, Kind kind) {
  HostOperand& host = call_.items[operand.argument].host;
  if (kind == Kind::strided || host.data == nullptr) return false;
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(operand.rows * operand.element_bytes, operand.cols, &bytes) ||
      bytes > kMostBytes) {
    return false;
  }
  memory_.emplace_back(std::max<std::uint64_t>(bytes, 1));
  void* const data = memory_.back().data();
  if (data == nullptr) return false;
  const auto rows = static_cast<std::int64_t>(operand.rows);
  const std::int64_t ld = kind == Kind::matrix ? std::max<std::int64_t>(rows, 1) : host.ld;
  if (operand.read && kind == Kind::matrix) {
    copy(Layout::matrix(data, region_of(operand, kind, ld)),
         Layout::matrix(host.data, region_of(operand, kind, host.ld)));
  } else if (operand.read) {
    copy(Layout::bytes(data, bytes), Layout::bytes(host.data, bytes));
  }
  host = {data, ld};
  return true;
}

PrivateOutput::PrivateOutput(const FftTransform& transform, const FftArrays& arrays)
    : transform_(transform), input_(arrays.input) {
  transform_.output = packed(transform.output);
  const std::uint64_t bytes = transform_.output.layout(nullptr).total_bytes();
  if (bytes <= kMostBytes) memory_.emplace(bytes);
}

}  // namespace ob::offload
