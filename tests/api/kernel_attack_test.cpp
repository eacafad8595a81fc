// Sessions whose kernels attack the process that runs them, their daemon and other sessions. Beside
// them a session computes without an end; its results stay the same to the last bit.

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "api/kernel_fixture.hpp"
#include "base/sanitizer.hpp"
#include "support/calling_kernel.hpp"
#include "support/random.hpp"

namespace ob::test {
namespace {

constexpr const char* kSource = R"(
__kernel void sum(__global const double* x, __global double* y, uint n) {
  const uint i = get_global_id(0);
  if (i < n) y[i] = 3.0 * x[i] + sin(x[i]);
}
__kernel void beyond(__global int* x, ulong where) { x[where] = 1; }
__kernel void endless(__global volatile int* x) {
  while (x[0] == 0) x[1] += 1;
}
__kernel void count_up(__global int* x) { x[get_global_id(0)] += 1; }
)";

// A session of its own.
class Party {
 public:
  explicit Party(const std::string& address) {
    EXPECT_TRUE(succeeds(ob_device_open(address.c_str(), nullptr, &device)));
    EXPECT_TRUE(succeeds(ob_queue_create(device, 0, &queue)));
  }
  ~Party() { EXPECT_TRUE(succeeds(ob_device_close(device))); }
  Party(const Party&) = delete;
  Party& operator=(const Party&) = delete;

  ob_module load(const char* source, std::int32_t kind = OB_PORTABLE) const {
    const ob_variant variant{kind, 0, source, 0, nullptr};
    ob_module module = nullptr;
    EXPECT_TRUE(succeeds(ob_module_load(device, &variant, 1, nullptr, &module)));
    return module;
  }
  ob_module built(const char* source, std::int32_t kind = OB_PORTABLE) const {
    const ob_module module = load(source, kind);
    EXPECT_TRUE(succeeds(ob_module_wait(module, OB_FOREVER)));
    return module;
  }
  ob_kernel kernel(ob_module module, const char* name,
                   const std::vector<ob_argument>& arguments) const {
    ob_kernel made = nullptr;
    EXPECT_TRUE(succeeds(ob_kernel_create(module, name, &made)));
    for (std::uint32_t i = 0; i < arguments.size(); ++i) {
      EXPECT_TRUE(succeeds(ob_kernel_set(made, i, &arguments[i])));
    }
    return made;
  }
  ob_buffer buffer(std::uint64_t bytes) const {
    ob_buffer made = nullptr;
    EXPECT_TRUE(succeeds(ob_buffer_create(device, bytes, OB_WAIT, &made)));
    EXPECT_TRUE(succeeds(ob_fill(queue, {made, 0}, "", 1, bytes)));
    return made;
  }
  ob_status run(ob_kernel kernel, std::uint32_t groups = 1) const {
    const std::uint32_t all[3] = {groups, 1, 1};
    EXPECT_TRUE(succeeds(ob_kernel_run(kernel, queue, all, kOne)));
    return synchronize();
  }
  ob_status synchronize() const { return ob_queue_synchronize(queue, OB_FOREVER, nullptr); }

  ob_device device = nullptr;
  ob_queue queue = nullptr;
};

// Computes by a kernel and by a routine until its end, and compares with its first results.
class Victim {
 public:
  explicit Victim(const std::string& address) : own_(address) {
    std::vector<double> x(kCount);
    for (std::uint32_t i = 0; i < kCount; ++i) x[i] = 1.0 / (i + 1);
    x_ = own_.buffer(kCount * 8);
    y_ = own_.buffer(kCount * 8);
    c_ = own_.buffer(kCount * 8);
    EXPECT_TRUE(succeeds(ob_write(own_.queue, {x_, 0}, x.data(), kCount * 8, OB_CAPTURE)));
    sum_ =
        own_.kernel(own_.built(kSource), "sum", {buffer_at(x_), buffer_at(y_), number_of(kCount)});
    first_ = computed();
    thread_ = std::thread([this] {
      while (!stop_) {
        if (computed() != first_) ++wrong_;
        ++rounds_;
      }
    });
  }
  ~Victim() {
    const std::uint64_t before = rounds_;
    while (rounds_ < before + 3 && wrong_ == 0) std::this_thread::yield();
    stop_ = true;
    thread_.join();
    EXPECT_EQ(wrong_, 0u) << "of " << rounds_ << " results of another session";
  }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

