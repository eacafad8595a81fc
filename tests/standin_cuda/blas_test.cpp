// cuBLAS of the stand-in: results of a few functions, and the calls that it refuses.

#include <cublas_v2.h>

#include <complex>

#include "standin_cuda/tested.hpp"

using standin::OnDevice;
using standin::OnStream;

namespace {

using Complex = std::complex<double>;
using Values = std::vector<double>;

class Blas : public standin::StandinTest {
 protected:
  void SetUp() override {
    StandinTest::SetUp();
    ASSERT_EQ(cublasCreate(&handle_), CUBLAS_STATUS_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cublasDestroy(handle_), CUBLAS_STATUS_SUCCESS);
    StandinTest::TearDown();
  }
  cublasHandle_t handle_ = nullptr;
  const double one_ = 1;
  const double zero_ = 0;
};

TEST_F(Blas, MultipliesMatrices) {
  const OnDevice<double> a(Values{1, 2, 3, 4});  // [1 3; 2 4]
  const OnDevice<double> b(Values{5, 6, 7, 8});
  const OnDevice<double> c(Values{-1, -1, -1, -1, -1, -1});  // ldc = 3
  ASSERT_EQ(cublasDgemm_64(handle_, CUBLAS_OP_N, CUBLAS_OP_T, 2, 2, 2, &one_, a.get(), 2, b.get(),
                           2, &zero_, c.get(), 3),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(c.host(), (Values{26, 38, -1, 30, 44, -1}));
}

TEST_F(Blas, MultipliesATriangleOutOfPlace) {
  const OnDevice<double> a(Values{2, 1e30, 3, 4});  // upper: [2 3; . 4]
  const OnDevice<double> b(Values{1, 10});
  const OnDevice<double> c(2);
  ASSERT_EQ(cublasDtrmm_64(handle_, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N,
                           CUBLAS_DIAG_NON_UNIT, 2, 1, &one_, a.get(), 2, b.get(), 2, c.get(), 2),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(c.host(), (Values{32, 40}));
  EXPECT_EQ(b.host(), (Values{1, 10}));
}

TEST_F(Blas, UpdatesAPackedTriangle) {
  const OnDevice<double> x(Values{1, 2});
  const OnDevice<double> a(Values{0, 0, 0});
  ASSERT_EQ(cublasDspr_64(handle_, CUBLAS_FILL_MODE_LOWER, 2, &one_, x.get(), 1, a.get()),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(a.host(), (Values{1, 2, 4}));
}

TEST_F(Blas, ConjugatesWhereItShould) {
  const std::vector<Complex> i{Complex(0, 1)};
  const OnDevice<Complex> x(i);
  Complex product;
  ASSERT_EQ(cublasZdotc_64(handle_, 1, reinterpret_cast<cuDoubleComplex*>(x.get()), 1,
                           reinterpret_cast<cuDoubleComplex*>(x.get()), 1,
                           reinterpret_cast<cuDoubleComplex*>(&product)),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(product, Complex(1, 0));
}

TEST_F(Blas, AResultInTheDevicesMemoryIsLate) {
  const OnDevice<double> x(Values{3, 4});
  const OnDevice<double> norm(1);
  const OnStream stream;
  ASSERT_EQ(cublasSetStream(handle_, stream), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasSetPointerMode(handle_, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasDnrm2_64(handle_, 2, x.get(), 1, norm.get()), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(norm.host().front(), 5);
  ASSERT_EQ(cublasSetStream(handle_, nullptr), CUBLAS_STATUS_SUCCESS);
}

TEST_F(Blas, AHostPointerIsRefused) {
  const OnDevice<double> a(4);
  Values host(4);
  EXPECT_EQ(cublasDgemm_64(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one_, a.get(), 2,
                           host.data(), 2, &zero_, a.get(), 2),
            CUBLAS_STATUS_EXECUTION_FAILED);
  broke("a host pointer where memory of device 0 is wanted");
}

TEST_F(Blas, ScalarsAreWhereTheModeSays) {
  const OnDevice<double> x(Values{1, 2});
  EXPECT_EQ(cublasDscal_64(handle_, 2, x.get(), x.get(), 1), CUBLAS_STATUS_EXECUTION_FAILED);
  broke("a device's pointer, or none, where one of the host is wanted");
  ASSERT_EQ(cublasSetPointerMode(handle_, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasDscal_64(handle_, 2, &one_, x.get(), 1), CUBLAS_STATUS_EXECUTION_FAILED);
  broke("a host pointer");
}

TEST_F(Blas, AMatrixBeyondItsBlockIsFound) {
  const OnDevice<double> a(Values{1, 2, 3, 4, 5, 6, 7});  // 2 x 3 with lda = 3 ends with the 8th
  const OnDevice<double> x(3);
  const OnDevice<double> y(2);
  EXPECT_EQ(
      cublasDgemv_64(handle_, CUBLAS_OP_N, 2, 3, &one_, a.get(), 3, x.get(), 1, &zero_, y.get(), 1),
      CUBLAS_STATUS_EXECUTION_FAILED);
  broke("8 bytes beyond the end of a block of 56 bytes");
}

TEST_F(Blas, ALeadingDimensionTooSmallIsRefused) {
  const OnDevice<double> a(9);
  EXPECT_EQ(cublasDsyrk_64(handle_, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, 3, 3, &one_, a.get(), 2,
                           &zero_, a.get(), 3),
            CUBLAS_STATUS_INVALID_VALUE);
  broke("not lda >= max(1, rows)");
}

TEST_F(Blas, WorkOfAnotherStreamHasToBeWaitedFor) {
  const OnDevice<double> x(Values{1, 2});
  const OnStream copies;
  const OnStream computes;
  ASSERT_EQ(cublasSetStream(handle_, computes), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cudaMemsetAsync(x.get(), 0, 16, copies), cudaSuccess);
  EXPECT_EQ(cublasDscal_64(handle_, 2, &one_, x.get(), 1), CUBLAS_STATUS_SUCCESS);
  broke("cublasDscal_v2_64: writes what cudaMemsetAsync of another stream writes");
  ASSERT_EQ(cublasSetStream(handle_, nullptr), CUBLAS_STATUS_SUCCESS);
}

TEST_F(Blas, TheNthCallFailsInAnyOfItsForms) {
  const OnDevice<double> x(Values{1, 2});
  standin_cuda_fail("cublasDscal:2");
  EXPECT_EQ(cublasDscal_64(handle_, 2, &one_, x.get(), 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasDscal(handle_, 2, &one_, x.get(), 1), CUBLAS_STATUS_EXECUTION_FAILED);
  EXPECT_EQ(cublasDscal_64(handle_, 2, &one_, x.get(), 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(x.host(), (Values{1, 2}));
  EXPECT_GE(standin_cuda_calls("cublasDscal"), 3U);
}

TEST_F(Blas, AHandleThatIsGoneIsFound) {
  cublasHandle_t handle = nullptr;
  ASSERT_EQ(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasSetStream(handle, nullptr), CUBLAS_STATUS_NOT_INITIALIZED);
  broke("no handle");
}

TEST_F(Blas, ItsModesAreKept) {
  ASSERT_EQ(cublasSetMathMode(handle_, CUBLAS_TF32_TENSOR_OP_MATH), CUBLAS_STATUS_SUCCESS);
  cublasMath_t mode{};
  ASSERT_EQ(cublasGetMathMode(handle_, &mode), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(mode, CUBLAS_TF32_TENSOR_OP_MATH);
}

}  // namespace
