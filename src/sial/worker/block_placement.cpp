#include "sial/worker/block_placement.hpp"

#include <algorithm>

#include "base/mixed.hpp"

namespace ob::sial {

Rank BlockPlacement::by_rule(std::uint32_t array, std::uint64_t number) const noexcept {
  if (rule_ == PlacementRule::hash) return static_cast<Rank>(mixed(number) % servers_);
  if (rule_ == PlacementRule::skewed) {
    const auto segments = geometry_->segments(array, number);
    std::uint64_t sum = 0;
    for (unsigned d = 0; d < geometry_->whole(array).rank; ++d) {
      sum += static_cast<std::uint64_t>(segments[d] - geometry_->lowest(array, d));
    }
    return static_cast<Rank>(sum % servers_);
  }
  const auto before = static_cast<double>(geometry_->elements_before(array, number));
  const auto whole = static_cast<double>(geometry_->whole(array).elements());
  const auto server = static_cast<Rank>(before / whole * servers_);
  return std::min(server, servers_ - 1);
}

}  // namespace ob::sial
