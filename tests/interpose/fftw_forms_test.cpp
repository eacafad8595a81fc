// Real, guru and Fortran forms give the results of the native library.

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>

#include "interpose/fftw_outcome.hpp"

namespace {

using ob::interpose::Outcome;
using ob::interpose::preloaded;
using ob::interpose::run;

TEST(FftwForms, LocalAndFailedRunsAreNativeBitForBit) {
  const Outcome native = run(OB_FORMS_PROGRAM);
  ASSERT_EQ(native.status, 0) << native.text;
  for (const char* mode : {"local", "fail"}) {
    const Outcome with = run(preloaded(OB_FORMS_LIBRARY, mode, OB_FORMS_PROGRAM));
    EXPECT_EQ(with.text, native.text) << mode;
  }
}

TEST(FftwForms, RemoteRunsAgreeWithNative) {
  const Outcome native = run(OB_FORMS_PROGRAM);
  Outcome with = run(preloaded(OB_FORMS_LIBRARY, "remote", OB_FORMS_PROGRAM));
  EXPECT_EQ(with.status, 0);
  EXPECT_EQ(with.count["local"], 0);
  EXPECT_EQ(with.count["ahead"], with.count["plans"] - 1);  // the rank-0 copy stays local
  EXPECT_EQ(with.count["execute"], with.count["ahead"]);
  std::istringstream expected(native.text), got(with.text);
  std::string label, word, other;
  while (expected >> word) {
    ASSERT_TRUE(got >> other) << label;
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (*end != '\0') {
      label = word;
      ASSERT_EQ(other, word);
      continue;
    }
    // The largest transform has 60 points of at most 0.7. 100 eps cover the rounding errors of FFTW
    // and the stand-in.
    ASSERT_LT(std::abs(std::stod(other) - value), 100 * 2.3e-16 * 60) << label;
  }
  EXPECT_FALSE(got >> other);
}

}  // namespace
