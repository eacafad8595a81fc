#include "backend/cpu/blas_library.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "backend/cpu/cores.hpp"
#include "routines/descriptor.hpp"

namespace ob::cpu {
namespace {

class BlasLibraryTest : public testing::Test {
 protected:
  void TearDown() override { unsetenv("OUTBOARD_BLAS"); }

  static std::unique_ptr<BlasLibrary> open(const BlasLibrary::Config& config) {
    auto library = BlasLibrary::open(config);
    if (!library.ok()) return nullptr;
    return std::move(library).value();
  }
};

TEST_F(BlasLibraryTest, HasEveryRoutineOfTheTable) {
  const auto library = open({});
  if (library == nullptr) GTEST_SKIP() << "no BLAS library here";
  for (const Descriptor& routine : routines::all()) {
    EXPECT_NE(library->find(routine.id), nullptr) << routine.name;
  }
  for (const Descriptor& operation : routines::device_operations()) {
    EXPECT_NE(library->find(operation.id), nullptr) << operation.name;
  }
  EXPECT_EQ(library->find(0), nullptr);
}

TEST_F(BlasLibraryTest, OpenBlasGetsTheRightKernels) {
  if (std::getenv("OPENBLAS_CORETYPE") != nullptr) GTEST_SKIP() << "the user chose";
  const auto library = open({});
  if (library == nullptr || library->description().find("OpenBLAS") != 0)
    GTEST_SKIP() << "no OpenBLAS here";
  EXPECT_EQ(library->warning(), "");
  EXPECT_NE(library->description().find(suitable_core_type()), std::string::npos)
      << library->description();
  EXPECT_EQ(std::getenv("OPENBLAS_CORETYPE"), nullptr) << "children must not inherit it";
}

TEST_F(BlasLibraryTest, MeasuresARate) {
  const auto library = open({});
  if (library == nullptr) GTEST_SKIP() << "no BLAS library here";
  EXPECT_GT(library->measure_gflops(), 0);
}

TEST_F(BlasLibraryTest, AnOwnInstanceHasOtherFunctions) {
  const auto first = open({});
  const auto second = open({.own_instance = true});
  if (first == nullptr || first->description().find("OpenBLAS") != 0)
    GTEST_SKIP() << "no OpenBLAS here";
  ASSERT_NE(second, nullptr);
  const std::uint32_t dgemm = routines::find("dgemm")->id;
  EXPECT_NE(first->find(dgemm)->function, second->find(dgemm)->function);
  EXPECT_EQ(first->find(dgemm)->thunk, second->find(dgemm)->thunk);
}

TEST_F(BlasLibraryTest, AnAbsentLibraryIsNamed) {
  setenv("OUTBOARD_BLAS", "/nonexistent/libblas.so", 1);
  const auto library = BlasLibrary::open({});
  EXPECT_EQ(library.status().code(), Code::unavailable);
  EXPECT_NE(library.status().message().find("OUTBOARD_BLAS"), std::string::npos);
  EXPECT_NE(library.status().message().find("/nonexistent/libblas.so"), std::string::npos);
}

TEST_F(BlasLibraryTest, ALibraryWithLongIntegersIsRefused) {
  if (!SharedObject::open("libopenblas64.so.0").ok()) GTEST_SKIP() << "no libopenblas64.so.0 here";
  setenv("OUTBOARD_BLAS", "libopenblas64.so.0", 1);
  const auto library = BlasLibrary::open({});
  ASSERT_FALSE(library.ok());
  EXPECT_NE(library.status().message().find("ILP64"), std::string::npos)
      << library.status().message();
}

}  // namespace
}  // namespace ob::cpu
