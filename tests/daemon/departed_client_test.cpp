// Clients that are killed, or whose machine dies, in the middle of their work: their memory is free
// for others soon. The machine is a network namespace whose interface goes down.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cstdio>

#include "routines/codec.hpp"
#include "support/call_device.hpp"
#include "support/dgemm.hpp"
#include "support/own_network.hpp"
#include "support/raw_client.hpp"
#include "support/temporary_folder.hpp"

namespace ob::test {
namespace {

using transport::Clock;
using wire::Opcode;

constexpr QueueId kQueue{1};
constexpr std::uint64_t kMemoryBytes = 1 << 20;
constexpr std::uint64_t kMost = 700'000;  // two of them do not fit
constexpr int kRounds = 10;
constexpr std::uint64_t kTries = 1000;  // 20 ms apart: only a hang needs them all
// The kernel and the daemon need 5 s and more to notice a dead machine by keep-alive. The promise
// is 2 s; the rest is for a busy machine.
constexpr std::chrono::milliseconds kDeadAfter{4500};

// A device whose calls end only when their client has gone.
std::unique_ptr<Device> endless_device() {
  return std::make_unique<CallDevice>("endless", kMemoryBytes, [](const HostQueue& queue) {
    while (!queue.abandoned()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
}

/// A daemon that clients reach over TCP and over shared memory.
class Daemon {
 public:
  Daemon() {
    daemon::ServerConfig config;
    config.listen = {"127.0.0.1:0", "unix:" + folder_.file("socket")};
    server_ = require(daemon::Server::create(std::move(config), one(endless_device())));
  }
  std::string address(Transport transport) const {
    return server_->addresses()[transport == Transport::tcp ? 0 : 1];
  }

 private:
  const TemporaryFolder folder_;
  std::unique_ptr<daemon::Server> server_;
};

/// Takes most of the device's memory.
void start(RawClient& client) {
  client.shake_hands();
  client.command(Opcode::create_queue, kQueue);
  client.command(Opcode::allocate, {}, wire::Allocate{BufferId{1}, kMost});
}

void call(RawClient& client) {
  Argument arguments[kMaxArguments];
  square_dgemm_in_buffer(1, BufferId{1}, arguments);
  wire::Body body;
  encode_call(dgemm(), arguments, body);
  client.command(Opcode::call, kQueue, body.bytes());
}

// --- what a client was doing when it departed ----------------------------------------------------

void sends(RawClient& client) {
  wire::Body body;
  wire::encode(wire::Write{BufferId{1}, line(8000)}, body);
  const wire::Header header{.opcode = Opcode::write, .queue = kQueue, .payload_bytes = 8000};
  (void)client.send(header, body.bytes(), Bytes(4000));
}
void waits_for_a_result(RawClient& client) {
  call(client);
  client.command(Opcode::synchronize, kQueue);
}
void waits_inside_the_daemon(RawClient& client) {
  call(client);
  client.command(Opcode::destroy_queue, kQueue);
}

struct State {
  const char* name;
  void (*enter)(RawClient&);
};
constexpr State kStates[] = {{"sends", sends},
                             {"waits_for_a_result", waits_for_a_result},
                             {"waits_inside_the_daemon", waits_inside_the_daemon}};

// -------------------------------------------------------------------------------------------------

/// Allocates as much as the departed client holds; true if there was room.
bool allocate(RawClient& client, std::uint64_t number) {
  const BufferId buffer{number};
  const QueueId queue{number};  // a failure sticks to the queue
  client.command(Opcode::create_queue, queue);
  client.command(Opcode::allocate, {}, wire::Allocate{buffer, kMost});
  client.command(Opcode::write, queue, wire::Write{buffer, line(8)}, Bytes(8));
  const Code code = client.synchronize(queue).code;
  EXPECT_TRUE(code == Code::ok || code == Code::out_of_memory);
  client.command(Opcode::free, {}, wire::Free{buffer});
  client.command(Opcode::destroy_queue, queue);
  return code == Code::ok;
}

class DepartedClient : public testing::TestWithParam<State> {};

// A client does not have to ask twice.
TEST_P(DepartedClient, TheMemoryOfAKilledOneIsFreeAtOnce) {
  for (const Transport transport : {Transport::tcp, Transport::shm}) {
    const Daemon daemon;
    RawClient next(daemon.address(Transport::shm));
    next.shake_hands();
    for (int round = 1; round <= kRounds; ++round) {
      int ready[2] = {-1, -1};
      ASSERT_EQ(::pipe(ready), 0);
      const pid_t child = ::fork();
      if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        RawClient client(daemon.address(transport));
        start(client);
        client.command(Opcode::ping);  // its answer shows that the daemon has allocated
        (void)client.answer();
        GetParam().enter(client);
        (void)!::write(ready[1], "x", 1);
        ::pause();
        ::_exit(0);
      }
      ::close(ready[1]);
      char byte = 0;
      const ssize_t told = ::read(ready[0], &byte, 1);
      ::close(ready[0]);
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
      ASSERT_EQ(told, 1) << "the client ended before";
      EXPECT_TRUE(allocate(next, static_cast<std::uint64_t>(round)))
          << "round " << round << (transport == Transport::tcp ? " over tcp" : " over shm");
    }
  }
}

// --- dead machines -------------------------------------------------------------------------------

TEST_P(DepartedClient, TheMemoryOfOneWhoseMachineDiesIsFreeInTwoSeconds) {
  const int outcome = run_in_own_network([] {
    const Daemon daemon;
    RawClient next(daemon.address(Transport::shm));
    next.shake_hands();
    RawClient client(daemon.address(Transport::tcp));
    start(client);
    client.command(Opcode::ping);
    (void)client.answer();
    if (allocate(next, 1)) return 1;  // there is no room while the client lives
    GetParam().enter(client);
    if (client.receive_any().opcode() != Opcode::pong) return 2;  // the daemon knows that it waits
    if (!set_loopback(false)) return kNoNetwork;
    const auto died = Clock::now();
    std::uint64_t number = 2;
    while (!allocate(next, number)) {
      if (++number > kTries) return 3;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    const std::chrono::duration<double> took = Clock::now() - died;
    std::printf("a client that %s: free after %.2f s\n", GetParam().name, took.count());
    std::fflush(stdout);
    return took < kDeadAfter ? 0 : 4;
  });
  if (outcome == kNoNetwork) GTEST_SKIP() << "no network namespaces here";
  EXPECT_EQ(outcome, 0);
}

INSTANTIATE_TEST_SUITE_P(That, DepartedClient, testing::ValuesIn(kStates),
                         [](const auto& state) { return std::string(state.param.name); });

}  // namespace
}  // namespace ob::test
