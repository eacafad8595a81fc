// Copies of bytes and rectangles, against an oracle of plain loops over host arrays.

#include <algorithm>
#include <cstring>

#include "api/fixture.hpp"
#include "support/random.hpp"

namespace ob::test {
namespace {

using Bytes = std::vector<unsigned char>;

Bytes random_bytes(std::mt19937_64& random, std::size_t count) {
  Bytes bytes(count);
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random());
  return bytes;
}

// A rectangle with random pitches, and its places in a buffer and in an array.
struct Case {
  ob_rect rect;
  std::uint64_t device_offset;
  std::uint64_t host_offset;
};

std::uint64_t extent(const ob_rect& rect, std::uint64_t pitch) {
  return rect.rows == 0 ? 0 : (rect.rows - 1) * pitch + rect.width_bytes;
}

Case random_case(std::mt19937_64& random, std::uint64_t buffer_bytes, std::uint64_t array_bytes) {
  constexpr std::uint32_t kWords[] = {0, 1, 2, 4, 8};
  for (;;) {
    Case made{};
    made.rect.word_bytes = kWords[uniform(random, 0, 4)];
    const std::uint64_t word = std::max(1u, made.rect.word_bytes);
    made.rect.width_bytes = word * uniform<std::uint64_t>(random, 0, 300);
    made.rect.rows = uniform<std::uint64_t>(random, 0, 40);
    const auto pitch = [&] {
      return made.rect.width_bytes + word * uniform<std::uint64_t>(random, 0, 100);
    };
    made.rect.device_pitch_bytes = pitch();
    made.rect.host_pitch_bytes = pitch();
    const std::uint64_t on_device = extent(made.rect, made.rect.device_pitch_bytes);
    const std::uint64_t on_host = extent(made.rect, made.rect.host_pitch_bytes);
    if (on_device > buffer_bytes || on_host > array_bytes) continue;
    made.device_offset = uniform<std::uint64_t>(random, 0, buffer_bytes - on_device);
    made.host_offset = uniform<std::uint64_t>(random, 0, array_bytes - on_host);
    return made;
  }
}

void copy_rectangle(unsigned char* to, std::uint64_t to_pitch, const unsigned char* from,
                    std::uint64_t from_pitch, const ob_rect& rect) {
  for (std::uint64_t row = 0; row < rect.rows; ++row) {
    for (std::uint64_t i = 0; i < rect.width_bytes; ++i) {
      to[row * to_pitch + i] = from[row * from_pitch + i];
    }
  }
}

class ApiCopyTest : public ApiTest {
 protected:
  // The arrays outlive every command: the test synchronizes before it ends.
  static constexpr std::size_t kBytes = 20000;
};

// Writes and reads of random rectangles: the buffer and the arrays hold what the oracle says, byte
// by byte, also around the rectangles.
TEST_P(ApiCopyTest, RectanglesArriveAndTouchNothingElse) {
  auto random = fresh_random();
  Bytes expected = random_bytes(random, kBytes);
  const ob_buffer on_device = buffer_of(expected);
  for (int round = 0; round < 60; ++round) {
    Case c = random_case(random, kBytes, kBytes);
    Bytes source = random_bytes(random, kBytes);
    copy_rectangle(expected.data() + c.device_offset, c.rect.device_pitch_bytes,
                   source.data() + c.host_offset, c.rect.host_pitch_bytes, c.rect);
    c.rect.flags = round % 2 == 0 ? OB_CAPTURE : 0;
    ASSERT_TRUE(succeeds(
        ob_write_2d(queue, {on_device, c.device_offset}, source.data() + c.host_offset, &c.rect)));
    if (round % 2 == 0) {
      std::fill(source.begin(), source.end(), 0xEE);  // captured: the change must not arrive
    } else {
      ASSERT_TRUE(synchronized());
    }
    c = random_case(random, kBytes, kBytes);
    Bytes target = random_bytes(random, kBytes);
    Bytes expected_target = target;
    copy_rectangle(expected_target.data() + c.host_offset, c.rect.host_pitch_bytes,
                   expected.data() + c.device_offset, c.rect.device_pitch_bytes, c.rect);
    c.rect.flags = round % 3 == 0 ? OB_WAIT : 0;
    ASSERT_TRUE(succeeds(
        ob_read_2d(queue, target.data() + c.host_offset, {on_device, c.device_offset}, &c.rect)));
    if (c.rect.flags == 0) {
      ASSERT_TRUE(synchronized());
    }
    ASSERT_EQ(target, expected_target) << "round " << round;
  }
  EXPECT_EQ(contents<unsigned char>(on_device, kBytes), expected);
}

// Every width, pitch and number of rows of which one is 0: nothing is copied, also at the end.
TEST_P(ApiCopyTest, EmptyRectanglesCopyNothing) {
  auto random = fresh_random();
  const Bytes kept = random_bytes(random, kBytes);
  const ob_buffer on_device = buffer_of(kept);
  Bytes array = random_bytes(random, 64);
  const Bytes array_kept = array;
  for (const std::uint64_t width : {0, 8}) {
    for (const std::uint64_t rows : {0, 1, 2}) {
      if (width * rows != 0) continue;
      for (const std::uint64_t pitch : {0, 8, 16}) {
        if (pitch < width) continue;
        for (const std::uint32_t word : {0u, 8u}) {
          ob_rect rect{width, rows, pitch, pitch, word, 0};
          for (const std::uint64_t offset : {std::size_t{0}, kBytes}) {
            EXPECT_TRUE(succeeds(ob_write_2d(queue, {on_device, offset}, array.data(), &rect)));
            EXPECT_TRUE(succeeds(ob_read_2d(queue, array.data(), {on_device, offset}, &rect)));
            EXPECT_TRUE(succeeds(ob_copy_2d(queue, {on_device, offset}, {on_device, 0}, &rect)));
          }
        }
      }
    }
  }
  EXPECT_TRUE(synchronized());
  EXPECT_EQ(array, array_kept);
  EXPECT_EQ(contents<unsigned char>(on_device, kBytes), kept);
}

TEST_P(ApiCopyTest, CopiesInsideTheDeviceFollowTheOracle) {
  auto random = fresh_random();
  const Bytes from = random_bytes(random, kBytes);
  Bytes expected = random_bytes(random, kBytes);
  const ob_buffer source = buffer_of(from);
  const ob_buffer target = buffer_of(expected);
  for (int round = 0; round < 40; ++round) {
    const Case c = random_case(random, kBytes, kBytes);
    copy_rectangle(expected.data() + c.device_offset, c.rect.device_pitch_bytes,
                   from.data() + c.host_offset, c.rect.host_pitch_bytes, c.rect);
    ASSERT_TRUE(
        succeeds(ob_copy_2d(queue, {target, c.device_offset}, {source, c.host_offset}, &c.rect)));
  }
  EXPECT_EQ(contents<unsigned char>(target, kBytes), expected);
  // from one half of a buffer to the other
  ASSERT_TRUE(succeeds(ob_copy(queue, {target, 0}, {target, kBytes / 2}, kBytes / 2)));
  std::copy(expected.begin() + kBytes / 2, expected.end(), expected.begin());
  EXPECT_EQ(contents<unsigned char>(target, kBytes), expected);
}

// More than a message's buffer, than a captured copy, and than all credits of a queue.
TEST_P(ApiCopyTest, LargeAndManyCopiesArrive) {
  auto random = fresh_random();
  constexpr std::size_t kLarge = 3 << 20;
  Bytes large = random_bytes(random, kLarge);
  const Bytes expected = large;
  const ob_buffer one = buffer(kLarge, OB_WAIT);
  ASSERT_TRUE(succeeds(ob_write(queue, {one, 0}, large.data(), kLarge, OB_CAPTURE)));
  std::fill(large.begin(), large.end(), 0xEE);
  EXPECT_TRUE(contents<unsigned char>(one, kLarge) == expected);

  constexpr std::size_t kCount = 1000;
  std::vector<std::uint64_t> numbers(kCount);
  std::vector<std::uint64_t> back(kCount, 77);
  const ob_buffer many = buffer(kCount * sizeof(std::uint64_t));
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::uint64_t number = numbers[i] = random();
    ASSERT_TRUE(
        succeeds(ob_write(queue, {many, i * sizeof number}, &number, sizeof number, OB_CAPTURE)));
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(succeeds(ob_read(queue, &back[i], {many, i * sizeof back[i]}, sizeof back[i], 0)));
  }
  ASSERT_TRUE(synchronized());
  EXPECT_EQ(back, numbers);
}

