// Page tracking in a process that forks, closes descriptors and uses userfaultfd itself.

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/detail/linux_pages.hpp"
#include "private_memory.hpp"

namespace ob {
namespace {

namespace kernel = detail::kernel;
using test::kPage;
using test::Mapping;

constexpr PageTracker::Epoch kEver = ~PageTracker::Epoch{0};

PageTracker::Epoch arm(PageTracker& tracker, AddressRange range) {
  return tracker.arm({&range, 1});
}
bool unwritten(PageTracker& tracker, AddressRange range, PageTracker::Epoch since) {
  return tracker.look(range).unwritten(range, since);
}

// Runs `check` in a child. The child exits with status 1 if an expectation failed.
template <class Check>
void in_child(Check check) {
  const pid_t child = fork();
  if (child == 0) {
    check();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Returns the descriptors of files of this kind.
std::vector<int> descriptors(const std::string& kind) {
  std::vector<int> found;
  DIR* const directory = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(directory)) {
    char target[256] = {};
    const std::string path = std::string("/proc/self/fd/") + entry->d_name;
    if (readlink(path.c_str(), target, sizeof target - 1) > 0 &&
        std::string(target).find(kind) != std::string::npos) {
      found.push_back(std::atoi(entry->d_name));
    }
  }
  closedir(directory);
  return found;
}

// A userfaultfd of the program itself, which tracks pages like the library's.
class ForeignWatch {
 public:
  ForeignWatch() {
    kernel::Api api{kernel::kApi, kernel::kFeatureWpAsync | kernel::kFeatureWpUnpopulated, 0};
    EXPECT_EQ(ioctl(fd_.get(), kernel::kIoctlApi, &api), 0);
  }
  void protect(AddressRange range) {
    kernel::Register request{range.begin, range.end - range.begin, kernel::kRegisterModeWp, 0};
    EXPECT_EQ(ioctl(fd_.get(), kernel::kIoctlRegister, &request), 0);
    kernel::WriteProtect protection{range.begin, range.end - range.begin,
                                    kernel::kWriteProtectModeWp};
    EXPECT_EQ(ioctl(fd_.get(), kernel::kIoctlWriteProtect, &protection), 0);
  }

 private:
  Fd fd_{static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | kernel::kUserModeOnly))};
};

TEST(PageTrackerProcess, AChildLeavesItsParentsPagesAlone) {
  PageTracker tracker;
  if (!test::tracks(tracker)) return;
  const Mapping memory(8 * kPage);
  const PageTracker::Epoch since = arm(tracker, memory.all());
  in_child([&] {
    EXPECT_FALSE(unwritten(tracker, memory.all(), kEver));
    *memory.page(3) = std::byte{1};
    EXPECT_EQ(arm(tracker, memory.all()), 0u);
    EXPECT_FALSE(unwritten(tracker, memory.all(), kEver));
    EXPECT_FALSE(tracker.available());
    PageTracker own;
    const PageTracker::Epoch mine = arm(own, memory.all());
    EXPECT_NE(mine, 0u);
    *memory.page(5) = std::byte{1};
    EXPECT_TRUE(unwritten(own, memory.pages(0, 5), mine));
    EXPECT_FALSE(unwritten(own, memory.pages(5, 1), mine));
  });
  EXPECT_TRUE(unwritten(tracker, memory.all(), since)) << "as the child had its own";
  *memory.page(3) = std::byte{2};
  in_child([&] { EXPECT_EQ(arm(tracker, memory.all()), 0u); });
  EXPECT_FALSE(unwritten(tracker, memory.pages(3, 1), since));
}

TEST(PageTrackerProcess, AChildClosesWhatItInherited) {
  PageTracker tracker;
  if (!test::tracks(tracker)) return;
  const Mapping memory(8 * kPage);
  const PageTracker::Epoch since = arm(tracker, memory.all());
  tracker.close_inherited();  // in the parent there are none
  EXPECT_TRUE(unwritten(tracker, memory.all(), since));
  in_child([&] {
    tracker.close_inherited();
    EXPECT_TRUE(descriptors("userfaultfd").empty());
    EXPECT_TRUE(descriptors("pagemap").empty());
    EXPECT_TRUE(descriptors("maps").empty());
    EXPECT_FALSE(unwritten(tracker, memory.all(), kEver));
  });
  EXPECT_TRUE(unwritten(tracker, memory.all(), since));
}

TEST(PageTrackerProcess, DescriptorsAreOutOfTheWay) {
  PageTracker tracker;
  if (!test::tracks(tracker)) return;
  for (const char* kind : {"userfaultfd", "pagemap", "maps"}) {
    const std::vector<int> found = descriptors(kind);
    ASSERT_EQ(found.size(), 1u) << kind;
    EXPECT_GE(found[0], 40) << kind;
  }
}

TEST(PageTrackerProcess, AProgramMayCloseTheDescriptorsAndUseTheirNumbers) {
  for (const char* kind : {"userfaultfd", "pagemap", "maps"}) {
    SCOPED_TRACE(kind);
    PageTracker tracker;
    if (!test::tracks(tracker)) return;
    const Mapping memory(8 * kPage);
    PageTracker::Epoch since = arm(tracker, memory.all());
    const int number = descriptors(kind).at(0);
    const int other = open("/dev/null", O_RDWR);
    ASSERT_EQ(dup2(other, number), number);
    EXPECT_FALSE(unwritten(tracker, memory.all(), kEver));
    since = arm(tracker, memory.all());
    EXPECT_NE(since, 0u) << "it has new ones";
    EXPECT_TRUE(unwritten(tracker, memory.all(), since));
    *memory.page(3) = std::byte{1};
    EXPECT_FALSE(unwritten(tracker, memory.all(), since));
    EXPECT_EQ(write(number, "x", 1), 1) << "the program's file was closed";
    close(number);
    close(other);
  }
}

// The program's own protection proves nothing: the program may set it again at any time.
TEST(PageTrackerProcess, MemoryWatchedBySomebodyElseCountsAsWritten) {
  PageTracker tracker;
  if (!test::tracks(tracker)) return;
  Mapping memory(8 * kPage);
  ForeignWatch foreign;
  foreign.protect(memory.all());
  EXPECT_EQ(arm(tracker, memory.all()), 0u);
  EXPECT_FALSE(unwritten(tracker, memory.all(), kEver));
  memory.map();
  ASSERT_NE(arm(tracker, memory.all()), 0u);
  memory.map();
  std::memset(memory.data(), 1, memory.size());
  foreign.protect(memory.all());
  EXPECT_FALSE(unwritten(tracker, memory.all(), kEver));
  EXPECT_EQ(arm(tracker, memory.all()), 0u);
}

TEST(PageTrackerProcess, WithoutTheKernelsHelpEverythingCountsAsWritten) {
  in_child([] {
    const Mapping memory(8 * kPage);
    const rlimit none{0, 0};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    PageTracker tracker;
    EXPECT_FALSE(tracker.available());
    EXPECT_NE(tracker.why_not(), "");
    EXPECT_EQ(arm(tracker, memory.all()), 0u);
    EXPECT_FALSE(unwritten(tracker, memory.all(), kEver));
  });
}

}  // namespace
}  // namespace ob
