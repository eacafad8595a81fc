#include "offload/asked_call.hpp"

#include <gtest/gtest.h>

#include <string>

namespace ob::offload {
namespace {

class AskedCallTest : public testing::Test {
 protected:
  std::string wrong(std::string_view name, std::string_view sizes) {
    return read_asked_call(records_, name, sizes).wrong;
  }

 private:
  const Config config_;
  Report report_{config_};
  RoutineRecords records_{config_, report_};
};

TEST_F(AskedCallTest, ReadsTheSizesOfTransforms) {
  for (const char* sizes : {"1", "1048576", "512x512", "256*100", "562949953421312"}) {
    EXPECT_EQ(wrong("fftw c2c", sizes), "") << sizes;
  }
  for (const char* sizes : {"", "0", "-4", "8x", "2*3*4", "1x1x1x1x1x1x1x1"}) {
    EXPECT_NE(wrong("fftw c2c", sizes), "") << sizes;
  }
}

// Products of such sizes overflow, and then a search for convolution sizes need not end.
TEST_F(AskedCallTest, RefusesTransformsThatNoMachineHolds) {
  for (const char* sizes : {"562949953421313", "9223372036854775783", "4294967296x4294967296",
                            "256*9223372036854775807", "2x562949953421312"}) {
    for (const char* name : {"fftw c2c", "fftwf r2c", "fftw r2r"}) {
      EXPECT_NE(wrong(name, sizes).find("too large"), std::string::npos) << name << " " << sizes;
    }
  }
}

}  // namespace
}  // namespace ob::offload
