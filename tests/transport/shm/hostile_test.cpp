// Peers that break the rules: a raw socket and raw shared memory instead of a Stream.

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "support/random.hpp"
#include "transport/link.hpp"
#include "transport/sealed_memory.hpp"
#include "transport/shm/control.hpp"
#include "transport/shm/raw_client.hpp"
#include "transport/shm/socket_file.hpp"

namespace ob::transport::shm {
namespace {

using namespace ob::transport::test;

struct Hostile : ::testing::Test {
  Folder folder;
  std::unique_ptr<Listener> listener = require(listen("unix:" + folder.socket_path()));
};

TEST_F(Hostile, AnImpossibleHeadIsAProtocolErrorAndEndsTheConnection) {
  for (const std::uint64_t wrong :
       {std::uint64_t{kRingBytes} + 1, ~std::uint64_t{0}, std::uint64_t{1} << 62}) {
    RawClient client(*listener);
    client.to_server().head.store(wrong);
    std::vector<std::byte> bytes(64, std::byte{0xA5});
    EXPECT_TRUE(client.server->wait(true, false, test_deadline()).ok());
    EXPECT_EQ(try_receive(*client.server, bytes).status().code(), Code::protocol_error);
    EXPECT_EQ(bytes, std::vector<std::byte>(64, std::byte{0xA5}));
    EXPECT_EQ(try_receive(*client.server, bytes).status().code(), Code::connection_lost);
    EXPECT_EQ(try_send(*client.server, bytes).status().code(), Code::connection_lost);
  }
}

TEST_F(Hostile, AnImpossibleTailIsAProtocolErrorAndEndsTheConnection) {
  RawClient client(*listener);
  client.from_server().tail.store(std::uint64_t{1} << 40);
  const std::vector<std::byte> bytes(kRingBytes + 1);
  EXPECT_EQ(try_send(*client.server, bytes).status().code(), Code::protocol_error);
  EXPECT_EQ(try_send(*client.server, bytes).status().code(), Code::connection_lost);
}

TEST_F(Hostile, RandomWordsEverywhereDoNoHarmBeyondTheConnection) {
  auto random = ob::test::fresh_random();
  for (int round = 0; round < 30; ++round) {
    RawClient client(*listener);
    std::atomic<bool> stop{false};
    std::thread vandal([&, seed = random()] {
      std::mt19937_64 words(seed);
      auto* at = reinterpret_cast<std::atomic<std::uint32_t>*>(&client.mapping.header());
      const std::size_t count = sizeof(Header) / sizeof(std::uint32_t);
      while (!stop.load())
        at[words() % count].store(static_cast<std::uint32_t>(words() >> (words() % 64)));
    });
    std::vector<std::byte> bytes(300'000);
    Status status;
    const Deadline end = Clock::now() + std::chrono::milliseconds(100);
    while (status.ok() && Clock::now() < end) {
      status = try_send(*client.server, bytes).status();
      if (status.ok()) status = try_receive(*client.server, bytes).status();
      if (status.ok())
        (void)client.server->wait(true, true, Clock::now() + std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(status.ok() || status.code() == Code::protocol_error ||
                status.code() == Code::connection_lost);
    client.server.reset();
    stop.store(true);
    vandal.join();
  }
  Pair pair = connect_to(*listener);
  EXPECT_TRUE(talks(*pair.client, *pair.server));
}

TEST_F(Hostile, AMalformedRecordInsteadOfASegmentIsAProtocolError) {
  RawClient client(*listener);
  ASSERT_EQ(::send(client.socket.get(), "garbage", 7, 0), 7);
  EXPECT_EQ(client.server->receive_segment(test_deadline()).status().code(), Code::protocol_error);
  Record empty;
  empty.kind = RecordKind::segment;
  ASSERT_TRUE(send_record(client.socket.get(), empty, -1, test_deadline()).ok());
  EXPECT_EQ(client.server->receive_segment(test_deadline()).status().code(), Code::protocol_error);
}

TEST_F(Hostile, MemoryCannotBeTruncatedUnderTheServer) {
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const SocketName name(folder.socket_path());
  ASSERT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(name.bytes), name.size_bytes),
            0);
  const auto server = require(listener->accept(test_deadline()));
  Fd memory;
  (void)require(receive_record(socket.get(), memory, test_deadline()));
  EXPECT_NE(::ftruncate(memory.get(), 0), 0);
}

/// Connects to a listener that answers its one client with the given record and descriptors.
Status connect_to_raw_listener(const Record& record, std::size_t record_bytes,
                               std::span<const int> fds) {
  Folder folder;
  SocketFile file = require(create_socket_file({folder.socket_path()}));
  auto client = std::async(std::launch::async, [&] {
    return connect("unix:" + folder.socket_path(), test_deadline()).status();
  });
  pollfd ready{file.socket.get(), POLLIN, 0};
  (void)::poll(&ready, 1, -1);
  const Fd peer(::accept(file.socket.get(), nullptr, nullptr));
  iovec part{const_cast<Record*>(&record), record_bytes};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))] = {};
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
  }
  if (record_bytes != 0 && ::sendmsg(peer.get(), &message, 0) < 0) std::abort();
  ::shutdown(peer.get(), SHUT_RDWR);
  return client.get();
}

