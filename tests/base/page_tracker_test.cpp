// The kernel's page tracking notices every kind of change, in the changed pages and in no others.
// Memory that cannot be tracked counts as written.

#include "base/page_tracker.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "private_memory.hpp"
#include "support/random.hpp"

namespace ob {
namespace {

using test::kPage;
using test::Mapping;

// Runs `check` in a child. The child's exit status is the result.
bool in_child(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) _exit(check() ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int read_byte(const volatile std::byte* at) { return std::to_integer<int>(*at); }

class PageTrackerTest : public testing::Test {
 protected:
  PageTracker::Epoch arm(AddressRange range) { return tracker.arm({&range, 1}); }
  bool unwritten(AddressRange range, PageTracker::Epoch since) {
    return tracker.look(range).unwritten(range, since);
  }
  // Arms all pages, makes the change, and expects a report of `written` pages from `first`.
  void expect_noticed(const char* what, const Mapping& memory, std::size_t first,
                      std::size_t written, const std::function<void()>& change) {
    SCOPED_TRACE(what);
    const PageTracker::Epoch since = arm(memory.all());
    ASSERT_NE(since, 0u);
    ASSERT_TRUE(unwritten(memory.all(), since));
    ASSERT_TRUE(unwritten(memory.all(), since)) << "a look changes nothing";
    change();
    const PageTracker::View view = tracker.look(memory.all());
    for (std::size_t i = 0; i < memory.size() / kPage; ++i) {
      const bool touched = i >= first && i < first + written;
      EXPECT_EQ(view.unwritten(memory.pages(i, 1), since), !touched) << "page " << i;
    }
    EXPECT_EQ(view.unwritten(memory.all(), since), written == 0);
  }
  void try_all_ways(const Mapping& memory);

  PageTracker tracker;
};

void PageTrackerTest::try_all_ways(const Mapping& memory) {
  std::byte* const at = memory.page(3) + 17;
  expect_noticed("nothing", memory, 0, 0, [] {});
  expect_noticed("a read", memory, 0, 0, [&] { (void)read_byte(at); });
  expect_noticed("a store", memory, 3, 1, [&] { *at = std::byte{1}; });
  expect_noticed("a store of the same", memory, 3, 1, [&] { *at = std::byte{1}; });
  expect_noticed("memset over three pages", memory, 3, 3,
                 [&] { std::memset(at, 2, 2 * kPage + 1); });
  expect_noticed("another thread", memory, 3, 1,
                 [&] { std::thread([&] { *at = std::byte{3}; }).join(); });
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  expect_noticed("read()", memory, 3, 2, [&] {
    ASSERT_EQ(write(ends[1], "0123456789", 10), 10);
    ASSERT_EQ(read(ends[0], memory.page(4) - 5, 10), 10);
  });
  close(ends[0]);
  close(ends[1]);
  expect_noticed("process_vm_writev()", memory, 3, 1, [&] {
    char text[] = "hello";
    iovec from{text, 5};
    iovec to{at, 5};
    ASSERT_EQ(process_vm_writev(getpid(), &from, 1, &to, 1, 0), 5);
  });
  expect_noticed("/proc/self/mem", memory, 3, 1, [&] {
    const int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    ASSERT_EQ(pwrite(fd, "x", 1, static_cast<off_t>(reinterpret_cast<std::uintptr_t>(at))), 1);
    close(fd);
  });
  expect_noticed("MADV_DONTNEED of a page", memory, 3, 1,
                 [&] { ASSERT_EQ(madvise(memory.page(3), kPage, MADV_DONTNEED), 0); });
  expect_noticed("the page is read again", memory, 3, 1, [&] {
    ASSERT_EQ(madvise(memory.page(3), kPage, MADV_DONTNEED), 0);
    EXPECT_EQ(read_byte(at), 0);
  });
  expect_noticed("MADV_DONTNEED of all", memory, 0, memory.size() / kPage,
                 [&] { ASSERT_EQ(madvise(memory.data(), memory.size(), MADV_DONTNEED), 0); });
  expect_noticed("never touched since", memory, 3, 1, [&] { *at = std::byte{4}; });
  std::memset(memory.data(), 5, memory.size());
  expect_noticed("protected and opened again", memory, 3, 1, [&] {
    ASSERT_EQ(mprotect(memory.page(2), 3 * kPage, PROT_READ), 0);
    ASSERT_EQ(mprotect(memory.page(2), 3 * kPage, PROT_READ | PROT_WRITE), 0);
    *at = std::byte{6};
  });
  expect_noticed("a child writes its own", memory, 0, 0,
                 [&] { EXPECT_TRUE(in_child([&] { return *at = std::byte{7}, true; })); });
  EXPECT_EQ(*at, std::byte{6});
  expect_noticed("after a fork", memory, 3, 1, [&] {
    EXPECT_TRUE(in_child([] { return true; }));
    *at = std::byte{8};
  });
  expect_noticed("while a child lives", memory, 3, 1, [&] {
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) _exit(read(ends[0], &ends[1], 1) == 1 ? 0 : 1);
    *at = std::byte{9};
    EXPECT_EQ(write(ends[1], "x", 1), 1);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
    close(ends[0]);
    close(ends[1]);
  });
}

TEST_F(PageTrackerTest, NoticesEveryWayOfWriting) {
  if (!test::tracks(tracker)) return;
  const Mapping memory(8 * kPage);
  try_all_ways(memory);
}

TEST_F(PageTrackerTest, NoticesThemInHugePages) {
  if (!test::tracks(tracker)) return;
  const Mapping memory(4 << 20);
  if (madvise(memory.data(), memory.size(), MADV_HUGEPAGE) != 0) std::printf("no huge pages\n");
  std::memset(memory.data(), 1, memory.size());
  try_all_ways(memory);
  const std::size_t half = memory.size() / 2 / kPage;
  ASSERT_EQ(madvise(memory.data(), memory.size(), MADV_DONTNEED), 0);
  std::memset(memory.data(), 1, memory.size());
  expect_noticed("a huge page goes", memory, half, half,
                 [&] { ASSERT_EQ(madvise(memory.page(half), half * kPage, MADV_DONTNEED), 0); });
}

TEST_F(PageTrackerTest, OtherMemoryAtTheSameAddressesCountsAsWritten) {
  if (!test::tracks(tracker)) return;
  Mapping memory(8 * kPage);
  const std::size_t all = memory.size() / kPage;
  std::memset(memory.data(), 1, memory.size());
  expect_noticed("munmap", memory, 0, all, [&] { munmap(memory.data(), memory.size()); });
  memory.map();
  expect_noticed("mmap", memory, 0, all, [&] { memory.map(); });
  expect_noticed("a page of it", memory, 2, 1, [&] {
    ASSERT_EQ(mmap(memory.page(2), kPage, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
              memory.page(2));
  });
  memory.map();
  const int file = memfd_create("other", 0);
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(memory.size())), 0);
  expect_noticed("a file", memory, 0, all, [&] { memory.map(MAP_SHARED, file); });
  memory.map();
  close(file);
}

TEST_F(PageTrackerTest, MovedMemoryCountsAsWritten) {
  if (!test::tracks(tracker)) return;
  const Mapping memory(8 * kPage);
  const Mapping elsewhere(8 * kPage);
  const std::size_t all = memory.size() / kPage;
  const auto move = [&](const Mapping& from, const Mapping& to) {
    ASSERT_EQ(mremap(from.data(), from.size(), to.size(), MREMAP_MAYMOVE | MREMAP_FIXED, to.data()),
              to.data());
  };
  std::memset(memory.data(), 1, memory.size());
  std::memset(elsewhere.data(), 2, elsewhere.size());
  const PageTracker::Epoch other = arm(elsewhere.all());
  expect_noticed("armed memory comes here", memory, 0, all, [&] { move(elsewhere, memory); });
  EXPECT_FALSE(unwritten(elsewhere.all(), other));
  expect_noticed("away and back", memory, 0, all, [&] {
    move(memory, elsewhere);
    EXPECT_FALSE(unwritten(elsewhere.all(), other));
    elsewhere.data()[5] = std::byte{3};
    move(elsewhere, memory);
  });
  expect_noticed("only the pages go", memory, 0, all, [&] {
    ASSERT_EQ(mremap(memory.data(), memory.size(), memory.size(),
                     MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, elsewhere.data()),
              elsewhere.data());
  });
}

// A mapping is watched as a whole: in parts it could not be moved or resized in one step.
TEST_F(PageTrackerTest, ArmedMemoryCanBeMovedAndGrown) {
  if (!test::tracks(tracker)) return;
  const Mapping memory(8 * kPage);
  const Mapping elsewhere(16 * kPage);
  std::memset(memory.data(), 1, memory.size());
  ASSERT_NE(arm(memory.pages(2, 3)), 0u);
  ASSERT_EQ(mremap(memory.data(), memory.size(), elsewhere.size(), MREMAP_MAYMOVE | MREMAP_FIXED,
                   elsewhere.data()),
            elsewhere.data());
  EXPECT_EQ(elsewhere.page(4)[1], std::byte{1});
  const PageTracker::Epoch since = arm(elsewhere.all());
  EXPECT_TRUE(unwritten(elsewhere.all(), since));
}

// A page that moves back joins its old neighbours. Linux 6.18 then removes the watch from all of
// them but leaves their protection, and writes do not remove this protection.
TEST_F(PageTrackerTest, ProtectionThatLostItsWatchIsNotBelieved) {
  if (!test::tracks(tracker)) return;
  const Mapping memory(16 * kPage);
  const Mapping elsewhere(kPage);
  const auto move = [](std::byte* from, std::byte* to) {
    ASSERT_EQ(mremap(from, kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED, to), to);
  };
  std::memset(memory.data(), 1, memory.size());
  const PageTracker::Epoch first = arm(memory.all());
  move(memory.page(12), elsewhere.data());
  ASSERT_NE(arm(elsewhere.all()), 0u);
  move(elsewhere.data(), memory.page(12));
  std::memset(memory.data(), 2, memory.size());
  EXPECT_FALSE(unwritten(memory.pages(8, 2), first));
  ASSERT_NE(arm(memory.pages(0, 4)), 0u);
  EXPECT_FALSE(unwritten(memory.pages(8, 2), first));
  const PageTracker::Epoch second = arm(memory.pages(8, 2));
  *memory.page(9) = std::byte{3};
  EXPECT_FALSE(unwritten(memory.pages(8, 2), second));
  EXPECT_TRUE(unwritten(memory.pages(8, 1), second));
}

TEST_F(PageTrackerTest, PagesAtTheEdgesCountWhoeverWritesThem) {
  if (!test::tracks(tracker)) return;
  const Mapping memory(8 * kPage);
  const AddressRange inside = memory.range(2 * kPage + 100, 3 * kPage);  // four pages
  PageTracker::Epoch since = arm(inside);
  EXPECT_TRUE(unwritten(inside, since));
  EXPECT_TRUE(unwritten(memory.pages(2, 4), since));
  EXPECT_FALSE(unwritten(memory.pages(1, 1), since)) << "nobody armed it";
  EXPECT_FALSE(unwritten(memory.pages(6, 1), since));
  *memory.page(2) = std::byte{1};  // before the range
  EXPECT_FALSE(unwritten(inside, since));
  since = arm(inside);
  *(memory.page(6) - 1) = std::byte{1};  // behind the range
  EXPECT_FALSE(unwritten(inside, since));
  since = arm(inside);
  *(memory.page(2) - 1) = *memory.page(6) = std::byte{1};
  EXPECT_TRUE(unwritten(inside, since));
}

// Arming for one watcher must not hide a write from another one.
TEST_F(PageTrackerTest, SeveralWhoWatchTheSamePages) {
  if (!test::tracks(tracker)) return;
  const Mapping memory(8 * kPage);
  const PageTracker::Epoch first = arm(memory.all());
  const PageTracker::Epoch second = arm(memory.pages(2, 4));
  EXPECT_TRUE(unwritten(memory.all(), first)) << "nothing was written";
  *memory.page(4) = std::byte{1};
  EXPECT_FALSE(unwritten(memory.pages(2, 4), second));
  const PageTracker::Epoch third = arm(memory.pages(4, 1));
  EXPECT_TRUE(unwritten(memory.pages(4, 1), third));
  EXPECT_FALSE(unwritten(memory.all(), first));
  EXPECT_FALSE(unwritten(memory.pages(2, 4), second));
  EXPECT_TRUE(unwritten(memory.pages(2, 2), second));
  EXPECT_TRUE(unwritten(memory.all(), third));
}

TEST_F(PageTrackerTest, OtherKindsOfMemoryCannotBeArmed) {
  if (!test::tracks(tracker)) return;
  const int file = memfd_create("file", 0);
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(4 * kPage)), 0);
  const Mapping shared(4 * kPage, MAP_SHARED, file);
  const Mapping private_file(4 * kPage, MAP_PRIVATE, file);
  const Mapping shared_anonymous(4 * kPage, MAP_SHARED | MAP_ANONYMOUS);
  Mapping partly(8 * kPage);
  ASSERT_EQ(munmap(partly.page(4), kPage), 0);
  for (const Mapping* memory :
       {&shared, &private_file, &shared_anonymous, static_cast<const Mapping*>(&partly)}) {
    EXPECT_EQ(arm(memory->all()), 0u);
    EXPECT_FALSE(unwritten(memory->all(), ~PageTracker::Epoch{0}));
  }
  char on_the_stack[100] = {};
  const auto stack = reinterpret_cast<std::uintptr_t>(on_the_stack);
  EXPECT_EQ(arm({stack, stack + sizeof on_the_stack}), 0u);
  EXPECT_NE(arm(partly.pages(0, 4)), 0u);
  close(file);
}

}  // namespace
}  // namespace ob
