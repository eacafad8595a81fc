// Compares every kernel that this processor supports with a loop over bytes.

#include "wire/byte_swap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "support/random.hpp"
#include "wire/detail/swap_kernels.hpp"

namespace ob::test {
namespace {

using wire::detail::Store;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kGuardBytes = 128;
constexpr std::byte kGuard{0xA5};

Bytes reversed_words(const std::byte* from, std::size_t size_bytes, std::size_t word_bytes) {
  Bytes expected(size_bytes);
  for (std::size_t i = 0; i < size_bytes; ++i) {
    expected[i] = from[i / word_bytes * word_bytes + word_bytes - 1 - i % word_bytes];
  }
  return expected;
}

Bytes random_bytes(std::mt19937_64& random, std::size_t size_bytes) {
  Bytes bytes(size_bytes);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// Returns true if exactly [at, at + expected.size()) of `memory` holds `expected`, and the rest
// guards.
bool holds(const Bytes& memory, std::size_t at, const Bytes& expected) {
  const auto guard = [](std::byte byte) { return byte == kGuard; };
  const auto begin = memory.begin() + static_cast<std::ptrdiff_t>(at);
  const auto end = begin + static_cast<std::ptrdiff_t>(expected.size());
  return std::all_of(memory.begin(), begin, guard) &&
         std::equal(begin, end, expected.begin(), expected.end()) &&
         std::all_of(end, memory.end(), guard);
}

struct Case {
  std::size_t kernel;
  std::size_t word_bytes;
};

class ByteSwapTest : public testing::TestWithParam<Case> {
 protected:
  wire::detail::SwapKernel kernel = wire::detail::swap_kernels()[GetParam().kernel];
  std::size_t word_bytes = GetParam().word_bytes;

  void expect_copied(const Bytes& source, std::size_t from, std::size_t to, std::size_t size_bytes,
                     Store store) {
    Bytes memory(2 * kGuardBytes + size_bytes + 64, kGuard);
    std::byte* aligned = memory.data() + kGuardBytes;
    aligned += -reinterpret_cast<std::uintptr_t>(aligned) & 63;
    std::byte* const at = aligned + to;
    kernel.loop(at, source.data() + from, size_bytes, word_bytes, store);
    ASSERT_TRUE(holds(memory, static_cast<std::size_t>(at - memory.data()),
                      reversed_words(source.data() + from, size_bytes, word_bytes)))
        << size_bytes << " bytes from offset " << from << " to " << to;
  }
};

TEST_P(ByteSwapTest, EverySizeAtEveryAlignment) {
  auto random = fresh_random();
  const Bytes source = random_bytes(random, 300 * word_bytes + 64);
  for (std::size_t words = 0; words <= 300; ++words) {
    for (std::size_t offset = 0; offset < 64; ++offset) {
      const std::size_t from = random() % 64;
      expect_copied(source, from, offset, words * word_bytes, Store::cached);
      expect_copied(source, from, offset, words * word_bytes, Store::streaming);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(ByteSwapTest, InPlace) {
  auto random = fresh_random();
  for (std::size_t words = 0; words <= 300; ++words) {
    for (std::size_t offset = 0; offset < 64; offset += 1 + random() % 3) {
      const Bytes source = random_bytes(random, words * word_bytes);
      Bytes memory(2 * kGuardBytes + source.size(), kGuard);
      std::byte* const at = memory.data() + offset;
      if (!source.empty()) std::memcpy(at, source.data(), source.size());
      kernel.loop(at, at, source.size(), word_bytes, Store::cached);
      ASSERT_TRUE(holds(memory, offset, reversed_words(source.data(), source.size(), word_bytes)))
          << words << " words at offset " << offset;
    }
  }
}

TEST_P(ByteSwapTest, LargeOnes) {
  auto random = fresh_random();
  const Bytes source = random_bytes(random, (std::size_t{3} << 20) + 64);
  for (int round = 0; round < 6; ++round) {
    const std::size_t words = ((std::size_t{3} << 20) - random() % 40000) / word_bytes;
    const Store store = round % 2 == 0 ? Store::streaming : Store::cached;
    expect_copied(source, random() % 64, random() % 64, words * word_bytes, store);
    if (HasFatalFailure()) return;
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (std::size_t kernel = 0; kernel < wire::detail::swap_kernels().size(); ++kernel) {
    for (const std::size_t word_bytes : {2, 4, 8}) all.push_back({kernel, word_bytes});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(with, ByteSwapTest, testing::ValuesIn(cases()), [](const auto& test) {
  return std::string(wire::detail::swap_kernels()[test.param.kernel].name) + "_" +
         std::to_string(test.param.word_bytes);
});

TEST(CopySwapped, TakesTheBestKernelWhateverTheSize) {
  auto random = fresh_random();
  for (const std::uint64_t whole_bytes : {std::uint64_t{0}, wire::kStreamingBytes}) {
    const Bytes source = random_bytes(random, 8000);
    Bytes copied(source.size());
    wire::copy_swapped(copied.data(), source.data(), source.size(), 8, whole_bytes);
    EXPECT_TRUE(copied == reversed_words(source.data(), source.size(), 8));
    Bytes in_place = source;
    wire::copy_swapped(in_place.data(), in_place.data(), in_place.size(), 8, whole_bytes);
    EXPECT_TRUE(copied == in_place);
  }
}

}  // namespace
}  // namespace ob::test
