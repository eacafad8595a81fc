// Tests calls that a device must refuse, and the reports of calls that it carries out.

#include "conformance/device/fixture.hpp"
#include "routines/descriptor.hpp"

namespace ob::test {
namespace {

class CallTest : public DeviceTest {
 protected:
  // Sets up dgemm of n x n matrices that all lie at the start of one buffer.
  void square(Argument* arguments, BufferId buffer, std::int64_t n) {
    arguments[0].flag = arguments[1].flag = 'N';
    for (const int i : {2, 3, 4}) arguments[i].dim = n;
    arguments[5].scalar = arguments[8].scalar = {1, 0};
    for (const int i : {6, 7, 9}) arguments[i].device = {buffer, 0, n};
  }
  const Descriptor& dgemm() { return *routines::find("dgemm"); }
};

TEST_P(CallTest, OperandsOutsideTheirBuffersAreRefused) {
  const Bytes contents = random_bytes(8 * 10 * 10);
  const BufferId small = allocate(contents);
  const BufferId large = allocate(8 * 20 * 20);
  for (const int operand : {6, 7, 9}) {
    Argument arguments[kMaxArguments];
    square(arguments, large, 10);
    arguments[operand].device = {small, 8, 10};  // one element is outside
    EXPECT_EQ(outcome(device().call(queue(), dgemm(), arguments)).code(), Code::invalid_argument);
    arguments[operand].device = {small, 0, 11};
    EXPECT_EQ(outcome(device().call(queue(), dgemm(), arguments)).code(), Code::invalid_argument);
    arguments[operand].device = {small, UINT64_MAX - 7, 10};
    EXPECT_EQ(outcome(device().call(queue(), dgemm(), arguments)).code(), Code::invalid_argument);
    arguments[operand].device = {BufferId{555555}, 0, 10};
    EXPECT_EQ(outcome(device().call(queue(), dgemm(), arguments)).code(), Code::invalid_argument);
  }
  EXPECT_EQ(download(small, contents.size()), contents);
}

TEST_P(CallTest, IllegalArgumentsAreRefused) {
  const BufferId buffer = allocate(8 * 100);
  Argument arguments[kMaxArguments];
  square(arguments, buffer, 10);
  arguments[0].flag = 'X';
  EXPECT_EQ(outcome(device().call(queue(), dgemm(), arguments)).code(), Code::invalid_argument);
  square(arguments, buffer, 10);
  arguments[2].dim = -1;
  EXPECT_EQ(outcome(device().call(queue(), dgemm(), arguments)).code(), Code::invalid_argument);
  square(arguments, buffer, 10);
  arguments[6].device.ld = 9;
  EXPECT_EQ(outcome(device().call(queue(), dgemm(), arguments)).code(), Code::invalid_argument);
}

TEST_P(CallTest, ComputeTimeIsReported) {
  if (!GetParam().computes) GTEST_SKIP() << GetParam().name << " computes nothing";
  const BufferId buffer = allocate(Bytes(3 * 8 * 300 * 300));
  Argument arguments[kMaxArguments];
  square(arguments, buffer, 300);
  arguments[9].device.offset_bytes = 8 * 300 * 300;
  ASSERT_TRUE(device().call(queue(), dgemm(), arguments).ok());
  const QueueReport first = device().synchronize(queue());
  EXPECT_TRUE(first.status.ok()) << first.status.message();
  EXPECT_GT(first.compute_ns, 0u);
  EXPECT_EQ(device().synchronize(queue()).compute_ns, 0u);
}

OB_OVER_ALL_DEVICES(CallTest);

}  // namespace
}  // namespace ob::test
