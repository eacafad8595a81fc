// Calls of a client that wants a library to write outside of the call's own operands: operands that
// overlap, pivots that are no pivots, pivots that change during the call, numbers that are none.

#include <cstdio>
#include <cstring>
#include <limits>
#include <string_view>

#include "conformance/device/fixture.hpp"
#include "routines/descriptor.hpp"
#include "support/hostile_writer.hpp"

namespace ob::test {
namespace {

using Doubles = std::vector<double>;

Bytes bytes_of(const Doubles& numbers) {
  Bytes bytes(numbers.size() * sizeof(double));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

class HostileTest : public DeviceTest {
 protected:
  static constexpr std::int64_t kLargest = 64;
  static constexpr std::uint64_t kOperandBytes = kLargest * kLargest * sizeof(double);

  // A call of order n. Each operand has a buffer, between two buffers of poison. The neighbours of
  // an earlier call were compared after it.
  void prepare(std::string_view name, std::int64_t n, char job = 'N') {
    routine_ = routines::find(name);
    ASSERT_NE(routine_, nullptr);
    neighbours_.clear();
    for (std::size_t i = 0; i < routine_->kinds.size(); ++i) {
      const std::string_view values = routine_->values[i];
      const bool has_job = values.find(job) < values.size();
      switch (routine_->kinds[i]) {
        case Kind::flag: arguments_[i].flag = has_job ? job : values.front(); break;
        case Kind::dim: arguments_[i].dim = n; break;
        case Kind::scalar:
        case Kind::real_scalar: arguments_[i].scalar = {1, 0}; break;
        default: arguments_[i].device = {own_buffer(), 0, has_ld(routine_->kinds[i]) ? n : 0};
      }
    }
  }
  DeviceOperand& operand(std::string_view name) {
    for (std::size_t i = 0; i < routine_->kinds.size(); ++i) {
      if (routine_->argument_names[i] == name) return arguments_[i].device;
    }
    std::abort();
  }
  void fill(std::string_view name, const Doubles& numbers) {
    upload(operand(name).buffer, bytes_of(numbers));
  }
  void fill(std::string_view name, const std::vector<std::int64_t>& indices) {
    upload(operand(name).buffer, std::as_bytes(std::span(indices)));
  }
  Code run() { return outcome(device().call(queue(), *routine_, arguments_)).code(); }

  void expect_neighbours_unchanged() {
    for (const BufferId id : neighbours_) {
      ASSERT_EQ(download(id, kOperandBytes), Bytes(kOperandBytes, kPoison)) << routine_->name;
    }
  }
  bool computes() const { return GetParam().computes; }

 private:
  BufferId own_buffer() {
    neighbours_.push_back(allocate(Bytes(kOperandBytes, kPoison)));
    const BufferId id = allocate(Bytes(kOperandBytes));
    neighbours_.push_back(allocate(Bytes(kOperandBytes, kPoison)));
    return id;
  }

  const Descriptor* routine_ = nullptr;
  Argument arguments_[kMaxArguments];
  std::vector<BufferId> neighbours_;
};

// 4 on the diagonal, small numbers elsewhere.
Doubles good_matrix(std::int64_t n) {
  Doubles a(static_cast<std::size_t>(n * n), 0.125);
  for (std::int64_t i = 0; i < n; ++i) a[static_cast<std::size_t>(i * (n + 1))] = 4;
  return a;
}

TEST_P(HostileTest, OperandsThatOverlapAResultAreRefused) {
  struct Pair {
    const char* routine;
    const char* inner;
    const char* outer;
  };
  for (const auto& [name, inner, outer] : {Pair{"dgetrf", "ipiv", "a"},
                                           {"dgesv", "ipiv", "a"},
                                           {"dgesv", "ipiv", "b"},
                                           {"dgesv", "info", "ipiv"},
                                           {"dsysv", "ipiv", "b"},
                                           {"dsytrf", "ipiv", "a"},
                                           {"dgelsy", "jpvt", "b"},
                                           {"dgelsy", "rank", "b"},
                                           {"dgelsy", "rank", "jpvt"},
                                           {"dgesvx", "ipiv", "b"},
                                           {"dgesvx", "ipiv", "af"},
                                           {"dgesvx", "equed", "x"},
                                           {"dgeevx", "ilo", "a"},
                                           {"dgetrs", "ipiv", "b"}}) {
    prepare(name, 8);
    const Bytes before = bytes_of(good_matrix(8));
    upload(operand(outer).buffer, before);
    operand(inner) = {operand(outer).buffer, 8, 0};
    EXPECT_EQ(run(), Code::invalid_argument) << name << ": " << inner << " in " << outer;
    EXPECT_EQ(download(operand(outer).buffer, before.size()), before);
    expect_neighbours_unchanged();
  }
}

// Blocks of one array of order 8, of order 4: A11 = 2 I, A12 and A21 of even numbers.
class BlocksTest : public HostileTest {
 protected:
  static constexpr std::size_t kOrder = 8;
  static std::size_t at(std::size_t i, std::size_t j) { return i + j * kOrder; }

  void SetUp() override {
    HostileTest::SetUp();
    if (IsSkipped()) return;
    for (std::size_t j = 0; j < kOrder; ++j) {
      for (std::size_t i = 0; i < kOrder; ++i) {
        expected_[at(i, j)] = 2.0 * static_cast<double>((3 * i + 5 * j) % 7);
        if (i < 4 && j < 4) expected_[at(i, j)] = i == j ? 2 : 0;
      }
    }
    array_ = allocate(bytes_of(expected_));
  }
  DeviceOperand block(std::size_t i, std::size_t j) const { return {array_, at(i, j) * 8, 8}; }
  // Calls a routine of level 3 with A, B and C.
  void call(std::string_view name, const std::vector<char>& flags, double alpha,
            const std::vector<DeviceOperand>& operands) {
    const Descriptor& routine = *routines::find(name);
    Argument arguments[kMaxArguments];
    std::size_t flag = 0;
    std::size_t operand = 0;
    for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
      const bool is_beta = routine.argument_names[i] == "beta";
      switch (routine.kinds[i]) {
        case Kind::flag: arguments[i].flag = flags[flag++]; break;
        case Kind::dim: arguments[i].dim = 4; break;
        case Kind::scalar: arguments[i].scalar = {is_beta ? 1 : alpha, 0}; break;
        default: arguments[i].device = operands[operand++];
      }
    }
    const Status status = outcome(device().call(queue(), routine, arguments));
    EXPECT_TRUE(status.ok()) << name << ": " << status.message();
  }

  Doubles expected_ = Doubles(kOrder * kOrder);
  BufferId array_;
};

TEST_P(BlocksTest, BlocksOfOneArrayAreComputedInPlace) {
  call("dtrsm", {'L', 'L', 'N', 'N'}, 1, {block(0, 0), block(0, 4)});  // A12 := A11^-1 A12
  call("dtrsm", {'R', 'U', 'N', 'N'}, 1, {block(0, 0), block(4, 0)});  // A21 := A21 A11^-1
  call("dgemm", {'N', 'N'}, -1, {block(4, 0), block(0, 4), block(4, 4)});
  call("dsyrk", {'L', 'N'}, 1, {block(4, 0), block(4, 4)});  // A22 += A21 A21^T, lower
  for (std::size_t j = 4; j < 8; ++j) {
    for (std::size_t i = 0; i < 4; ++i) {
      expected_[at(i, j)] /= 2;
      expected_[at(j, i)] /= 2;
    }
  }
  for (std::size_t j = 4; j < 8; ++j) {
    for (std::size_t i = 4; i < 8; ++i) {
      for (std::size_t k = 0; k < 4; ++k) {
        expected_[at(i, j)] -= expected_[at(i, k)] * expected_[at(k, j)];
        if (i >= j) expected_[at(i, j)] += expected_[at(i, k)] * expected_[at(j, k)];
      }
    }
  }
  if (!computes()) return;
  const Bytes found = download(array_, expected_.size() * 8);
  Doubles numbers(expected_.size());
  std::memcpy(numbers.data(), found.data(), found.size());
  EXPECT_EQ(numbers, expected_);  // small integers: exact
}

TEST_P(HostileTest, PivotsThatLeadToNoRowAreRefused) {
  if (!computes()) GTEST_SKIP() << GetParam().name << " reads no pivots";
  for (const char* name : {"dsytrs", "zhetrs", "zsytrs", "dgetrs", "dgetri"}) {
    for (const std::vector<std::int64_t>& pivots : {std::vector<std::int64_t>{-1, 2, 3, 4},
                                                    {1, 2, 3, -4},
                                                    {1, -2, 3, 4},
                                                    {-1, -2, 3, 4},
                                                    {1, 2, 3, 5},
                                                    {0, 2, 3, 4},
                                                    {1, 2, 3, INT64_MIN},
                                                    {(1LL << 32) + 1, 2, 3, 4}}) {
      for (const char uplo : {'U', 'L'}) {
        prepare(name, 4, uplo);
        fill("a", good_matrix(8));
        fill("ipiv", pivots);
        EXPECT_EQ(run(), Code::invalid_argument) << name << testing::PrintToString(pivots);
        expect_neighbours_unchanged();
      }
    }
  }
}

TEST_P(HostileTest, PivotsThatChangeDuringACallReachNoOtherMemory) {
  if (!computes()) GTEST_SKIP() << GetParam().name << " reads no pivots";
  prepare("dgetrs", kLargest);
  fill("a", good_matrix(kLargest));
  fill("ipiv", std::vector<std::int64_t>(kLargest, 1));
  std::byte* const pivots = device().host_view(operand("ipiv").buffer);
  if (pivots == nullptr) GTEST_SKIP() << GetParam().name << ": clients cannot map its memory";
  const HostileWriter writer(pivots, 1, 1, 1 << 22);
  const int rounds = wants_all() ? 2000 : 500;
  int accepted = 0;
  for (int round = 0; round < rounds; ++round) {
    const Code code = run();
    ASSERT_TRUE(code == Code::ok || code == Code::invalid_argument) << static_cast<int>(code);
    accepted += code == Code::ok ? 1 : 0;
  }
  std::printf("%d of %d calls were accepted\n", accepted, rounds);
  expect_neighbours_unchanged();
}

TEST_P(HostileTest, CopiesBetweenRegionsThatOverlapAreRefused) {
  const Bytes contents = random_bytes(8 * 64);
  const BufferId buffer = allocate(contents);
  const auto block = [](std::uint64_t offset_bytes, std::uint64_t ld) {
    return Region{offset_bytes, 8, Triangle::full, 3, 4, ld, 8};
  };
  for (const auto& [from, to] : {std::pair{block(0, 8), block(0, 8)},
                                 {block(0, 8), block(16, 8)},
                                 {block(0, 8), block(64, 8)},
                                 {block(0, 8), block(32, 9)}}) {
    EXPECT_EQ(outcome(device().copy(queue(), buffer, from, buffer, to)).code(),
              Code::invalid_argument);
  }
  EXPECT_EQ(download(buffer, contents.size()), contents);
  const Status beside = outcome(device().copy(queue(), buffer, block(0, 8), buffer, block(32, 8)));
  EXPECT_TRUE(beside.ok()) << beside.message();
  if (!computes()) return;
  Bytes expected = contents;
  for (std::size_t column = 0; column < 4; ++column) {
    std::memcpy(expected.data() + column * 64 + 32, contents.data() + column * 64, 24);
  }
  EXPECT_EQ(download(buffer, contents.size()), expected);
}

// The permutation that gelsy writes is also the one by which it orders the solution.
TEST_P(HostileTest, ResultsThatChangeDuringACallReachNoOtherMemory) {
  if (!computes()) GTEST_SKIP() << GetParam().name << " computes nothing";
  prepare("dgelsy", 32);
  fill("a", good_matrix(32));
  std::byte* const jpvt = device().host_view(operand("jpvt").buffer);
  if (jpvt == nullptr) GTEST_SKIP() << GetParam().name << ": clients cannot map its memory";
  const HostileWriter writer(jpvt, 32, 0, 1 << 22);
  for (int round = 0; round < (wants_all() ? 1000 : 250); ++round) {
    fill("a", good_matrix(32));
    ASSERT_EQ(run(), Code::ok);
  }
  expect_neighbours_unchanged();
}

TEST_P(HostileTest, NumbersThatAreNoneAreRefusedWhereLibrariesMightLoop) {
  if (!computes()) GTEST_SKIP() << GetParam().name << " reads no numbers";
  using Limits = std::numeric_limits<double>;
  for (const char* name : {"dgees", "dgeesx", "dgeevx", "dgeev", "dggev", "dsyevr", "dgelss"}) {
    for (const double number : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()}) {
      prepare(name, 60, 'V');
      Doubles a = good_matrix(60);
      a[60 * 60 - 1] = number;
      fill("a", a);
      EXPECT_EQ(run(), Code::unsupported) << name;
      fill("a", Doubles(60 * 60, number));
      EXPECT_EQ(run(), Code::unsupported) << name;
      expect_neighbours_unchanged();
    }
  }
}

OB_OVER_ALL_DEVICES(HostileTest);
OB_OVER_ALL_DEVICES(BlocksTest);

}  // namespace
}  // namespace ob::test
