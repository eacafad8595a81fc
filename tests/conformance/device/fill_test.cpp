// Fills: every element of a region gets the pattern, and no other byte changes.

#include <algorithm>
#include <array>

#include "conformance/device/fixture.hpp"

namespace ob::test {
namespace {

class FillTest : public DeviceTest {
 protected:
  Status fill(BufferId buffer, const Region& region, const Bytes& element) {
    return outcome(device().fill(queue(), buffer, region, element));
  }

  // Returns the contents after a fill, computed element by element.
  static Bytes filled(Bytes contents, const Region& region, const Bytes& element) {
    for (std::uint64_t j = 0; j < region.cols; ++j) {
      for (std::uint64_t i = 0; i < region.rows; ++i) {
        const std::uint64_t at = region.offset_bytes + (j * region.ld + i) * region.element_bytes;
        std::copy(element.begin(), element.end(),
                  contents.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    return contents;
  }

  void expect_filled(const Region& region) {
    const Bytes element = random_bytes(region.element_bytes);
    const Bytes before = random_bytes(region.offset_bytes + extent_bytes(region) + 33);
    const BufferId buffer = allocate(before);
    const Status status = fill(buffer, region, element);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(download(buffer, before.size()) == filled(before, region, element))
        << region.rows << " x " << region.cols << ", ld " << region.ld << ", elements of "
        << region.element_bytes << " bytes at " << region.offset_bytes;
    ASSERT_TRUE(device().free(buffer).ok());
  }

  static constexpr std::uint32_t kSizes[] = {1, 2, 4, 8, 16};
};

TEST_P(FillTest, ChangesExactlyTheRegion) {
  for (int round = 0; round < 50; ++round) {
    Region region{.element_bytes = kSizes[round % 5]};
    region.rows = random(1, round % 7 == 0 ? 3000 : 40);
    region.cols = random(1, 20);
    region.ld = region.rows + random(0, 1) * random(0, 7);
    region.offset_bytes = random(0, 1) * random(0, 200);  // of any alignment
    region.word_bytes = 1;
    expect_filled(region);
  }
}

TEST_P(FillTest, FillsManyElements) {
  for (const std::uint32_t size : kSizes) {
    const std::uint64_t count = random(kMiB, 3 * kMiB) / size;
    expect_filled({.element_bytes = size, .rows = count, .cols = 1, .ld = count});
  }
}

TEST_P(FillTest, CopiesThePatternWhenItIsSubmitted) {
  const BufferId buffer = allocate(8 * kMiB);
  Bytes first = random_bytes(8 * kMiB);
  Bytes element = random_bytes(8);
  const Bytes expected = element;
  const Region one{.element_bytes = 8, .rows = 1, .cols = 1, .ld = 1};
  ASSERT_TRUE(device()
                  .write(queue(), buffer, byte_region(first.size()),
                         Layout::bytes(first.data(), first.size()))
                  .ok());
  ASSERT_TRUE(device().fill(queue(), buffer, one, element).ok());
  std::fill(element.begin(), element.end(), kPoison);
  ASSERT_TRUE(device().synchronize(queue()).status.ok());
  EXPECT_EQ(download(buffer, 8), expected);
}

TEST_P(FillTest, RunsInTheOrderOfItsQueue) {
  constexpr std::uint64_t kSize = 4096;
  const BufferId a = allocate(kSize);
  const BufferId b = allocate(kSize);
  const Bytes elements[] = {random_bytes(4), random_bytes(4)};
  const Region region{.element_bytes = 4, .rows = kSize / 4, .cols = 1, .ld = kSize / 4};
  ASSERT_TRUE(device().fill(queue(), a, region, elements[0]).ok());
  ASSERT_TRUE(device().copy(queue(), a, byte_region(kSize), b, byte_region(kSize)).ok());
  ASSERT_TRUE(device().fill(queue(), a, region, elements[1]).ok());
  const Status status = device().synchronize(queue()).status;
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(download(a, kSize), filled(Bytes(kSize), region, elements[1]));
  EXPECT_EQ(download(b, kSize), filled(Bytes(kSize), region, elements[0]));
}

TEST_P(FillTest, NothingIsFilledByARegionWithoutElements) {
  const Bytes before = random_bytes(64);
  const BufferId buffer = allocate(before);
  const Bytes element = random_bytes(8);
  EXPECT_TRUE(fill(buffer, {.element_bytes = 8, .rows = 0, .cols = 3, .ld = 1}, element).ok());
  EXPECT_TRUE(fill(buffer, {.element_bytes = 8, .rows = 3, .cols = 0, .ld = 3}, element).ok());
  EXPECT_EQ(download(buffer, 64), before);
}

TEST_P(FillTest, RefusesWhatItCannotDo) {
  const Bytes before = random_bytes(64);
  const BufferId buffer = allocate(before);
  const auto refused = [&](const Region& region, std::size_t element_bytes) {
    const Status status = fill(buffer, region, random_bytes(element_bytes));
    EXPECT_EQ(status.code(), Code::invalid_argument) << status.message();
    return !status.ok();
  };
  const Region line{.element_bytes = 8, .rows = 8, .cols = 1, .ld = 8};
  Region wrong = line;
  wrong.rows = 9;
  EXPECT_TRUE(refused(wrong, 8)) << "beyond the buffer";
  wrong = line;
  wrong.offset_bytes = 8;
  EXPECT_TRUE(refused(wrong, 8)) << "beyond the buffer";
  EXPECT_TRUE(refused(line, 4)) << "half an element";
  wrong = line;
  wrong.element_bytes = 3;
  EXPECT_TRUE(refused(wrong, 3)) << "an element of 3 bytes";
  wrong.element_bytes = 32;
  wrong.rows = wrong.ld = 2;
  EXPECT_TRUE(refused(wrong, 32)) << "an element of 32 bytes";
  wrong = {.element_bytes = 8, .triangle = Triangle::upper, .rows = 2, .cols = 2, .ld = 2};
  EXPECT_TRUE(refused(wrong, 8)) << "a triangle";
  EXPECT_EQ(download(buffer, 64), before);
  EXPECT_FALSE(outcome(device().fill(queue(), BufferId{424242}, line, random_bytes(8))).ok());
}

OB_OVER_ALL_DEVICES(FillTest);

}  // namespace
}  // namespace ob::test
