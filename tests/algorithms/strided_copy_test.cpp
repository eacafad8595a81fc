// Compares copies between random strided arrays with the definition, element by element.

#include "algorithms/strided_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "support/random.hpp"

namespace ob::test {
namespace {

using Bytes = std::vector<std::byte>;

// Sets random strides for `counts`, with gaps. `order` begins with the densest axis. Returns the
// extent.
std::int64_t place(std::vector<std::int64_t>& strides, const std::vector<std::uint64_t>& counts,
                   std::uint32_t element, std::mt19937_64& random) {
  std::vector<std::size_t> order(counts.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  std::int64_t stride = element;
  for (const std::size_t i : order) {
    stride += uniform<std::int64_t>(random, 0, 1) * element;
    strides[i] = stride;
    stride *= static_cast<std::int64_t>(counts[i]);
  }
  return stride;
}

TEST(StridedCopyTest, EveryElementAndNothingElse) {
  auto random = fresh_random();
  for (int round = 0; round < 400; ++round) {
    static constexpr std::uint32_t kElements[] = {4, 8, 16, 1, 24};
    const std::uint32_t element = kElements[uniform(random, 0, 4)];
    std::vector<std::uint64_t> counts(uniform<std::size_t>(random, 0, 5));
    for (auto& count : counts) count = uniform<std::uint64_t>(random, 1, 13);
    std::vector<std::int64_t> to_strides(counts.size());
    std::vector<std::int64_t> from_strides(counts.size());
    const std::int64_t to_bytes = place(to_strides, counts, element, random);
    const std::int64_t from_bytes = place(from_strides, counts, element, random);
    const bool backwards = !counts.empty() && uniform(random, 0, 3) == 0;
    std::int64_t from_base = 0;
    if (backwards) {
      from_base = static_cast<std::int64_t>(counts[0] - 1) * from_strides[0];
      from_strides[0] = -from_strides[0];
    }
    Bytes from(static_cast<std::size_t>(from_bytes) + element);
    for (auto& byte : from) byte = static_cast<std::byte>(random());
    Bytes to(static_cast<std::size_t>(to_bytes) + element, std::byte{0xA5});
    Bytes wanted = to;
    std::vector<algorithms::CopyAxis> axes;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      axes.push_back({counts[i], to_strides[i], from_strides[i]});
    }
    std::uint64_t elements = 1;
    for (const auto count : counts) elements *= count;
    for (std::uint64_t e = 0; e < elements; ++e) {
      std::int64_t to_at = 0;
      std::int64_t from_at = from_base;
      for (std::uint64_t i = 0, rest = e; i < counts.size(); rest /= counts[i++]) {
        to_at += static_cast<std::int64_t>(rest % counts[i]) * to_strides[i];
        from_at += static_cast<std::int64_t>(rest % counts[i]) * from_strides[i];
      }
      std::memcpy(wanted.data() + to_at, from.data() + from_at, element);
    }
    algorithms::copy_strided(to.data(), from.data() + from_base, element, axes);
    ASSERT_TRUE(to == wanted) << "round " << round;
  }
}

TEST(StridedCopyTest, AnEmptyAxisCopiesNothing) {
  const algorithms::CopyAxis axes[] = {{3, 8, 8}, {0, 24, 24}};
  algorithms::copy_strided(nullptr, nullptr, 8, axes);
}

}  // namespace
}  // namespace ob::test
