#pragma once
// Random calls of permute, and their results by loops over indices.

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "routines/argument.hpp"
#include "routines/descriptor.hpp"
#include "support/random.hpp"

namespace ob::test {

struct PermuteCase {
  enum : std::size_t { kExtents = 0, kPositions = 8, kAlpha = 16, kA = 17, kBeta = 18, kB = 19 };
  std::array<std::int64_t, 8> extents{1, 1, 1, 1, 1, 1, 1, 1};
  std::array<std::int64_t, 8> positions{1, 2, 3, 4, 5, 6, 7, 8};
  double alpha = 1, beta = 0;

  static const Descriptor& routine() { return *routines::find("dpermute"); }

  /// Draws a block of rank 1 to 8, with about `largest` elements at most; some are empty.
  static PermuteCase draw(std::mt19937_64& random, std::int64_t largest) {
    PermuteCase made;
    const auto rank = uniform<std::size_t>(random, 1, 8);
    std::int64_t room = uniform<std::int64_t>(random, 1, largest);
    for (std::size_t d = 0; d < rank; ++d) {
      const bool rest = d + 1 == rank;
      const std::int64_t most = rest ? room : std::min<std::int64_t>(room, 40);
      made.extents[d] = uniform<std::int64_t>(random, 1, std::max<std::int64_t>(1, most));
      room /= made.extents[d];
    }
    std::shuffle(made.extents.begin(), made.extents.end(), random);
    if (uniform(random, 0, 29) == 0) made.extents[uniform<std::size_t>(random, 0, 7)] = 0;
    std::shuffle(made.positions.begin(), made.positions.end(), random);
    // Products of these with small integers are exact, so that results are equal bit by bit.
    constexpr double kFactors[] = {1, 1, 0, -1, 2, 0.5};
    made.alpha = kFactors[uniform<std::size_t>(random, 0, 5)];
    made.beta = kFactors[uniform<std::size_t>(random, 0, 5)];
    if (uniform(random, 0, 1) == 0) made.beta = 0;
    return made;
  }

  std::size_t elements() const {
    std::int64_t count = 1;
    for (const std::int64_t extent : extents) count *= extent;
    return static_cast<std::size_t>(count);
  }

  /// Draws integers other than 0, so that no sum depends on the sign of a zero.
  std::vector<double> draw_elements(std::mt19937_64& random) const {
    std::vector<double> drawn(elements());
    for (double& element : drawn) element = uniform(random, 1, 999) * (random() % 2 == 0 ? 1 : -1);
    return drawn;
  }

  std::vector<double> expected(const std::vector<double>& a, const std::vector<double>& b) const {
    std::vector<double> result(b.size());
    std::array<std::int64_t, 8> index{};  // of an element of B
    for (std::size_t at = 0; at < b.size(); ++at) {
      std::array<std::int64_t, 8> index_a{};
      for (std::size_t d = 0; d < 8; ++d)
        index_a[static_cast<std::size_t>(positions[d] - 1)] = index[d];
      std::int64_t from = 0;
      for (std::size_t d = 8; d-- > 0;) from = from * extents[d] + index_a[d];
      const double added = alpha == 0 ? 0 : alpha * a[static_cast<std::size_t>(from)];
      result[at] = (beta == 0 ? 0 : beta * b[at]) + added;
      for (std::size_t d = 0; d < 8; ++d) {
        if (++index[d] < extents[static_cast<std::size_t>(positions[d] - 1)]) break;
        index[d] = 0;
      }
    }
    return result;
  }

  /// Sets all arguments but the operands.
  void set_values(Argument* arguments) const {
    for (std::size_t d = 0; d < 8; ++d) {
      arguments[kExtents + d].dim = extents[d];
      arguments[kPositions + d].dim = positions[d];
    }
    arguments[kAlpha].scalar = {alpha, 0};
    arguments[kBeta].scalar = {beta, 0};
  }

  std::string text() const {
    std::string made = "extents";
    for (const std::int64_t extent : extents) made += " " + std::to_string(extent);
    made += ", positions";
    for (const std::int64_t position : positions) made += " " + std::to_string(position);
    return made + ", alpha " + std::to_string(alpha) + ", beta " + std::to_string(beta);
  }
};

}  // namespace ob::test
