#include "device/host_call.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace ob {
namespace {

class HostCallTest : public testing::Test {
 protected:
  BufferId buffer(std::uint64_t size_bytes) { return memory_.allocate(size_bytes).value(); }
  std::byte* at(BufferId id, std::uint64_t offset) { return memory_.find(id)->data() + offset; }

  HostMemory memory_{64 << 20};
};

// dgetrs, n = 3, one right-hand side.
class GetrsTest : public HostCallTest {
 protected:
  GetrsTest() {
    arguments_[0].flag = 'N';
    arguments_[1].dim = 3;
    arguments_[2].dim = 1;
    arguments_[3].device = {buffer(8 * 12), 0, 4};
    arguments_[4].device = {buffer(64), 8, 0};
    arguments_[5].device = {buffer(24), 0, 3};
    arguments_[6].device = {buffer(8), 0, 0};
  }
  Status resolve() { return resolve_call(memory_, *routines::find("dgetrs"), arguments_, call_); }

  Argument arguments_[kMaxArguments];
  HostCall call_;
};

TEST_F(GetrsTest, FindsOperandsInHostMemory) {
  const DeviceOperand a = arguments_[3].device;
  const DeviceOperand pivots = arguments_[4].device;
  const Status status = resolve();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(call_.arguments[0].flag, 'N');
  EXPECT_EQ(call_.arguments[1].dim, 3);
  EXPECT_EQ(call_.arguments[3].host.data, at(a.buffer, 0));
  EXPECT_EQ(call_.arguments[3].host.ld, 4);
  EXPECT_EQ(call_.arguments[4].host.data, at(pivots.buffer, 8));
}

TEST_F(GetrsTest, KeepsBuffersAlive) {
  ASSERT_TRUE(resolve().ok());
  const std::uint64_t before = memory_.used_bytes();
  ASSERT_TRUE(memory_.free(arguments_[3].device.buffer).ok());
  EXPECT_EQ(memory_.used_bytes(), before);
  call_ = HostCall();
  EXPECT_LT(memory_.used_bytes(), before);
}

TEST_F(GetrsTest, NamesTheArgumentThatReachesTooFar) {
  arguments_[4].device.offset_bytes = 48;
  const Status status = resolve();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.message().find("ipiv of dgetrs"), std::string::npos) << status.message();
}

TEST_F(GetrsTest, RefusesMisalignedOperands) {
  arguments_[4].device.offset_bytes = 4;
  EXPECT_EQ(resolve().code(), Code::invalid_argument);
}

TEST_F(GetrsTest, RefusesIllegalArguments) {
  arguments_[0].flag = 'Q';
  EXPECT_EQ(resolve().code(), Code::invalid_argument);
}

TEST_F(GetrsTest, ChecksPivotsWhenAsked) {
  ASSERT_TRUE(resolve().ok());
  const std::int64_t good[] = {1, 3, 3};
  std::memcpy(call_.arguments[4].host.data, good, sizeof good);
  EXPECT_TRUE(indices_in_range(call_));
  const std::int64_t bad[] = {1, 3, 4};
  std::memcpy(call_.arguments[4].host.data, bad, sizeof bad);
  EXPECT_FALSE(indices_in_range(call_));
}

TEST_F(HostCallTest, ChecksTransformArrays) {
  FftPlan plan{.in_place = false, .rank = 1, .batch = 2};
  plan.n = {16};
  const BufferId a = buffer(512);
  const BufferId b = buffer(520);
  HostTransform found;
  ASSERT_TRUE(resolve_transform(memory_, plan, {a}, {b, 8}, found).ok());
  EXPECT_EQ(found.output, at(b, 8));
  EXPECT_EQ(resolve_transform(memory_, plan, {a, 8}, {b}, found).code(), Code::invalid_argument);
  EXPECT_EQ(resolve_transform(memory_, plan, {a}, {b, 4}, found).code(), Code::invalid_argument);
  EXPECT_EQ(resolve_transform(memory_, plan, {a}, {a}, found).code(), Code::invalid_argument);
  EXPECT_EQ(resolve_transform(memory_, plan, {a}, {}, found).code(), Code::invalid_argument);
  plan.in_place = true;
  EXPECT_TRUE(resolve_transform(memory_, plan, {a}, {a}, found).ok());
  EXPECT_EQ(resolve_transform(memory_, plan, {a}, {b}, found).code(), Code::invalid_argument);
}

TEST_F(HostCallTest, ChecksPlans) {
  FftPlan plan{.rank = 2};
  plan.n = {4, 4};
  EXPECT_TRUE(check_plan(plan).ok());
  FftPlan bad = plan;
  bad.rank = 8;
  EXPECT_FALSE(check_plan(bad).ok());
  bad = plan;
  bad.n[1] = 0;
  EXPECT_FALSE(check_plan(bad).ok());
  bad = plan;
  bad.n[1] = UINT64_MAX / 2;
  EXPECT_FALSE(check_plan(bad).ok());
  bad = plan;
  bad.precision = Precision::s;
  EXPECT_FALSE(check_plan(bad).ok());
  bad = plan;
  bad.kind = static_cast<FftKind>(3);
  EXPECT_FALSE(check_plan(bad).ok());
}

}  // namespace
}  // namespace ob
