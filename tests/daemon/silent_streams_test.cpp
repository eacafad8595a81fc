// Streams that have sent nothing yet, and members beside many of them.

#include "daemon/server/silent_streams.hpp"

#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/descriptor_limit.hpp"
#include "support/raw_client.hpp"

namespace ob::test {
namespace {

using daemon::SilentStreams;
using wire::Opcode;

constexpr std::chrono::seconds kNever{600};

// One end of a socket pair, with a name that a test chooses.
class NamedStream final : public transport::Stream {
 public:
  NamedStream(Fd fd, std::string peer) : fd_(std::move(fd)), peer_(std::move(peer)) {}
  Result<std::size_t> try_send(std::span<const iovec>) override { return std::size_t{0}; }
  Result<std::size_t> try_receive(std::span<const iovec>) override { return std::size_t{0}; }
  Status wait(bool, bool, transport::Deadline) override { return {}; }
  bool shares_memory() const noexcept override { return false; }
  Status send_segment(int) override { return {Code::unsupported, "no segments"}; }
  Result<transport::Segment> receive_segment(transport::Deadline) override {
    return Status(Code::unsupported, "no segments");
  }
  void shut_down() noexcept override {}
  std::string peer() const override { return peer_; }
  bool intact() const noexcept override { return true; }
  int descriptor() const noexcept override { return fd_.get(); }

