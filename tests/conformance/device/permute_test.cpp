// permute: every element of the result is right, and no other byte of the buffers changes.

#include <algorithm>
#include <cstring>
#include <limits>

#include "conformance/device/fixture.hpp"
#include "support/permute_case.hpp"

namespace ob::test {
namespace {

constexpr std::uint64_t kMargin = 72;  // in front of an operand, and behind it

class PermuteTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped() && !GetParam().computes) {
      GTEST_SKIP() << GetParam().name << " computes nothing";
    }
    engine_.seed(random(0, UINT64_MAX));
  }

  std::mt19937_64& engine() { return engine_; }

  Status call(const PermuteCase& given, const DeviceOperand& a, const DeviceOperand& b) {
    Argument arguments[kMaxArguments];
    given.set_values(arguments);
    arguments[PermuteCase::kA].device = a;
    arguments[PermuteCase::kB].device = b;
    return outcome(device().call(queue(), PermuteCase::routine(), arguments));
  }

  // The elements between two margins of poison.
  static Bytes padded(const std::vector<double>& elements) {
    Bytes bytes(elements.size() * sizeof(double) + 2 * kMargin, kPoison);
    if (elements.empty()) return bytes;
    std::memcpy(bytes.data() + kMargin, elements.data(), elements.size() * sizeof(double));
    return bytes;
  }

  void expect_permuted(const PermuteCase& given) {
    auto a = given.draw_elements(engine());
    auto b = given.draw_elements(engine());
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    if (given.alpha == 0) std::ranges::fill(a, kNan);
    if (given.beta == 0) std::ranges::fill(b, kNan);
    const Bytes source = padded(a);
    const BufferId from = allocate(source);
    const BufferId to = allocate(padded(b));
    const Status status = call(given, {from, kMargin, 0}, {to, kMargin, 0});
    ASSERT_TRUE(status.ok()) << given.text() << ": " << status.message();
    ASSERT_TRUE(download(to, source.size()) == padded(given.expected(a, b))) << given.text();
    ASSERT_TRUE(download(from, source.size()) == source) << given.text();
    ASSERT_TRUE(device().free(from).ok());
    ASSERT_TRUE(device().free(to).ok());
  }

  // Expects that a call fails before anything is written.
  void expect_refused(const PermuteCase& given, const DeviceOperand& a, const DeviceOperand& b,
                      BufferId written) {
    upload(written, Bytes(kBytes, kPoison));
    const Status status = call(given, a, b);
    EXPECT_FALSE(status.ok()) << given.text();
    EXPECT_TRUE(status.code() == Code::invalid_argument || status.code() == Code::unsupported)
        << given.text() << ": " << status.message();
    EXPECT_EQ(download(written, kBytes), Bytes(kBytes, kPoison)) << given.text();
  }

  static constexpr std::uint64_t kBytes = 4096;

 private:
  std::mt19937_64 engine_;
};

TEST_P(PermuteTest, AgreesWithLoopsOverIndices) {
  for (int round = 0; round < 60 && !HasFatalFailure(); ++round) {
    expect_permuted(PermuteCase::draw(engine(), round % 20 == 0 ? 40000 : 800));
  }
}

TEST_P(PermuteTest, PermutesABlockOfSomeMegabytes) {
  PermuteCase given;
  given.extents = {37, 1, 25, 19, 18, 1, 1, 1};  // 2.5 MB
  given.positions = {5, 3, 2, 8, 4, 1, 6, 7};
  expect_permuted(given);
  given.beta = 1;
  expect_permuted(given);
}

TEST_P(PermuteTest, RefusesWhatIsNoPermutationOrLeavesItsBuffers) {
  const BufferId a = allocate(Bytes(kBytes, std::byte{0}));
  const BufferId b = allocate(kBytes);
  const DeviceOperand in_a{a, 0, 0};
  const DeviceOperand in_b{b, 0, 0};
  PermuteCase good;
  good.extents = {8, 8, 8, 1, 1, 1, 1, 1};  // fills the buffers
  ASSERT_TRUE(call(good, in_a, in_b).ok());
  for (const std::int64_t position : {0L, 2L, 9L, -1L, INT64_MIN, INT64_MAX}) {
    PermuteCase bad = good;
    bad.positions[0] = position;
    expect_refused(bad, in_a, in_b, b);
  }
  for (const std::int64_t extent : {9L, -8L, 1L << 31, INT64_MAX, INT64_MIN}) {
    PermuteCase bad = good;
    bad.extents[7] = extent;
    expect_refused(bad, in_a, in_b, b);
  }
  PermuteCase wrapped = good;  // 2^64 elements, and none modulo 2^64
  wrapped.extents = {1 << 16, 1 << 16, 1 << 16, 1 << 16, 1, 1, 1, 1};
  expect_refused(wrapped, in_a, in_b, b);
  expect_refused(good, in_a, {b, 8, 0}, b);
  expect_refused(good, {a, 8, 0}, in_b, b);
  expect_refused(good, {a, 0 - std::uint64_t{8}, 0}, in_b, b);
  expect_refused(good, {BufferId{987654}, 0, 0}, in_b, b);
  PermuteCase half = good;
  half.extents[0] = 4;
  expect_refused(half, in_a, {b, 4, 0}, b);          // not aligned
  expect_refused(half, {b, 0, 0}, {b, 2040, 0}, b);  // an element of both
  EXPECT_TRUE(call(half, {b, 0, 0}, {b, 2048, 0}).ok());
}

OB_OVER_ALL_DEVICES(PermuteTest);

}  // namespace
}  // namespace ob::test
