#include "interpose/settings.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <string>
#include <string_view>

#include "interpose/setting_table.hpp"

namespace ob::interpose {
namespace {

using offload::Mode;

class SettingsTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const setting_table::Setting* setting : setting_table::kAll) {
      ::unsetenv(setting->variable);
      if (*setting->older_variable != 0) ::unsetenv(setting->older_variable);
    }
  }
  void set(const char* name, const char* value) { ::setenv(name, value, 1); }
};

using Names = std::vector<std::string>;

TEST_F(SettingsTest, AnEmptyEnvironmentGivesDefaults) {
  const offload::Config s = read_settings();
  EXPECT_EQ(s.mode, Mode::automatic);
  EXPECT_TRUE(s.servers.empty());
  EXPECT_FALSE(s.quiet || s.report_to_stderr);
  EXPECT_TRUE(s.report_directory.empty() && s.trace_path.empty() && s.complaint.empty());
  EXPECT_TRUE(s.allows("dgemm"));
}

template <std::size_t kCount>
void expect_words(const setting_table::Setting& setting,
                  const std::array<std::string_view, kCount>& choices) {
  for (const std::string_view choice : choices) {
    ::setenv(setting.variable, std::string(choice).c_str(), 1);
    EXPECT_EQ(read_settings().complaint, "");
  }
  ::setenv(setting.variable, "a word", 1);
  EXPECT_EQ(read_settings().complaint,
            std::string(setting.variable) + "=a word " + std::string(setting.complaint));
  ::unsetenv(setting.variable);
}

TEST_F(SettingsTest, EachWordOfTheTableIsAllowedAndNoOther) {
  using namespace setting_table;
  expect_words(kMode, kModeChoices);
  expect_words(kRoute, kRouteChoices);
  expect_words(kNativePlan, kNativePlanChoices);
  expect_words(kAccuracy, kAccuracyChoices);
  for (const std::string_view word : kAccuracyChoices) {
    EXPECT_TRUE(offload::accuracy_named(word)) << word;  // the words of outboard_accuracy()
  }
}

TEST_F(SettingsTest, ModesByName) {
  const std::pair<const char*, Mode> modes[] = {{"off", Mode::off},
                                                {"trace", Mode::trace},
                                                {"auto", Mode::automatic},
                                                {"remote", Mode::remote}};
  for (const auto& [text, mode] : modes) {
    set("OUTBOARD_MODE", text);
    EXPECT_EQ(read_settings().mode, mode);
    EXPECT_EQ(read_settings().complaint, "");
  }
  set("OUTBOARD_MODE", "Remote!");
  EXPECT_EQ(read_settings().mode, Mode::automatic);
  EXPECT_NE(read_settings().complaint.find("Remote!"), std::string::npos);
}

TEST_F(SettingsTest, OneDeviceUnlessAskedForMore) {
  EXPECT_EQ(read_settings().devices, 1u);
  set("OUTBOARD_DEVICES", "3");
  EXPECT_EQ(read_settings().devices, 3u);
  EXPECT_FALSE(read_settings().always_several);
  set("OUTBOARD_DEVICES", "all");
  EXPECT_GT(read_settings().devices, 8u);
  set("OUTBOARD_DEVICES", "100000000");
  EXPECT_LE(read_settings().devices, 64u);
  set("OUTBOARD_DEVICES", "always:2");
  EXPECT_EQ(read_settings().devices, 2u);
  EXPECT_TRUE(read_settings().always_several);
  EXPECT_EQ(read_settings().complaint, "");
  for (const char* nonsense : {"0", "-1", "two", "2x", "always:", "always"}) {
    set("OUTBOARD_DEVICES", nonsense);
    EXPECT_EQ(read_settings().devices, 1u) << nonsense;
    EXPECT_NE(read_settings().complaint.find(nonsense), std::string::npos);
  }
}

TEST_F(SettingsTest, DevicesReachEachOtherAsItIsFastestUnlessToldHow) {
  using algorithms::Route;
  EXPECT_EQ(read_settings().route, std::nullopt);
  set("OUTBOARD_ROUTE", "ring");
  EXPECT_EQ(read_settings().route, Route::ring);
  set("OUTBOARD_ROUTE", "relay");
  EXPECT_EQ(read_settings().route, Route::relay);
  set("OUTBOARD_ROUTE", "auto");
  EXPECT_EQ(read_settings().route, std::nullopt);
  EXPECT_EQ(read_settings().complaint, "");
  set("OUTBOARD_ROUTE", "rings");
  EXPECT_EQ(read_settings().route, std::nullopt);
  EXPECT_NE(read_settings().complaint.find("rings"), std::string::npos);
}

