#include "backend/cpu/cores.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace ob::cpu {
namespace {

TEST(CoresTest, ASuitableCoreIsNeverMisread) { EXPECT_FALSE(misread(suitable_core_type())); }

TEST(CoresTest, OldKernelsOnAProcessorWithVectorsAreMisread) {
  if (suitable_core_type().empty()) GTEST_SKIP() << "a processor without AVX2";
  EXPECT_TRUE(misread("Prescott"));
  EXPECT_TRUE(misread("Nehalem"));
  EXPECT_FALSE(misread("Haswell"));
  EXPECT_FALSE(misread("SkylakeX"));
}

TEST(ScopedVariableTest, SetsWhatIsNotSetAndTakesItBack) {
  unsetenv("OUTBOARD_TEST_VARIABLE");
  {
    const ScopedVariable set("OUTBOARD_TEST_VARIABLE", "one");
    EXPECT_STREQ(std::getenv("OUTBOARD_TEST_VARIABLE"), "one");
    {
      const ScopedVariable inner("OUTBOARD_TEST_VARIABLE", "two");
      EXPECT_STREQ(std::getenv("OUTBOARD_TEST_VARIABLE"), "one");
    }
    EXPECT_STREQ(std::getenv("OUTBOARD_TEST_VARIABLE"), "one");
  }
  EXPECT_EQ(std::getenv("OUTBOARD_TEST_VARIABLE"), nullptr);
  const ScopedVariable empty("OUTBOARD_TEST_VARIABLE", "");
  EXPECT_EQ(std::getenv("OUTBOARD_TEST_VARIABLE"), nullptr);
}

}  // namespace
}  // namespace ob::cpu
