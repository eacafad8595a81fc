#pragma once
// Index types that must not be mixed: positions of ranks, of blocks, and of elements of a matrix.

#include <compare>
#include <cstdint>

namespace ob::algorithms {

/// A position, from 0, in the index space that Tag names.
template <class Tag>
class Index {
 public:
  constexpr Index() noexcept = default;
  constexpr explicit Index(std::uint64_t value) noexcept : value_(value) {}

  constexpr std::uint64_t value() const noexcept { return value_; }
  constexpr Index& operator++() noexcept {
    ++value_;
    return *this;
  }
  friend constexpr auto operator<=>(const Index&, const Index&) noexcept = default;
  friend constexpr Index operator+(Index index, std::uint64_t count) noexcept {
    return Index(index.value_ + count);
  }
  friend constexpr Index operator-(Index index, std::uint64_t count) noexcept {
    return Index(index.value_ - count);
  }
  /// Returns the distance.   @pre first <= last
  friend constexpr std::uint64_t operator-(Index last, Index first) noexcept {
    return last.value_ - first.value_;
  }

 private:
  std::uint64_t value_ = 0;
};

/// A device of an exchange, and the thread that submits to it.
using Rank = Index<struct RankTag>;

}  // namespace ob::algorithms
