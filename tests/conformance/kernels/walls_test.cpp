// Kernels that attack: the process that runs them, its machine, and other sessions. Afterwards
// another session computes on, with the same results to the last bit.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "backend/cpu/backend.hpp"
#include "base/sanitizer.hpp"
#include "device/gate.hpp"
#include "device/kernels/launch.hpp"
#include "device/kernels/module.hpp"
#include "support/calling_kernel.hpp"
#include "support/in_process_daemon.hpp"
#include "support/temporary_folder.hpp"

namespace ob::test {
namespace {

// A session on the device.
class Session {
 public:
  Session(Device& device, std::uint64_t number) : Session(device, number, number) {}
  Session(Device& device, std::uint64_t user, std::uint64_t number)
      : device_(device), account_{UserId{user}, SessionId{number}} {
    queue_ = require(device.create_queue(account_));
  }
  ~Session() {
    for (const ModuleId module : modules_) (void)device_.unload_module(module);
    (void)device_.destroy_queue(queue_);
    for (const BufferId buffer : buffers_) (void)device_.free(buffer);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  ModuleId load(const char* source) {
    std::promise<ModuleReport> built;
    const ModuleId id = require(device_.load_module(
        {{{SourceKind::opencl, source, ""}}, ""},
        [&](const ModuleReport& report) { built.set_value(report); }, account_));
    const ModuleReport report = built.get_future().get();
    EXPECT_TRUE(report.status.ok()) << report.status.message() << "\n" << report.log;
    modules_.push_back(id);
    return id;
  }
  BufferId buffer(std::uint64_t bytes) {
    buffers_.push_back(require(device_.allocate(bytes, account_)));
    return buffers_.back();
  }
  template <class T>
  T* memory(BufferId buffer) {
    return reinterpret_cast<T*>(device_.host_view(buffer));
  }
  Status start(ModuleId module, const char* kernel, const std::vector<KernelArgument>& arguments,
               std::uint32_t groups = 1) {
    return device_.launch(queue_, {module, kernel, {groups, 1, 1}, {1, 1, 1}, arguments});
  }
  Status run(ModuleId module, const char* kernel, const std::vector<KernelArgument>& arguments,
             std::uint32_t groups = 1) {
    EXPECT_TRUE(start(module, kernel, arguments, groups).ok());
    return device_.synchronize(queue_).status;
  }
  Status synchronize() { return device_.synchronize(queue_).status; }
  Status hold(std::shared_ptr<const Gate> gate) { return device_.hold(queue_, std::move(gate)); }

 private:
  Device& device_;
  const Account account_;
  QueueId queue_;
  std::vector<ModuleId> modules_;
  std::vector<BufferId> buffers_;
};

template <class T>
KernelArgument number(const T& value) {
  return {ParameterKind::scalar, sizeof value, &value, {}, 0};
}
KernelArgument place(BufferId buffer) { return {ParameterKind::buffer, 0, nullptr, {buffer}, 0}; }

class KernelWallsTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kCount = 1000;

  void SetUp() override {
#if OB_SANITIZER
    GTEST_SKIP() << "sanitizers need the system calls that kernels are denied";
#endif
    device = require(cpu::create({.memory_bytes = 1 << 28,
                                  .executor = OUTBOARD_EXECUTOR,
                                  .gflops_double = 10,
                                  .isolated_kernels = true,
                                  .longest_kernel_s = 10}));
    if (const Status runs = device->runs_kernels(); !runs.ok()) GTEST_SKIP() << runs.message();
    good = std::make_unique<Session>(*device, 1);
    bad = std::make_unique<Session>(*device, 2);
    module = good->load(kAttackKernels);
    x = good->buffer(kCount * 8);
    y = good->buffer(kCount * 8);
    for (std::uint32_t i = 0; i < kCount; ++i) good->memory<double>(x)[i] = 1.0 / (i + 1);
    before = computed();
  }
  void TearDown() override {
    if (!before.empty()) EXPECT_EQ(computed(), before) << "another session noticed";
  }

