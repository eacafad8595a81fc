// Streams of the stand-in: work runs late, and a program that does not wait is detected.

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "standin_cuda/tested.hpp"

using standin::OnDevice;
using standin::OnStream;

namespace {

class Streams : public standin::StandinTest {
 protected:
  // Holds a stream until it is opened.
  struct Gate {
    std::atomic<bool> open{false};
    explicit Gate(cudaStream_t stream) {
      EXPECT_EQ(cudaLaunchHostFunc(stream, wait, this), cudaSuccess);
    }
    static void wait(void* self) {
      while (!static_cast<Gate*>(self)->open) std::this_thread::yield();
    }
  };
  struct Pinned {
    double* p = nullptr;
    explicit Pinned(std::size_t n) {
      void* q = nullptr;
      EXPECT_EQ(cudaHostAlloc(&q, n * sizeof(double), cudaHostAllocDefault), cudaSuccess);
      p = static_cast<double*>(q);
    }
    ~Pinned() { EXPECT_EQ(cudaFreeHost(p), cudaSuccess); }
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;
  };
};

TEST_F(Streams, AResultIsNotThereBeforeItIsWaitedFor) {
  const OnDevice<double> x(std::vector<double>{7});
  const OnStream stream;
  const Pinned host(1);
  EXPECT_TRUE(std::isnan(*host.p));
  Gate gate(stream);
  ASSERT_EQ(cudaMemcpyAsync(host.p, x.get(), 8, cudaMemcpyDeviceToHost, stream), cudaSuccess);
  EXPECT_TRUE(std::isnan(*host.p));
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  gate.open = true;
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(*host.p, 7);
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
}

TEST_F(Streams, PageableMemoryIsReadBeforeACopyReturns) {
  const OnDevice<double> x(1);
  const OnStream stream;
  double host = 3;
  Gate gate(stream);
  ASSERT_EQ(cudaMemcpyAsync(x.get(), &host, 8, cudaMemcpyHostToDevice, stream), cudaSuccess);
  host = 4;
  gate.open = true;
  // The copy to the host returns when it is done.
  double back = 0;
  ASSERT_EQ(cudaMemcpyAsync(&back, x.get(), 8, cudaMemcpyDeviceToHost, stream), cudaSuccess);
  EXPECT_EQ(back, 3);
}

TEST_F(Streams, PageLockedMemoryIsReadLater) {
  const OnDevice<double> x(1);
  const OnStream stream;
  const Pinned host(1);
  *host.p = 3;
  Gate gate(stream);
  ASSERT_EQ(cudaMemcpyAsync(x.get(), host.p, 8, cudaMemcpyHostToDevice, stream), cudaSuccess);
  *host.p = 4;
  gate.open = true;
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(x.host().front(), 4);
}

TEST_F(Streams, TwoStreamsThatDoNotWaitForEachOtherRace) {
  const OnDevice<double> x(4);
  const OnStream first;
  const OnStream second;
  ASSERT_EQ(cudaMemsetAsync(x.get(), 0, 16, first), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(x.get() + 2, 0, 16, second), cudaSuccess);  // next to the other range
  ASSERT_EQ(cudaMemsetAsync(x.get() + 1, 0, 16, second), cudaSuccess);
  broke("does not wait for it");
}

TEST_F(Streams, ColumnsBesideEachOtherDoNotRace) {
  const OnDevice<double> x(64);
  const OnStream first;
  const OnStream second;
  // The two calls write rows 0-3 and rows 4-7 of an 8 x 8 matrix.
  ASSERT_EQ(cudaMemset2DAsync(x.get(), 64, 0, 32, 8, first), cudaSuccess);
  ASSERT_EQ(cudaMemset2DAsync(x.get() + 4, 64, 0, 32, 8, second), cudaSuccess);
  ASSERT_EQ(cudaMemset2DAsync(x.get() + 3, 64, 0, 8, 8, second), cudaSuccess);
  broke("does not wait for it");
}

TEST_F(Streams, AnEventOrdersThem) {
  const OnDevice<double> x(1);
  const OnStream first;
  const OnStream second;
  const Pinned host(1);
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  *host.p = 5;
  Gate gate(first);
  ASSERT_EQ(cudaMemcpyAsync(x.get(), host.p, 8, cudaMemcpyHostToDevice, first), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event, first), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(second, event, 0), cudaSuccess);
  const Pinned back(1);
  ASSERT_EQ(cudaMemcpyAsync(back.p, x.get(), 8, cudaMemcpyDeviceToHost, second), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  gate.open = true;
  ASSERT_EQ(cudaStreamSynchronize(second), cudaSuccess);
  EXPECT_EQ(*back.p, 5);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  float ms = 0;
  EXPECT_EQ(cudaEventElapsedTime(&ms, event, event), cudaErrorInvalidResourceHandle);
  broke("an event without time");
  ASSERT_EQ(cudaEventDestroy(event), cudaSuccess);
}

TEST_F(Streams, TheHostOrdersThemByWaiting) {
  const OnDevice<double> x(1);
  const OnStream first;
  const OnStream second;
  ASSERT_EQ(cudaMemsetAsync(x.get(), 0, 8, first), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(first), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(x.get(), 0, 8, second), cudaSuccess);
}

TEST_F(Streams, TheDefaultStreamWaitsForThoseThatBlock) {
  const OnDevice<double> x(1);
  cudaStream_t blocking = nullptr;
  ASSERT_EQ(cudaStreamCreate(&blocking), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(x.get(), 1, 8, blocking), cudaSuccess);
  ASSERT_EQ(cudaMemset(x.get(), 0, 8), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(x.get(), 1, 8, blocking), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(blocking), cudaSuccess);
}

TEST_F(Streams, EventsMeasureTime) {
  const OnStream stream;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  ASSERT_EQ(cudaEventCreate(&begin), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&end), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(begin, stream), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(end, stream), cudaSuccess);
  ASSERT_EQ(cudaEventSynchronize(end), cudaSuccess);
  float ms = -1;
  ASSERT_EQ(cudaEventElapsedTime(&ms, begin, end), cudaSuccess);
  EXPECT_GE(ms, 0);
  ASSERT_EQ(cudaEventDestroy(begin), cudaSuccess);
  ASSERT_EQ(cudaEventDestroy(end), cudaSuccess);
}

TEST_F(Streams, AStreamThatIsGoneIsFound) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  broke("no stream");
}

}  // namespace
