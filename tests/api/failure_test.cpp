// Failures that stick to a queue, ends of objects and devices, forks, and a daemon that dies.

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <limits>
#include <thread>

#include "api/fixture.hpp"
#include "support/random.hpp"

namespace ob::test {
namespace {

class ApiFailureTest : public ApiTest {
 protected:
  // Pivots that are none: found only where the elements are.
  void submit_failing_call() const {
    const ob_buffer a = buffer_of(std::vector<double>{1});
    const ob_buffer pivots = buffer_of(std::vector<std::int64_t>{99});
    const ob_buffer info = buffer(8);
    const std::array operands{flag('N'),  number(1), number(1), at(a, 1),
                              at(pivots), at(a2, 1), at(info)};
    ASSERT_TRUE(succeeds(ob_call(queue, "dgetrs", operands.data(), operands.size())));
  }
  void SetUp() override {
    ApiTest::SetUp();
    a2 = buffer_of(std::vector<double>{1});
    ASSERT_TRUE(synchronized());
  }
  ob_buffer a2 = nullptr;
};

TEST_P(ApiFailureTest, TheFirstFailureSticksUntilSynchronize) {
  const ob_buffer kept = buffer_of(std::vector<double>{1, 2});  // command 2, after that of SetUp
  submit_failing_call();  // commands 3 and 4, then the call: 5
  const double changed = 9;
  ASSERT_TRUE(succeeds(ob_write(queue, {kept, 0}, &changed, 8, OB_CAPTURE)));
  std::vector<double> seen{-7, -7};
  EXPECT_TRUE(
      fails(ob_read(queue, seen.data(), {kept, 0}, 16, OB_WAIT), OB_INVALID_ARGUMENT, "pivot"));
  EXPECT_EQ(seen, (std::vector<double>{-7, -7}));

  ob_report report{};
  report.struct_bytes = sizeof report;
  EXPECT_TRUE(
      fails(ob_queue_synchronize(queue, OB_FOREVER, &report), OB_INVALID_ARGUMENT, "pivot"));
  EXPECT_EQ(report.failed_command, 5u);
  EXPECT_EQ(report.error.code, OB_INVALID_ARGUMENT);
  EXPECT_EQ(report.error.origin, OB_FROM_DEVICE);
  EXPECT_EQ(report.error.command, 5u);
  EXPECT_STREQ(report.error.name, "dgetrs");
  EXPECT_EQ(last_error().command, 5u);

  EXPECT_TRUE(synchronized());  // cleared
  // A skipped write leaves undefined memory, because its elements may have arrived before.
  EXPECT_EQ(contents<double>(kept, 2).back(), 2);
}

TEST_P(ApiFailureTest, AQueueThatFailedHoldsUpNobody) {
  ob_event event = nullptr;
  ob_queue other = nullptr;
  ASSERT_TRUE(succeeds(ob_event_create(device, 0, &event)));
  ASSERT_TRUE(succeeds(ob_queue_create(device, 0, &other)));
  submit_failing_call();
  ASSERT_TRUE(succeeds(ob_event_record(event, queue)));
  ASSERT_TRUE(succeeds(ob_event_hold(event, other)));
  ASSERT_TRUE(succeeds(ob_queue_synchronize(other, OB_FOREVER, nullptr)));
  ASSERT_TRUE(succeeds(ob_event_wait(event, OB_FOREVER)));
  ASSERT_TRUE(succeeds(ob_queue_destroy(other)));
  EXPECT_TRUE(fails(ob_queue_synchronize(queue, OB_FOREVER, nullptr), OB_INVALID_ARGUMENT, ""));
}

TEST_P(ApiFailureTest, MemoryThatThereIsNotIsReported) {
  const std::uint64_t bytes = std::uint64_t{1} << 50;
  ob_buffer made = nullptr;
  EXPECT_TRUE(fails(ob_buffer_create(device, bytes, OB_WAIT, &made), OB_OUT_OF_MEMORY, ""));
  EXPECT_EQ(made, nullptr);
  // Without OB_WAIT: at once, or where it is used.
  if (ob_buffer_create(device, bytes, 0, &made) == OB_OK) {
    char byte = 0;
    ASSERT_TRUE(succeeds(ob_write(queue, {made, 0}, &byte, 1, OB_CAPTURE)));
    EXPECT_TRUE(fails(ob_queue_synchronize(queue, OB_FOREVER, nullptr), OB_OUT_OF_MEMORY, ""));
    EXPECT_TRUE(succeeds(ob_buffer_destroy(made)));
  }
  EXPECT_TRUE(synchronized());
  EXPECT_NE(buffer(8, OB_WAIT), nullptr);
}

TEST_P(ApiFailureTest, HandedOverCommandsKeepTheirObjects) {
  auto random = fresh_random();
  const std::int64_t n = 300;
  std::vector<double> ones(static_cast<std::size_t>(n * n), 1);
  for (int round = 0; round < 5; ++round) {
    const ob_buffer a = buffer_of(ones);
    const ob_buffer c = buffer(ones.size() * 8);
    ASSERT_TRUE(succeeds(multiply(queue, n, a, a, c)));
    ASSERT_TRUE(succeeds(ob_buffer_destroy(a)));
    const double corner = uniform(random, 1, 9);
    ASSERT_TRUE(succeeds(ob_write(queue, {c, 0}, &corner, 8, OB_CAPTURE)));
    std::vector<double> result(ones.size(), -7);
    ASSERT_TRUE(succeeds(ob_read(queue, result.data(), {c, 0}, result.size() * 8, 0)));
    ASSERT_TRUE(succeeds(ob_buffer_destroy(c)));
    ASSERT_TRUE(synchronized());
    EXPECT_EQ(result.front(), corner);
    EXPECT_EQ(result[1], static_cast<double>(n));
    EXPECT_EQ(result.back(), static_cast<double>(n));
  }
}

TEST_P(ApiFailureTest, CloseEndsAllThatWasMade) {
  ob_event event = nullptr;
  ASSERT_TRUE(succeeds(ob_event_create(device, 0, &event)));
  ASSERT_TRUE(succeeds(ob_device_close(device)));
  EXPECT_TRUE(fails(ob_queue_flush(queue), OB_INVALID_ARGUMENT, "closed"));
  EXPECT_TRUE(fails(ob_buffer_destroy(a2), OB_INVALID_ARGUMENT, "closed"));
  EXPECT_TRUE(fails(ob_event_destroy(event), OB_INVALID_ARGUMENT, "closed"));
  ob_queue made = nullptr;
  EXPECT_TRUE(fails(ob_queue_create(device, 0, &made), OB_INVALID_ARGUMENT, "closed"));
  device = nullptr;  // nothing left for TearDown()
}

TEST_P(ApiFailureTest, WaitsEndAtTheirLimit) {
  // So long a product that it is not done when the first question comes.
  const std::int64_t n = 900;
  const ob_buffer a = buffer_of(std::vector<double>(static_cast<std::size_t>(n * n), 1));
  const ob_buffer c = buffer(static_cast<std::uint64_t>(n * n) * 8);
  ob_event event = nullptr;
  ASSERT_TRUE(succeeds(ob_event_create(device, 0, &event)));
  EXPECT_TRUE(succeeds(ob_event_wait(event, 0)));  // nothing recorded
  ASSERT_TRUE(synchronized());
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(succeeds(multiply(queue, n, a, a, c)));
  ASSERT_TRUE(succeeds(ob_event_record(event, queue)));
  EXPECT_TRUE(fails(ob_event_wait(event, 0), OB_DEADLINE_EXCEEDED, "not done"));
  EXPECT_TRUE(fails(ob_queue_synchronize(queue, 0, nullptr), OB_DEADLINE_EXCEEDED, "working"));
  EXPECT_TRUE(fails(ob_event_wait(event, 1), OB_DEADLINE_EXCEEDED, "not done"));
  ASSERT_TRUE(succeeds(ob_event_wait(event, OB_FOREVER)));
  ob_report report{};
  report.struct_bytes = sizeof report;
  ASSERT_TRUE(succeeds(ob_queue_synchronize(queue, OB_FOREVER, &report)));
  EXPECT_GT(report.compute_ns, 0u);
  // Questions alone, without a wait, come to an end, too.
  ob_status asked = OB_DEADLINE_EXCEEDED;
  while (asked == OB_DEADLINE_EXCEEDED) asked = ob_queue_synchronize(queue, 0, &report);
  ASSERT_TRUE(succeeds(asked));
  EXPECT_EQ(contents<double>(c, 1).front(), static_cast<double>(n));
}

TEST_P(ApiFailureTest, AForkedChildMayNotUseTheParentsHandles) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ob_device fresh = nullptr;
    ob_queue made = nullptr;
    int wrong = 0;
    wrong += ob_queue_flush(queue) == OB_UNAVAILABLE ? 0 : 1;
    wrong += ob_buffer_destroy(a2) == OB_UNAVAILABLE ? 0 : 2;
    wrong += ob_device_close(device) == OB_UNAVAILABLE ? 0 : 4;
    wrong += ob_device_open("local:null", nullptr, &fresh) == OB_OK ? 0 : 8;
    wrong += ob_queue_create(fresh, 0, &made) == OB_OK ? 0 : 16;
    wrong += ob_device_close(fresh) == OB_OK ? 0 : 32;
    ::_exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(contents<double>(a2, 1).front(), 1);  // the child has not disturbed the parent
}

INSTANTIATE_TEST_SUITE_P(Api, ApiFailureTest, testing::ValuesIn(kEverywhere), name_of);

class ApiLossTest : public ApiTest {};

// All handles of the device fail with the same words; so does a thread that waits meanwhile.
TEST_P(ApiLossTest, ADaemonThatDiesEndsAllHandles) {
  ob_queue other = nullptr;
  ob_event event = nullptr;
  ASSERT_TRUE(succeeds(ob_queue_create(device, 0, &other)));
  ASSERT_TRUE(succeeds(ob_event_create(device, 0, &event)));
  const ob_buffer some = buffer_of(std::vector<double>{1, 2});
  ASSERT_TRUE(synchronized());
  ASSERT_TRUE(succeeds(ob_queue_synchronize(other, OB_FOREVER, nullptr)));
  daemon->stop();

  double element = -7;
  ASSERT_TRUE(fails(ob_read(queue, &element, {some, 0}, 8, OB_WAIT), OB_CONNECTION_LOST, ""));
  const std::string words = last_error().message;
  EXPECT_EQ(last_error().origin, OB_FROM_CONNECTION);
  EXPECT_EQ(element, -7);
  const auto lost = [&](ob_status status) { return fails(status, OB_CONNECTION_LOST, words); };
  ob_buffer made = nullptr;
  ob_queue more = nullptr;
  EXPECT_TRUE(lost(ob_queue_synchronize(queue, OB_FOREVER, nullptr)));
  EXPECT_TRUE(lost(ob_queue_synchronize(other, 0, nullptr)));
  EXPECT_TRUE(lost(ob_write(other, {some, 0}, &element, 8, 0)));
  EXPECT_TRUE(lost(ob_queue_flush(other)));
  EXPECT_TRUE(lost(ob_event_record(event, other)));
  EXPECT_TRUE(lost(ob_buffer_create(device, 8, 0, &made)));
  EXPECT_TRUE(lost(ob_queue_create(device, 0, &more)));
  EXPECT_TRUE(succeeds(ob_buffer_destroy(some)));
  EXPECT_TRUE(succeeds(ob_queue_destroy(other)));
}

INSTANTIATE_TEST_SUITE_P(Api, ApiLossTest,
                         testing::Values(Where::cpu_over_shm, Where::cpu_over_tcp), name_of);

}  // namespace
}  // namespace ob::test