 private:
  static constexpr std::uint32_t kCount = 1024, kN = 32;

  std::vector<double> computed() {
    std::vector<double> result(2 * kCount, -1);
    const std::uint32_t groups[3] = {kCount, 1, 1};
    const std::uint64_t nans = UINT64_MAX;
    const bool done = ob_fill(own_.queue, {y_, 0}, &nans, 8, kCount) == OB_OK &&
                      ob_kernel_run(sum_, own_.queue, groups, kOne) == OB_OK &&
                      multiply(own_.queue, kN, x_, y_, c_) == OB_OK &&
                      ob_read(own_.queue, result.data(), {y_, 0}, kCount * 8, 0) == OB_OK &&
                      ob_read(own_.queue, result.data() + kCount, {c_, 0}, kCount * 8, 0) == OB_OK;
    EXPECT_TRUE(done) << last_error().message;
    EXPECT_TRUE(succeeds(own_.synchronize()));
    return result;
  }

  const Party own_;
  ob_buffer x_ = nullptr, y_ = nullptr, c_ = nullptr;
  ob_kernel sum_ = nullptr;
  std::vector<double> first_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> rounds_{0}, wrong_{0};
  std::thread thread_;
};

class KernelAttackTest : public testing::TestWithParam<Transport> {
 protected:
  void SetUp() override {
#if OB_SANITIZER
    GTEST_SKIP() << "sanitizers need the system calls that kernels are denied";
#endif
    daemon::ServerConfig config;
    config.kernels.without_key = daemon::KernelRights::native;
    // The first launch of a group size compiles, which takes seconds on a busy machine.
    daemon = kernel_daemon(GetParam(), config, 10);
    {
      const Party asks(daemon->address());
      ob_device_facts facts{};
      facts.struct_bytes = sizeof facts;
      ASSERT_TRUE(succeeds(ob_device_get_facts(asks.device, &facts)));
      if (facts.kernels == 0) GTEST_SKIP() << "no kernels here (is PoCL installed?)";
    }
    victim = std::make_unique<Victim>(daemon->address());
  }

  std::unique_ptr<InProcessDaemon> daemon;
  std::unique_ptr<Victim> victim;
};

// A session that makes system calls from its kernels.
class Caller : public Party {
 public:
  explicit Caller(const std::string& address)
      : Party(address), io_(buffer(4096)), module_(built(kCallingKernels, OB_OPENCL)) {
    call_ = kernel(module_, "call", {buffer_at(io_)});
  }
  /// Makes a call.   @param text bit 0 of flags: the first argument points to it; bit 1: the second
  /// @returns its result
  long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long flags = 0,
            const std::string& text = {}) {
    set(number, a, b, c, d, flags, text);
    EXPECT_TRUE(succeeds(run(call_)));
    return words()[6];
  }
  /// Makes a call that may end the process.
  ob_status start(long number, long a, long b) {
    set(number, a, b, 0, 0, 0, {});
    return run(call_);
  }
  /// Makes a call `count` times in each of so many items.   @returns the number that succeeded
  long tries(std::int32_t count, std::uint32_t items, long number, long a = 0, long b = 0,
             long c = 0, long d = 0) {
    set(number, a, b, c, d, 0, {});
    long zero = 0;
    EXPECT_TRUE(succeeds(ob_write(queue, {io_, 48}, &zero, 8, OB_CAPTURE)));
    EXPECT_TRUE(succeeds(run(kernel(module_, "tries", {buffer_at(io_), number_of(count)}), items)));
    return words()[6];
  }
  pid_t worker() { return static_cast<pid_t>(call(SYS_getpid)); }

 private:
  void set(long number, long a, long b, long c, long d, long flags, const std::string& text) {
    const std::array<long, 7> words{number, a, b, c, d, flags, -7777};
    EXPECT_TRUE(succeeds(ob_write(queue, {io_, 0}, words.data(), sizeof words, OB_CAPTURE)));
    EXPECT_TRUE(succeeds(ob_write(queue, {io_, 64}, text.c_str(), text.size() + 1, OB_CAPTURE)));
  }
  std::array<long, 7> words() {
    std::array<long, 7> read{};
    EXPECT_TRUE(succeeds(ob_read(queue, read.data(), {io_, 0}, sizeof read, OB_WAIT)));
    return read;
  }

  const ob_buffer io_;
  const ob_module module_;
  ob_kernel call_ = nullptr;
};

