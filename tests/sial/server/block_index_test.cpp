// The oracle of the index is a std::map.

#include "sial/server/block_index.hpp"

#include <gtest/gtest.h>

#include <map>

#include "support/random.hpp"

namespace ob::sial {
namespace {

using test::uniform;

TEST(BlockIndex, FindsTheRecordsOfAMap) {
  std::mt19937_64 random = test::fresh_random();
  for (int round = 0; round < 20; ++round) {
    SpillStore store({});
    SpillStore::Array records(store, 0);
    BlockIndex index(records);
    std::map<std::uint64_t, RecordId> known;
    // Neighbours, numbers of one of many servers, and any numbers.
    const std::uint64_t steps[] = {1, uniform<std::uint64_t>(random, 2, 64), 0x10000};
    const std::uint64_t step = steps[round % 3];
    const std::uint64_t most = uniform<std::uint64_t>(random, 1, 4000);
    for (int access = 0; access < 4000; ++access) {
      const std::uint64_t number = step * uniform<std::uint64_t>(random, 0, most);
      const auto found = known.find(number);
      const RecordId expected = found == known.end() ? kNoRecord : found->second;
      ASSERT_EQ(index.find(number), expected) << number;
      if (uniform(random, 0, 1) == 0) continue;
      const RecordId id = index.find_or_add(number);
      ASSERT_EQ(records.number(id), number);
      ASSERT_EQ(known.emplace(number, id).first->second, id);
    }
    index.clear();
    EXPECT_EQ(index.find(known.begin()->first), kNoRecord);
  }
}

}  // namespace
}  // namespace ob::sial
