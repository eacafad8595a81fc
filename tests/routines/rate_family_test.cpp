#include "routines/rate_family.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace ob {
namespace {

TEST(RateFamily, MeasuredRoutinesBelongToTheirFamilies) {
  std::set<RateFamily> seen;
  for (const MeasuredRoutine& measured : measured_routines()) {
    const Descriptor* const routine = routines::find(measured.name);
    ASSERT_NE(routine, nullptr) << measured.name;
    EXPECT_EQ(rate_family(*routine), measured.family) << measured.name;
    EXPECT_NE(measured.family, RateFamily::transform);
    EXPECT_TRUE(seen.insert(measured.family).second) << measured.name;
    const auto flags = std::count(routine->kinds.begin(), routine->kinds.end(), Kind::flag);
    EXPECT_EQ(measured.flags.size(), static_cast<std::size_t>(flags)) << measured.name;
  }
}

TEST(RateFamily, AllPrecisionsOfARoutineAreInOneFamily) {
  for (const char* base : {"gesv", "potrf", "geqrf", "gesdd", "geev"}) {
    std::set<RateFamily> families;
    for (const char precision : {'s', 'd', 'c', 'z'})
      families.insert(rate_family(*routines::find(precision + std::string(base))));
    EXPECT_EQ(families.size(), 1U) << base;
    EXPECT_FALSE(families.contains(RateFamily::none)) << base;
  }
  EXPECT_EQ(rate_family(*routines::find("zheevd")), rate_family(*routines::find("dsyevd")));
}

TEST(RateFamily, ProductsAndSolutionsAreInNone) {
  for (const char* name : {"dgemm", "dtrsm", "dgetrs", "dgesvx"})
    EXPECT_EQ(rate_family(*routines::find(name)), RateFamily::none) << name;
}

TEST(RateFamily, HalfComplexAndCosineTransformsAreInNone) {
  EXPECT_EQ(rate_family(FftKind::r2r), RateFamily::none);
  EXPECT_EQ(rate_family(FftKind::c2r), RateFamily::transform);
}

}  // namespace
}  // namespace ob
