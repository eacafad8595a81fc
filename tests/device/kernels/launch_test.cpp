#include "device/kernels/launch.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ob {
namespace {

KernelFacts axpy() {
  KernelFacts facts;
  facts.signature.name = "axpy";
  facts.signature.parameters = {{ParameterKind::scalar, false, 8, "double", "a"},
                                {ParameterKind::buffer, false, 8, "double*", "y"},
                                {ParameterKind::local, false, 4, "float*", "tile"}};
  facts.largest_group = 256;
  facts.largest_extents = {256, 128, 64};
  facts.static_local_bytes = 100;
  facts.largest_local_bytes = 1000;
  return facts;
}

constexpr double kValue = 2;

std::vector<KernelArgument> arguments() {
  return {{ParameterKind::scalar, 8, &kValue, {}, 0},
          {ParameterKind::buffer, 0, nullptr, {BufferId{1}, 16}, 64},
          {ParameterKind::local, 900, nullptr, {}, 0}};
}

void expect_refused(const KernelFacts& facts, const KernelLaunch& launch, const char* words) {
  const Status status = check_launch(facts, launch);
  EXPECT_EQ(status.code(), Code::invalid_argument) << words;
  EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
}

TEST(Launch, FitsItsKernel) {
  const std::vector<KernelArgument> right = arguments();
  KernelLaunch launch{ModuleId{1}, "axpy", {3, 1, 1}, {256, 1, 1}, right};
  EXPECT_TRUE(check_launch(axpy(), launch).ok()) << check_launch(axpy(), launch).message();
}

TEST(Launch, ArgumentsAreChecked) {
  KernelLaunch launch{ModuleId{1}, "axpy", {1, 1, 1}, {1, 1, 1}, {}};
  auto wrong = arguments();
  wrong.pop_back();
  launch.arguments = wrong;
  expect_refused(axpy(), launch, "2 arguments for kernel axpy; it takes 3");
  wrong = arguments();
  wrong[0].bytes = 4;
  launch.arguments = wrong;
  expect_refused(axpy(), launch, "argument 0 (double a) of kernel axpy has 8 bytes, not 4");
  wrong = arguments();
  std::swap(wrong[0], wrong[1]);
  launch.arguments = wrong;
  expect_refused(axpy(), launch, "is a number, not a buffer");
  wrong = arguments();
  wrong[1].place.offset_bytes = 12;
  launch.arguments = wrong;
  expect_refused(axpy(), launch, "multiple of its element's 8 bytes");
  wrong = arguments();
  wrong[2].bytes = 901;
  launch.arguments = wrong;
  expect_refused(axpy(), launch, "1001 bytes of local memory");
  EXPECT_FALSE(check_argument(axpy().signature, 3, wrong[0]).ok());
}

TEST(Launch, GroupsAreChecked) {
  const std::vector<KernelArgument> right = arguments();
  KernelLaunch launch{ModuleId{1}, "axpy", {1, 1, 1}, {257, 1, 1}, right};
  expect_refused(axpy(), launch, "at most 256");
  launch.group_size = {128, 4, 1};
  expect_refused(axpy(), launch, "groups of 512 work-items");
  launch.group_size = {UINT32_MAX, UINT32_MAX, UINT32_MAX};  // the product overflows 64 bits
  expect_refused(axpy(), launch, "dimension 0");
  KernelFacts fixed = axpy();
  fixed.signature.required_group = {8, 8, 1};
  launch.group_size = {64, 1, 1};
  expect_refused(fixed, launch, "demands 8 x 8 x 1");
  launch.group_size = {8, 8, 1};
  EXPECT_TRUE(check_launch(fixed, launch).ok());
}

TEST(Launch, NothingIsNoLaunch) {
  KernelLaunch launch{ModuleId{1}, "axpy", {1, 0, 1}, {1, 1, 1}, {}};
  EXPECT_EQ(check_extents(launch).code(), Code::invalid_argument);
  launch = {ModuleId{1}, "axpy", {1, 1, 1}, {1, 1, 0}, {}};
  EXPECT_EQ(check_extents(launch).code(), Code::invalid_argument);
  const std::vector<KernelArgument> many(kMostKernelArguments + 1);
  launch = {ModuleId{1}, "axpy", {1, 1, 1}, {1, 1, 1}, many};
  EXPECT_EQ(check_extents(launch).code(), Code::invalid_argument);
}

TEST(Launch, ExtentsStayInTheirBuffers) {
  const auto inside = [](std::uint64_t offset, std::uint64_t extent, std::uint64_t size) {
    const KernelArgument argument{ParameterKind::buffer, 0, nullptr, {BufferId{1}, offset}, extent};
    return check_extent("f", 1, argument, size).ok();
  };
  EXPECT_TRUE(inside(0, 100, 100));
  EXPECT_TRUE(inside(99, 1, 100));
  EXPECT_TRUE(inside(99, 0, 100));  // up to the end
  EXPECT_FALSE(inside(0, 101, 100));
  EXPECT_FALSE(inside(99, 2, 100));
  EXPECT_FALSE(inside(100, 0, 100));  // a kernel gets no empty buffer
  EXPECT_FALSE(inside(UINT64_MAX, 2, 100));
  EXPECT_FALSE(inside(2, UINT64_MAX, 100));
}

}  // namespace
}  // namespace ob
