// The start and the end of turns. A command waits for its stream before it waits for a turn.

#include <atomic>

#include "backend/cuda/held_device.hpp"

namespace ob::cuda {
namespace {

using TurnTest = HeldDeviceTest;

TEST_F(TurnTest, IsNotTakenByWhoWaitsForCopies) {
  const QueueId first = warm_queue();
  const QueueId second = warm_queue();
  const auto [a, b, c, d] = buffers<4>();
  standin_cuda_watch("cublasDgemm,cudaMemcpyAsync");
  multiply(second, c, c, d);
  expect_held(1);
  write(first, a, 1);
  expect_held(2);
  const auto waits = standin_cuda_calls("cudaStreamSynchronize");
  multiply(first, a, a, b);
  expect_called("cudaStreamSynchronize", waits);
  standin_cuda_release_one("cublasDgemm");
  pass(second);
  multiply(second, c, c, d);
  pass(second);
  standin_cuda_release();
  pass(first);
}

TEST_F(TurnTest, IsSharedBySoManyCommands) {
  const QueueId on = warm_queue();
  const auto [a, b] = buffers<2>();
  const auto waits = standin_cuda_calls("cudaStreamSynchronize");
  standin_cuda_watch("cublasDgemm");
  for (int i = 0; i < 70; ++i) multiply(on, a, a, b);
  expect_called("cudaStreamSynchronize", waits);
  expect_held(1, "cublasDgemm", 63);
  standin_cuda_release();
  pass(on);
}

TEST_F(TurnTest, IsNotSharedByWhatTakesLong) {
  const QueueId on = warm_queue();
  const auto [a, b] = buffers<2>();
  standin_cuda_watch("cublasDgemm");
  multiply(on, a, a, b);
  expect_held(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));  // the device learns this time
  standin_cuda_release();
  pass(on);
  const auto waits = standin_cuda_calls("cudaStreamSynchronize");
  standin_cuda_watch("cublasDgemm");
  multiply(on, a, a, b);
  multiply(on, a, a, b);
  expect_called("cudaStreamSynchronize", waits);
  expect_held(1);
  EXPECT_EQ(standin_cuda_waiting("cublasDgemm"), 0U);
  standin_cuda_release();
  pass(on);
}

TEST_F(TurnTest, PassesToWhoWaitsForIt) {
  const QueueId first = warm_queue();
  const QueueId second = warm_queue();
  const auto [a, b, c, d] = buffers<4>();
  const auto passes = [&, a = a, b = b, c = c, d = d] {
    warm_up(first);  // the held work counted as long
    std::atomic<int> passed{0};
    int first_passed = 0;
    int second_passed = 0;
    const auto waits = standin_cuda_calls("cudaStreamSynchronize");
    standin_cuda_watch("cublasDgemm");
    multiply(first, a, a, b);
    expect_held(1);
    multiply(second, c, c, d);
    expect_called("cudaStreamSynchronize", waits);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // its request is not visible
    multiply(first, a, a, b);
    on_reached(first, [&] { first_passed = ++passed; });
    on_reached(second, [&] { second_passed = ++passed; });
    standin_cuda_release();
    pass(first);
    pass(second);
    return second_passed < first_passed;
  };
  EXPECT_TRUE(eventually(passes));
}

}  // namespace
}  // namespace ob::cuda
