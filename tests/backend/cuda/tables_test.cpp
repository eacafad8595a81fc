// Compares NVIDIA's libraries here (the stand-in or the real ones) with the functions that the
// backend needs.

#include <gtest/gtest.h>

#include <string>

#include "backend/cuda/blas_table.hpp"
#include "backend/cuda/fft_table.hpp"
#include "backend/cuda/nvrtc_table.hpp"
#include "backend/cuda/solver_table.hpp"

namespace ob::cuda {
namespace {

// Returns true if the library is missing. A library that lacks a common function is a failure.
bool is_absent(const Status& status) {
  return status.code() == Code::unavailable &&
         status.message().find("cannot open") != std::string::npos;
}

TEST(Tables, CublasHasAFunctionForEveryRowOfItsTable) {
  const auto table = BlasTable::open();
  if (is_absent(table.status())) GTEST_SKIP() << table.status().message();
  ASSERT_TRUE(table.ok()) << table.status().message();
  std::string absent;
#define OB_CUDA_LOOK(routine, function) \
  if (table->function == nullptr) absent += OB_CUDA_TEXT(function) " ";
  OB_CUBLAS_ROWS(OB_CUDA_LOOK)
#undef OB_CUDA_LOOK
  EXPECT_EQ(absent, "");
}

TEST(Tables, CusolverHasAFunctionForEveryRowOfItsTable) {
  const auto table = SolverTable::open();
  if (is_absent(table.status())) GTEST_SKIP() << table.status().message();
  ASSERT_TRUE(table.ok()) << table.status().message();
  std::string absent;
#define OB_CUDA_LOOK(function) \
  if (table->function == nullptr) absent += OB_CUDA_TEXT(function) " ";
  OB_CUSOLVER_ROW_FUNCTIONS(OB_CUDA_LOOK)
#undef OB_CUDA_LOOK
  EXPECT_EQ(absent, "");
}

TEST(Tables, CufftOpens) {
  const Status status = FftTable::open().status();
  if (is_absent(status)) GTEST_SKIP() << status.message();
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Tables, NvrtcOpens) {
  const Status status = NvrtcTable::open().status();
  if (is_absent(status)) GTEST_SKIP() << status.message();
  EXPECT_TRUE(status.ok()) << status.message();
}

}  // namespace
}  // namespace ob::cuda
