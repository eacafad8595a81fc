// Shared memory that one side passes to the other.

#include <fcntl.h>
#include <sys/mman.h>

#include "support/random.hpp"
#include "transport/link.hpp"
#include "transport/sealed_memory.hpp"

namespace ob::transport::test {
namespace {

constexpr std::size_t kSize_bytes = 3 * 4096;

class Mapped {
 public:
  explicit Mapped(int fd)
      : base_(::mmap(nullptr, kSize_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) {}
  ~Mapped() { ::munmap(base_, kSize_bytes); }
  std::span<std::uint64_t> words() const {
    return {static_cast<std::uint64_t*>(base_), kSize_bytes / sizeof(std::uint64_t)};
  }
  bool ok() const { return base_ != MAP_FAILED; }

 private:
  void* base_;
};

TEST(Segments, AreSeenOnBothSides) {
  auto random = ob::test::fresh_random();
  Link link(Kind::shm);
  auto memory = require(create_sealed_memory("test", kSize_bytes));
  ASSERT_TRUE(link.server->send_segment(memory.get()).ok());
  const Fd received(require(link.client->receive_segment(test_deadline())).fd);
  ASSERT_NE(received.get(), memory.get());
  EXPECT_NE(::fcntl(received.get(), F_GETFD) & FD_CLOEXEC, 0);
  ASSERT_TRUE(verify_sealed_memory(received.get(), kSize_bytes).ok());
  const Mapped here(memory.get());
  const Mapped there(received.get());
  ASSERT_TRUE(here.ok() && there.ok());
  memory.reset();  // the mapping stays valid without the descriptor
  for (std::uint64_t& word : here.words()) word = random();
  EXPECT_TRUE(std::equal(here.words().begin(), here.words().end(), there.words().begin()));
  for (std::uint64_t& word : there.words()) word = random();
  EXPECT_TRUE(std::equal(here.words().begin(), here.words().end(), there.words().begin()));
  EXPECT_TRUE(talks(*link.client, *link.server));
}

TEST(Segments, ArriveInOrderAndIndependentlyOfBytes) {
  Link link(Kind::shm);
  ASSERT_TRUE(send_all(*link.client, bytes_of("before")).ok());
  for (std::size_t i = 1; i <= 5; ++i) {
    const auto memory = require(create_sealed_memory("test", i * 100));
    ASSERT_TRUE(link.client->send_segment(memory.get()).ok());
  }
  for (std::size_t i = 1; i <= 5; ++i) {
    const Fd received(require(link.server->receive_segment(test_deadline())).fd);
    EXPECT_EQ(require(verify_sealed_memory(received.get(), 0)), i * 100);
  }
  std::vector<std::byte> heard(6);
  ASSERT_TRUE(receive_all(*link.server, heard).ok());
  EXPECT_EQ(heard, bytes_of("before"));
}

TEST(Segments, AReceiverWaitsForOne) {
  Link link(Kind::shm);
  EXPECT_EQ(link.client->receive_segment(soon()).status().code(), Code::deadline_exceeded);
  auto received =
      std::async(std::launch::async, [&] { return link.client->receive_segment(test_deadline()); });
  const auto memory = require(create_sealed_memory("test", 1));
  ASSERT_TRUE(link.server->send_segment(memory.get()).ok());
  const Fd fd(require(received.get()).fd);
  EXPECT_TRUE(fd);
}

TEST(Segments, SentLastAreStillReceivedAfterTheEnd) {
  Link link(Kind::shm);
  const auto memory = require(create_sealed_memory("test", 77));
  ASSERT_TRUE(link.server->send_segment(memory.get()).ok());
  link.server.reset();
  const Fd fd(require(link.client->receive_segment(test_deadline())).fd);
  EXPECT_EQ(require(verify_sealed_memory(fd.get(), 0)), 77u);
  EXPECT_EQ(link.client->receive_segment(test_deadline()).status().code(), Code::connection_lost);
}

TEST(Segments, ShutDownWakesTheirReceiver) {
  Link link(Kind::shm);
  auto received = std::async(
      std::launch::async, [&] { return link.client->receive_segment(test_deadline()).status(); });
  link.client->shut_down();
  EXPECT_EQ(received.get().code(), Code::connection_lost);
  EXPECT_EQ(link.server->receive_segment(test_deadline()).status().code(), Code::connection_lost);
}

TEST(Segments, NotADescriptorIsAnInvalidArgument) {
  Link link(Kind::shm);
  EXPECT_EQ(link.client->send_segment(-1).code(), Code::invalid_argument);
  EXPECT_EQ(link.client->send_segment(1 << 20).code(), Code::invalid_argument);
  EXPECT_TRUE(talks(*link.client, *link.server));
}

TEST(Segments, OneWhoNeverTakesThemIsNotSentWithoutEnd) {
  Link link(Kind::shm);
  const auto memory = require(create_sealed_memory("test", 1));
  Status status;
  int sent = 0;
  for (; status.ok() && sent < 100'000; ++sent) status = link.client->send_segment(memory.get());
  EXPECT_TRUE(status.code() == Code::deadline_exceeded || status.code() == Code::out_of_memory)
      << status.message();
  for (int i = 0; i + 1 < sent; ++i) {
    const Fd fd(require(link.server->receive_segment(test_deadline())).fd);
  }
  EXPECT_TRUE(link.client->send_segment(memory.get()).ok());
}

TEST(Segments, AreUnsupportedOverTcp) {
  Link link(Kind::tcp);
  EXPECT_EQ(link.client->send_segment(0).code(), Code::unsupported);
  EXPECT_EQ(link.client->receive_segment(test_deadline()).status().code(), Code::unsupported);
}

}  // namespace
}  // namespace ob::transport::test