 private:
  const Fd fd_;
  const std::string peer_;
};

using Names = std::vector<std::string>;

class SilentStreamsTest : public testing::Test {
 protected:
  void limit(std::size_t total, std::chrono::milliseconds time = kNever) {
    streams = std::make_unique<SilentStreams>(SilentStreams::Limits{total, time},
                                              [this](const std::string& source, const Status& why) {
                                                note(closed, source);
                                                last_reason = why.code();
                                              });
  }
  // `name` is an address and a port, whose address is the source.
  void add(const std::string& name, bool sends_first = false) {
    int ends[2] = {-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    others[name] = Fd(ends[1]);
    if (sends_first) send(name);
    streams->add(
        std::make_unique<NamedStream>(Fd(ends[0]), name),
        [this](std::unique_ptr<transport::Stream> stream) { note(heard, stream->peer()); });
  }
  void send(const std::string& name) { EXPECT_EQ(::send(others[name].get(), "x", 1, 0), 1); }
  // The daemon's ends of the other streams are closed.
  void expect_open(const Names& names) {
    Names open;
    char byte = 0;
    for (const auto& [name, other] : others) {
      const bool waits = ::recv(other.get(), &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
      if (waits) open.push_back(name);
    }
    EXPECT_EQ(open, names);
  }
  Names await(const Names& list, std::size_t count) {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(
        changed.wait_for(lock, std::chrono::seconds(60), [&] { return list.size() >= count; }));
    return list;
  }
  void note(Names& list, const std::string& name) {
    const std::lock_guard lock(mutex);
    list.push_back(name);
    changed.notify_all();
  }

  std::map<std::string, Fd> others;
  std::mutex mutex;
  std::condition_variable changed;
  Names heard;
  Names closed;
  std::atomic<Code> last_reason{Code::ok};
  std::unique_ptr<SilentStreams> streams;  // ends first
};

TEST_F(SilentStreamsTest, AStreamIsPassedOnWithItsFirstByte) {
  limit(8);
  add("10.0.0.1:1");
  add("10.0.0.1:2");
  add("10.0.0.1:3", true);
  EXPECT_EQ(await(heard, 1), Names{"10.0.0.1:3"});
  send("10.0.0.1:2");
  EXPECT_EQ(await(heard, 2), (Names{"10.0.0.1:3", "10.0.0.1:2"}));
  EXPECT_TRUE(closed.empty());
}

TEST_F(SilentStreamsTest, ASourceBeyondHalfClosesItsOldest) {
  limit(4);
  add("10.0.0.1:1");
  add("10.0.0.2:1");
  add("10.0.0.2:2");
  EXPECT_TRUE(closed.empty());
  add("10.0.0.2:3");
  add("10.0.0.2:4");
  EXPECT_EQ(await(closed, 2), (Names{"10.0.0.2", "10.0.0.2"}));
  EXPECT_EQ(last_reason, Code::unavailable);
  expect_open({"10.0.0.1:1", "10.0.0.2:3", "10.0.0.2:4"});
}

TEST_F(SilentStreamsTest, WhereAllAreTooManyTheMostNumerousSourceClosesItsOldest) {
  limit(4);
  add("10.0.0.1:1");
  add("10.0.0.2:1");
  add("10.0.0.2:2");
  add("10.0.0.3:1");
  add("10.0.0.4:1");
  EXPECT_EQ(await(closed, 1), Names{"10.0.0.2"});
  expect_open({"10.0.0.1:1", "10.0.0.2:2", "10.0.0.3:1", "10.0.0.4:1"});
}

// The thread may be late to see the bytes of a member.
TEST_F(SilentStreamsTest, AStreamWithBytesDoesNotGiveWay) {
  limit(2);
  add("10.0.0.1:1");
  send("10.0.0.1:1");
  for (int i = 2; i < 100; ++i) add("10.0.0.1:" + std::to_string(i));
  EXPECT_EQ(await(heard, 1), Names{"10.0.0.1:1"});
  await(closed, 97);
  expect_open({"10.0.0.1:99"});
}

TEST_F(SilentStreamsTest, OneThatEndsLeavesItsPlace) {
  limit(8, std::chrono::seconds(10));
  add("10.0.0.1:1");
  others.clear();  // long before its deadline
  add("10.0.0.2:1");
  EXPECT_EQ(await(closed, 1), Names{"10.0.0.2"});
  EXPECT_TRUE(heard.empty());
}

TEST_F(SilentStreamsTest, SilenceHasADeadline) {
  limit(8, std::chrono::milliseconds(20));
  add("10.0.0.1:1");
  add("10.0.0.1:2");
  EXPECT_EQ(await(closed, 2).size(), 2u);
  EXPECT_EQ(last_reason, Code::deadline_exceeded);
  streams.reset();
  expect_open({});
}

TEST_F(SilentStreamsTest, TheEndClosesAll) {
  limit(8);
  add("10.0.0.1:1");
  streams->close();
  add("10.0.0.1:2");
  expect_open({});
  EXPECT_TRUE(heard.empty());
}

// --- a daemon ------------------------------------------------------------------------------------

constexpr int kStrangers = 1500;

std::ptrdiff_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

// Keeps silent connections open, and replaces those that the daemon closes.
class SilentFlood {
 public:
  explicit SilentFlood(std::string address) : address_(std::move(address)) {
    for (int i = 0; i < kStrangers; ++i) streams_.push_back(connect());
    thread_ = std::thread([this] { hold(); });
  }
  ~SilentFlood() {
    ending_ = true;
    thread_.join();
  }
  int replaced() const { return replaced_; }

 private:
  std::unique_ptr<transport::Stream> connect() {
    return require(transport::connect(address_, RawClient::deadline()));
  }
  void hold() {
    std::byte byte{};
    const iovec part{&byte, 1};
    while (!ending_) {
      for (auto& stream : streams_) {
        if (stream->try_receive({&part, 1}).ok()) continue;
        stream = connect();
        ++replaced_;
      }
    }
  }

  const std::string address_;
  std::vector<std::unique_ptr<transport::Stream>> streams_;
  std::atomic<bool> ending_{false};
  std::atomic<int> replaced_{0};
  std::thread thread_;
};

// The member and the flood have the same address. The limit of five seconds marks a lost handshake.
TEST(StrangersTest, AMemberGetsInBesideAFloodFromItsOwnAddress) {
  const DescriptorLimit limit(2 * kStrangers + 1000);
  if (!limit.set()) GTEST_SKIP() << "too few descriptors (ulimit -n)";
  const auto server = require(daemon::Server::create(
      {.listen = {"127.0.0.1:0"}, .handshakes = {.silent = 1024}}, one(null_device())));
  const std::ptrdiff_t threads = threads_of_this_process();
  const SilentFlood flood(server->addresses().front());
  std::atomic<bool> ending{false};
  std::vector<std::thread> busy;
  for (int i = 0; i < 2; ++i)
    busy.emplace_back([&] {
      while (!ending) {
      }
    });
  for (int i = 0; i < 20; ++i) {
    const auto began = transport::Clock::now();
    RawClient member(server->addresses().front());
    member.shake_hands();
    member.command(Opcode::create_queue, QueueId{1});
    EXPECT_EQ(member.synchronize(QueueId{1}).code, Code::ok);
    EXPECT_LT(transport::Clock::now() - began, std::chrono::seconds(5));
  }
  EXPECT_LT(threads_of_this_process(), threads + 64);
  ending = true;
  for (std::thread& each : busy) each.join();
  EXPECT_GT(flood.replaced(), 0);
}

}  // namespace
}  // namespace ob::test
