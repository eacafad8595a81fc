// Random problems of every maker, in both precisions: remote transforms give the results of the
// native library.

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "interpose/fftw_outcome.hpp"
#include "support/random.hpp"

namespace {

using ob::interpose::Outcome;
using ob::interpose::preloaded;
using ob::interpose::run;

// One printed line: its words and the numbers between them.
struct Line {
  std::string words;
  std::vector<double> values;
};

std::vector<Line> lines_of(const std::string& text) {
  std::vector<Line> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    Line& added = lines.emplace_back();
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      char* end = nullptr;
      const double value = std::strtod(word.c_str(), &end);
      if (*end == '\0') added.values.push_back(value);
      if (*end != '\0') added.words += word + ' ';
    }
  }
  return lines;
}

// The places of all values, NULLs and the number of untouched elements agree exactly. Values agree
// up to the rounding errors of transforms of up to 64 points (100 eps of the largest value; FFTW's
// own accuracy benchmark sees a few eps).
void compare(const Outcome& native, const Outcome& remote, double epsilon) {
  const std::vector<Line> expected = lines_of(native.text);
  const std::vector<Line> got = lines_of(remote.text);
  ASSERT_EQ(expected.size(), got.size()) << remote.text.substr(0, 400);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(expected[i].words, got[i].words) << "line " << i;
    ASSERT_EQ(expected[i].values.size(), got[i].values.size()) << expected[i].words;
    double largest = 0;
    for (std::size_t k = 0; k + 1 < expected[i].values.size(); ++k) {
      largest = std::max(largest, std::abs(expected[i].values[k]));
    }
    for (std::size_t k = 0; k < expected[i].values.size(); ++k) {
      const double error = std::abs(expected[i].values[k] - got[i].values[k]);
      ASSERT_LE(error, 100 * epsilon * largest) << "line " << i << " " << expected[i].words;
    }
  }
}

constexpr const char* kDims[] = {"_1d", "_2d", "_3d", ""};
constexpr const char* kKinds[] = {"dft", "dft_r2c", "dft_c2r", "r2r"};

std::vector<std::string> makers() {
  std::vector<std::string> names;
  for (const std::string kind : kKinds) {
    for (const std::string dims : kDims) names.push_back("plan_" + kind + dims);
    for (const std::string form : {"many", "guru", "guru64"}) {
      names.push_back("plan_" + form + "_" + kind);
      const bool splits = form != "many" && kind != "r2r";
      if (splits) names.push_back("plan_" + form + "_split_" + kind);
    }
  }
  return names;
}

struct Program {
  const char* path;
  double epsilon;
};

class FftwRandom : public testing::TestWithParam<Program> {
 protected:
  std::string command(const std::string& arguments) const {
    return std::string(GetParam().path) + " " + std::to_string(seed_) + " " + arguments;
  }

  // FFTW 3.3.10 recurses without end while it plans some split transforms of two points in place.
  // Where it crashes natively, there is nothing to compare, so the next seed is taken.
  Outcome run_natively(const std::string& arguments) {
    constexpr int kCrashed = 128 + SIGSEGV;
    constexpr int kMostSeeds = 3;
    Outcome native = run(command(arguments));
    for (int i = 1; i < kMostSeeds && native.status == kCrashed; ++i) {
      std::printf("crashes natively: %s\n", command(arguments).c_str());
      ++seed_;
      native = run(command(arguments));
    }
    return native;
  }

 private:
  std::uint64_t seed_ = ob::test::test_seed();
};

TEST_P(FftwRandom, RemoteRunsAgreeWithNative) {
  for (const std::string& maker : makers()) {
    Outcome native = run_natively("8 " + maker);
    SCOPED_TRACE(command("8 " + maker));
    ASSERT_EQ(native.status, 0) << native.text;
    Outcome remote = run(preloaded(OB_STANDIN_LIBRARY, "remote", command("8 " + maker)));
    EXPECT_EQ(remote.status, 0);
    EXPECT_EQ(native.count["plans"], remote.count["plans"]);
    EXPECT_GT(native.count["plans"], 0);
    // Some plans have one point or nothing to do. The others are remote at all three executions.
    EXPECT_GT(remote.count["execute"], 0);
    EXPECT_GE(remote.count["execute"], 3 * (remote.count["ahead"] - remote.count["nulls"]));
    EXPECT_EQ(remote.count["local"], 0);
    compare(native, remote, GetParam().epsilon);
    if (HasFatalFailure()) return;
  }
}

TEST_P(FftwRandom, LocalAndFailedRunsAreNativeBitForBit) {
  const Outcome native = run_natively("3");
  ASSERT_EQ(native.status, 0) << native.text;
  for (const char* mode : {"local", "fail", "gate"}) {
    const Outcome with = run(preloaded(OB_STANDIN_LIBRARY, mode, command("3")));
    EXPECT_EQ(with.status, 0) << command("3");
    EXPECT_TRUE(with.text == native.text) << mode << " " << command("3");
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, FftwRandom,
                         testing::Values(Program{OB_RANDOM_DOUBLE, DBL_EPSILON},
                                         Program{OB_RANDOM_SINGLE, FLT_EPSILON}),
                         [](const auto& param) {
                           return std::string(param.index == 0 ? "double" : "single");
                         });

}  // namespace
