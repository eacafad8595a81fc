#include "executor/folder_cache.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/temporary_folder.hpp"

namespace ob::executor {
namespace {

using test::TemporaryFolder;

void write(const TemporaryFolder& folder, const std::string& path, const std::string& contents) {
  const std::filesystem::path whole = folder.file(path);
  std::filesystem::create_directories(whole.parent_path());
  std::ofstream(whole) << contents;
}

std::string contents(const TemporaryFolder& folder, const std::string& path) {
  std::ifstream file(folder.file(path));
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr UserId kAda{1}, kBob{2};

TEST(FolderCacheTest, AUserGetsTheFilesOfThatUserOnly) {
  FolderCache cache;
  const TemporaryFolder made, again, others;
  write(made, "AB/CD/code", "machine code");
  write(made, "log", "");
  cache.take(kAda, made.path());
  EXPECT_FALSE(cache.fill(kBob, others.path()));
  EXPECT_TRUE(std::filesystem::is_empty(others.path()));
  EXPECT_TRUE(cache.fill(kAda, again.path()));
  EXPECT_EQ(contents(again, "AB/CD/code"), "machine code");
  EXPECT_TRUE(std::filesystem::exists(again.file("log")));
  cache.forget(kAda);
  EXPECT_FALSE(cache.fill(kAda, others.path()));
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(FolderCacheTest, TwoProcessesOfAUserAddToEachOther) {
  FolderCache cache;
  const TemporaryFolder one, two, all;
  write(one, "a", "1");
  write(one, "b", "1");
  write(two, "b", "2");
  cache.take(kAda, one.path());
  cache.take(kAda, two.path());
  EXPECT_TRUE(cache.fill(kAda, all.path()));
  EXPECT_EQ(contents(all, "a") + contents(all, "b"), "12");
}

// The process that wrote the folder may have been taken over.
TEST(FolderCacheTest, LinksAndSpecialFilesAreLeftOut) {
  FolderCache cache;
  const TemporaryFolder made, secret, filled;
  write(secret, "key", "secret");
  write(made, "good", "good");
  write(made, "1/2/3/4/5/6/7/8/deep", "deep");
  std::filesystem::create_symlink(secret.file("key"), made.file("link"));
  std::filesystem::create_directory_symlink(secret.path(), made.file("folder"));
  ASSERT_EQ(::mkfifo(made.file("pipe").c_str(), 0600), 0);
  cache.take(kAda, made.path());
  ASSERT_TRUE(cache.fill(kAda, filled.path()));
  EXPECT_EQ(contents(filled, "good"), "good");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(filled.path()),
                          std::filesystem::directory_iterator()),
            1);
}

TEST(FolderCacheTest, SizesAreLimited) {
  FolderCache cache({.user_bytes = 1000, .total_bytes = 2500, .user_files = 10});
  const TemporaryFolder large, many, filled;
  write(large, "large", std::string(1001, 'x'));
  write(large, "small", std::string(500, 'x'));
  cache.take(kAda, large.path());
  EXPECT_EQ(cache.bytes(), 505u);
  for (int i = 0; i < 100; ++i) write(many, std::to_string(i), "x");
  cache.take(kBob, many.path());
  ASSERT_TRUE(cache.fill(kBob, filled.path()));
  EXPECT_LE(std::distance(std::filesystem::directory_iterator(filled.path()),
                          std::filesystem::directory_iterator()),
            10);
  // Users whose files were used longest ago lose theirs.
  for (std::uint64_t user = 10; user < 20; ++user) cache.take(UserId{user}, large.path());
  EXPECT_LE(cache.bytes(), 2500u);
  EXPECT_FALSE(cache.fill(kAda, filled.path()));
  EXPECT_TRUE(cache.fill(UserId{19}, TemporaryFolder().path()));
}

}  // namespace
}  // namespace ob::executor
