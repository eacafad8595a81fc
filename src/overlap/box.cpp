#include "overlap/box.hpp"

#include <algorithm>

namespace ob::overlap {

bool Box::empty() const noexcept {
  for (int d = 0; d < kDims; ++d)
    if (extent(d) <= 0) return true;
  return false;
}

std::int64_t Box::cells() const noexcept {
  if (empty()) return 0;
  std::int64_t product = 1;
  for (int d = 0; d < kDims; ++d) product *= extent(d);
  return product;
}

bool Box::contains(const Box& inner) const noexcept {
  return inner.empty() || intersect(*this, inner) == inner;
}

Box intersect(const Box& a, const Box& b) noexcept {
  Box common;
  for (int d = 0; d < kDims; ++d) {
    common.low[d] = std::max(a.low[d], b.low[d]);
    common.high[d] = std::min(a.high[d], b.high[d]);
  }
  return common;
}

std::vector<Box> subtract(const Box& box, const Box& hole) {
  if (box.empty()) return {};
  const Box common = intersect(box, hole);
  if (common.empty()) return {box};
  std::vector<Box> pieces;
  Box rest = box;
  // Each dimension loses its slabs before and behind the hole; the rest has the hole's range there.
  for (int d = 0; d < kDims; ++d) {
    Box before = rest;
    Box behind = rest;
    before.high[d] = rest.low[d] = common.low[d];
    behind.low[d] = rest.high[d] = common.high[d];
    if (!before.empty()) pieces.push_back(before);
    if (!behind.empty()) pieces.push_back(behind);
  }
  return pieces;
}

std::vector<Box> subtract(const std::vector<Box>& boxes, const Box& hole) {
  std::vector<Box> pieces;
  for (const Box& box : boxes) {
    const std::vector<Box> left = subtract(box, hole);
    pieces.insert(pieces.end(), left.begin(), left.end());
  }
  return pieces;
}

std::string to_string(const Box& box, int dims) {
  std::string text = "[";
  for (int d = 0; d < dims; ++d) {
    if (d > 0) text += ", ";
    text += std::to_string(box.low[d]) + ":" + std::to_string(box.high[d]);
  }
  return text + "]";
}

}  // namespace ob::overlap