TEST_F(SettingsTest, ResultsAreCheckedIfAsked) {
  EXPECT_FALSE(read_settings().verify);
  set("OUTBOARD_VERIFY", "0");
  EXPECT_FALSE(read_settings().verify);
  EXPECT_EQ(read_settings().complaint, "");
  set("OUTBOARD_VERIFY", "1");
  EXPECT_TRUE(read_settings().verify);
  EXPECT_EQ(read_settings().complaint, "");
  set("OUTBOARD_VERIFY", "often");
  EXPECT_FALSE(read_settings().verify);
  EXPECT_NE(read_settings().complaint.find("OUTBOARD_VERIFY=often"), std::string::npos);
}

TEST_F(SettingsTest, AccuracyIsOneOfFourWords) {
  EXPECT_EQ(read_settings().accuracy, Accuracy::standard);
  const std::pair<const char*, Accuracy> modes[] = {{"standard", Accuracy::standard},
                                                    {"strict", Accuracy::strict},
                                                    {"fast", Accuracy::fast},
                                                    {"emulated", Accuracy::emulated}};
  for (const auto& [text, mode] : modes) {
    set("OUTBOARD_ACCURACY", text);
    EXPECT_EQ(read_settings().accuracy, mode);
    EXPECT_EQ(read_settings().complaint, "");
  }
  set("OUTBOARD_ACCURACY", "sloppy");
  EXPECT_EQ(read_settings().accuracy, Accuracy::standard);
  EXPECT_NE(read_settings().complaint.find("OUTBOARD_ACCURACY=sloppy"), std::string::npos);
}

TEST_F(SettingsTest, ServersAreAListWithAnOlderSpelling) {
  set("RCPU_SERVER", "old:1");
  EXPECT_EQ(read_settings().servers, Names{"old:1"});
  set("OUTBOARD_SERVER", " a:1, ,b:2 ,unix:/x y,");
  EXPECT_EQ(read_settings().servers, (Names{"a:1", "b:2", "unix:/x y"}));
}

TEST_F(SettingsTest, ReportsGoToStderrOrADirectory) {
  set("OUTBOARD_REPORT", "stderr");
  EXPECT_TRUE(read_settings().report_to_stderr);
  set("OUTBOARD_REPORT", "0");
  EXPECT_FALSE(read_settings().report_to_stderr);
  set("OUTBOARD_REPORT", "dir:/tmp/x");
  EXPECT_FALSE(read_settings().report_to_stderr);
  EXPECT_EQ(read_settings().report_directory, "/tmp/x");
}

TEST_F(SettingsTest, TheLastMatchingPatternDecides) {
  offload::Config s;
  s.routines = {"-dgemm"};
  EXPECT_FALSE(s.allows("dgemm"));
  EXPECT_TRUE(s.allows("sgemm"));
  s.routines = {"dgemm", "?trsm"};
  EXPECT_TRUE(s.allows("dgemm") && s.allows("ztrsm"));
  EXPECT_FALSE(s.allows("sgemm"));
  s.routines = {"*", "-fftw*", "fftw c2c"};
  EXPECT_TRUE(s.allows("dgemm") && s.allows("fftw c2c"));
  EXPECT_FALSE(s.allows("fftwf c2c"));
}

TEST_F(SettingsTest, WhatMayStayIsASize) {
  EXPECT_FALSE(read_settings().resident_bytes);
  const std::pair<const char*, std::uint64_t> sizes[] = {
      {"off", 0},          {"0", 0},          {"1000", 1000},      {"1K", 1 << 10},
      {"512M", 512 << 20}, {"3MiB", 3 << 20}, {"2GB", 2ULL << 30}, {"99999999999T", UINT64_MAX}};
  for (const auto& [text, bytes] : sizes) {
    set("OUTBOARD_RESIDENT", text);
    EXPECT_EQ(read_settings().resident_bytes, bytes) << text;
    EXPECT_EQ(read_settings().complaint, "");
  }
  set("OUTBOARD_RESIDENT", "auto");
  EXPECT_FALSE(read_settings().resident_bytes);
  EXPECT_EQ(read_settings().complaint, "");
  for (const char* nonsense : {"much", "-1", "5X", "5MM", "M", "1.5G"}) {
    set("OUTBOARD_RESIDENT", nonsense);
    EXPECT_FALSE(read_settings().resident_bytes) << nonsense;
    EXPECT_NE(read_settings().complaint.find(nonsense), std::string::npos);
  }
}

