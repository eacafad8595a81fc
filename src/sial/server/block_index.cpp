#include "sial/server/block_index.hpp"

#include <bit>
#include <utility>

namespace ob::sial {
namespace {

constexpr std::size_t kFirstPlaces = 16;
// 2^64 / golden ratio: the products of numbers with a common difference, such as those of the
// blocks of one server, differ in their upper bits.   Source: Knuth, TAOCP 3, 6.4
constexpr std::uint64_t kFibonacci = 0x9E3779B97F4A7C15;

}  // namespace

// Returns the place of a block, or the free one where it would be.
std::size_t BlockIndex::place_of(std::uint64_t number) const noexcept {
  const std::size_t last = places_.size() - 1;
  std::size_t place = number * kFibonacci >> (64 - std::countr_zero(places_.size()));
  while (places_[place] != kNoRecord && records_.number(places_[place]) != number) {
    place = (place + 1) & last;
  }
  return place;
}

RecordId BlockIndex::find(std::uint64_t number) const noexcept {
  return places_.empty() ? kNoRecord : places_[place_of(number)];
}

RecordId BlockIndex::find_or_add(std::uint64_t number) {
  if (used_ + 1 > places_.size() / 4 * 3) grow();
  RecordId& found = places_[place_of(number)];
  if (found == kNoRecord) {
    found = records_.add(number);
    ++used_;
  }
  return found;
}

void BlockIndex::clear() noexcept {
  places_ = std::vector<RecordId>();
  used_ = 0;
}

void BlockIndex::grow() {
  std::vector<RecordId> before(places_.empty() ? kFirstPlaces : places_.size() * 2, kNoRecord);
  std::swap(before, places_);
  for (const RecordId one : before) {
    if (one != kNoRecord) places_[place_of(records_.number(one))] = one;
  }
}

}  // namespace ob::sial
