// Sessions whose kernels attack the process that runs them, their daemon and other sessions.

#include <fcntl.h>
#include <signal.h>

#include <cerrno>
#include <fstream>
#include <set>
#include <sstream>

#include "api/kernel_attack_fixture.hpp"

namespace ob::test {
namespace {

TEST_P(KernelAttackTest, AccessOutOfBoundsIsAFaultOfItsQueue) {
  const Party bad(daemon->address());
  const ob_module module = bad.built(kAttackKernels);
  const ob_buffer buffer = bad.buffer(64), kept = bad.buffer(64);
  ASSERT_TRUE(succeeds(ob_fill(bad.queue, {kept, 0}, "k", 1, 64)));
  const std::uint64_t far = std::uint64_t{1} << 44, near = 3;
  EXPECT_TRUE(fails(bad.run(make_kernel(module, "beyond", {buffer_at(buffer), number_of(far)})),
                    OB_KERNEL_FAULT, "signal 11"));
  EXPECT_STREQ(last_error().name, "beyond");
  EXPECT_TRUE(
      succeeds(bad.run(make_kernel(module, "beyond", {buffer_at(buffer), number_of(near)}))));
  std::string bytes(64, 'x');
  ASSERT_TRUE(succeeds(ob_read(bad.queue, bytes.data(), {kept, 0}, 64, OB_WAIT)));
  EXPECT_EQ(bytes, std::string(64, 'k'));
}

TEST_P(KernelAttackTest, AnEndlessLoopIsEnded) {
  const Party bad(daemon->address());
  const ob_module module = bad.built(kAttackKernels);
  const ob_buffer buffer = bad.buffer(64);
  EXPECT_TRUE(fails(bad.run(make_kernel(module, "endless", {buffer_at(buffer)})), OB_KERNEL_FAULT,
                    "endless"));
  EXPECT_TRUE(succeeds(bad.run(make_kernel(module, "count_up", {buffer_at(buffer)}))));
}

#if defined(__x86_64__)

// Each way to start a process or a thread, from many items in a loop.
TEST_P(KernelAttackTest, AForkBombStartsNothing) {
  Caller bad(daemon->address());
  const pid_t worker = bad.worker();
  const auto tasks = [&] {
    std::size_t count = 0;
    const std::string folder = "/proc/" + std::to_string(worker) + "/task";
    DIR* const all = opendir(folder.c_str());
    while (all != nullptr && readdir(all) != nullptr) ++count;
    if (all != nullptr) closedir(all);
    return count;
  };
  const std::size_t before = tasks();
  ASSERT_GT(before, 0u);
  constexpr long kThread = 0x10d00;  // CLONE_THREAD | CLONE_SIGHAND | CLONE_VM | ...
  for (const auto& [number, a] : {std::pair<long, long>{SYS_fork, 0},
                                  {SYS_vfork, 0},
                                  {SYS_clone, SIGCHLD},
                                  {SYS_clone, kThread},
                                  {SYS_clone3, 0},
                                  {SYS_execve, 0}}) {
    EXPECT_EQ(bad.tries(2000, 50, number, a), 0) << "call " << number;
  }
  EXPECT_EQ(bad.worker(), worker) << "the process was replaced";
  EXPECT_EQ(tasks(), before);
}

TEST_P(KernelAttackTest, PrivateMemoryHasALimit) {
  Caller bad(daemon->address());
  constexpr long kGiB = 1L << 30;
  constexpr long kReadWrite = 3, kPrivate = 0x22;
  EXPECT_LT(bad.tries(1000, 1, SYS_mmap, 0, kGiB, kReadWrite, kPrivate), 1000);
  // Whoever takes what there is ends at most itself.
  (void)bad.call(SYS_getpid);
}

// The process is ended though the kernel that wrote the files has long returned.
TEST_P(KernelAttackTest, FilesOfAProcessAreLimited) {
  Caller bad(daemon->address());
  const pid_t worker = bad.worker();
  std::ifstream arguments("/proc/" + std::to_string(worker) + "/cmdline");
  const std::string line((std::istreambuf_iterator<char>(arguments)), {});
  const std::string folder = line.substr(line.rfind('\0', line.size() - 2) + 1).c_str();
  long file = -1;
  for (int i = 0; i < 5; ++i) {
    const std::string name = folder + "/" + std::to_string(i);
    file = bad.call(SYS_openat, AT_FDCWD, 0, O_CREAT | O_RDWR, 0600, 2, name);
    ASSERT_GE(file, 0);
    if (i < 4) ASSERT_EQ(bad.call(SYS_ftruncate, file, 60 << 20), 0);
  }
  (void)bad.start(SYS_ftruncate, file, 60 << 20);  // it may be ended at once
  while (kill(worker, 0) == 0) std::this_thread::yield();
  while (access(folder.c_str(), F_OK) == 0) std::this_thread::yield();  // it goes a moment later
}

TEST_P(KernelAttackTest, KeysSocketsAndOtherProcessesAreOutOfReach) {
  Caller bad(daemon->address());
  Caller other(daemon->address());
#ifdef OB_TEST_KEYS
  const std::string key = OB_TEST_KEYS "/good/daemon.key";
#else
  const std::string key = "/etc/shadow";
#endif
  EXPECT_EQ(bad.call(SYS_openat, AT_FDCWD, 0, O_RDONLY, 0, 2, key), -EACCES);
  EXPECT_EQ(bad.call(SYS_open, 0, O_RDONLY, 0, 0, 1, key), -EACCES);
  for (const long family : {1, 2, 10, 16, 17, 40}) {  // Unix, IP, IPv6, netlink, packets, vsock
    EXPECT_EQ(bad.call(SYS_socket, family, 1), -EPERM) << family;
  }
  EXPECT_EQ(bad.call(SYS_socketpair, 1, 1), -EPERM);
  // The daemon's end of the socket takes no messages of the process.
  for (long fd = 0; fd < 8; ++fd) (void)bad.call(SYS_write, fd, 0, 64, 0, 2, "garbage");
  for (const pid_t process : {getpid(), other.worker()}) {
    const std::string folder = "/proc/" + std::to_string(process);
    for (const char* file : {"/mem", "/maps", "/environ", "/fd", "/fd/3", "/map_files"}) {
      const long opened = bad.call(SYS_openat, AT_FDCWD, 0, O_RDONLY, 0, 2, folder + file);
      EXPECT_TRUE(opened == -EACCES || opened == -EPERM || opened == -ENOENT)
          << folder << file << ": " << opened;
    }
    EXPECT_EQ(bad.call(SYS_kill, process, SIGKILL), -EPERM);
  }
}

// A worker has opened and mapped no memory file that a worker of another session has.
TEST_P(KernelAttackTest, WorkersShareNoMemory) {
  const auto files_of = [](pid_t process) {
    std::set<std::string> files;
    std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
    std::string range, rights, offset, device, inode, name;
    for (std::string line; std::getline(maps, line);) {
      if (line.find("/memfd:") == std::string::npos) continue;
      std::istringstream(line) >> range >> rights >> offset >> device >> inode >> name;
      files.insert(name + " " + inode);
    }
    return files;
  };
  Caller one(daemon->address()), two(daemon->address());
  const auto ones = files_of(one.worker()), twos = files_of(two.worker());
  ASSERT_FALSE(ones.empty());
  ASSERT_FALSE(twos.empty());
  for (const std::string& file : ones) EXPECT_EQ(twos.count(file), 0u) << file;
  for (const pid_t process : kernel_workers()) {
    if (process == one.worker()) continue;
    for (const std::string& file : files_of(process)) EXPECT_EQ(ones.count(file), 0u) << file;
  }
}

#endif  // __x86_64__

INSTANTIATE_TEST_SUITE_P(over, KernelAttackTest, testing::Values(Transport::shm, Transport::tcp),
                         [](const auto& tested) { return name(tested); });

}  // namespace
}  // namespace ob::test
