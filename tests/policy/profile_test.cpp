#include "policy/profile.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <clocale>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

#include "support/random.hpp"

namespace ob::policy {
namespace {

class Profiles : public testing::Test {
 protected:
  Profiles()
      : folder_(std::filesystem::temp_directory_path() /
                ("profile-test-" + std::to_string(std::random_device{}()))) {}
  ~Profiles() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return profile_path(folder_.string(), "server", "a key"); }
  void put(const std::string& text) const {
    std::filesystem::create_directories(folder_);
    std::ofstream(path()) << text;
  }

  std::filesystem::path folder_;
};

Profile example() {
  Profile profile;
  profile.key = "a key";
  profile.written_unix_s = 1'800'000'000;
  profile.link.round_trip_s = 1.25e-5;
  for (const double bytes : {4096.0, 1e6, 6.4e7}) {
    profile.link.to.add(bytes, bytes / 1e9);
    profile.link.from.add(bytes, bytes / 2e9);
  }
  profile.local["dgemm"] = {{1e6, 3e-5}, {2e6, 5.5e-5}};
  profile.device["fftw c2c"] = {{1e8, 0.01}};
  profile.whole["dgemm"] = {{1e9, 0.1, 0.12}};
  return profile;
}

TEST_F(Profiles, ComeBackAsTheyWere) {
  ASSERT_TRUE(write_profile(path(), example()).ok());
  const auto read = read_profile(path(), "a key");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_TRUE(read->exists());
  EXPECT_EQ(read->written_unix_s, 1'800'000'000);
  ASSERT_EQ(read->local.at("dgemm").size(), 2U);
  EXPECT_EQ(read->local.at("dgemm")[1].seconds, 5.5e-5);
  EXPECT_EQ(read->device.at("fftw c2c")[0].flop, 1e8);
  EXPECT_EQ(read->whole.at("dgemm")[0].seen_s, 0.12);
  EXPECT_NEAR(read->link.seconds_to(6.4e7), 0.064, 1e-9);
  EXPECT_NEAR(read->link.seconds_from(6.4e7), 0.032, 1e-9);
  struct stat file {};
  ASSERT_EQ(::stat(path().c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600U);
}

TEST_F(Profiles, AnAbsentOneOrAnothersDoesNotExist) {
  const auto absent = read_profile(path(), "a key");
  ASSERT_TRUE(absent.ok());
  EXPECT_FALSE(absent->exists());
  ASSERT_TRUE(write_profile(path(), example()).ok());
  const auto other = read_profile(path(), "another key");
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE(other->exists());
}

TEST_F(Profiles, DamageIsSaidWithItsLine) {
  const std::string good = format_profile(example());
  for (const char* bad : {"local 1e6 dgemm\n", "local -1 1 dgemm\n", "local 1e6 nan dgemm\n",
                          "local 1e6 1\n", "device x 1 dgemm\n", "whole 1 2 dgemm\n", "link to 5\n",
                          "link to 5 6 7\n", "key \n", "written soon\n", "link\n"}) {
    put(good + bad);
    const auto read = read_profile(path(), "a key");
    EXPECT_FALSE(read.ok()) << bad;
    EXPECT_NE(read.status().message().find("line"), std::string::npos) << read.status().message();
  }
  put("");
  EXPECT_FALSE(read_profile(path(), "a key").ok());
  put("outboard-profile 2\nkey a key\nwritten 1\n");
  EXPECT_FALSE(read_profile(path(), "a key").ok());
  put(good + "something of a later version\n");
  EXPECT_TRUE(read_profile(path(), "a key").ok());
}

// A profile that is cut or changed anywhere is refused or read. It has no other effect.
TEST_F(Profiles, NoiseIsSurvived) {
  std::mt19937_64 numbers = test::fresh_random();
  const std::string good = format_profile(example());
  for (int i = 0; i < 5000; ++i) {
    std::string text = good.substr(0, numbers() % (good.size() + 1));
    for (unsigned changes = numbers() % 4; changes > 0 && !text.empty(); --changes)
      text[numbers() % text.size()] = static_cast<char>(numbers());
    const auto parsed = parse_profile(text);
    if (!parsed.ok()) continue;
    for (const auto& [routine, runs] : parsed->local)
      for (const auto& run : runs) EXPECT_GT(run.flop / run.seconds, 0) << routine;
  }
}

TEST_F(Profiles, MergingReplacesSizeBySize) {
  Profile kept = example();
  Profile fresh;
  fresh.key = "a key";
  fresh.written_unix_s = 1'900'000'000;
  fresh.local["dgemm"] = {{1.1e6, 9e-5}, {5e8, 1e-2}};
  fresh.local["dsyrk"] = {{1e6, 1e-5}};
  merge(kept, fresh);
  EXPECT_EQ(kept.written_unix_s, 1'900'000'000);
  const auto& runs = kept.local["dgemm"];
  // 1e6 lies below 2^20, so 1.1e6 shares no power of two with it
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].seconds, 3e-5);
  EXPECT_EQ(runs[1].seconds, 9e-5);
  EXPECT_EQ(runs[2].flop, 5e8);
  EXPECT_EQ(kept.local["dsyrk"].size(), 1U);
  EXPECT_TRUE(kept.link.known() || kept.link.to.known());
}

TEST_F(Profiles, ACommaForAPointChangesNothing) {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  std::setlocale(LC_NUMERIC, "de_DE.UTF-8");  // if it is installed
  const std::string text = format_profile(example());
  EXPECT_TRUE(parse_profile(text).ok());
  EXPECT_EQ(text.find(','), std::string::npos);
  std::setlocale(LC_NUMERIC, before.c_str());
}

TEST_F(Profiles, AFolderThatCannotBeMadeIsSaid) {
  const Status status = write_profile("/proc/nothing/here/server-1.profile", example());
  EXPECT_EQ(status.code(), Code::unavailable);
  EXPECT_NE(status.message().find("/proc/nothing"), std::string::npos);
}

}  // namespace
}  // namespace ob::policy
