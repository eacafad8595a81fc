#pragma once
// The median of measured times.

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ob::overlap {

/// Returns the median, of an even number of values the upper one; 0 if there are none.
template <class T>
T median(std::vector<T> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace ob::overlap
