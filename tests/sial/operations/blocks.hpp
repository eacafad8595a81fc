#pragma once
// Random blocks with poisoned gaps, and loops over labels for oracles.

#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "sial/operations/view.hpp"

namespace ob::sial::test {

using Labels = std::vector<std::uint32_t>;
using Extents = std::map<std::uint32_t, std::int64_t>;  ///< of each label
using Position = std::map<std::uint32_t, std::int64_t>;

/// A block with random elements inside a larger array whose other elements are poison.
class Block {
 public:
  /// Extents of labels that `extents` lacks are 1; such dimensions are simple.
  Block(std::mt19937_64& random, const Labels& labels, const Extents& extents);

  const View& view() const { return view_; }
  ConstView read() const;
  /// The element at these values of the labels. Labels that the position lacks count as 0.
  double& at(const Position& position) { return *address(view_, position); }
  /// The element at this position of the saved content.
  double before(const Position& position) const;
  /// Keeps the content for before() and intact().
  void save() { saved_ = memory_; }
  /// True if nothing around the block differs from the saved content.
  bool intact_around() const;
  /// True if nothing at all differs.
  bool intact() const;

 private:
  double* address(const View& view, const Position& position) const;

  std::vector<double> memory_;
  std::vector<double> saved_;
  View view_;
};

/// Calls body(position) for all values of the labels.
template <class Body>
void for_all(const Labels& labels, const Extents& extents, Body&& body) {
  Position position;
  for (const std::uint32_t label : labels) position[label] = 0;
  while (true) {
    body(static_cast<const Position&>(position));
    auto at = position.begin();
    for (; at != position.end(); ++at) {
      const auto extent = extents.find(at->first);
      if (extent != extents.end() && ++at->second < extent->second) break;
      at->second = 0;
    }
    if (at == position.end()) return;
  }
}

/// Labels 100, 101, .. for simple indices, which no table of extents has.
inline constexpr std::uint32_t kFirstSimple = 100;

/// Returns `count` labels from `first` on.
Labels some_labels(std::uint32_t first, std::size_t count);
/// Returns the labels in a random order.
Labels shuffled(std::mt19937_64& random, Labels labels);
/// Inserts up to `most` simple labels at random places, from `first` on.
void add_simple(std::mt19937_64& random, Labels& labels, std::size_t most, std::uint32_t first);
/// Draws an extent from 1 to `most` for each label.
Extents draw_extents(std::mt19937_64& random, const Labels& labels, std::int64_t most);

Labels operator+(Labels one, const Labels& other);

}  // namespace ob::sial::test
