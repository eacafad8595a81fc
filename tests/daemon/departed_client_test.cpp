// Clients that are killed, or whose machine dies, in the middle of their work: their memory is free
// for others soon. The machine is a network namespace whose interface goes down.

#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cstdio>
#include <functional>

#include "device/host_device.hpp"
#include "routines/codec.hpp"
#include "support/dgemm.hpp"
#include "support/raw_client.hpp"

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
class EndlessDevice final : public HostDevice {
 public:
  EndlessDevice() : HostDevice({.backend = "endless", .memory_bytes = kMemoryBytes}) {}
  ~EndlessDevice() override { finish_queues(); }

  Status call(QueueId id, const Descriptor&, const Argument*) override {
    const auto queue = find_queue(id);
    if (queue == nullptr) return no_such_queue(id);
    queue->submit({}, [raw = queue.get()](QueueReport&) {
      while (!raw->abandoned()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return Status();
    });
    return {};
  }
  Result<PlanId> make_plan(const FftPlan&, const Account&) override { return no_such_plan({}); }
  Status destroy_plan(PlanId id) override { return no_such_plan(id); }
  Status execute(QueueId, PlanId id, BufferRef, BufferRef) override { return no_such_plan(id); }
};

/// A daemon that clients reach over TCP and over shared memory.
class Daemon {
 public:
  Daemon() {
    if (::mkdtemp(folder_.data()) == nullptr) std::abort();
    daemon::ServerConfig config;
    config.listen = {"127.0.0.1:0", "unix:" + folder_ + "/socket"};
    server_ =
        require(daemon::Server::create(std::move(config), one(std::make_unique<EndlessDevice>())));
  }
  ~Daemon() {
    server_.reset();
    ::rmdir(folder_.c_str());
  }
  std::string address(Transport transport) const {
    return server_->addresses()[transport == Transport::tcp ? 0 : 1];
  }

 private:
  std::string folder_ = "/tmp/ob-test-XXXXXX";
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
        RawClient client(daemon.address(transport));
        start(client);
        client.command(Opcode::ping);  // its answer shows that the daemon has allocated
        (void)client.answer();
        GetParam().enter(client);
        (void)!::write(ready[1], "x", 1);
        ::pause();
        ::_exit(0);
      }
      char byte = 0;
      ASSERT_EQ(::read(ready[0], &byte, 1), 1);
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
      for (const int end : ready) ::close(end);
      EXPECT_TRUE(allocate(next, static_cast<std::uint64_t>(round)))
          << "round " << round << (transport == Transport::tcp ? " over tcp" : " over shm");
    }
  }
}

// --- dead machines -------------------------------------------------------------------------------

constexpr int kCannot = 77;

bool set_loopback(bool up) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request = {};
  std::strcpy(request.ifr_name, "lo");
  bool done = ::ioctl(fd, SIOCGIFFLAGS, &request) == 0;
  const int flags = up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP;
  request.ifr_flags = static_cast<short>(flags);
  done = done && ::ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  ::close(fd);
  return done;
}

/// Runs `work` in a forked child with a network namespace of its own.
int in_own_network(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool alone = ::unshare(CLONE_NEWNET) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
    ::_exit(alone && set_loopback(true) ? work() : kCannot);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_P(DepartedClient, TheMemoryOfOneWhoseMachineDiesIsFreeInTwoSeconds) {
  const int outcome = in_own_network([] {
    const Daemon daemon;
    RawClient next(daemon.address(Transport::shm));
    next.shake_hands();
    RawClient client(daemon.address(Transport::tcp));
    start(client);
    client.command(Opcode::ping);
    (void)client.answer();
    if (allocate(next, 1)) return 1;  // there is no room while the client lives
    GetParam().enter(client);
    if (client.receive().opcode() != Opcode::pong) return 2;  // the daemon knows that it waits
    if (!set_loopback(false)) return kCannot;
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
  if (outcome == kCannot) GTEST_SKIP() << "no network namespaces here";
  EXPECT_EQ(outcome, 0);
}

INSTANTIATE_TEST_SUITE_P(That, DepartedClient, testing::ValuesIn(kStates),
                         [](const auto& state) { return std::string(state.param.name); });

}  // namespace
}  // namespace ob::test
