#include "policy/shipped_rates.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "routines/descriptor.hpp"

namespace ob::policy {
namespace {

constexpr LibraryKind kKinds[] = {LibraryKind::unknown, LibraryKind::tuned,
                                  LibraryKind::reference_lapack, LibraryKind::reference,
                                  LibraryKind::fftw};
constexpr double kClock = 3e9;
constexpr double kWidth = 16;  // flop per cycle

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const Descriptor& routine : routines::all()) names.emplace_back(routine.name);
  for (const char* prefix : {"fftw ", "fftwf "})
    for (const char* kind : {"c2c", "r2c", "c2r", "r2r"})
      names.push_back(std::string(prefix) + kind);
  return names;
}

bool is_transform(const std::string& name) { return name.find(' ') != std::string::npos; }

bool is_single(const std::string& name) {
  return name.starts_with("fftwf") || name.front() == 's' || name.front() == 'c';
}

TEST(ShippedRates, EveryRoutineOfTheTableIsKnown) {
  for (const std::string& name : all_names()) EXPECT_TRUE(has_shipped_rate(name)) << name;
  for (const char* name : {"", "d", "dgemmx", "xgemm", "gemm", "fftw", "fftw c2x", "fftwl c2c"})
    EXPECT_FALSE(has_shipped_rate(name)) << name;
}

TEST(ShippedRates, RatesArePositiveAndNotAboveThePeak) {
  for (const std::string& name : all_names()) {
    for (const LibraryKind kind : kKinds) {
      for (const unsigned threads : {1U, 2U, 64U}) {
        const LocalLibrary library{kind, kClock, kWidth, threads};
        const double peak = kClock * kWidth * threads * (is_single(name) ? 2 : 1);
        for (double flop = 1; flop < 1e18; flop *= 7) {
          const double rate = shipped_rate(name, library, flop);
          ASSERT_GT(rate, 0) << name << ", " << flop;
          ASSERT_LE(rate, peak) << name << ", " << flop;
        }
      }
    }
  }
}

// Transforms leave the caches as they grow; nothing else becomes slower.
TEST(ShippedRates, LargerCallsAreFasterAndTakeLonger) {
  for (const std::string& name : all_names()) {
    const LocalLibrary library{LibraryKind::tuned, kClock, kWidth, 2};
    double rate = 0, seconds = 0;
    for (double flop = 10; flop < 1e15; flop *= 3) {
      const double now = shipped_rate(name, library, flop);
      if (!is_transform(name)) {
        ASSERT_GE(now, rate * (1 - 1e-12)) << name << ", " << flop;
      }
      ASSERT_GT(flop / now, seconds) << name << ", " << flop;
      rate = now;
      seconds = flop / now;
    }
  }
}

TEST(ShippedRates, MoreThreadsAreNotSlower) {
  for (const std::string& name : all_names()) {
    double rate = 0;
    for (const unsigned threads : {1U, 2U, 4U, 32U, 1000U}) {
      const double now = shipped_rate(name, {LibraryKind::tuned, kClock, kWidth, threads}, 1e9);
      ASSERT_GE(now, rate) << name;
      rate = now;
    }
  }
  const auto reference = [](unsigned threads) {
    return shipped_rate("dgemm", {LibraryKind::reference, kClock, kWidth, threads}, 1e9);
  };
  EXPECT_EQ(reference(1), reference(16));
}

TEST(ShippedRates, ErrorsAreFactors) {
  for (const std::string& name : all_names()) {
    for (const LibraryKind kind : kKinds) {
      for (const double flop : {1e3, 1e6, 1e9, 1e12}) {
        const double error = shipped_error(name, {kind, kClock, kWidth, 1}, flop);
        EXPECT_GE(error, 1.1) << name;
        EXPECT_LE(error, 20) << name;
        EXPECT_GE(shipped_error(name, {kind, kClock, kWidth, 64}, flop), error) << name;
        EXPECT_GE(shipped_error(name, {kind, kClock, kWidth, 1}, flop / 1e3),
                  is_transform(name) ? 1 : error)
            << name;
      }
    }
    EXPECT_GT(shipped_error(name, {LibraryKind::unknown, kClock, kWidth, 1}, 1e9),
              shipped_error(name, {LibraryKind::tuned, kClock, kWidth, 1}, 1e9));
  }
}

