#include "transport/shm/socket_file.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "transport/link.hpp"

namespace ob::transport::test {
namespace {

constexpr std::chrono::milliseconds kSoon{20};

struct SocketFiles : ::testing::Test {
  bool exists() const {
    struct stat status = {};
    return ::lstat(folder.socket_path().c_str(), &status) == 0;
  }
  Folder folder;
  const std::string address = "unix:" + folder.socket_path();
};

TEST_F(SocketFiles, BelongToTheirUserAloneWhateverTheUmask) {
  const mode_t before = ::umask(0);
  const auto listener = require(listen(address));
  ::umask(before);
  struct stat status = {};
  ASSERT_EQ(::lstat(folder.socket_path().c_str(), &status), 0);
  EXPECT_TRUE(S_ISSOCK(status.st_mode));
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST_F(SocketFiles, AreRemovedAtTheEnd) {
  auto listener = require(listen(address));
  EXPECT_TRUE(exists());
  listener->close();
  EXPECT_FALSE(exists());
  listener = require(listen(address));
  EXPECT_TRUE(exists());
  listener.reset();
  EXPECT_FALSE(exists());
}

TEST_F(SocketFiles, LeftByTheDeadAreReplaced) {
  {
    auto stale = require(
        shm::create_socket_file({folder.socket_path()}));  // this closes without removing the file
  }
  ASSERT_TRUE(exists());
  const auto listener = require(listen(address));
  Pair pair = connect_to(*listener);
  EXPECT_TRUE(talks(*pair.client, *pair.server));
}

TEST_F(SocketFiles, OfTheLivingAreRefused) {
  const auto listener = require(listen(address));
  const Status status = listen(address).status();
  EXPECT_EQ(status.code(), Code::unavailable);
  EXPECT_NE(status.message().find("somebody listens there"), std::string::npos) << status.message();
  EXPECT_TRUE(exists());
}

TEST_F(SocketFiles, OtherFilesAreRefusedAndLeftAlone) {
  std::ofstream(folder.socket_path()) << "precious";
  const Status status = listen(address).status();
  EXPECT_EQ(status.code(), Code::unavailable);
  EXPECT_NE(status.message().find("is no socket"), std::string::npos) << status.message();
  std::string content;
  std::ifstream(folder.socket_path()) >> content;
  EXPECT_EQ(content, "precious");
}

TEST_F(SocketFiles, LinksToOtherFilesAreRefusedAndLeftAlone) {
  ASSERT_EQ(::symlink("/dev/null", folder.socket_path().c_str()), 0);
  EXPECT_EQ(listen(address).status().code(), Code::unavailable);
  EXPECT_TRUE(exists());
}

TEST_F(SocketFiles, ThatReplacedOursAreLeftAlone) {
  const auto first = require(listen(address));
  ASSERT_EQ(::unlink(folder.socket_path().c_str()), 0);
  const auto second = require(listen(address));
  first->close();
  EXPECT_TRUE(exists());
  Pair pair = connect_to(*second);
  EXPECT_TRUE(talks(*pair.client, *pair.server));
}

TEST_F(SocketFiles, InAMissingFolderAreUnavailable) {
  EXPECT_EQ(listen("unix:" + folder.path() + "/missing/socket").status().code(), Code::unavailable);
  EXPECT_EQ(connect("unix:" + folder.path() + "/missing/socket", test_deadline()).status().code(),
            Code::unavailable);
}

// A process that starts a daemon for the first client of a socket.
struct InheritedSockets : SocketFiles {
  InheritedSockets() {
    shm::SocketFile made = require(shm::create_socket_file({folder.socket_path()}));
    socket = made.socket.release();
    std::ofstream(mark()) << "";
  }
  std::string mark() const { return shm::starting_mark({folder.socket_path()}); }
  std::string inherited() const { return "fd:" + std::to_string(socket); }

  int socket = -1;
};

TEST_F(InheritedSockets, ServeClientsThatCameBefore) {
  ASSERT_EQ(::fcntl(socket, F_SETFL, O_ASYNC), 0);  // blocking, as supervisors have them
  auto early =
      std::async(std::launch::async, [&] { return connect(address, Clock::now() + kSoon); });
  std::this_thread::sleep_for(5 * kSoon);  // the client's deadline passes
  const auto listener = require(listen(inherited()));
  EXPECT_EQ(listener->address(), address);
  EXPECT_EQ(::fcntl(socket, F_GETFL) & (O_ASYNC | O_NONBLOCK), O_NONBLOCK);
  EXPECT_EQ(::fcntl(socket, F_GETFD), FD_CLOEXEC);
  EXPECT_NE(::access(mark().c_str(), F_OK), 0) << "the mark is still there";
  const auto server = require(listener->accept(test_deadline()));
  const auto client = require(early.get());
  EXPECT_TRUE(talks(*client, *server));
  Pair pair = connect_to(*listener);
  EXPECT_TRUE(talks(*pair.client, *pair.server));
  listener->close();
  EXPECT_FALSE(exists());
}

TEST_F(InheritedSockets, HoldNoClientOfADaemonThatFailed) {
  auto early =
      std::async(std::launch::async, [&] { return connect(address, Clock::now() + kSoon); });
  std::this_thread::sleep_for(5 * kSoon);
  ::close(socket);
  EXPECT_EQ(early.get().status().code(), Code::unavailable);
}

TEST_F(InheritedSockets, WithoutAMarkHaveTheUsualDeadline) {
  ASSERT_EQ(::unlink(mark().c_str()), 0);
  EXPECT_EQ(connect(address, soon()).status().code(), Code::unavailable);
  ::close(socket);
}

TEST_F(InheritedSockets, AreUnixSocketsThatListen) {
  ::close(socket);
  const Fd idle(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
  const Fd pipe(::open("/dev/null", O_RDONLY));
  for (const int fd : {idle.get(), pipe.get(), socket}) {
    const Status status = listen("fd:" + std::to_string(fd)).status();
    EXPECT_EQ(status.code(), Code::invalid_argument) << status.message();
  }
  for (const std::string wrong : {"fd:", "fd:x", "fd:2", "fd:-1", "fd:3x"}) {
    EXPECT_EQ(listen(wrong).status().code(), Code::invalid_argument) << wrong;
  }
}

TEST_F(SocketFiles, OfManyListenersStartingAtOnceOneWins) {
  for (int round = 0; round < 20; ++round) {
    { auto stale = require(shm::create_socket_file({folder.socket_path()})); }
    std::vector<std::future<Result<std::unique_ptr<Listener>>>> starting;
    for (int i = 0; i < 8; ++i) {
      starting.push_back(std::async(std::launch::async, [&] { return listen(address); }));
    }
    std::vector<std::unique_ptr<Listener>> winners;
    for (auto& one : starting) {
      auto result = one.get();
      if (result.ok()) winners.push_back(std::move(result).value());
    }
    ASSERT_EQ(winners.size(), 1u) << "round " << round;
    Pair pair = connect_to(*winners[0]);
    EXPECT_TRUE(talks(*pair.client, *pair.server));
  }
}

}  // namespace
}  // namespace ob::transport::test
