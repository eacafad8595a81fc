// NVIDIA's libraries as they are here (the stand-in, or the real ones) against what the backend
// takes from them.

#include <gtest/gtest.h>

#include <string>

#include "backend/cuda/blas_table.hpp"
#include "backend/cuda/fft_table.hpp"
#include "backend/cuda/nvrtc_table.hpp"
#include "backend/cuda/solver_table.hpp"

namespace ob::cuda {
namespace {

TEST(Tables, CublasHasAFunctionForEveryRowOfItsTable) {
  const auto table = BlasTable::open();
  if (!table.ok()) GTEST_SKIP() << table.status().message();
  std::string absent;
#define OB_CUDA_LOOK(routine, function) \
  if (table->function == nullptr) absent += OB_CUDA_TEXT(function) " ";
  OB_CUBLAS_ROWS(OB_CUDA_LOOK)
#undef OB_CUDA_LOOK
  EXPECT_EQ(absent, "");
}

TEST(Tables, CusolverHasAFunctionForEveryRowOfItsTable) {
  const auto table = SolverTable::open();
  if (!table.ok()) GTEST_SKIP() << table.status().message();
  std::string absent;
#define OB_CUDA_LOOK(function) \
  if (table->function == nullptr) absent += OB_CUDA_TEXT(function) " ";
  OB_CUSOLVER_ROW_FUNCTIONS(OB_CUDA_LOOK)
#undef OB_CUDA_LOOK
  EXPECT_EQ(absent, "");
}

TEST(Tables, OthersOpen) {
  for (const Status& status : {FftTable::open().status(), NvrtcTable::open().status()}) {
    if (status.code() == Code::unavailable &&
        status.message().find("cannot open") != std::string::npos) {
      continue;
    }
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

}  // namespace
}  // namespace ob::cuda