TEST_F(SettingsTest, PagesAreTrackedOnRequestOnly) {
  EXPECT_FALSE(read_settings().track_pages);
  for (const auto& [text, on] :
       {std::pair("1", true), {"on", true}, {"0", false}, {"off", false}}) {
    set("OUTBOARD_TRACK_PAGES", text);
    EXPECT_EQ(read_settings().track_pages, on) << text;
    EXPECT_EQ(read_settings().complaint, "");
  }
}

TEST_F(SettingsTest, StreamsAreASmallNumber) {
  EXPECT_EQ(read_settings().streams, 1u);
  for (const unsigned streams : {1u, 2u, 16u}) {
    set("OUTBOARD_STREAMS", std::to_string(streams).c_str());
    EXPECT_EQ(read_settings().streams, streams);
    EXPECT_EQ(read_settings().complaint, "");
  }
  for (const char* nonsense :
       {"many", "0", "-1", "17", "4x", " 4", "1e1", "99999999999999999999"}) {
    set("OUTBOARD_STREAMS", nonsense);
    EXPECT_EQ(read_settings().streams, 1u) << nonsense;
    EXPECT_NE(read_settings().complaint.find(nonsense), std::string::npos) << nonsense;
  }
}

TEST_F(SettingsTest, TheFirstWaitIsInMilliseconds) {
  EXPECT_EQ(read_settings().first_wait.count(), 20);
  for (const int milliseconds : {0, 1, 60'000}) {
    set("OUTBOARD_FIRST_WAIT", std::to_string(milliseconds).c_str());
    EXPECT_EQ(read_settings().first_wait.count(), milliseconds);
    EXPECT_EQ(read_settings().complaint, "");
  }
  for (const char* nonsense : {"long", "-1", "60001", "20ms", " 4", "1e1"}) {
    set("OUTBOARD_FIRST_WAIT", nonsense);
    EXPECT_EQ(read_settings().first_wait.count(), 20) << nonsense;
    EXPECT_NE(read_settings().complaint.find(nonsense), std::string::npos) << nonsense;
  }
}

TEST_F(SettingsTest, RanksAreThoseOfTheLauncher) {
  const std::pair<const char*, const char*> variables[] = {
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      {"PMI_RANK", "PMI_SIZE"},
      {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
  for (const auto& [rank, size] : variables) {
    EXPECT_FALSE(read_settings().rank.has_value());
    set(rank, "3");
    EXPECT_FALSE(read_settings().rank.has_value()) << rank;
    set(size, "4");
    EXPECT_EQ(read_settings().rank, 3U) << rank;
    for (const char* count : {"1", "3", "", "x", "-4", "99999999999999999999"}) {
      set(size, count);
      EXPECT_FALSE(read_settings().rank.has_value()) << count;
    }
    set(rank, "");
  }
}

TEST_F(SettingsTest, PoolDevicesHaveALeastRate) {
  EXPECT_FALSE(read_settings().pool_gflops.has_value());
  for (const double rate : {0.0, 1.0, 1e9}) {
    set("OUTBOARD_POOL_GFLOPS", std::to_string(static_cast<long>(rate)).c_str());
    EXPECT_EQ(read_settings().pool_gflops, rate);
    EXPECT_EQ(read_settings().complaint, "");
  }
  for (const char* nonsense : {"fast", "-1", "1000000001", "1.5", " 4"}) {
    set("OUTBOARD_POOL_GFLOPS", nonsense);
    EXPECT_FALSE(read_settings().pool_gflops.has_value()) << nonsense;
    EXPECT_NE(read_settings().complaint.find(nonsense), std::string::npos) << nonsense;
  }
}

TEST_F(SettingsTest, WhatMakesNoSenseIsSaid) {
  const std::pair<const char*, const char*> cases[] = {
      {"OUTBOARD_MODE", "fast"},
      {"OUTBOARD_REPORT", "json"},
      {"OUTBOARD_NATIVE_PLAN", "measure"},
  };
  for (const auto& [name, value] : cases) {
    ::setenv(name, value, 1);
    const std::string complaint = read_settings().complaint;
    EXPECT_NE(complaint.find(std::string(name) + "=" + value), std::string::npos) << complaint;
    ::unsetenv(name);
  }
  for (const char* value : {"stderr", "dir:/tmp", "1", "0"}) {
    ::setenv("OUTBOARD_REPORT", value, 1);
    EXPECT_EQ(read_settings().complaint, "") << value;
  }
}

}  // namespace
}  // namespace ob::interpose
