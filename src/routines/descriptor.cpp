#include "routines/descriptor.hpp"

#include <algorithm>

#include "routines/order.hpp"

namespace ob {

Region region_of(const Operand& operand, Kind kind, std::int64_t ld, bool written) noexcept {
  Region region{.offset_bytes = 0,
                .element_bytes = operand.element_bytes,
                .triangle = written ? operand.written_triangle : operand.triangle,
                .rows = operand.rows,
                .cols = operand.cols,
                .ld = std::max<std::uint64_t>(1, operand.rows),
                .word_bytes = operand.word_bytes};
  // Negates as unsigned, so that the magnitude of the smallest integer is defined, too.
  const auto bits = static_cast<std::uint64_t>(ld);
  if (kind == Kind::matrix) region.ld = bits;
  if (kind == Kind::strided) region.ld = ld < 0 ? 0 - bits : bits;
  return region;
}

std::int64_t dense_ld(const Operand& operand, Kind kind, std::int64_t ld) noexcept {
  if (kind == Kind::strided) return ld < 0 ? -1 : 1;
  return kind == Kind::matrix ? std::max(std::int64_t{1}, static_cast<std::int64_t>(operand.rows))
                              : 0;
}

}  // namespace ob

namespace ob::routines {
namespace {

template <class Key>
const Descriptor* search(std::span<const std::uint16_t> order, Key key,
                         Key Descriptor::*member) noexcept {
  const auto rows = detail::all_rows();
  const auto at = std::lower_bound(order.begin(), order.end(), key,
                                   [&](std::uint16_t i, Key k) { return rows[i].*member < k; });
  return at != order.end() && rows[*at].*member == key ? &rows[*at] : nullptr;
}

}  // namespace

const Descriptor* find(std::uint32_t id) noexcept {
  return search(detail::order_by_id(), id, &Descriptor::id);
}

const Descriptor* find(std::string_view name) noexcept {
  return search(detail::order_by_name(), name, &Descriptor::name);
}

}  // namespace ob::routines
