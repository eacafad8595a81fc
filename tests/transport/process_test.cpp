// Streams with several processes: killed peers, forked children, other users.

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "transport/link.hpp"

namespace ob::transport::test {
namespace {

/// Runs `work` in a forked child; its result is the child's exit status.
template <class Work>
pid_t fork_child(Work work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  return child;
}

int exit_status(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

/// A pipe with which one process tells another one to continue.
class Signal {
 public:
  Signal() {
    if (::pipe(ends_) != 0) std::abort();
  }
  ~Signal() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void give() const { (void)!::write(ends_[1], "x", 1); }
  void take() const {
    char byte = 0;
    (void)!::read(ends_[0], &byte, 1);
  }

 private:
  int ends_[2] = {-1, -1};
};

class Processes : public ::testing::TestWithParam<Kind> {};

/// Forks a child that connects, sends a greeting, and then does nothing until it is killed.
pid_t fork_idle_client(const Listener& listener) {
  const std::string address = listener.address();
  return fork_child([&] {
    auto stream = connect(address, test_deadline());
    if (!stream.ok() || !send_all(**stream, bytes_of("hello")).ok()) return 1;
    ::pause();
    return 0;
  });
}

std::unique_ptr<Stream> greeted(Listener& listener) {
  auto stream = require(listener.accept(test_deadline()));
  std::vector<std::byte> heard(5);
  EXPECT_TRUE(receive_all(*stream, heard).ok());
  return stream;
}

void kill_and_reap(pid_t child) {
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST_P(Processes, AKilledPeerIsNoticedByWhoWaitsForBytes) {
  Folder folder;
  const auto listener = require(listen(address_in(folder, GetParam())));
  const pid_t child = fork_idle_client(*listener);
  const auto stream = greeted(*listener);
  std::byte byte{};
  auto waiter = std::async(std::launch::async, [&] { return receive_all(*stream, {&byte, 1}); });
  kill_and_reap(child);
  EXPECT_EQ(waiter.get().code(), Code::connection_lost);
}

TEST_P(Processes, AKilledPeerIsNoticedByWhoWaitsForRoom) {
  Folder folder;
  const auto listener = require(listen(address_in(folder, GetParam())));
  const pid_t child = fork_idle_client(*listener);
  const auto stream = greeted(*listener);
  std::promise<void> held_back;
  auto sender = std::async(std::launch::async, [&]() -> Status {
    const std::vector<std::byte> text(1 << 16);
    for (bool told = false;;) {
      OB_ASSIGN_OR_RETURN(const std::size_t sent, try_send(*stream, text));
      if (sent != 0) continue;
      const Status status = stream->wait(false, true, told ? test_deadline() : soon());
      if (status.ok()) continue;
      if (status.code() != Code::deadline_exceeded || told) return status;
      held_back.set_value();
      told = true;
    }
  });
  held_back.get_future().wait();
  kill_and_reap(child);
  EXPECT_EQ(sender.get().code(), Code::connection_lost);
}

TEST_P(Processes, AKilledListenerIsNoticedByItsClient) {
  Folder folder;
  Signal ready;
  int addresses[2] = {};
  ASSERT_EQ(::pipe(addresses), 0);
  const pid_t child = fork_child([&] {
    auto listener = listen(address_in(folder, GetParam()));
    if (!listener.ok()) return 1;
    const std::string address = (*listener)->address();
    (void)!::write(addresses[1], address.c_str(), address.size() + 1);
    auto stream = (*listener)->accept(test_deadline());
    ready.give();
    ::pause();
    return stream.ok() ? 0 : 1;
  });
  char address[200] = "";
  ASSERT_GT(::read(addresses[0], address, sizeof address - 1), 0);
  ::close(addresses[0]);
  ::close(addresses[1]);
  const auto stream = require(connect(address, test_deadline()));
  ready.take();
  kill_and_reap(child);
  std::byte byte{};
  EXPECT_EQ(receive_all(*stream, {&byte, 1}).code(), Code::connection_lost);
  EXPECT_EQ(connect(address, test_deadline()).status().code(), Code::unavailable);
}

TEST_P(Processes, BytesOfAKilledPeerAreStillReceived) {
  Folder folder;
  const auto listener = require(listen(address_in(folder, GetParam())));
  const pid_t child = fork_idle_client(*listener);
  auto stream = require(listener->accept(test_deadline()));
  ASSERT_TRUE(stream->wait(true, false, test_deadline()).ok());  // the greeting has arrived
  kill_and_reap(child);
  std::vector<std::byte> heard(5);
  EXPECT_TRUE(receive_all(*stream, heard).ok());
  EXPECT_EQ(heard, bytes_of("hello"));
  EXPECT_EQ(receive_all(*stream, heard).code(), Code::connection_lost);
}

TEST_P(Processes, AForkedChildDestroysItsCopiesWithoutDisturbingTheParent) {
  Link link(GetParam());
  const pid_t child = fork_child([&] {
    link.client.reset();
    link.server.reset();
    link.listener.reset();
    return 0;
  });
  EXPECT_EQ(exit_status(child), 0);
  EXPECT_TRUE(talks(*link.client, *link.server));
  Pair another = connect_to(*link.listener);
  EXPECT_TRUE(talks(*another.client, *another.server));
}

TEST_P(Processes, TheEndIsHeardThoughAForkedChildKeepsCopies) {
  Link link(GetParam());
  Signal enough;
  const pid_t child = fork_child([&] {
    enough.take();
    return 0;
  });
  link.client.reset();
  std::byte byte{};
  EXPECT_EQ(receive_all(*link.server, {&byte, 1}).code(), Code::connection_lost);
  enough.give();
  EXPECT_EQ(exit_status(child), 0);
}

INSTANTIATE_TEST_SUITE_P(Every, Processes, ::testing::ValuesIn(transports()), name);

constexpr uid_t kNobody = 65534;

TEST(OtherUsers, AreRefusedByTheListenerWhichGoesOnServing) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  Folder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  const auto listener = require(listen("unix:" + folder.socket_path()));
  const auto connect_as_nobody = [&](const char* expected) {
    return fork_child([&, expected] {
      if (::setuid(kNobody) != 0) return 2;
      const Status status = connect(listener->address(), test_deadline()).status();
      const bool right =
          status.code() == Code::denied && status.message().find(expected) != std::string::npos;
      return right ? 0 : 1;
    });
  };
  EXPECT_EQ(exit_status(connect_as_nobody("belongs to another user")), 0);  // by file mode
  ASSERT_EQ(::chmod(folder.socket_path().c_str(), 0666), 0);
  const pid_t child = connect_as_nobody("refused this user");  // the socket's credentials deny it
  EXPECT_EQ(listener->accept(Clock::now() + std::chrono::seconds(1)).status().code(),
            Code::deadline_exceeded);
  EXPECT_EQ(exit_status(child), 0);
  Pair pair = connect_to(*listener);
  EXPECT_TRUE(talks(*pair.client, *pair.server));
}

TEST(OtherUsers, AreRefusedByTheClient) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  Folder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  Signal ready;
  const std::string address = "unix:" + folder.socket_path();
  const pid_t child = fork_child([&] {
    if (::setuid(kNobody) != 0) return 2;
    auto listener = listen(address);
    ready.give();
    if (!listener.ok()) return 1;
    (void)(*listener)->accept(test_deadline());  // this side accepts root
    return 0;
  });
  ready.take();
  const Status status = connect(address, test_deadline()).status();
  EXPECT_EQ(status.code(), Code::denied) << status.message();
  EXPECT_NE(status.message().find("uid 65534"), std::string::npos) << status.message();
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(OtherUsers, RootIsTrusted) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  Folder folder;
  const auto listener = require(listen("unix:" + folder.socket_path()));
  // The listener reads the peer's credentials after it becomes an ordinary user. The client is
  // still root.
  const pid_t child = fork_child([&] {
    if (::setuid(kNobody) != 0) return 2;
    return listener->accept(test_deadline()).ok() ? 0 : 1;
  });
  auto client = connect(listener->address(), test_deadline());
  EXPECT_TRUE(client.ok()) << client.status().message();
  EXPECT_EQ(exit_status(child), 0);
}

}  // namespace
}  // namespace ob::transport::test
