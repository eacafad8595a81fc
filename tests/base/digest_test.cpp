// Digests and chunks depend on the contents only: on every referenced element and no other.

#include "base/digest.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "base/chunks.hpp"
#include "support/random.hpp"

namespace ob {
namespace {

constexpr Triangle kTriangles[] = {Triangle::full, Triangle::upper, Triangle::lower,
                                   Triangle::upper_strict, Triangle::lower_strict};

bool referenced(Triangle triangle, std::uint64_t i, std::uint64_t j) {
  const bool is[] = {true, i <= j, i >= j, i<j, i> j};
  return is[static_cast<int>(triangle)];
}

Digest digest(const void* base, const Region& region) { return digest_of(base, {&region, 1}); }

Region random_region(std::mt19937_64& random) {
  Region region;
  region.element_bytes = test::uniform(random, 0, 1) != 0 ? 8 : 16;
  region.triangle = kTriangles[test::uniform(random, 0, 4)];
  region.rows = test::uniform<std::uint64_t>(random, 0, 40);
  region.cols = test::uniform<std::uint64_t>(random, 0, 40);
  if (test::uniform(random, 0, 3) == 0) {
    region.cols = 1;
    region.rows = test::uniform<std::uint64_t>(random, 0, 3000);
  }
  region.ld = std::max<std::uint64_t>(1, region.rows + test::uniform<std::uint64_t>(random, 0, 3));
  region.offset_bytes = 8 * test::uniform<std::uint64_t>(random, 0, 5);
  return region;
}

// Test vectors from the algorithm's specification and its reference program (seed 0).
TEST(Digest, IsXxh3) {
  EXPECT_EQ(digest(nullptr, {0, 1, Triangle::full, 0, 1, 1}),
            (Digest{0x6001C324468D497FULL, 0x99AA06D3014798D8ULL}));
}

TEST(Digest, DependsOnContentsAlone) {
  auto random = test::fresh_random();
  for (int round = 0; round < 300; ++round) {
    const Region here = random_region(random);
    Region there = here;
    there.ld += 7;
    there.offset_bytes += 24;
    std::vector<std::byte> a(here.offset_bytes + extent_bytes(here) + 8);
    std::vector<std::byte> b(there.offset_bytes + extent_bytes(there) + 8);
    for (std::byte& x : a) x = static_cast<std::byte>(random());
    for (std::byte& x : b) x = static_cast<std::byte>(random());
    copy(Layout::matrix(b.data(), there), Layout::matrix(a.data(), here));
    ASSERT_EQ(digest(a.data(), here), digest(b.data(), there));
  }
}

TEST(Digest, EveryReferencedByteCountsAndNoOther) {
  auto random = test::fresh_random();
  for (int round = 0; round < 200; ++round) {
    Region region = random_region(random);
    if (region.rows == 0 || region.cols == 0) continue;
    std::vector<std::byte> memory(region.offset_bytes + extent_bytes(region));
    for (std::byte& x : memory) x = static_cast<std::byte>(random());
    const Digest before = digest(memory.data(), region);
    for (int change = 0; change < 30; ++change) {
      const auto i = test::uniform<std::uint64_t>(random, 0, region.rows - 1);
      const auto j = test::uniform<std::uint64_t>(random, 0, region.cols - 1);
      std::byte& at = memory[region.offset_bytes + (j * region.ld + i) * region.element_bytes +
                             test::uniform<std::uint64_t>(random, 0, region.element_bytes - 1)];
      at ^= std::byte{1};
      ASSERT_EQ(digest(memory.data(), region) != before, referenced(region.triangle, i, j));
      at ^= std::byte{1};
    }
    ASSERT_EQ(digest(memory.data(), region), before);
  }
}

// Cold, aligned, or neither: the loops for wide registers must agree with the plain loop.
TEST(Digest, IsTheSameInOnePieceAndInMany) {
  auto random = test::fresh_random();
  std::vector<std::byte> memory(1 << 20);
  for (std::byte& x : memory) x = static_cast<std::byte>(random());
  for (int round = 0; round < 200; ++round) {
    const auto bytes = test::uniform<std::uint64_t>(random, 0, 200000);
    const auto offset = test::uniform<std::uint64_t>(random, 0, 100);
    const Region whole{offset, 1, Triangle::full, bytes, 1, bytes};
    std::vector<Region> pieces;
    for (std::uint64_t at = 0; at < bytes;) {
      const auto size = std::min(bytes - at, test::uniform<std::uint64_t>(random, 1, 5000));
      pieces.push_back({offset + at, 1, Triangle::full, size, 1, size});
      at += size;
    }
    ASSERT_EQ(digest(memory.data(), whole), digest_of(memory.data(), pieces)) << bytes;
  }
}

TEST(Chunks, HaveEveryReferencedElementOnce) {
  auto random = test::fresh_random();
  for (int round = 0; round < 500; ++round) {
    const Region region = random_region(random);
    const Chunks chunks(region, test::uniform<std::uint64_t>(random, 1, 3000));
    std::multiset<std::uint64_t> found;
    for (std::uint64_t k = 0; k < chunks.count(); ++k) {
      const ChunkParts parts = chunks.at(k);
      for (const Region& part : parts.span()) {
        ASSERT_EQ(part.ld, region.ld);
        for (std::uint64_t j = 0; j < part.cols; ++j) {
          for (std::uint64_t i = 0; i < part.rows; ++i) {
            if (!referenced(part.triangle, i, j)) continue;
            found.insert(part.offset_bytes + (j * part.ld + i) * part.element_bytes);
          }
        }
      }
    }
    std::multiset<std::uint64_t> expected;
    for (std::uint64_t j = 0; j < region.cols; ++j) {
      for (std::uint64_t i = 0; i < region.rows; ++i) {
        if (!referenced(region.triangle, i, j)) continue;
        expected.insert(region.offset_bytes + (j * region.ld + i) * region.element_bytes);
      }
    }
    ASSERT_EQ(found, expected) << region.rows << " x " << region.cols;
  }
}

}  // namespace
}  // namespace ob
