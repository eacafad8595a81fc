#include "sial/operations/blocks.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "support/random.hpp"

namespace ob::sial::test {
namespace {

bool same_bits(double one, double other) { return std::memcmp(&one, &other, sizeof one) == 0; }

}  // namespace

using ob::test::uniform;

Block::Block(std::mt19937_64& random, const Labels& labels, const Extents& extents) {
  const bool dense = uniform(random, 0, 1) == 0;
  view_.rank = static_cast<unsigned>(labels.size());
  std::int64_t stride = 1;
  std::int64_t offset = 3;
  for (unsigned d = 0; d < view_.rank; ++d) {
    view_.labels[d] = labels[d];
    const auto extent = extents.find(labels[d]);
    view_.extents[d] = extent == extents.end() ? 1 : extent->second;
    if (extent == extents.end()) view_.simple |= 1U << d;
    view_.strides[d] = stride;
    const int before = dense ? 0 : uniform(random, 0, 1);
    const int after = dense ? 0 : uniform(random, 0, 1);
    offset += stride * before;
    stride *= view_.extents[d] + before + after;
  }
  memory_.assign(static_cast<std::size_t>(stride + 6),
                 std::numeric_limits<double>::signaling_NaN());
  view_.data = memory_.data() + offset;
  std::uniform_real_distribution<double> value(-1, 1);
  for (std::int64_t i = 0; i < view_.elements(); ++i) {
    std::int64_t rest = i;
    std::int64_t at = 0;
    for (unsigned d = 0; d < view_.rank; ++d) {
      at += rest % view_.extents[d] * view_.strides[d];
      rest /= view_.extents[d];
    }
    view_.data[at] = value(random);
  }
  save();
}

ConstView Block::read() const {
  return {view_.data, view_.rank, view_.extents, view_.strides, view_.labels, view_.simple};
}

double* Block::address(const View& view, const Position& position) const {
  double* found = view.data;
  for (unsigned d = 0; d < view.rank; ++d) {
    const auto at = position.find(view.labels[d]);
    if (at != position.end()) found += at->second * view.strides[d];
  }
  return found;
}

double Block::before(const Position& position) const {
  return saved_[static_cast<std::size_t>(address(view_, position) - memory_.data())];
}

bool Block::intact_around() const {
  std::vector<bool> inside(memory_.size());
  for (std::int64_t i = 0; i < view_.elements(); ++i) {
    std::int64_t rest = i;
    std::int64_t at = view_.data - memory_.data();
    for (unsigned d = 0; d < view_.rank; ++d) {
      at += rest % view_.extents[d] * view_.strides[d];
      rest /= view_.extents[d];
    }
    inside[static_cast<std::size_t>(at)] = true;
  }
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    if (!inside[i] && !same_bits(memory_[i], saved_[i])) return false;
  }
  return true;
}

bool Block::intact() const {
  return std::equal(memory_.begin(), memory_.end(), saved_.begin(), same_bits);
}

Labels some_labels(std::uint32_t first, std::size_t count) {
  Labels labels;
  for (std::size_t i = 0; i < count; ++i) {
    labels.push_back(first + static_cast<std::uint32_t>(i));
  }
  return labels;
}

Labels shuffled(std::mt19937_64& random, Labels labels) {
  std::shuffle(labels.begin(), labels.end(), random);
  return labels;
}

void add_simple(std::mt19937_64& random, Labels& labels, std::size_t most, std::uint32_t first) {
  const std::size_t room = std::min<std::size_t>(most, kMaxRank - labels.size());
  const auto count = uniform<std::size_t>(random, 0, room);
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = uniform<std::size_t>(random, 0, labels.size());
    labels.insert(labels.begin() + static_cast<std::ptrdiff_t>(at),
                  first + static_cast<std::uint32_t>(i));
  }
}

Extents draw_extents(std::mt19937_64& random, const Labels& labels, std::int64_t most) {
  Extents extents;
  for (const std::uint32_t label : labels) {
    extents[label] = uniform<std::int64_t>(random, 1, most);
  }
  return extents;
}

Labels operator+(Labels one, const Labels& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

}  // namespace ob::sial::test
