// cuSOLVER of the stand-in: results of a few functions, workspaces, and the calls that it refuses.

#include <cusolverDn.h>

#include "standin_cuda/tested.hpp"

using standin::OnDevice;

namespace {

using Values = std::vector<double>;

class Solver : public standin::StandinTest {
 protected:
  void SetUp() override {
    StandinTest::SetUp();
    ASSERT_EQ(cusolverDnCreate(&handle_), CUSOLVER_STATUS_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cusolverDnDestroy(handle_), CUSOLVER_STATUS_SUCCESS);
    StandinTest::TearDown();
  }
  cusolverDnHandle_t handle_ = nullptr;
};

TEST_F(Solver, FactorsAndSolves) {
  const OnDevice<double> a(Values{1, 4, 2, 5});  // [1 2; 4 5]: rows are swapped
  const OnDevice<double> b(Values{5, 14});       // for x = (1, 2)
  const OnDevice<std::int64_t> ipiv(2);
  const OnDevice<int> info(1);
  std::size_t device = 0;
  std::size_t host = 0;
  ASSERT_EQ(cusolverDnXgetrf_bufferSize(handle_, nullptr, 2, 2, CUDA_R_64F, a.get(), 2, CUDA_R_64F,
                                        &device, &host),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_GT(device, 0U);
  EXPECT_GT(host, 0U);
  const OnDevice<char> work(device);
  std::vector<char> host_work(host);
  const auto factor = [&](std::size_t device_bytes, void* host_memory) {
    return cusolverDnXgetrf(handle_, nullptr, 2, 2, CUDA_R_64F, a.get(), 2, ipiv.get(), CUDA_R_64F,
                            work.get(), device_bytes, host_memory, host, info.get());
  };
  EXPECT_EQ(factor(device - 1, host_work.data()), CUSOLVER_STATUS_EXECUTION_FAILED);
  broke("a workspace of");
  EXPECT_EQ(factor(device, work.get()), CUSOLVER_STATUS_EXECUTION_FAILED);
  broke("a device's pointer where one of the host is wanted");
  ASSERT_EQ(factor(device, host_work.data()), CUSOLVER_STATUS_SUCCESS);
  ASSERT_EQ(cusolverDnXgetrs(handle_, nullptr, CUBLAS_OP_N, 2, 1, CUDA_R_64F, a.get(), 2,
                             ipiv.get(), CUDA_R_64F, b.get(), 2, info.get()),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(ipiv.host(), (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(info.host().front(), 0);
  const Values x = b.host();
  EXPECT_NEAR(x[0], 1, 1e-14);
  EXPECT_NEAR(x[1], 2, 1e-14);
  EXPECT_EQ(work.host().front(), '\xFF');  // poisoned
}

TEST_F(Solver, SaysWhatIsNotPositiveDefinite) {
  const OnDevice<double> a(Values{1, 2, 2, 1});
  const OnDevice<int> info(1);
  const OnDevice<char> work(1 << 12);
  std::vector<char> host(64);
  ASSERT_EQ(cusolverDnXpotrf(handle_, nullptr, CUBLAS_FILL_MODE_LOWER, 2, CUDA_R_64F, a.get(), 2,
                             CUDA_R_64F, work.get(), 1 << 12, host.data(), host.size(), info.get()),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(info.host().front(), 2);
}

TEST_F(Solver, InfoIsInTheDevicesMemory) {
  const OnDevice<double> a(Values{1, 0, 0, 1});
  const OnDevice<double> work(1 << 10);
  int info = 0;
  EXPECT_EQ(
      cusolverDnDpotri(handle_, CUBLAS_FILL_MODE_LOWER, 2, a.get(), 2, work.get(), 1 << 10, &info),
      CUSOLVER_STATUS_EXECUTION_FAILED);
  broke("a host pointer");
}

TEST_F(Solver, ValuesWithoutVectorsDestroyTheMatrix) {
  const OnDevice<double> a(Values{3, 7, 0, 5});  // upper: diagonal
  const OnDevice<double> w(2);
  const OnDevice<int> info(1);
  const OnDevice<char> work(1 << 12);
  std::vector<char> host(64);
  ASSERT_EQ(cusolverDnXsyevd(handle_, nullptr, CUSOLVER_EIG_MODE_NOVECTOR, CUBLAS_FILL_MODE_UPPER,
                             2, CUDA_R_64F, a.get(), 2, CUDA_R_64F, w.get(), CUDA_R_64F, work.get(),
                             1 << 12, host.data(), host.size(), info.get()),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(w.host(), (Values{3, 5}));
  EXPECT_NE(a.host()[1], 7);
}

TEST_F(Solver, AWideMatrixIsRefused) {
  std::size_t device = 0;
  std::size_t host = 0;
  EXPECT_EQ(cusolverDnXgesvd_bufferSize(handle_, nullptr, 'N', 'N', 2, 3, CUDA_R_64F, nullptr, 2,
                                        CUDA_R_64F, nullptr, CUDA_R_64F, nullptr, 1, CUDA_R_64F,
                                        nullptr, 1, CUDA_R_64F, &device, &host),
            CUSOLVER_STATUS_INVALID_VALUE);
  broke("not m >= n");
}

TEST_F(Solver, TheNthCallFails) {
  standin_cuda_fail("cusolverDnCreateParams:1,cusolverDnDgebrd_bufferSize:2:9");
  cusolverDnParams_t params = nullptr;
  EXPECT_EQ(cusolverDnCreateParams(&params), CUSOLVER_STATUS_ALLOC_FAILED);
  int lwork = 0;
  EXPECT_EQ(cusolverDnDgebrd_bufferSize(handle_, 3, 2, &lwork), CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(cusolverDnDgebrd_bufferSize(handle_, 3, 2, &lwork), CUSOLVER_STATUS_NOT_SUPPORTED);
}

}  // namespace
