#include "device/checked_elements.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "support/hostile_writer.hpp"
#include "support/random.hpp"

namespace ob {
namespace {

using Indices = std::vector<std::int64_t>;

// A call of xxtrs with n rows and one right-hand side; the elements of A and B do not matter.
class Solve {
 public:
  template <class Pivots>
  Solve(std::string_view name, const Pivots& pivots) : routine_(*routines::find(name)) {
    for (std::size_t i = 0; i < routine_.kinds.size(); ++i) {
      if (routine_.kinds[i] == Kind::flag) arguments_[i].flag = routine_.values[i].front();
      if (routine_.kinds[i] == Kind::dim)
        arguments_[i].dim = static_cast<std::int64_t>(pivots.size());
      if (routine_.kinds[i] != Kind::index_vector) continue;
      arguments_[i].host = {const_cast<std::int64_t*>(pivots.data()), 0};
      vector_ = i;
    }
  }
  bool accepted() const { return check_indices(routine_, arguments_).ok(); }
  Status check(CheckedElements& elements) const { return elements.check(routine_, arguments_); }
  std::size_t vector() const { return vector_; }

 private:
  const Descriptor& routine_;
  Argument arguments_[kMaxArguments];
  std::size_t vector_ = 0;
};

bool accepts(std::string_view name, Indices pivots) { return Solve(name, pivots).accepted(); }

TEST(CheckIndices, NegativePivotsAreEqualPairs) {
  for (const char* name : {"dsytrs", "zsytrs", "zhetrs"}) {
    EXPECT_TRUE(accepts(name, {-1, -1, 3}));
    EXPECT_TRUE(accepts(name, {1, -2, -2}));
    EXPECT_TRUE(accepts(name, {-2, -2, -2, -2}));
    EXPECT_TRUE(accepts(name, {}));
    EXPECT_FALSE(accepts(name, {-1, 2, 3}));    // row 0 from the end
    EXPECT_FALSE(accepts(name, {1, 2, -3}));    // row n + 1 from the front
    EXPECT_FALSE(accepts(name, {1, -2, 3}));    // neither row
    EXPECT_FALSE(accepts(name, {-1, -2, 3}));   // no pair
    EXPECT_FALSE(accepts(name, {-2, -2, -2}));  // a pair and a half
    EXPECT_FALSE(accepts(name, {1, -4, -4}));   // outside
    EXPECT_FALSE(accepts(name, {-1}));
  }
}

// The rows that LAPACK's xSYTRS visits, in the order of both of its loops (documentation of
// dsytrs): a step of two rows at a negative pivot.
bool visits_only_rows(const Indices& pivots) {
  const auto n = static_cast<std::int64_t>(pivots.size());
  const auto at = [&](std::int64_t k) { return pivots[static_cast<std::size_t>(k - 1)]; };
  for (std::int64_t k = n; k >= 1;) {
    if (at(k) > 0) {
      --k;
    } else {
      if (k == 1) return false;
      k -= 2;
    }
  }
  for (std::int64_t k = 1; k <= n;) {
    if (at(k) > 0) {
      ++k;
    } else {
      if (k == n) return false;
      k += 2;
    }
  }
  return true;
}

TEST(CheckIndices, AcceptedPivotsLeadLibrariesToNoOtherRow) {
  auto random = test::fresh_random();
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    Indices pivots(test::uniform<std::size_t>(random, 1, 6));
    for (std::int64_t& pivot : pivots) pivot = test::uniform<std::int64_t>(random, -2, 2);
    if (!accepts("dsytrs", pivots)) continue;
    ++accepted;
    ASSERT_TRUE(visits_only_rows(pivots)) << testing::PrintToString(pivots);
  }
  EXPECT_GT(accepted, 100);
}

TEST(CheckIndices, EveryRowThatReadsIndicesNamesItsCheck) {
  for (const Descriptor& routine : routines::all()) {
    for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
      if (routine.kinds[i] != Kind::index_vector || routine.values[i].empty()) continue;
      const std::string_view check = routine.values[i];
      EXPECT_TRUE(check == "pivots" || check == "signed" || check == "any") << routine.name;
      EXPECT_EQ(reads_places(routine, i), check != "any") << routine.name;
    }
  }
}

