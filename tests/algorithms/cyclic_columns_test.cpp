// Blocks dealt out in turn, against dealing them out one by one.

#include "algorithms/cyclic_columns.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/random.hpp"

namespace ob::test {
namespace {

using algorithms::CyclicColumns;

TEST(CyclicColumns, EveryColumnHasOnePlace) {
  auto random = fresh_random();
  for (int round = 0; round < 500; ++round) {
    const CyclicColumns columns{uniform<std::uint64_t>(random, 0, 200),
                                uniform<std::uint64_t>(random, 1, 50),
                                uniform<std::size_t>(random, 1, 9)};
    std::vector<std::uint64_t> had(columns.devices);
    std::uint64_t next = 0;
    for (std::size_t block = 0; block < columns.blocks(); ++block) {
      const std::size_t owner = columns.owner(block);
      ASSERT_EQ(owner, block % columns.devices);
      ASSERT_EQ(columns.first(block), next);
      ASSERT_EQ(columns.local_first(block), had[owner]);
      ASSERT_GT(columns.count(block), 0u);
      next = columns.end(block);
      had[owner] += columns.count(block);
    }
    ASSERT_EQ(next, columns.length);
    for (std::size_t at = 0; at < columns.devices; ++at) {
      ASSERT_EQ(columns.local_count(at), had[at]);
      const auto from = uniform<std::size_t>(random, 0, columns.blocks() + 3);
      std::size_t expected = from;
      while (expected % columns.devices != at) ++expected;
      ASSERT_EQ(columns.next_of(at, from), expected);
    }
  }
}

}  // namespace
}  // namespace ob::test