TEST_P(KernelAttackTest, AccessOutOfBoundsIsAFaultOfItsQueue) {
  const Party bad(daemon->address());
  const ob_module module = bad.built(kSource);
  const ob_buffer buffer = bad.buffer(64), kept = bad.buffer(64);
  ASSERT_TRUE(succeeds(ob_fill(bad.queue, {kept, 0}, "k", 1, 64)));
  const std::uint64_t far = std::uint64_t{1} << 44, near = 3;
  EXPECT_TRUE(fails(bad.run(bad.kernel(module, "beyond", {buffer_at(buffer), number_of(far)})),
                    OB_KERNEL_FAULT, "signal 11"));
  EXPECT_STREQ(last_error().name, "beyond");
  EXPECT_TRUE(
      succeeds(bad.run(bad.kernel(module, "beyond", {buffer_at(buffer), number_of(near)}))));
  std::string bytes(64, 'x');
  ASSERT_TRUE(succeeds(ob_read(bad.queue, bytes.data(), {kept, 0}, 64, OB_WAIT)));
  EXPECT_EQ(bytes, std::string(64, 'k'));
}

TEST_P(KernelAttackTest, AnEndlessLoopIsEnded) {
  const Party bad(daemon->address());
  const ob_module module = bad.built(kSource);
  const ob_buffer buffer = bad.buffer(64);
  EXPECT_TRUE(fails(bad.run(bad.kernel(module, "endless", {buffer_at(buffer)})), OB_KERNEL_FAULT,
                    "endless"));
  EXPECT_TRUE(succeeds(bad.run(bad.kernel(module, "count_up", {buffer_at(buffer)}))));
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

// --- a worker that is killed ---------------------------------------------------------------------

// The process stands still when a message of each kind arrives, and is killed while it does.
TEST_P(KernelAttackTest, AKillAtEachMessageCostsTheLaunchesOnly) {
  const char* const messages[] = {"launch", "load", "write",  "read",          "fill",
                                  "copy",   "free", "unload", "another buffer"};
  for (const std::string message : messages) {
    SCOPED_TRACE(message);
    Caller bad(daemon->address());
    const ob_module module = bad.built(kSource), second = bad.built(kSource);
    const ob_buffer counts = bad.buffer(64), data = bad.buffer(64), copied = bad.buffer(64);
    const ob_kernel count_up = bad.kernel(module, "count_up", {buffer_at(counts)});
    ASSERT_TRUE(succeeds(bad.run(count_up, 16)));
    const pid_t worker = bad.worker();
    ASSERT_EQ(kill(worker, SIGSTOP), 0);
    const std::uint32_t groups[3] = {16, 1, 1};
    std::vector<int> bytes(16, -1);
    ob_module loaded = nullptr;
    const bool launches = message == "launch" || message == "another buffer";
    if (message == "launch") {
      ASSERT_TRUE(succeeds(ob_kernel_run(count_up, bad.queue, groups, kOne)));
    } else if (message == "another buffer") {
      // Large enough for a memory file of its own, which the process must map.
      const ob_kernel fresh = bad.kernel(module, "count_up", {buffer_at(bad.buffer(1 << 20))});
      ASSERT_TRUE(succeeds(ob_kernel_run(fresh, bad.queue, groups, kOne)));
    } else if (message == "load") {
      loaded = bad.load(kSource);
    } else if (message == "write") {
      ASSERT_TRUE(succeeds(ob_write(bad.queue, {data, 0}, "abcd", 4, OB_CAPTURE)));
    } else if (message == "read") {
      ASSERT_TRUE(succeeds(ob_read(bad.queue, bytes.data(), {counts, 0}, 64, 0)));
    } else if (message == "fill") {
      ASSERT_TRUE(succeeds(ob_fill(bad.queue, {data, 0}, "z", 1, 64)));
    } else if (message == "copy") {
      ASSERT_TRUE(succeeds(ob_copy(bad.queue, {copied, 0}, {counts, 0}, 64)));
    } else if (message == "free") {
      ASSERT_TRUE(succeeds(ob_buffer_destroy(data)));
    } else {
      ASSERT_TRUE(succeeds(ob_module_unload(second)));
    }
    ASSERT_TRUE(succeeds(ob_queue_flush(bad.queue)));
    // A launch, or the compiler, waits for the process that stands still. All others do not.
    if (launches) {
      EXPECT_EQ(ob_queue_synchronize(bad.queue, 100, nullptr), OB_DEADLINE_EXCEEDED);
    } else if (loaded != nullptr) {
      EXPECT_EQ(ob_module_wait(loaded, 100), OB_DEADLINE_EXCEEDED);
    } else {
      EXPECT_TRUE(succeeds(bad.synchronize()));
    }
    ASSERT_EQ(kill(worker, SIGKILL), 0);
    if (launches) {
      EXPECT_TRUE(succeeds(bad.synchronize()));  // the process had not taken the launch
    } else if (loaded != nullptr) {
      // A process that has machine code of earlier ones is replaced by one without, once.
      const ob_status built_now = ob_module_wait(loaded, OB_FOREVER);
      EXPECT_TRUE(built_now == OB_OK || fails(built_now, OB_BUILD_FAILED, "signal 9"));
    }
    if (message == "read") EXPECT_EQ(bytes, std::vector<int>(16, 1));
    // The next launch gets a process that has the module and the buffers.
    EXPECT_TRUE(succeeds(bad.run(count_up, 16)));
    ASSERT_TRUE(succeeds(ob_read(bad.queue, bytes.data(), {counts, 0}, 64, OB_WAIT)));
    EXPECT_EQ(bytes, std::vector<int>(16, message == "launch" ? 3 : 2));
  }
}

// Random commands of several sessions, whose processes are killed at random moments.
TEST_P(KernelAttackTest, KillsAtRandomMomentsLeaveSessionsThatGoOn) {
  std::mt19937_64 random(test_seed());
  for (int session = 0; session < 4; ++session) {
    Caller bad(daemon->address());
    const ob_module module = bad.built(kSource);
    const ob_buffer data = bad.buffer(1 << 16);
    const ob_kernel count_up = bad.kernel(module, "count_up", {buffer_at(data)});
    ASSERT_TRUE(succeeds(bad.run(count_up)));
    const pid_t worker = bad.worker();
    std::thread killer([worker, after = uniform(random, 0, 20000)] {
      std::this_thread::sleep_for(std::chrono::microseconds(after));
      (void)kill(worker, SIGKILL);
    });
    std::vector<ob_module> loaded;
    const std::uint32_t groups[3] = {256, 1, 1};
    for (int i = 0; i < 300; ++i) {
      switch (uniform(random, 0, 6)) {
        case 0: loaded.push_back(bad.load(kSource)); break;
        case 1:
          if (!loaded.empty()) {
            EXPECT_TRUE(succeeds(ob_module_unload(loaded.back())));
            loaded.pop_back();
          }
          break;
        case 2: EXPECT_TRUE(succeeds(ob_fill(bad.queue, {data, 0}, "f", 1, 1 << 16))); break;
        case 3: EXPECT_TRUE(succeeds(ob_buffer_destroy(bad.buffer(4096)))); break;
        case 4: {
          const ob_status status = bad.synchronize();
          EXPECT_TRUE(status == OB_OK || status == OB_KERNEL_FAULT) << last_error().message;
          break;
        }
        default: EXPECT_TRUE(succeeds(ob_kernel_run(count_up, bad.queue, groups, kOne)));
      }
      if (loaded.size() > 4) {
        EXPECT_TRUE(succeeds(ob_module_unload(loaded.front())));
        loaded.erase(loaded.begin());
      }
    }
    killer.join();
    (void)bad.synchronize();
    const int zero = 0;
    std::vector<int> counts(256, -1);
    ob_status status = OB_KERNEL_FAULT;
    for (int i = 0; i < 2 && status == OB_KERNEL_FAULT; ++i) {
      ASSERT_TRUE(succeeds(ob_fill(bad.queue, {data, 0}, &zero, 4, 256)));
      ASSERT_TRUE(succeeds(ob_kernel_run(count_up, bad.queue, groups, kOne)));
      status = bad.synchronize();
    }
    EXPECT_TRUE(succeeds(status));
    ASSERT_TRUE(succeeds(ob_read(bad.queue, counts.data(), {data, 0}, 1024, OB_WAIT)));
    EXPECT_EQ(counts, std::vector<int>(256, 1));
  }
}

#endif  // __x86_64__

INSTANTIATE_TEST_SUITE_P(over, KernelAttackTest, testing::Values(Transport::shm, Transport::tcp),
                         [](const auto& tested) { return name(tested); });

}  // namespace
}  // namespace ob::test
