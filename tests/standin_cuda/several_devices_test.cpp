// Several devices: the owner of each memory block. Runs with STANDIN_CUDA_DEVICES=4.

#include "standin_cuda/tested.hpp"

using standin::OnDevice;
using standin::OnStream;

namespace {

class SeveralDevices : public standin::StandinTest {};

TEST_F(SeveralDevices, AreAsManyAsAskedFor) {
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 4);
  EXPECT_EQ(cudaSetDevice(4), cudaErrorInvalidDevice);
}

TEST_F(SeveralDevices, OnesMemoryIsNotTheOthers) {
  const OnDevice<double> x(4);  // on device 0
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  {
    const OnStream stream;
    EXPECT_EQ(cudaMemsetAsync(x.get(), 0, 32, stream), cudaErrorInvalidValue);
    broke("memory of device 0, which device 1 has no access to");
    ASSERT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaSuccess);
    EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessAlreadyEnabled);
    EXPECT_EQ(cudaMemsetAsync(x.get(), 0, 32, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    ASSERT_EQ(cudaDeviceDisablePeerAccess(0), cudaSuccess);
  }
  EXPECT_EQ(x.host(), (std::vector<double>{0, 0, 0, 0}));
}

TEST_F(SeveralDevices, CopiesBetweenThemNeedNoAccess) {
  const std::vector<double> values{1, 2, 3};
  const OnDevice<double> x(values);
  ASSERT_EQ(cudaSetDevice(2), cudaSuccess);
  const OnDevice<double> y(3);
  ASSERT_EQ(cudaMemcpyPeer(y.get(), 2, x.get(), 0, 24), cudaSuccess);
  EXPECT_EQ(y.host(), values);
  EXPECT_EQ(cudaMemcpyPeer(y.get(), 1, x.get(), 0, 24), cudaErrorInvalidValue);
  broke("not of the device named");
}

TEST_F(SeveralDevices, AnEventIsOfOne) {
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(3), cudaSuccess);
  {
    const OnStream stream;
    EXPECT_EQ(cudaEventRecord(event, stream), cudaErrorInvalidResourceHandle);
    broke("different devices");
  }
  ASSERT_EQ(cudaEventDestroy(event), cudaSuccess);
}

TEST_F(SeveralDevices, AFaultIsOfOneToo) {
  const OnDevice<double> x(4);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  void* p = nullptr;
  standin_cuda_fail("cudaMalloc:1:700");
  EXPECT_EQ(cudaMalloc(&p, 8), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaMalloc(&p, 8), cudaErrorIllegalAddress);  // a fault is permanent
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  ASSERT_EQ(cudaDeviceReset(), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&p, 8), cudaSuccess);
  ASSERT_EQ(cudaFree(p), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaMemset(x.get(), 0, 32), cudaSuccess);
}

}  // namespace