TEST(CheckedElements, LibrariesGetTheCopyThatWasChecked) {
  Indices pivots{1, 2, 3};
  const Solve solve("dgetrs", pivots);
  CheckedElements elements;
  ASSERT_TRUE(solve.check(elements).ok());
  pivots = {99, 99, 99};
  const auto* seen =
      static_cast<const std::int64_t*>(elements.arguments()[solve.vector()].host.data);
  EXPECT_EQ(Indices(seen, seen + 3), (Indices{1, 2, 3}));
}

TEST(CheckedElements, NoChangeDuringTheCheckReachesALibrary) {
  constexpr std::size_t kCount = 64;
  void* const memory = mmap(nullptr, kCount * sizeof(std::int64_t), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::span<std::int64_t> pivots(static_cast<std::int64_t*>(memory), kCount);
  std::fill(pivots.begin(), pivots.end(), 1);
  const test::HostileWriter writer(memory, 1, 1, 1000);
  const Solve solve("dgetrs", pivots);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    CheckedElements elements;
    if (!solve.check(elements).ok()) continue;
    ++accepted;
    const auto* seen =
        static_cast<const std::int64_t*>(elements.arguments()[solve.vector()].host.data);
    for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(seen[i], 1);
  }
  std::printf("%d of 20000 calls were accepted\n", accepted);
  munmap(memory, kCount * sizeof(std::int64_t));
}

TEST(CheckedElements, CallsWithoutPivotsAreNotCopied) {
  const Descriptor& dgemm = *routines::find("dgemm");
  Argument arguments[kMaxArguments];
  CheckedElements elements;
  ASSERT_TRUE(elements.check(dgemm, arguments).ok());
  EXPECT_EQ(elements.arguments(), arguments);
}

// syev of 3 x 3 with leading dimension 4, lower triangle.
template <class Number>
Status check_syev(std::string_view name, std::vector<Number> a) {
  const Descriptor& routine = *routines::find(name);
  Argument arguments[kMaxArguments];
  arguments[0].flag = 'V';
  arguments[1].flag = 'L';
  arguments[2].dim = 3;
  arguments[3].host = {a.data(), 4};
  arguments[4].host = {nullptr, 0};
  arguments[5].host = {nullptr, 0};
  return check_finite(routine, arguments);
}

template <class Number>
void expect_only_finite(std::string_view name) {
  using Limits = std::numeric_limits<Number>;
  const std::size_t parts = name.front() == 'z' || name.front() == 'c' ? 2 : 1;
  const std::vector<Number> good(12 * parts, Limits::denorm_min());
  EXPECT_TRUE(check_syev(name, good).ok());
  for (const Number bad : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()}) {
    for (std::size_t i = 0; i < good.size(); ++i) {
      auto a = good;
      a[i] = bad;
      const std::size_t row = i / parts % 4;
      const std::size_t column = i / parts / 4;
      const bool is_read = row < 3 && row >= column;
      EXPECT_EQ(check_syev(name, a).code(), is_read ? Code::unsupported : Code::ok)
          << name << " " << row << "," << column;
    }
  }
  EXPECT_TRUE(check_syev(name, std::vector<Number>(12 * parts, Limits::max())).ok());
}

TEST(CheckFinite, FindsEveryElementThatTheRoutineReads) {
  expect_only_finite<float>("ssyev");
  expect_only_finite<double>("dsyev");
  expect_only_finite<float>("cheev");
  expect_only_finite<double>("zheev");
}

TEST(CheckFinite, RowsSayWhichOperandsAreChecked) {
  const auto checked = [](std::string_view name) {
    std::string found;
    const Descriptor& routine = *routines::find(name);
    for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
      if (routine.values[i] == "finite") found += std::string(routine.argument_names[i]) + " ";
    }
    return found;
  };
  for (const char* name : {"dgees", "dgeesx", "dgeevx", "zgeev", "dsyevr", "sgesdd", "dgelss"}) {
    EXPECT_EQ(checked(name), "a ") << name;
  }
  EXPECT_EQ(checked("dggev"), "a b ");
  EXPECT_EQ(checked("zhegvd"), "a b ");
  EXPECT_EQ(checked("dgemm"), "");
  EXPECT_EQ(checked("dgetrf"), "");
}

}  // namespace
}  // namespace ob