  std::vector<double> computed() {
    auto* const result = good->memory<double>(y);
    std::fill_n(result, kCount, -1);
    const Status ran = good->run(module, "sum", {place(x), place(y), number(kCount)}, kCount);
    EXPECT_TRUE(ran.ok()) << ran.message();
    return {result, result + kCount};
  }
  static void expect_fault(const Status& status, const char* kernel, const std::string& words) {
    EXPECT_EQ(status.code(), Code::kernel_fault) << status.message();
    EXPECT_NE(status.message().find(kernel), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
  }

  std::unique_ptr<Device> device;
  std::unique_ptr<Session> good;
  std::unique_ptr<Session> bad;
  ModuleId module;
  BufferId x;
  BufferId y;
  std::vector<double> before;
};

TEST_F(KernelWallsTest, OneThatLeavesItsBuffersEndsItsProcessOnly) {
  const ModuleId attack = bad->load(kAttackKernels);
  const BufferId buffer = bad->buffer(64);
  const std::uint64_t far = std::uint64_t{1} << 44;
  expect_fault(bad->run(attack, "beyond", {place(buffer), number(far)}), "beyond", "signal 11");
  // The next launch gets a process that knows the module.
  const std::uint64_t near = 3;
  EXPECT_TRUE(bad->run(attack, "beyond", {place(buffer), number(near)}).ok());
  EXPECT_EQ(bad->memory<int>(buffer)[3], 1);
}

TEST_F(KernelWallsTest, AnEndlessOneIsEnded) {
  const ModuleId attack = bad->load(kAttackKernels);
  const BufferId buffer = bad->buffer(64), counts = bad->buffer(64);
  // Launches before it and behind it wait with it.
  const auto gate = std::make_shared<Gate>();
  ASSERT_TRUE(bad->hold(gate).ok());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(bad->start(attack, "count_up", {place(counts)}).ok());
  ASSERT_TRUE(bad->start(attack, "endless", {place(buffer)}).ok());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(bad->start(attack, "count_up", {place(counts)}).ok());
  gate->open();
  expect_fault(bad->synchronize(), "endless", "--longest-kernel");
  EXPECT_EQ(bad->memory<int>(counts)[0], 10);
  EXPECT_EQ(computed(), before);
}

TEST_F(KernelWallsTest, AKilledProcessIsAFaultOfItsKernel) {
  const ModuleId attack = bad->load(kAttackKernels);
  const BufferId buffer = bad->buffer(64);
  ASSERT_TRUE(bad->start(attack, "endless", {place(buffer)}).ok());
  auto* const counter = bad->memory<volatile int>(buffer);
  while (counter[1] == 0) std::this_thread::yield();
  for (const pid_t worker : kernel_workers()) (void)kill(worker, SIGKILL);  // also those that idle
  expect_fault(bad->synchronize(), "endless", "signal 9");
}

TEST_F(KernelWallsTest, AProcessThatIsKilledWhileItIdlesIsReplaced) {
  for (int i = 0; i < 3; ++i) {
    for (const pid_t worker : kernel_workers()) (void)kill(worker, SIGKILL);
    EXPECT_EQ(computed(), before) << i;  // the process may not have ended yet
  }
}

// Launches of one group change to the thread that takes them after some, where the walls are the
// same.
TEST_F(KernelWallsTest, ManyLaunchesOfOneGroupKeepOrderAndWalls) {
  const ModuleId attack = bad->load(kAttackKernels);
  constexpr std::uint64_t kLaunches = 100;
  const BufferId buffer = bad->buffer(4 * kLaunches);
  for (std::uint64_t i = 0; i < kLaunches; ++i) {
    const Status ran = bad->run(attack, "beyond", {place(buffer), number(i)});
    ASSERT_TRUE(ran.ok()) << ran.message();
    EXPECT_EQ(bad->memory<int>(buffer)[i], 1);
  }
  const std::uint64_t far = std::uint64_t{1} << 44;
  expect_fault(bad->run(attack, "beyond", {place(buffer), number(far)}), "beyond", "signal 11");
  const BufferId still = bad->buffer(64);
  for (int i = 0; i < 80; ++i) {
    const std::uint64_t near = 3;
    EXPECT_TRUE(bad->run(attack, "beyond", {place(still), number(near)}).ok());
  }
  expect_fault(bad->run(attack, "endless", {place(still)}), "endless", "--longest-kernel");
}

// Launches that wait reach the process several at a time. Each of them ends for itself.
TEST_F(KernelWallsTest, AFaultAmongLaunchesThatWaitIsThatOfItsLaunch) {
  const ModuleId attack = bad->load(kAttackKernels);
  constexpr std::uint64_t kLaunches = 70, kFails = 43;
  const BufferId buffer = bad->buffer(4 * kLaunches);
  auto* const marks = bad->memory<int>(buffer);
  for (int round = 0; round < 2; ++round) {
    std::fill_n(marks, kLaunches, 0);
    const auto gate = std::make_shared<Gate>();
    ASSERT_TRUE(bad->hold(gate).ok());
    for (std::uint64_t i = 0; i < kLaunches; ++i) {
      const std::uint64_t where = i == kFails && round == 0 ? std::uint64_t{1} << 44 : i;
      ASSERT_TRUE(bad->start(attack, "beyond", {place(buffer), number(where)}).ok());
    }
    gate->open();
    const Status ended = bad->synchronize();
    if (round == 0) expect_fault(ended, "beyond", "signal 11");
    if (round == 1) {
      EXPECT_TRUE(ended.ok()) << ended.message();
    }
    for (std::uint64_t i = 0; i < kLaunches; ++i) {
      EXPECT_EQ(marks[i], round == 1 || i < kFails ? 1 : 0) << i;
    }
  }
}

TEST_F(KernelWallsTest, OneWhoseProcessesEndTooOftenWaits) {
  const ModuleId attack = bad->load(kAttackKernels);
  const BufferId buffer = bad->buffer(64);
  const std::uint64_t far = std::uint64_t{1} << 44;
  Status last;
  for (int i = 0; i < 8 && last.code() != Code::busy; ++i) {
    last = bad->run(attack, "beyond", {place(buffer), number(far)});
    EXPECT_FALSE(last.ok());
  }
  EXPECT_EQ(last.code(), Code::busy) << last.message();
}

TEST_F(KernelWallsTest, TheProcessOfASessionEndsWithIt) {
  (void)bad->load(kAttackKernels);
  const std::size_t with = kernel_workers().size();
  bad.reset();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (kernel_workers().size() >= with && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_LT(kernel_workers().size(), with);
}

#if defined(__x86_64__)

// --- machine code of earlier processes -----------------------------------------------------------

// The linker's process has had a child if it has linked.
bool has_linked() {
  for (const pid_t worker : kernel_workers()) {
    for (const pid_t linker : kernel_workers(worker)) {
      std::ifstream file("/proc/" + std::to_string(linker) + "/stat");
      const std::string line((std::istreambuf_iterator<char>(file)), {});
      std::istringstream fields(line.substr(line.rfind(')') + 2));
      std::string field;
      for (int i = 3; i <= 11; ++i) fields >> field;  // cminflt, proc(5)
      if (field != "0") return true;
    }
  }
  return false;
}

class KernelCacheTest : public KernelWallsTest {
 protected:
  void SetUp() override {
    KernelWallsTest::SetUp();
    if (IsSkipped()) return;
    good.reset();
    bad.reset();
    before.clear();
    while (has_linked()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  // Runs a kernel in a new session of a user.   @returns true if a linker ran for it
  bool links(std::uint64_t user, bool tears = false) {
    Session session(*device, user, ++sessions_);
    const ModuleId loaded = session.load(tears ? kCallingKernels : kAttackKernels);
    const BufferId in = session.buffer(kCount * 8), out = session.buffer(kCount * 8);
    for (std::uint32_t i = 0; i < kCount; ++i) session.memory<double>(in)[i] = i;
    if (tears) {
      tear_files(session, loaded, in);
    } else {
      ran_ = session.run(loaded, "sum", {place(in), place(out), number(kCount)}, kCount);
      for (std::uint32_t i = 0; ran_.ok() && i < kCount; i += 100) {
        EXPECT_NEAR(session.memory<double>(out)[i], 3.0 * i + std::sin(i), 1e-12 * (3 * i + 1));
      }
    }
    return has_linked();
  }
  // Cuts all machine code in the folder of the session's process.
  static void tear_files(Session& session, ModuleId module, BufferId io_buffer) {
    auto* const io = session.memory<long>(io_buffer);
    io[0] = SYS_getpid;
    ASSERT_TRUE(session.run(module, "call", {place(io_buffer)}).ok());
    std::ifstream file("/proc/" + std::to_string(io[6]) + "/cmdline");
    const std::string line((std::istreambuf_iterator<char>(file)), {});
    const std::string folder = line.substr(line.rfind('\0', line.size() - 2) + 1).c_str();
    int torn = 0;
    for (const auto& each : std::filesystem::recursive_directory_iterator(folder)) {
      if (each.path().extension() != ".so" && each.path().extension() != ".bc") continue;
      std::filesystem::resize_file(each.path(), each.file_size() / 2);
      ++torn;
    }
    EXPECT_GT(torn, 0);
  }

  std::uint64_t sessions_ = 100;
  Status ran_;
};

TEST_F(KernelCacheTest, AUsersNextSessionCompilesNothingAgain) {
  EXPECT_TRUE(links(7));
  EXPECT_TRUE(ran_.ok()) << ran_.message();
  EXPECT_FALSE(links(7));
  EXPECT_TRUE(ran_.ok()) << ran_.message();
}

TEST_F(KernelCacheTest, UsersShareNoMachineCode) {
  EXPECT_TRUE(links(7));
  EXPECT_TRUE(links(8));
  // Users who have proven nothing are many.
  EXPECT_TRUE(links(0));
  EXPECT_TRUE(links(0));
}

// A session that finds torn files compiles without them. A launch may fail once.
TEST_F(KernelCacheTest, TornFilesAreForgotten) {
  EXPECT_TRUE(links(7));
  (void)links(7, true);
  (void)links(7);
  if (!ran_.ok()) {
    EXPECT_EQ(ran_.code(), Code::kernel_fault) << ran_.message();
  }
  (void)links(7);
  EXPECT_TRUE(ran_.ok()) << ran_.message();
}

struct Attack {
  const char* what;
  long number, a, b, c, d, flags;
  std::string text;
  std::vector<long> answers;
};

std::vector<Attack> attacks_on_files(const TemporaryFolder& folder) {
  constexpr long kHere = AT_FDCWD;
  const std::string key = folder.file("client.key");
  const std::string daemon = "/proc/" + std::to_string(getpid());
  const std::vector<long> hidden{-EACCES, -EPERM, -ENOENT};
  return {
      {"open a key", SYS_openat, kHere, 0, 0, 0, 2, key, {-EACCES}},
      {"open the daemon's memory", SYS_openat, kHere, 0, O_RDWR, 0, 2, daemon + "/mem", hidden},
      {"list its descriptors", SYS_openat, kHere, 0, O_DIRECTORY, 0, 2, daemon + "/fd", hidden},
      {"open a buffer of it", SYS_openat, kHere, 0, O_RDWR, 0, 2, daemon + "/fd/3", hidden},
      {"list memory files", SYS_openat, kHere, 0, O_DIRECTORY, 0, 2, "/dev/shm", {-EACCES}},
      {"make a file", SYS_openat, kHere, 0, O_CREAT | O_WRONLY, 0600, 2, key + "2", {-EACCES}},
      {"make a name for a file", SYS_symlinkat, 0, kHere, 0, 0, 1, key, {-EPERM}},
      {"link a file", SYS_linkat, kHere, 0, kHere, 0, 2, key, {-EPERM}},
      {"open a file by its handle", SYS_open_by_handle_at, 0, 0, 0, 0, 0, "", {-EPERM}},
      {"mount", SYS_mount, 0, 0, 0, 0, 0, "", {-EPERM}},
  };
}

std::vector<Attack> attacks_on_the_machine() {
  const long daemon = getpid();
  const std::vector<long> denied{-EPERM};
  return {
      {"open a socket", SYS_socket, 2, 1, 0, 0, 0, "", denied},
      {"fork", SYS_fork, 0, 0, 0, 0, 0, "", denied},
      {"vfork", SYS_vfork, 0, 0, 0, 0, 0, "", denied},
      {"start a thread", SYS_clone, 0x10d00, 0, 0, 0, 0, "", denied},
      {"clone3", SYS_clone3, 0, 0, 0, 0, 0, "", {-EPERM, -ENOSYS}},
      {"become a shell", SYS_execve, 0, 0, 0, 0, 1, "/bin/sh", denied},
      {"trace the daemon", SYS_ptrace, 16, daemon, 0, 0, 0, "", denied},
      {"end the daemon", SYS_kill, daemon, 9, 0, 0, 0, "", denied},
      {"end a thread of the daemon", SYS_tgkill, daemon, daemon, 9, 0, 0, "", denied},
      {"change the daemon's limits", SYS_prlimit64, daemon, 7, 0, 0, 0, "", denied},
      {"read the daemon's memory", SYS_process_vm_readv, daemon, 0, 0, 0, 0, "", denied},
      {"write the daemon's memory", SYS_process_vm_writev, daemon, 0, 0, 0, 0, "", denied},
      {"reach the daemon", SYS_pidfd_open, daemon, 0, 0, 0, 0, "", denied},
      {"take a descriptor of the daemon", SYS_pidfd_getfd, 3, 3, 0, 0, 0, "", denied},
      {"make memory that others find", SYS_shmget, 0, 4096, 01600, 0, 0, "", denied},
      {"attach to memory of others", SYS_shmat, 0, 0, 0, 0, 0, "", denied},
      {"make a memory file", SYS_memfd_create, 0, 0, 0, 0, 1, "mine", denied},
      {"open a message queue", SYS_mq_open, 0, O_CREAT, 0600, 0, 1, "queue", denied},
      {"leave the namespace", SYS_unshare, 0x10000000, 0, 0, 0, 0, "", denied},
      {"read the keys of the kernel", SYS_keyctl, 0, 0, 0, 0, 0, "", denied},
      {"watch other processes", SYS_perf_event_open, 0, daemon, -1, -1, 0, "", denied},
      {"handle page faults", SYS_userfaultfd, 0, 0, 0, 0, 0, "", denied},
      {"io_uring", SYS_io_uring_setup, 1, 0, 0, 0, 0, "", denied},
      {"load a program into the kernel", SYS_bpf, 0, 0, 0, 0, 0, "", denied},
  };
}

TEST_F(KernelWallsTest, SystemCallsThatReachOutAreDenied) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("client.key")) << "secret";
  std::vector<Attack> attacks = attacks_on_files(folder);
  for (Attack& each : attacks_on_the_machine()) attacks.push_back(std::move(each));
  const ModuleId attack = bad->load(kCallingKernels);
  const BufferId buffer = bad->buffer(4096);
  for (const Attack& each : attacks) {
    auto* const io = bad->memory<long>(buffer);
    const std::array<long, 7> words{each.number, each.a, each.b, each.c, each.d, each.flags, 7777};
    std::copy(words.begin(), words.end(), io);
    std::strcpy(reinterpret_cast<char*>(io + 8), each.text.c_str());
    const Status ran = bad->run(attack, "call", {place(buffer)});
    ASSERT_TRUE(ran.ok()) << each.what << ": " << ran.message();
    EXPECT_NE(std::find(each.answers.begin(), each.answers.end(), io[6]), each.answers.end())
        << each.what << ": " << io[6];
  }
}
#endif

}  // namespace
}  // namespace ob::test
