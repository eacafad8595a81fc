#pragma once
// Sessions whose kernels attack, and one that computes beside them without an end; its results stay
// the same to the last bit.

#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "api/kernel_fixture.hpp"
#include "base/sanitizer.hpp"
#include "support/calling_kernel.hpp"

namespace ob::test {

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

  ob_module built(const char* source, std::int32_t kind = OB_PORTABLE) const {
    const ob_module module = load_module(device, source, kind);
    EXPECT_TRUE(succeeds(ob_module_wait(module, OB_FOREVER)));
    return module;
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
    sum_ = make_kernel(own_.built(kAttackKernels), "sum",
                       {buffer_at(x_), buffer_at(y_), number_of(kCount)});
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
    call_ = make_kernel(module_, "call", {buffer_at(io_)});
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
    EXPECT_TRUE(
        succeeds(run(make_kernel(module_, "tries", {buffer_at(io_), number_of(count)}), items)));
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

}  // namespace ob::test
