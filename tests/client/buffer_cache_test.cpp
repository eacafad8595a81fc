#include "client/buffer_cache.hpp"

#include <gtest/gtest.h>

namespace ob::client {
namespace {

class Cache : public testing::Test {
 protected:
  Cache() { cache_.set_capacity(1 << 30); }
  // The number of the buffer that serves the size; 0: none.
  std::uint64_t take(std::uint64_t size_bytes) {
    const auto found = cache_.take(BufferCache::size_class(size_bytes));
    return found ? found->value : 0;
  }

  BufferCache cache_;
};

TEST_F(Cache, ServesTheSmallestThatFits) {
  EXPECT_TRUE(cache_.put(BufferId{1}, 8 << 20).empty());
  EXPECT_TRUE(cache_.put(BufferId{2}, 5 << 20).empty());
  EXPECT_TRUE(cache_.put(BufferId{3}, 6 << 20).empty());
  EXPECT_EQ(take(5 << 20), 2u);
  EXPECT_EQ(take(5 << 20), 3u);
  EXPECT_EQ(take(5 << 20), 1u);
  EXPECT_EQ(take(5 << 20), 0u);
}

TEST_F(Cache, KeepsBuffersThatAreFarTooLarge) {
  EXPECT_TRUE(cache_.put(BufferId{1}, 8 << 20).empty());
  EXPECT_EQ(take(3 << 20), 0u);
  EXPECT_EQ(take(9 << 20), 0u);
  EXPECT_EQ(take(4 << 20), 1u);
  EXPECT_TRUE(cache_.empty());
}

TEST_F(Cache, EvictsTheLeastRecentlyFreed) {
  cache_.set_capacity(10 << 20);
  EXPECT_TRUE(cache_.put(BufferId{1}, 4 << 20).empty());
  EXPECT_TRUE(cache_.put(BufferId{2}, 6 << 20).empty());
  const auto evicted = cache_.put(BufferId{3}, 1 << 20);
  ASSERT_EQ(evicted.size(), 1u);
  EXPECT_EQ(evicted[0], BufferId{1});
}

}  // namespace
}  // namespace ob::client
