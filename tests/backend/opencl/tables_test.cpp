// Compares the installed CLBlast with the functions that the backend needs.

#include <gtest/gtest.h>

#include "backend/opencl/blas_table.hpp"
#include "routines/descriptor.hpp"

namespace ob::opencl {
namespace {

TEST(Tables, ClblastHasAFunctionForEveryRowOfItsTable) {
  const auto table = BlasTable::open();
  if (!table.ok() && table.status().message().find("no CLBlast here") != std::string::npos) {
    GTEST_SKIP() << table.status().message();
  }
  EXPECT_TRUE(table.ok()) << table.status().message();
}

TEST(Tables, EveryRowIsARoutine) {
#define OB_CL_LOOK(routine, function) \
  EXPECT_NE(routines::find(std::string_view(#routine)), nullptr) << #routine;
  OB_CLBLAST_ROWS(OB_CL_LOOK)
  OB_CLBLAST_SAME_ROWS(OB_CL_LOOK)
#undef OB_CL_LOOK
}

}  // namespace
}  // namespace ob::opencl
