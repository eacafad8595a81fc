// Sessions whose processes for kernels are killed.

#include <signal.h>

#include "api/kernel_attack_fixture.hpp"
#include "support/random.hpp"

namespace ob::test {
namespace {

#if defined(__x86_64__)

class KernelKillTest : public KernelAttackTest {};

// The process stands still when a message of each kind arrives, and is killed while it does.
TEST_P(KernelKillTest, AKillAtEachMessageCostsTheLaunchesOnly) {
  const char* const messages[] = {"launch", "load", "write",  "read",          "fill",
                                  "copy",   "free", "unload", "another buffer"};
  for (const std::string message : messages) {
    SCOPED_TRACE(message);
    Caller bad(daemon->address());
    const ob_module module = bad.built(kAttackKernels), second = bad.built(kAttackKernels);
    const ob_buffer counts = bad.buffer(64), data = bad.buffer(64), copied = bad.buffer(64);
    const ob_kernel count_up = make_kernel(module, "count_up", {buffer_at(counts)});
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
      const ob_kernel fresh = make_kernel(module, "count_up", {buffer_at(bad.buffer(1 << 20))});
      ASSERT_TRUE(succeeds(ob_kernel_run(fresh, bad.queue, groups, kOne)));
    } else if (message == "load") {
      loaded = load_module(bad.device, kAttackKernels);
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
TEST_P(KernelKillTest, KillsAtRandomMomentsLeaveSessionsThatGoOn) {
  std::mt19937_64 random(test_seed());
  for (int session = 0; session < 4; ++session) {
    Caller bad(daemon->address());
    const ob_module module = bad.built(kAttackKernels);
    const ob_buffer data = bad.buffer(1 << 16);
    const ob_kernel count_up = make_kernel(module, "count_up", {buffer_at(data)});
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
        case 0: loaded.push_back(load_module(bad.device, kAttackKernels)); break;
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

INSTANTIATE_TEST_SUITE_P(over, KernelKillTest, testing::Values(Transport::shm, Transport::tcp),
                         [](const auto& tested) { return name(tested); });

#endif  // __x86_64__

}  // namespace
}  // namespace ob::test
