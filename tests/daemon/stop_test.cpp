// The daemon's process ends after SIGTERM, whatever its device does.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "bench/child_process.hpp"
#include "routines/codec.hpp"
#include "support/dgemm.hpp"
#include "support/raw_client.hpp"
#include "support/temporary_folder.hpp"

namespace ob::test {
namespace {

using wire::Opcode;

constexpr QueueId kQueue{1};
// A busy machine may need this much longer than the bounds.
constexpr std::chrono::seconds kLate{5};

/// A daemon with a device that takes 2000 s for a product of order 1000.
class Daemon {
 public:
  explicit Daemon(const std::string& options = "")
      : process_({"/bin/sh", "-c",
                  "exec " OB_DAEMON " --listen 127.0.0.1:0 --backend null --device-rate 1MF "
                  "--drain-time 0.2 --exit-with-parent " +
                      options + " 2>&1"},
                 {}) {}
  ~Daemon() {
    if (process_.pid() > 0) ::kill(process_.pid(), SIGKILL);  // it still runs only after a failure
  }

  /// Returns the address on which it listens; empty if it does not listen.
  std::string address() {
    const std::string prefix = "listening on ";
    for (std::string line = process_.line(); !line.empty(); line = process_.line()) {
      if (line.rfind(prefix, 0) == 0) return line.substr(prefix.size());
    }
    return {};
  }

  /// Ends the daemon, and returns its exit status and the time that it took.
  int stop(std::chrono::steady_clock::duration& took) {
    const auto before = std::chrono::steady_clock::now();
    ::kill(process_.pid(), SIGTERM);
    siginfo_t info{};
    // WNOWAIT leaves the process for process_ to reap.
    EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(process_.pid()), &info, WEXITED | WNOWAIT), 0);
    took = std::chrono::steady_clock::now() - before;
    return info.si_code == CLD_EXITED ? info.si_status : -1;
  }

  /// Returns the next line of its stderr and stdout; empty at the end.
  std::string line() { return process_.line(); }

  /// Returns all text that it has written to stderr and stdout.
  std::string log() {
    std::string text;
    for (std::string line = process_.line(); !line.empty(); line = process_.line()) {
      text += line + "\n";
    }
    return text;
  }

 private:
  bench::ChildProcess process_;
};

/// Submits a product of order 1000, and waits until it has arrived.
void compute(RawClient& client) {
  constexpr std::int64_t kOrder = 1000;
  client.shake_hands();
  client.command(Opcode::create_queue, kQueue);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    client.command(Opcode::allocate, {}, wire::Allocate{BufferId{i}, 8 * kOrder * kOrder});
  }
  Argument arguments[kMaxArguments];
  square_dgemm_on_device(kOrder, BufferId{1}, BufferId{2}, BufferId{3}, arguments);
  wire::Body body;
  encode_call(dgemm(), arguments, body);
  client.command(Opcode::call, kQueue, body.bytes());
  client.command(Opcode::ping);
  ASSERT_EQ(client.answer().opcode(), Opcode::pong);
}

TEST(Stop, CommandsThatDoNotEndAreAborted) {
  Daemon daemon;
  const std::string address = daemon.address();
  ASSERT_FALSE(address.empty());
  RawClient client(address);
  compute(client);
  std::chrono::steady_clock::duration took{};
  EXPECT_EQ(daemon.stop(took), 3);
  EXPECT_LT(took, daemon::Server::kEnding + kLate);
  const std::string text = daemon.log();
  EXPECT_NE(text.find("aborted: device 0 still works for 1 connections that were cut off"),
            std::string::npos)
      << text;
}

TEST(Stop, WithNothingToDoItEndsAtOnce) {
  Daemon daemon;
  const std::string address = daemon.address();
  ASSERT_FALSE(address.empty());
  RawClient client(address);
  client.shake_hands();
  std::chrono::steady_clock::duration took{};
  EXPECT_EQ(daemon.stop(took), 0);
  EXPECT_LT(took, kLate);
  const std::string text = daemon.log();
  EXPECT_EQ(text.find("aborted"), std::string::npos) << text;
}

// Not a stop of the daemon, but its log as well.
TEST(Log, TellsClientsThatLeftFromThoseThatWereLost) {
  const TemporaryFolder folder;
  const std::string unix_address = "unix:" + folder.file("socket");
  Daemon daemon("--log-level debug --listen " + unix_address);
  const std::string tcp_address = daemon.address();
  std::string lines;
  const auto until = [&](const std::string& word) {
    const std::size_t from = lines.size();
    while (lines.find(word, from) == std::string::npos) {
      const std::string line = daemon.line();
      if (line.empty()) return ADD_FAILURE() << lines;
      lines += line + "\n";
    }
  };
  for (const std::string& address : {tcp_address, unix_address}) {
    RawClient client(address);
    client.shake_hands();
    client.command(Opcode::create_queue, kQueue);
    EXPECT_EQ(client.synchronize(kQueue).code, Code::ok);
    client.disconnect();  // without goodbye
    until(" left\n");
    EXPECT_EQ(lines.find("is gone"), std::string::npos) << lines;
  }
  for (const std::string& address : {tcp_address, unix_address}) {
    RawClient client(address);
    client.shake_hands();
    client.command(Opcode::create_queue, kQueue);
    client.command(Opcode::allocate, {}, wire::Allocate{BufferId{1}, 8000});
    wire::Body body;
    wire::encode(wire::Write{BufferId{1}, line(8000)}, body);
    const wire::Header header{.opcode = Opcode::write, .queue = kQueue, .payload_bytes = 8000};
    ASSERT_TRUE(client.send(header, body.bytes(), Bytes(4000)));
    client.disconnect();
    until("is gone: lost the connection to");
  }
}

// A device that compiles its kernels at the start also delays the start like this.
TEST(Stop, BeforeItListensItEndsAtOnce) {
  const TemporaryFolder folder;
  const std::string pool = folder.file("pool.pem");
  ASSERT_EQ(::mkfifo(pool.c_str(), 0600), 0);  // a reader waits for a writer
  for (const char* name : {"daemon.pem", "daemon.key"}) {
    std::ofstream(folder.file(name)) << "none";
    ASSERT_EQ(::chmod(folder.file(name).c_str(), 0600), 0);
  }
  Daemon daemon("--key " + folder.path());
  // Opening for writing succeeds without waiting once the daemon reads.
  int writer = -1;
  for (int i = 0; writer < 0 && i < 1000; ++i) {
    writer = ::open(pool.c_str(), O_WRONLY | O_NONBLOCK);
    if (writer < 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_GE(writer, 0);
  std::chrono::steady_clock::duration took{};
  EXPECT_EQ(daemon.stop(took), 0);
  EXPECT_LT(took, kLate);
  if (writer >= 0) ::close(writer);
}

}  // namespace
}  // namespace ob::test
