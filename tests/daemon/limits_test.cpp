// What a daemon lets one client have.

#include <thread>

#include "support/in_process_daemon.hpp"
#include "support/raw_client.hpp"

namespace ob::test {
namespace {

using wire::Opcode;

constexpr QueueId kQueue{1};

std::unique_ptr<daemon::Server> serve(daemon::ServerConfig config) {
  config.listen = {"127.0.0.1:0"};
  return require(daemon::Server::create(std::move(config), one(null_device())));
}

TEST(LimitsTest, ASessionGetsNoMoreMemoryThanItMayHave) {
  const auto server = serve({.session = {.memory_bytes = 1 << 20}});
  RawClient client(server->addresses().front());
  RawClient other(server->addresses().front());
  for (RawClient* each : {&client, &other}) {
    each->shake_hands();
    each->command(Opcode::create_queue, kQueue);
  }
  const auto outcome = [&](RawClient& of, std::uint64_t id, std::uint64_t bytes) {
    of.command(Opcode::allocate, {}, wire::Allocate{BufferId{id}, bytes});
    const Region region{0, 1, Triangle::full, 8, 1, 8};
    of.command(Opcode::write, kQueue, wire::Write{BufferId{id}, region}, Bytes(8));
    return of.synchronize(kQueue).code;
  };
  EXPECT_EQ(outcome(client, 1, 700'000), Code::ok);
  EXPECT_EQ(outcome(client, 2, 700'000), Code::out_of_memory);
  EXPECT_EQ(outcome(other, 1, 700'000), Code::ok);  // has its own
  client.command(Opcode::free, {}, wire::Free{BufferId{1}});
  EXPECT_EQ(outcome(client, 3, 700'000), Code::ok);
}

TEST(LimitsTest, AConnectionThatNobodyUsesIsClosed) {
  const auto server = serve({.longest_idle = std::chrono::seconds(1)});
  RawClient client(server->addresses().front());
  client.shake_hands();
  client.command(Opcode::create_queue, kQueue);
  EXPECT_EQ(client.synchronize(kQueue).code, Code::ok);
  Received last = client.answer();
  ASSERT_TRUE(last.end.ok()) << last.end.message();
  EXPECT_EQ(last.opcode(), Opcode::failed);
  EXPECT_EQ(last.as<wire::Outcome>().code, Code::deadline_exceeded);
  RawClient next(server->addresses().front());
  next.shake_hands();
  next.command(Opcode::create_queue, kQueue);
  EXPECT_EQ(next.synchronize(kQueue).code, Code::ok);
}

}  // namespace
}  // namespace ob::test