TEST_P(ApiCopyTest, NothingIsCopiedWithoutBytes) {
  const ob_buffer some = buffer(8);
  EXPECT_TRUE(succeeds(ob_write(queue, {some, 8}, nullptr, 0, 0)));
  EXPECT_TRUE(succeeds(ob_read(queue, nullptr, {some, 8}, 0, OB_WAIT)));
  EXPECT_TRUE(succeeds(ob_copy(queue, {some, 8}, {some, 8}, 0)));
  const ob_rect empty{};
  EXPECT_TRUE(succeeds(ob_write_2d(queue, {some, 0}, nullptr, &empty)));
}

TEST_P(ApiCopyTest, MappedMemoryIsTheBuffersMemory) {
  ob_device_facts facts{};
  facts.struct_bytes = sizeof facts;
  ASSERT_TRUE(succeeds(ob_device_get_facts(device, &facts)));
  // A device is host-visible here and over shared memory.
  const bool far = GetParam() == Where::cpu_over_tcp || GetParam() == Where::cpu_over_tls;
  EXPECT_EQ(facts.host_visible, far ? 0u : 1u);
  auto random = fresh_random();
  const Bytes expected = random_bytes(random, 1 << 20);
  const ob_buffer shared = buffer_of(expected);
  ASSERT_TRUE(synchronized());
  void* memory = nullptr;
  const ob_status mapped = ob_buffer_map(shared, &memory);
  if (facts.host_visible == 0) {
    EXPECT_TRUE(fails(mapped, OB_UNSUPPORTED, "use ob_read"));
    EXPECT_EQ(memory, nullptr);
    return;
  }
  ASSERT_TRUE(succeeds(mapped));
  EXPECT_EQ(std::memcmp(memory, expected.data(), expected.size()), 0);
  std::memset(memory, 0x5A, expected.size());
  EXPECT_EQ(contents<unsigned char>(shared, expected.size()), Bytes(expected.size(), 0x5A));
  void* again = nullptr;
  ASSERT_TRUE(succeeds(ob_buffer_map(shared, &again)));
  EXPECT_EQ(again, memory);
}

INSTANTIATE_TEST_SUITE_P(Api, ApiCopyTest, testing::ValuesIn(kEverywhere), name_of);

}  // namespace
}  // namespace ob::test
