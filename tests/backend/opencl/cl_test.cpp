#include "backend/opencl/cl.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace ob::opencl {
namespace {

TEST(Cl, AnAbsentLibraryIsUnavailableAndNamed) {
  const auto opened = Cl::open("libOpenCL-that-is-not-here.so.1");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), Code::unavailable);
  EXPECT_NE(opened.status().message().find("libOpenCL-that-is-not-here"), std::string::npos);
}

TEST(Cl, AnotherLibraryLacksItsFunctions) {
  const auto opened = Cl::open("libc.so.6");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), Code::unavailable);
  EXPECT_NE(opened.status().message().find("clBuildProgram"), std::string::npos);
}

// PoCL aborts the process.
TEST(Cl, AnEmptyNameOfPoclsFolderIsRefused) {
  const char* const had = std::getenv("POCL_CACHE_DIR");
  const std::string before = had != nullptr ? had : "";
  ::setenv("POCL_CACHE_DIR", "", 1);
  const auto opened = Cl::open("libOpenCL.so.1");
  had != nullptr ? ::setenv("POCL_CACHE_DIR", before.c_str(), 1) : ::unsetenv("POCL_CACHE_DIR");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), Code::unavailable);
  EXPECT_NE(opened.status().message().find("POCL_CACHE_DIR"), std::string::npos);
}

TEST(Cl, ErrorsHaveTheCodeThatCallersActOn) {
  EXPECT_TRUE(Cl::check(CL_SUCCESS, "x").ok());
  EXPECT_EQ(Cl::check(CL_MEM_OBJECT_ALLOCATION_FAILURE, "x").code(), Code::out_of_memory);
  EXPECT_EQ(Cl::check(CL_DEVICE_NOT_FOUND, "x").code(), Code::unavailable);
  const Status status = Cl::check(CL_INVALID_KERNEL_ARGS, "a kernel");
  EXPECT_EQ(status.code(), Code::device_error);
  EXPECT_EQ(status.message(), "a kernel: OpenCL failed (CL_INVALID_KERNEL_ARGS)");
  EXPECT_EQ(Cl::check(-9999, "x").message(), "x: OpenCL failed (error -9999)");
}

}  // namespace
}  // namespace ob::opencl
