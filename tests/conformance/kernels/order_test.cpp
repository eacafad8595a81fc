// Kernels among the other commands of queues.

#include <thread>

#include "conformance/kernels/setting.hpp"
#include "routines/descriptor.hpp"
#include "support/portable_kernels.hpp"

namespace ob::test {
namespace {

class KernelOrderTest : public KernelTest {
 protected:
  Status step(QueueId on, ModuleId module, BufferId y, double factor, double term,
              std::uint32_t n) {
    return launch(on, module, "advance", {(n + 31) / 32, 1, 1}, {32, 1, 1},
                  {memory(y), number(factor), number(term), number(n)});
  }
};

TEST_P(KernelOrderTest, CommandsOfAQueueRunInTurn) {
  const ModuleId module = load(kStep);  // the first launch waits for the compiler
  const auto n = static_cast<std::uint32_t>(random(1, 2000));
  const BufferId y = buffer_of(std::vector<double>(n, 3));
  const BufferId z = buffer_of(std::vector<double>(n, -1));
  std::vector<double> early(n);
  std::vector<double> late(n);
  const Region all = byte_region(n * 8);
  ASSERT_TRUE(step(queue(), module, y, 2, 1, n).ok());  // y = 7
  ASSERT_TRUE(device().read(queue(), y, all, Layout::bytes(early.data(), n * 8)).ok());
  ASSERT_TRUE(step(queue(), module, y, 3, 0, n).ok());       // y = 21
  ASSERT_TRUE(device().copy(queue(), y, all, z, all).ok());  // z = 21
  ASSERT_TRUE(step(queue(), module, y, 0, 5, n).ok());       // y = 5
  ASSERT_TRUE(step(queue(), module, z, 1, 4, n).ok());       // z = 25
  ASSERT_TRUE(device().read(queue(), z, all, Layout::bytes(late.data(), n * 8)).ok());
  ASSERT_TRUE(outcome(Status()).ok());
  EXPECT_EQ(early, std::vector<double>(n, 7));
  EXPECT_EQ(late, std::vector<double>(n, 25));
  EXPECT_EQ(contents<double>(y, n), std::vector<double>(n, 5));
}

TEST_P(KernelOrderTest, LibraryCallsStandBesideKernels) {
  const Descriptor* const gemm = routines::find("dgemm");
  ASSERT_NE(gemm, nullptr);
  const ModuleId module = load(kStep);
  const auto n = static_cast<std::int64_t>(random(2, 40));
  const auto size = static_cast<std::uint32_t>(n * n);
  const BufferId a = buffer_of(std::vector<double>(size, 1));
  const BufferId c = allocate(Bytes(size * 8, kPoison));
  Argument arguments[kMaxArguments];
  arguments[0].flag = arguments[1].flag = 'N';
  arguments[2].dim = arguments[3].dim = arguments[4].dim = n;
  arguments[5].scalar = {1, 0};
  arguments[6].device = arguments[7].device = {a, 0, n};
  arguments[8].scalar = {0, 0};
  arguments[9].device = {c, 0, n};
  ASSERT_TRUE(step(queue(), module, a, 2, 0, size).ok());  // a = 2
  const Status called = outcome(device().call(queue(), *gemm, arguments));
  if (called.code() == Code::unsupported) {
    FAIL() << "dgemm is missing: " << called.message();
  }
  ASSERT_TRUE(called.ok()) << called.message();
  ASSERT_TRUE(step(queue(), module, c, 1, 1, size).ok());  // c = 4 n + 1
  ASSERT_TRUE(outcome(Status()).ok());
  EXPECT_EQ(contents<double>(c, size), std::vector<double>(size, 4.0 * static_cast<double>(n) + 1));
}

TEST_P(KernelOrderTest, EventsOrderKernelsOfTwoQueues) {
  const ModuleId module = load(kStep);
  const QueueId other = another_queue();
  const EventId first = *device().create_event();
  const EventId second = *device().create_event();
  constexpr std::uint32_t kCount = 1000;
  const BufferId y = buffer_of(std::vector<double>(kCount, 1));
  double expected = 1;
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(step(queue(), module, y, 2, 0, kCount).ok());
    ASSERT_TRUE(device().record(queue(), first).ok());
    ASSERT_TRUE(device().wait(other, first).ok());
    ASSERT_TRUE(step(other, module, y, 1, 3, kCount).ok());
    ASSERT_TRUE(device().record(other, second).ok());
    ASSERT_TRUE(device().wait(queue(), second).ok());
    expected = expected * 2 + 3;
  }
  ASSERT_TRUE(outcome(Status()).ok());
  ASSERT_TRUE(outcome(other, Status()).ok());
  EXPECT_EQ(contents<double>(y, kCount), std::vector<double>(kCount, expected));
}

TEST_P(KernelOrderTest, QueuesOfManyThreadsUseOneModule) {
  const ModuleId module = load(kStep);
  constexpr int kThreads = 4;
  constexpr int kRounds = 25;
  std::vector<QueueId> queues;
  std::vector<BufferId> buffers;
  for (int i = 0; i < kThreads; ++i) {
    queues.push_back(another_queue());
    buffers.push_back(buffer_of(std::vector<double>(100 + static_cast<std::size_t>(i), 0)));
  }
  std::vector<Status> outcomes(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        for (int round = 0; round < kRounds; ++round) {
          outcomes[i] = step(queues[i], module, buffers[i], 1, static_cast<double>(i + 1),
                             static_cast<std::uint32_t>(100 + i));
        }
        outcomes[i] = outcome(queues[i], outcomes[i]);
      });
    }
  }
  for (std::size_t i = 0; i < kThreads; ++i) {
    EXPECT_TRUE(outcomes[i].ok()) << outcomes[i].message();
    EXPECT_EQ(contents<double>(buffers[i], 100 + i),
              std::vector<double>(100 + i, kRounds * static_cast<double>(i + 1)));
  }
}

TEST_P(KernelOrderTest, WhatALaunchNeedsLivesAsLongAsIt) {
  const ModuleId module = load(kStep);
  const QueueId other = another_queue();
  const BufferId y = buffer_of(std::vector<double>(64, 1));
  const BufferId z = allocate(Bytes(64 * 8, kPoison));
  ASSERT_TRUE(step(other, module, y, 2, 1, 64).ok());
  ASSERT_TRUE(device().copy(other, y, byte_region(64 * 8), z, byte_region(64 * 8)).ok());
  ASSERT_TRUE(device().unload_module(module).ok());
  ASSERT_TRUE(device().free(y).ok());
  ASSERT_TRUE(outcome(other, Status()).ok());
  EXPECT_EQ(contents<double>(z, 64), std::vector<double>(64, 3));
  expect_failure(outcome(step(queue(), module, z, 1, 1, 64)), Code::invalid_argument, "module");
}

OB_OVER_KERNEL_DEVICES(KernelOrderTest);

}  // namespace
}  // namespace ob::test
