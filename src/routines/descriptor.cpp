#include "routines/descriptor.hpp"

#include <algorithm>

#include "routines/order.hpp"

namespace ob::routines {
namespace {

template <class Key>
const Descriptor* search(std::span<const std::uint16_t> order, Key key,
                         Key Descriptor::*member) noexcept {
  const auto rows = all();
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