Record welcome() {
  Record record;
  record.kind = RecordKind::welcome;
  record.value = kMemoryBytes;
  return record;
}

TEST(HostileListener, UnsealedMemoryIsRefused) {
  const Fd memory(::memfd_create("test", MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(memory.get(), kMemoryBytes), 0);
  const int fd = memory.get();
  const Status status = connect_to_raw_listener(welcome(), sizeof(Record), {&fd, 1});
  EXPECT_EQ(status.code(), Code::protocol_error);
  EXPECT_NE(status.message().find("truncate"), std::string::npos) << status.message();
}

TEST(HostileListener, SmallMemoryIsRefused) {
  const auto memory = require(create_sealed_memory("test", kMemoryBytes - 1));
  const int fd = memory.get();
  EXPECT_EQ(connect_to_raw_listener(welcome(), sizeof(Record), {&fd, 1}).code(),
            Code::protocol_error);
}

TEST(HostileListener, NoMemoryIsRefused) {
  EXPECT_EQ(connect_to_raw_listener(welcome(), sizeof(Record), {}).code(), Code::protocol_error);
}

TEST(HostileListener, SeveralDescriptorsAreRefusedAndClosed) {
  const auto memory = require(create_sealed_memory("test", kMemoryBytes));
  const int next = ::dup(0);  // the lowest free number
  ::close(next);
  for (const std::size_t count : {2u, 3u, 8u}) {
    const std::vector<int> fds(count, memory.get());
    EXPECT_EQ(connect_to_raw_listener(welcome(), sizeof(Record), fds).code(), Code::protocol_error)
        << count;
  }
  const int now = ::dup(0);
  ::close(now);
  EXPECT_EQ(now, next) << "a descriptor was left open";
}

TEST(HostileListener, OtherRecordsAreRefused) {
  Record wrong = welcome();
  wrong.magic ^= 1;
  EXPECT_EQ(connect_to_raw_listener(wrong, sizeof(Record), {}).code(), Code::protocol_error);
  EXPECT_EQ(connect_to_raw_listener(welcome(), sizeof(Record) - 1, {}).code(),
            Code::protocol_error);
  wrong = welcome();
  wrong.version = kControlVersion + 1;
  EXPECT_EQ(connect_to_raw_listener(wrong, sizeof(Record), {}).code(), Code::version_mismatch);
  wrong = welcome();
  wrong.kind = RecordKind::segment;
  EXPECT_EQ(connect_to_raw_listener(wrong, sizeof(Record), {}).code(), Code::protocol_error);
  wrong.kind = RecordKind::refused;
  wrong.value = static_cast<std::uint64_t>(Code::out_of_memory);
  EXPECT_EQ(connect_to_raw_listener(wrong, sizeof(Record), {}).code(), Code::unavailable);
}

TEST(HostileListener, OneThatHangsUpIsUnavailable) {
  EXPECT_EQ(connect_to_raw_listener(welcome(), 0, {}).code(), Code::unavailable);
}

}  // namespace
}  // namespace ob::transport::shm