TEST(ShippedRates, NothingIsSaidWithoutPeakOrWork) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const char* name : {"dgemm", "fftw c2c", "unknown", ""}) {
    for (const double bad : {0.0, -1.0, kNan}) {
      EXPECT_EQ(shipped_rate(name, {LibraryKind::tuned, bad, kWidth, 1}, 1e6), 0);
      EXPECT_EQ(shipped_rate(name, {LibraryKind::tuned, kClock, bad, 1}, 1e6), 0);
      EXPECT_EQ(shipped_rate(name, {LibraryKind::tuned, kClock, kWidth, 1}, bad), 0);
    }
    EXPECT_GT(shipped_rate(name, {LibraryKind::tuned, kClock, kWidth, 0}, 1e6), 0);
    EXPECT_GT(shipped_rate(name, {LibraryKind::tuned, kClock, kWidth, 1}, kInf), 0);
    EXPECT_LE(shipped_rate(name, {LibraryKind::tuned, kClock, kWidth, 1}, kInf), kClock * kWidth);
  }
}

// One line of local_rates.csv, which tools/measure_local_rates.py wrote.
struct Measured {
  LocalLibrary library;
  std::string routine;
  double flop = 0;
  double seconds = 0;

  // measured over expected time
  double ratio() const { return seconds * shipped_rate(routine, library, flop) / flop; }
};

std::vector<Measured> read_measured() {
  const std::map<std::string, LibraryKind> kinds = {
      {"tuned", LibraryKind::tuned},
      {"reference-lapack", LibraryKind::reference_lapack},
      {"reference", LibraryKind::reference},
      {"fftw", LibraryKind::fftw}};
  std::ifstream in(OB_LOCAL_RATES);
  std::vector<Measured> all;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string> cells;
    std::istringstream cut(line);
    for (std::string cell; std::getline(cut, cell, ',');) cells.push_back(cell);
    EXPECT_EQ(cells.size(), 7u) << line;
    const std::string kind = cells[0].substr(0, cells[0].find(' '));
    EXPECT_TRUE(kinds.contains(kind)) << line;
    Measured one;
    one.library = {kinds.at(kind), std::stod(cells[1]), std::stod(cells[2]),
                   static_cast<unsigned>(std::stoi(cells[3]))};
    one.routine = cells[4];
    one.flop = std::stod(cells[5]);
    one.seconds = std::stod(cells[6]);
    all.push_back(one);
  }
  return all;
}

// The stated error holds nine times of ten, for each kind of library and number of threads, and for
// all routines that have the same base.
TEST(ShippedRates, MeasuredTimesAreWithinTheStatedError) {
  std::map<std::string, std::vector<Measured>> groups;
  for (const Measured& one : read_measured()) {
    const std::string base = is_transform(one.routine) ? one.routine : one.routine.substr(1);
    const int kind = static_cast<int>(one.library.kind);
    groups["kind " + std::to_string(kind) + ", " + std::to_string(one.library.threads) +
           " threads, " + base]
        .push_back(one);
  }
  EXPECT_GT(groups.size(), 80u);
  for (const auto& [name, group] : groups) {
    std::vector<double> ratios;
    std::size_t within = 0;
    for (const Measured& one : group) {
      const double ratio = one.ratio();
      const double error = shipped_error(one.routine, one.library, one.flop);
      within += ratio <= error && ratio >= 1 / error ? 1 : 0;
      ratios.push_back(ratio);
    }
    std::sort(ratios.begin(), ratios.end());
    const auto at = [&](double part) {
      return ratios[static_cast<std::size_t>(part * static_cast<double>(ratios.size() - 1))];
    };
    EXPECT_GE(static_cast<double>(within), 0.9 * static_cast<double>(group.size()) - 0.5)
        << name << ": " << within << " of " << group.size() << "; measured over expected time "
        << at(0) << " " << at(0.1) << " " << at(0.5) << " " << at(0.9) << " " << at(1);
  }
}

TEST(MostRate, IsAboveTheExpectedOneAndKnownForTrueCountsOnly) {
  const LocalLibrary library{LibraryKind::tuned, 3e9, 16, 2};
  for (const char* routine : {"dgemm", "zherk", "dgesv", "spotrf", "cgeqrf", "dgels"}) {
    for (double flop = 1e6; flop < 1e13; flop *= 10) {
      EXPECT_LT(shipped_rate(routine, library, flop), most_rate(routine, library)) << routine;
    }
  }
  EXPECT_DOUBLE_EQ(most_rate("dgemm", library), 1.1 * 3e9 * 16 * 2);
  EXPECT_DOUBLE_EQ(most_rate("sgemm", library), 2 * most_rate("dgemm", library));
  for (const char* routine : {"zgemm3m", "dsyevd", "fftw c2c", "ddot", "dunknown"}) {
    EXPECT_EQ(most_rate(routine, library), 0) << routine;
  }
  EXPECT_EQ(most_rate("dgemm", {LibraryKind::reference, 3e9, 4, 1}), 0);
  EXPECT_EQ(most_rate("dgemm", {}), 0);
}

}  // namespace
}  // namespace ob::policy
