#pragma once

#include <vector>

namespace ob::bench {

/// The outcomes of repeated measurements of one quantity.
class Samples {
 public:
  void add(double value) { values_.push_back(value); }
  const std::vector<double>& values() const noexcept { return values_; }
  int runs() const noexcept { return static_cast<int>(values_.size()); }
  /// The median. It is 0 if there are no samples, as are the others.
  double median() const;
  double min() const;
  double max() const;

 private:
  std::vector<double> values_;
};

}  // namespace ob::bench
