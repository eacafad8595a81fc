#include "device/checked_elements.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "base/layout.hpp"

namespace ob {
namespace {

template <class Condition>
bool any_argument(const Descriptor& routine, Condition&& condition) {
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (condition(routine, i)) return true;
  }
  return false;
}

// A negative pivot and its equal neighbour are one block of two rows. Libraries walk over blocks
// from either end, so a negative pivot without neighbour would lead them to row 0 or n + 1.
bool good_blocks(const std::int64_t* indices, std::int64_t length) {
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int64_t index = indices[i];
    if (index < -length || index > length || index == 0) return false;
    if (index > 0) continue;
    if (++i == length || indices[i] != index) return false;
  }
  return true;
}

bool good_rows(const std::int64_t* indices, std::int64_t length) {
  return std::all_of(indices, indices + length,
                     [&](std::int64_t index) { return index >= 1 && index <= length; });
}

// A number is finite unless all bits of its exponent are set.
template <class Word>
bool finite_words(std::span<const std::byte> bytes, Word exponent) {
  bool finite = true;
  for (std::size_t at = 0; at + sizeof(Word) <= bytes.size(); at += sizeof(Word)) {
    Word word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    finite &= (word & exponent) != exponent;  // without a branch: compilers vectorize this
  }
  return finite;
}

bool finite_operand(const Region& region, void* data) {
  const Layout elements = Layout::matrix(data, region);
  for (Layout::Cursor at(elements); !at.done(); at.advance(at.piece().size())) {
    const bool finite = region.word_bytes == 4
                            ? finite_words<std::uint32_t>(at.piece(), 0x7F800000)
                            : finite_words<std::uint64_t>(at.piece(), 0x7FF0000000000000);
    if (!finite) return false;
  }
  return true;
}

bool must_be_finite(const Descriptor& routine, std::size_t argument) {
  return routine.kinds[argument] == Kind::matrix && routine.values[argument] == "finite";
}

}  // namespace

bool reads_places(const Descriptor& routine, std::size_t argument) noexcept {
  const std::string_view allowed = routine.values[argument];
  return routine.kinds[argument] == Kind::index_vector && !allowed.empty() && allowed != "any";
}

Status check_indices(const Descriptor& routine, const Argument* arguments) {
  if (!any_argument(routine, reads_places)) return {};
  const Operands operands = routine.operands(arguments);
  for (const Operand& operand : operands.span()) {
    if (!operand.read || !reads_places(routine, operand.argument)) continue;
    const auto* indices = static_cast<const std::int64_t*>(arguments[operand.argument].host.data);
    const auto length = static_cast<std::int64_t>(operand.rows);
    const bool is_signed = routine.values[operand.argument] == "signed";
    if (is_signed ? good_blocks(indices, length) : good_rows(indices, length)) continue;
    return {Code::invalid_argument, std::string(routine.name) + ": a pivot index is outside 1..n" +
                                        (is_signed ? ", or a negative one is no pair" : "") +
                                        " (were they written?)"};
  }
  return {};
}

Status check_finite(const Descriptor& routine, const Argument* arguments) {
  if (!any_argument(routine, must_be_finite)) return {};
  const Operands operands = routine.operands(arguments);
  for (const Operand& operand : operands.span()) {
    if (!operand.read || !must_be_finite(routine, operand.argument)) continue;
    const HostOperand& host = arguments[operand.argument].host;
    if (finite_operand(region_of(operand, Kind::matrix, host.ld), host.data)) continue;
    return {Code::unsupported,
            std::string(routine.name) + ": argument " +
                std::string(routine.argument_names[operand.argument]) +
                " has a NaN or an infinity (libraries may not come to an end then)"};
  }
  return {};
}

Status CheckedElements::copy_indices(const Descriptor& routine, const Argument* arguments) {
  const Operands operands = routine.operands(arguments);
  const auto wanted = [&](const Operand& operand) {
    return operand.read && reads_places(routine, operand.argument);
  };
  std::uint64_t count = 0;
  for (const Operand& operand : operands.span()) count += wanted(operand) ? operand.rows : 0;
  copied_arguments_.reset(new (std::nothrow) Argument[routine.kinds.size()]);
  indices_.reset(new (std::nothrow) std::int64_t[count]);
  if (copied_arguments_ == nullptr || indices_ == nullptr) {
    return {Code::out_of_memory, std::string(routine.name) + ": no memory for its pivots"};
  }
  std::copy(arguments, arguments + routine.kinds.size(), copied_arguments_.get());
  std::int64_t* to = indices_.get();
  for (const Operand& operand : operands.span()) {
    if (!wanted(operand)) continue;
    void*& data = copied_arguments_[operand.argument].host.data;
    if (operand.rows > 0) std::memcpy(to, data, operand.rows * sizeof *to);
    data = to;
    to += operand.rows;
  }
  arguments_ = copied_arguments_.get();
  return {};
}

Status CheckedElements::check(const Descriptor& routine, const Argument* arguments) {
  arguments_ = arguments;
  if (any_argument(routine, reads_places)) {
    OB_RETURN_IF_ERROR(copy_indices(routine, arguments));
    OB_RETURN_IF_ERROR(check_indices(routine, arguments_));
  }
  return check_finite(routine, arguments_);
}

}  // namespace ob
