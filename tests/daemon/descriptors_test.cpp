// A daemon that may open few files: clients that hold many buffers shut out nobody.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "bench/child_process.hpp"
#include "client/remote_device.hpp"
#include "support/dgemm.hpp"
#include "support/raw_client.hpp"
#include "support/temporary_folder.hpp"

namespace ob::test {
namespace {

using client::RemoteDevice;
using wire::Opcode;

constexpr QueueId kQueue{1};
constexpr std::uint64_t kLargeBytes = 70'000;  // a memory file of its own

class DescriptorsTest : public testing::TestWithParam<Transport> {
 protected:
  DescriptorsTest() {
    const std::string at =
        GetParam() == Transport::tcp ? "127.0.0.1:0" : "unix:" + folder_.file("socket");
    daemon_ = std::make_unique<bench::ChildProcess>(
        std::vector<std::string>{"/bin/sh", "-c", "ulimit -n 1024 && exec \"$0\" \"$@\"", OB_DAEMON,
                                 "--listen", at, "--backend", "cpu", "--device-memory", "256MiB",
                                 "--exit-with-parent"},
        std::vector<std::string>{});
    const std::string prefix = "listening on ";
    const std::string line = daemon_->line();
    if (line.rfind(prefix, 0) == 0) address_ = line.substr(prefix.size());
  }
  ~DescriptorsTest() override {
    if (daemon_->pid() > 0) ::kill(daemon_->pid(), SIGTERM);
    daemon_.reset();
  }

  // A new client multiplies two 40 x 40 matrices of ones.
  void expect_a_new_client_computes() {
    constexpr std::int64_t kOrder = 40;
    auto device = RemoteDevice::open(address_);
    ASSERT_TRUE(device.ok()) << device.status().message();
    RemoteDevice& remote = **device;
    const QueueId queue = require(remote.create_queue());
    std::vector<double> host(kOrder * kOrder, 1.0);
    const Region whole = line(host.size() * sizeof(double));
    const Layout elements =
        Layout::bytes(reinterpret_cast<std::byte*>(host.data()), packed_bytes(whole));
    BufferId operands[3];
    for (BufferId& operand : operands) {
      operand = require(remote.allocate(packed_bytes(whole)));
      ASSERT_TRUE(remote.write(queue, operand, whole, elements).ok());
    }
    Argument arguments[kMaxArguments];
    square_dgemm_on_device(kOrder, operands[0], operands[1], operands[2], arguments);
    ASSERT_TRUE(remote.call(queue, dgemm(), arguments).ok());
    std::fill(host.begin(), host.end(), -1.0);
    ASSERT_TRUE(remote.read(queue, operands[2], whole, elements).ok());
    const Status status = remote.synchronize(queue).status;
    if (status.code() == Code::unsupported) GTEST_SKIP() << status.message();  // no BLAS here
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(host, std::vector<double>(host.size(), kOrder));
  }

  // Allocates buffers and uses each one, until one fails.   Returns the number of the others
  static int hold(RawClient& client, std::uint64_t size_bytes, int most) {
    for (int i = 0; i < most; ++i) {
      const BufferId id{static_cast<std::uint64_t>(i) + 1};
      client.command(Opcode::allocate, {}, wire::Allocate{id, size_bytes});
      client.command(Opcode::write, kQueue, wire::Write{id, line(8)}, Bytes(8, std::byte{1}));
      const wire::Outcome outcome = client.synchronize(kQueue);
      if (outcome.code == Code::ok) continue;
      EXPECT_EQ(outcome.code, Code::out_of_memory);
      EXPECT_NE(outcome.message.find("ulimit -n"), std::string::npos) << outcome.message;
      return i;
    }
    return most;
  }

  const TemporaryFolder folder_;
  std::unique_ptr<bench::ChildProcess> daemon_;
  std::string address_;
};

TEST_P(DescriptorsTest, TenThousandSmallBuffersShutOutNobody) {
  ASSERT_FALSE(address_.empty());
  auto greedy = require(RemoteDevice::open(address_));
  const QueueId queue = require(greedy->create_queue());
  std::vector<BufferId> all;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const auto buffer = greedy->allocate(8);
    ASSERT_TRUE(buffer.ok()) << "buffer " << i << ": " << buffer.status().message();
    all.push_back(*buffer);
    auto* const bytes = reinterpret_cast<std::byte*>(&i);
    ASSERT_TRUE(greedy->write(queue, *buffer, line(8), Layout::bytes(bytes, 8)).ok());
  }
  expect_a_new_client_computes();
  std::vector<std::uint64_t> values(all.size(), UINT64_MAX);
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto* const bytes = reinterpret_cast<std::byte*>(&values[i]);
    ASSERT_TRUE(greedy->read(queue, all[i], line(8), Layout::bytes(bytes, 8)).ok());
    if (i % 1000 == 999) ASSERT_TRUE(greedy->synchronize(queue).status.ok());
  }
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(values[i], i);
}

TEST_P(DescriptorsTest, ManyMemoryFilesShutOutNobody) {
  ASSERT_FALSE(address_.empty());
  RawClient first(address_);
  RawClient second(address_);
  for (RawClient* each : {&first, &second}) {
    each->shake_hands();
    each->command(Opcode::create_queue, kQueue);
  }
  const int got = hold(first, kLargeBytes, 2000);
  EXPECT_GE(got, 100);
  EXPECT_LT(got, 512);
  EXPECT_GE(hold(second, kLargeBytes, 2000), 10);
  expect_a_new_client_computes();
}

// As clients do that map every buffer.
TEST_P(DescriptorsTest, ManyLocatedSmallBuffersShutOutNobody) {
  if (GetParam() == Transport::tcp) GTEST_SKIP() << "no memory is shared";
  ASSERT_FALSE(address_.empty());
  RawClient greedy(address_);
  greedy.shake_hands();
  int got = 0;
  for (Code code = Code::ok; code == Code::ok && got < 2000; ++got) {
    const BufferId id{static_cast<std::uint64_t>(got) + 1};
    greedy.command(Opcode::allocate, {}, wire::Allocate{id, 8});
    greedy.command(Opcode::locate, {}, wire::Locate{id});
    const auto location = greedy.answer().as<wire::Location>();
    code = location.code;
    if (code != Code::ok) break;
    ::close(require(greedy.stream().receive_segment(RawClient::deadline())).fd);
    EXPECT_LE(location.offset_bytes + 8, location.segment_bytes);
  }
  EXPECT_GE(got, 164);  // a shared segment of 64 places, and others
  EXPECT_LT(got, 1020);
  expect_a_new_client_computes();
}

INSTANTIATE_TEST_SUITE_P(over, DescriptorsTest, testing::Values(Transport::tcp, Transport::shm),
                         name);

}  // namespace
}  // namespace ob::test
