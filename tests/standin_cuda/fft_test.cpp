// cuFFT of the stand-in: layouts, work areas, and the calls that it refuses.

#include <cufft.h>

#include <cmath>
#include <complex>

#include "standin_cuda/tested.hpp"

using standin::OnDevice;

namespace {

using Complex = std::complex<double>;
using Values = std::vector<Complex>;

class Fft : public standin::StandinTest {
 protected:
  static cufftDoubleComplex* z(const OnDevice<Complex>& x) {
    return reinterpret_cast<cufftDoubleComplex*>(x.get());
  }
};

TEST_F(Fft, TransformsABatchWithStrides) {
  // Two transforms of length 2, interleaved.
  const OnDevice<Complex> x(Values{1, 10, 2, 20});
  const OnDevice<Complex> y(4);
  cufftHandle plan = 0;
  std::size_t bytes = 0;
  long long n = 2;
  ASSERT_EQ(cufftCreate(&plan), CUFFT_SUCCESS);
  ASSERT_EQ(cufftMakePlanMany64(plan, 1, &n, &n, 2, 1, &n, 1, 2, CUFFT_Z2Z, 2, &bytes),
            CUFFT_SUCCESS);
  EXPECT_GT(bytes, 0U);
  ASSERT_EQ(cufftExecZ2Z(plan, z(x), z(y), CUFFT_FORWARD), CUFFT_SUCCESS);
  EXPECT_EQ(y.host(), (Values{3, -1, 30, -10}));
  ASSERT_EQ(cufftDestroy(plan), CUFFT_SUCCESS);
}

TEST_F(Fft, ARealTransformInPlaceIsPadded) {
  // Two transforms of length 2: each has two numbers and two of padding.
  const OnDevice<double> x(std::vector<double>{1, 2, -9, -9, 5, 3, -9, -9});
  cufftHandle plan = 0;
  ASSERT_EQ(cufftPlan1d(&plan, 2, CUFFT_D2Z, 2), CUFFT_SUCCESS);
  ASSERT_EQ(cufftExecD2Z(plan, x.get(), reinterpret_cast<cufftDoubleComplex*>(x.get())),
            CUFFT_SUCCESS);
  EXPECT_EQ(x.host(), (std::vector<double>{3, 0, -1, 0, 8, 0, 2, 0}));
  ASSERT_EQ(cufftDestroy(plan), CUFFT_SUCCESS);
}

TEST_F(Fft, TheWayBackSpoilsItsInput) {
  const OnDevice<Complex> x(Values{3, -1});
  const OnDevice<double> y(2);
  cufftHandle plan = 0;
  ASSERT_EQ(cufftPlan1d(&plan, 2, CUFFT_Z2D, 1), CUFFT_SUCCESS);
  ASSERT_EQ(cufftExecZ2D(plan, z(x), y.get()), CUFFT_SUCCESS);
  EXPECT_EQ(y.host(), (std::vector<double>{2, 4}));
  EXPECT_TRUE(std::isnan(x.host().front().real()));
  ASSERT_EQ(cufftDestroy(plan), CUFFT_SUCCESS);
}

TEST_F(Fft, AWorkAreaHasToBeThereAndLargeEnough) {
  const OnDevice<Complex> x(Values{1, 2, 3, 4});
  cufftHandle plan = 0;
  std::size_t bytes = 0;
  long long n = 4;
  ASSERT_EQ(cufftCreate(&plan), CUFFT_SUCCESS);
  ASSERT_EQ(cufftSetAutoAllocation(plan, 0), CUFFT_SUCCESS);
  ASSERT_EQ(cufftMakePlanMany64(plan, 1, &n, nullptr, 1, 0, nullptr, 1, 0, CUFFT_Z2Z, 1, &bytes),
            CUFFT_SUCCESS);
  EXPECT_EQ(cufftExecZ2Z(plan, z(x), z(x), CUFFT_FORWARD), CUFFT_INVALID_VALUE);
  standin_cuda_forget_violations();
  const OnDevice<char> small(bytes - 1);
  EXPECT_EQ(cufftSetWorkArea(plan, small.get()), CUFFT_INVALID_VALUE);
  broke("1 bytes beyond the end");
  const OnDevice<char> area(bytes);
  ASSERT_EQ(cufftSetWorkArea(plan, area.get()), CUFFT_SUCCESS);
  EXPECT_EQ(cufftExecZ2Z(plan, z(x), z(x), CUFFT_FORWARD), CUFFT_SUCCESS);
  EXPECT_EQ(x.host().front(), Complex(10));
  EXPECT_EQ(area.host().front(), '\xFF');
  ASSERT_EQ(cufftDestroy(plan), CUFFT_SUCCESS);
}

TEST_F(Fft, APlanIsOfOneTypeAndLength) {
  const OnDevice<Complex> x(3);
  cufftHandle plan = 0;
  ASSERT_EQ(cufftPlan1d(&plan, 4, CUFFT_Z2Z, 1), CUFFT_SUCCESS);
  EXPECT_EQ(cufftExecZ2Z(plan, z(x), z(x), CUFFT_FORWARD), CUFFT_INVALID_VALUE);
  EXPECT_EQ(standin_cuda_violations(), 2U);  // input and output
  standin_cuda_forget_violations();
  EXPECT_EQ(cufftExecC2C(plan, reinterpret_cast<cufftComplex*>(x.get()),
                         reinterpret_cast<cufftComplex*>(x.get()), CUFFT_FORWARD),
            CUFFT_INVALID_PLAN);
  broke("a plan of another type");
  ASSERT_EQ(cufftDestroy(plan), CUFFT_SUCCESS);
}

TEST_F(Fft, ItsMemoryCounts) {
  standin_cuda_fail("cufftMakePlanMany:1:2");
  cufftHandle plan = 0;
  EXPECT_EQ(cufftPlan1d(&plan, 4, CUFFT_Z2Z, 1), CUFFT_ALLOC_FAILED);
  ASSERT_EQ(cufftDestroy(plan), CUFFT_SUCCESS);
  // The plan needs more memory than the device has.
  EXPECT_EQ(cufftPlan1d(&plan, 1 << 30, CUFFT_Z2Z, 1), CUFFT_ALLOC_FAILED);
  ASSERT_EQ(cufftDestroy(plan), CUFFT_SUCCESS);
}

}  // namespace
