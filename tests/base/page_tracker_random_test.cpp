// Several watchers of overlapping memory that changes at random. Memory that counts as unwritten
// must have its old contents.

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "private_memory.hpp"
#include "support/random.hpp"

namespace ob {
namespace {

using test::kPage;
using test::Mapping;

constexpr std::size_t kPages = 24;

struct Watcher {
  std::size_t from = 0;
  std::size_t bytes = 0;
  PageTracker::Epoch since = 0;
  std::vector<std::byte> then;
};

class Scene {
 public:
  Scene(std::mt19937_64& random, PageTracker& tracker) : random_(random), tracker_(tracker) {}

  void step() {
    switch (test::uniform(random_, 0, 9)) {
      case 0: break;
      case 1:
      case 2: arm(watchers_[test::uniform<std::size_t>(random_, 0, 3)]); break;
      case 3:
      case 4:
      case 5: change(); break;
      default: look(watchers_[test::uniform<std::size_t>(random_, 0, 3)]);
    }
  }
  int unwritten = 0;
  int written = 0;

 private:
  void arm(Watcher& watcher) {
    if (watcher.bytes == 0 || test::uniform(random_, 0, 3) == 0) {
      watcher.from = test::uniform<std::size_t>(random_, 0, memory_.size() - 1);
      watcher.bytes = test::uniform<std::size_t>(random_, 1, memory_.size() - watcher.from);
    }
    const AddressRange range = memory_.range(watcher.from, watcher.bytes);
    watcher.since = tracker_.arm({&range, 1});
    EXPECT_NE(watcher.since, 0u);
    const std::byte* const at = memory_.data() + watcher.from;
    watcher.then.assign(at, at + watcher.bytes);
  }

  // Looks at a random part, or at all memory.
  void look(const Watcher& watcher) {
    if (watcher.bytes == 0) return;
    const std::size_t skip = test::uniform<std::size_t>(random_, 0, watcher.bytes - 1);
    const std::size_t bytes = test::uniform<std::size_t>(random_, 1, watcher.bytes - skip);
    const AddressRange part = memory_.range(watcher.from + skip, bytes);
    const AddressRange seen = test::uniform(random_, 0, 1) != 0 ? part : memory_.all();
    const bool same =
        std::memcmp(memory_.data() + watcher.from + skip, watcher.then.data() + skip, bytes) == 0;
    if (tracker_.look(seen).unwritten(part, watcher.since)) {
      EXPECT_TRUE(same) << "a write was missed";
      ++unwritten;
    } else {
      ++written;
    }
  }

  void change() {
    const std::size_t first = test::uniform<std::size_t>(random_, 0, kPages - 1);
    const std::size_t count =
        test::uniform<std::size_t>(random_, 1, std::min<std::size_t>(3, kPages - first));
    std::byte* const at = memory_.page(first);
    const std::size_t bytes = count * kPage;
    const auto value = static_cast<std::byte>(random_());
    const int way = test::uniform(random_, 0, 39);
    if (way < 28) {
      at[test::uniform<std::size_t>(random_, 0, bytes - 1)] = value;
    } else if (way < 30) {
      EXPECT_EQ(madvise(at, bytes, MADV_DONTNEED), 0);
    } else if (way < 32) {
      EXPECT_EQ(
          mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
          at);
    } else if (way < 34) {
      std::byte* const to = memory_.page(test::uniform<std::size_t>(random_, 0, kPages - count));
      if (to + bytes <= at || at + bytes <= to) std::memcpy(to, at, bytes);
    } else if (way < 36) {  // a page moves from `at`, which gets a new page
      std::byte* const to = memory_.page(test::uniform<std::size_t>(random_, 0, kPages - 1));
      if (to == at) return;
      EXPECT_EQ(mremap(at, kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED, to), to);
      EXPECT_EQ(
          mmap(at, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
          at);
    } else {
      std::memset(at, static_cast<int>(value), bytes);
    }
  }

  std::mt19937_64& random_;
  PageTracker& tracker_;
  Mapping memory_{kPages * kPage};
  Watcher watchers_[4];
};

TEST(PageTrackerRandom, WhatCountsAsUnwrittenWasNotWritten) {
  auto random = test::fresh_random();
  PageTracker tracker;
  Scene scene(random, tracker);
  if (!test::tracks(tracker)) return;
  for (int i = 0; i < 40000 && !testing::Test::HasFailure(); ++i) scene.step();
  std::printf("%d looks found nothing, %d something\n", scene.unwritten, scene.written);
  EXPECT_GT(scene.unwritten, 500);
  EXPECT_GT(scene.written, 500);
}

TEST(PageTrackerRandom, ThreadsShareATracker) {
  auto random = test::fresh_random();
  PageTracker tracker;
  if (!test::tracks(tracker)) return;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&tracker, seed = random()] {
      std::mt19937_64 own(seed);
      Scene scene(own, tracker);
      for (int step = 0; step < 5000 && !testing::Test::HasFailure(); ++step) scene.step();
      EXPECT_GT(scene.unwritten, 50);
      EXPECT_GT(scene.written, 50);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace ob
