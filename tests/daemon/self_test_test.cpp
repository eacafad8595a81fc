// Self-tests of devices that compute right, wrongly, or not at all.

#include "device/self_test.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backend/cpu/backend.hpp"
#include "backend/null/backend.hpp"
#include "device/square_product.hpp"
#include "support/in_process_daemon.hpp"

namespace ob {
namespace {

using Verdict = SelfTest::Verdict;

bool never() { return false; }

std::unique_ptr<Device> processor(unsigned corrupt = 0, const std::string& fail_calls = {}) {
  return test::require(cpu::create({.memory_bytes = 1 << 24,
                                    .threads = 1,
                                    .gflops_double = 10,
                                    .corrupt = corrupt,
                                    .fail_calls = fail_calls}));
}

TEST(SelfTestTest, ADeviceThatComputesRightPasses) {
  const auto device = processor();
  for (int i = 0; i < 3; ++i) {
    const SelfTest result = self_test(*device, never);
    EXPECT_EQ(result.verdict, Verdict::right) << result.why;
  }
  EXPECT_EQ(device->memory_use().used_bytes, 0u);
}

TEST(SelfTestTest, OneWrongElementIsFound) {
  const auto device = processor(1);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(self_test(*device, never).verdict, Verdict::wrong);
}

TEST(SelfTestTest, ADeviceErrorIsFound) {
  const std::string file = testing::TempDir() + "fail_calls_" + std::to_string(getpid());
  const auto device = processor(0, file);
  EXPECT_EQ(self_test(*device, never).verdict, Verdict::right);
  std::ofstream(file).close();
  EXPECT_EQ(self_test(*device, never).verdict, Verdict::wrong);
  EXPECT_EQ(self_test(*device, never).verdict, Verdict::right);  // the call has removed it
  EXPECT_EQ(device->memory_use().used_bytes, 0u);
}

TEST(SelfTestTest, ADeviceThatComputesNothingFails) {
  const auto device = test::require(null::create({.memory_bytes = 1 << 24}));
  EXPECT_EQ(self_test(*device, never).verdict, Verdict::wrong);
}

TEST(SelfTestTest, ADeviceWithoutRoomIsNotJudged) {
  const auto device = processor();
  const auto all = test::require(device->allocate((1 << 24) - 4096));
  EXPECT_EQ(self_test(*device, never).verdict, Verdict::unknown);
  EXPECT_TRUE(device->free(all).ok());
  EXPECT_EQ(self_test(*device, never).verdict, Verdict::right);
}

TEST(SelfTestTest, ABusyDeviceIsNotJudged) {
  // 2 n^3 / rate = 2.7 s for the other client's product.
  const auto device = test::require(null::create({.memory_bytes = 1 << 26, .rate_gflops = 0.8}));
  const auto queue = test::require(device->create_queue(Account{UserId{1}, SessionId{1}}));
  const auto matrices = test::require(device->allocate(3 * square_bytes(1024)));
  ASSERT_TRUE(submit_square_product(*device, queue, matrices, 1024).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it has begun
  const SelfTest result = self_test(*device, [] { return true; });
  EXPECT_EQ(result.verdict, Verdict::unknown) << result.why;
  EXPECT_TRUE(device->synchronize(queue).status.ok());
  EXPECT_TRUE(device->destroy_queue(queue).ok());
}

}  // namespace
}  // namespace ob
