// Limits of memory, time and connections per client.

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "routines/codec.hpp"
#include "support/dgemm.hpp"
#include "support/forwarding_device.hpp"
#include "support/in_process_daemon.hpp"
#include "support/raw_client.hpp"
#include "support/temporary_folder.hpp"

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
  EXPECT_EQ(outcome(other, 1, 700'000), Code::ok);  // each session has its own limit
  client.command(Opcode::free, {}, wire::Free{BufferId{1}});
  EXPECT_EQ(outcome(client, 3, 700'000), Code::ok);
}

void start(RawClient& client) {
  client.shake_hands();
  client.command(Opcode::create_queue, kQueue);
}

// A client with memory for products of 24 x 24.
class Multiplier {
 public:
  explicit Multiplier(const daemon::Server& server) : Multiplier(server.addresses().front()) {}
  explicit Multiplier(const std::string& address) : client(address) {
    start(client);
    client.command(Opcode::allocate, {}, wire::Allocate{BufferId{1}, 3 * 4608});
  }
  void multiply(std::int64_t n) {
    Argument arguments[kMaxArguments];
    square_dgemm_on_device(n, BufferId{1}, BufferId{1}, BufferId{1}, arguments);
    argument_named(arguments, dgemm(), "c").device.offset_bytes = 9216;
    wire::Body body;
    encode_call(dgemm(), arguments, body);
    client.command(Opcode::call, kQueue, body.bytes());
  }
  void ask() { client.command(Opcode::synchronize, kQueue); }
  wire::Outcome answer() { return client.answer().as<wire::Outcome>(); }

  RawClient client;
};

// 50 kFLOP/s: a product of order 24 takes 560 ms, one of order 4 takes 2.6 ms.
std::unique_ptr<daemon::Server> serve_slowly(double longest_command_s) {
  return require(
      daemon::Server::create({.listen = {"127.0.0.1:0"}},
                             one(require(null::create({.memory_bytes = 1 << 20,
                                                       .rate_gflops = 5e-5,
                                                       .longest_command_s = longest_command_s})))));
}

TEST(LimitsTest, WorkThatWaitsForItsTurnSaysHowLong) {
  const auto server = serve_slowly(0);
  Multiplier first(*server);
  Multiplier second(*server);
  first.multiply(24);
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  second.multiply(24);
  second.ask();
  first.ask();
  EXPECT_EQ(first.answer().waited_ns, 0u);
  const wire::Outcome waited = second.answer();
  EXPECT_EQ(waited.code, Code::ok);
  EXPECT_GT(waited.waited_ns, 1'000'000u);
  EXPECT_GE(waited.compute_ns, 540'000'000u);
  second.ask();
  EXPECT_EQ(second.answer().waited_ns, 0u);  // the daemon reports it once
}

TEST(LimitsTest, ManySessionsOfOneUserGetNoMoreThanOneOfAnother) {
  const TemporaryFolder folder;
  const auto server = require(daemon::Server::create(
      {.listen = {"127.0.0.1:0", "unix:" + folder.file("socket")}},
      one(require(null::create({.memory_bytes = 1 << 20, .rate_gflops = 1e-4})))));
  // A TCP connection proves no identity: all clients are one user. A socket has a user id.
  std::vector<std::unique_ptr<Multiplier>> clients;
  clients.push_back(std::make_unique<Multiplier>(server->addresses()[1]));
  for (int i = 0; i < 4; ++i) clients.push_back(std::make_unique<Multiplier>(*server));
  for (const auto& client : clients) {
    for (int i = 0; i < 40; ++i) client->multiply(8);  // 10 ms
    client->ask();
  }
  const auto waited_share = [](const wire::Outcome& outcome) {
    EXPECT_EQ(outcome.code, Code::ok);
    return static_cast<double>(outcome.waited_ns) / static_cast<double>(outcome.compute_ns);
  };
  // The user waits as long as it computes. With four equal users it would wait four times as
  // long.
  EXPECT_LT(waited_share(clients[0]->answer()), 2);
  for (std::size_t i = 1; i < clients.size(); ++i) EXPECT_GT(waited_share(clients[i]->answer()), 2);
}

TEST(LimitsTest, ALongCommandIsRefusedWhileOthersWait) {
  const auto server = serve_slowly(0.05);
  std::vector<std::unique_ptr<Multiplier>> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(std::make_unique<Multiplier>(*server));
  const auto alone = [&](Multiplier& client) {
    client.multiply(24);
    client.ask();
    return client.answer();
  };
  EXPECT_EQ(alone(*clients[0]).code, Code::ok);  // the daemon now knows how long it takes
  EXPECT_EQ(alone(*clients[0]).code, Code::ok);  // and the client does not wait
  clients[0]->multiply(24);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (const int i : {1, 2}) {
    clients[i]->multiply(24);
    clients[i]->ask();
  }
  std::vector<wire::Outcome> outcomes{clients[1]->answer(), clients[2]->answer()};
  const auto refused = [](const wire::Outcome& outcome) { return outcome.code == Code::busy; };
  EXPECT_EQ(std::count_if(outcomes.begin(), outcomes.end(), refused), 1);
  for (const wire::Outcome& outcome : outcomes) {
    if (!refused(outcome)) {
      EXPECT_EQ(outcome.code, Code::ok) << outcome.message;
      continue;
    }
    EXPECT_EQ(outcome.compute_ns, 0u);
    EXPECT_NE(outcome.failed_sequence, 0u);
    EXPECT_NE(outcome.message.find("the limit is 0.05 s"), std::string::npos) << outcome.message;
  }
  // The refusal ends when the call ends.
  for (const auto& client : clients) {
    client->client.synchronize(kQueue);
    EXPECT_EQ(alone(*client).code, Code::ok);
  }
}

TEST(LimitsTest, ShortCommandsAreNotRefusedBesideALongOne) {
  const auto server = serve_slowly(0.05);
  Multiplier heavy(*server);
  heavy.multiply(24);
  heavy.ask();
  EXPECT_EQ(heavy.answer().code, Code::ok);
  heavy.multiply(24);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::vector<std::unique_ptr<Multiplier>> light;
  for (int i = 0; i < 3; ++i) {
    light.push_back(std::make_unique<Multiplier>(*server));
    light.back()->multiply(4);
    light.back()->ask();
  }
  for (const auto& client : light) EXPECT_EQ(client->answer().code, Code::ok);
}

TEST(LimitsTest, QueuesCountAsMemoryOfTheHost) {
  const auto server = serve({.session = {.host_memory_bytes = 5 << 19}});  // 2.5 queues
  RawClient client(server->addresses().front());
  start(client);
  client.command(Opcode::create_queue, QueueId{2});
  EXPECT_EQ(client.synchronize(QueueId{2}).code, Code::ok);
  client.command(Opcode::destroy_queue, QueueId{2});
  client.command(Opcode::create_queue, QueueId{3});
  EXPECT_EQ(client.synchronize(QueueId{3}).code, Code::ok);
  client.command(Opcode::create_queue, QueueId{4});
  const Received last = client.answer();
  ASSERT_TRUE(last.end.ok()) << last.end.message();
  EXPECT_EQ(last.opcode(), Opcode::failed);
  EXPECT_EQ(last.as<wire::Outcome>().code, Code::denied);
  EXPECT_NE(last.as<wire::Outcome>().message.find("--session-host-memory"), std::string::npos);
}

// A daemon of a device whose memory the host cannot see, with one client.
struct Elsewhere {
  explicit Elsewhere(std::uint64_t host_memory_bytes) {
    auto hidden = std::make_unique<ForwardingDevice>(*device);
    hidden->be_elsewhere();
    server = require(daemon::Server::create(
        {.listen = {"127.0.0.1:0"}, .session = {.host_memory_bytes = host_memory_bytes}},
        one(std::move(hidden))));
    client = std::make_unique<RawClient>(server->addresses().front());
    start(*client);
    client->command(Opcode::allocate, {}, wire::Allocate{BufferId{1}, 1 << 16});
  }
  Code write(QueueId queue) {
    client->command(Opcode::write, queue, wire::Write{BufferId{1}, line(8)}, Bytes(8));
    return client->synchronize(queue).code;
  }
  wire::Outcome read(QueueId queue) {
    client->command(Opcode::read, queue, wire::Read{BufferId{1}, line(8)});
    return client->answer().as<wire::Outcome>();
  }

  std::unique_ptr<Device> device = null_device();
  std::unique_ptr<daemon::Server> server;
  std::unique_ptr<RawClient> client;
};

TEST(LimitsTest, WritesAndReadsThroughTheHostCount) {
  Elsewhere daemon(11 << 19);  // a queue takes 1 MiB, its writes or its reads take 4 MiB
  EXPECT_EQ(daemon.write(kQueue), Code::ok);
  const wire::Outcome refused = daemon.read(kQueue);
  EXPECT_EQ(refused.code, Code::out_of_memory);
  EXPECT_NE(refused.message.find("--session-host-memory"), std::string::npos) << refused.message;
}

// The buffer's list of uses still holds the record of each queue.
TEST(LimitsTest, ADestroyedQueueReleasesItsMemory) {
  Elsewhere daemon(21 << 19);  // one queue without transfers, and one with both kinds
  for (std::uint64_t id = 2; id < 5; ++id) {
    daemon.client->command(Opcode::create_queue, QueueId{id});
    ASSERT_EQ(daemon.write(QueueId{id}), Code::ok);
    const wire::Outcome read = daemon.read(QueueId{id});
    EXPECT_EQ(read.code, Code::ok) << read.message;
    daemon.client->command(Opcode::destroy_queue, QueueId{id});
  }
}

TEST(LimitsTest, DigestsCountAsMemoryOfTheHostUntilTheyAreSent) {
  const auto server = serve({.session = {.host_memory_bytes = 3 << 19}});  // a queue and a half
  RawClient client(server->addresses().front());
  start(client);
  client.command(Opcode::allocate, {}, wire::Allocate{BufferId{1}, 1 << 16});
  const auto digest = [&](std::uint64_t chunks) {
    client.command(Opcode::digest, kQueue, wire::Digest{BufferId{1}, line(chunks), 1});
    const Received data = client.answer();
    EXPECT_EQ(data.opcode(), Opcode::data);
    const auto outcome = data.as<wire::Outcome>();
    if (outcome.code == Code::ok) {
      EXPECT_EQ(data.payload.size(), 16 * chunks);
    }
    return outcome;
  };
  for (int i = 0; i < 5; ++i) EXPECT_EQ(digest(20'000).code, Code::ok);  // 320 kB each
  const wire::Outcome refused = digest(40'000);
  EXPECT_EQ(refused.code, Code::out_of_memory);
  EXPECT_NE(refused.message.find("--session-host-memory"), std::string::npos);
  EXPECT_EQ(client.synchronize(kQueue).code, Code::out_of_memory);
  EXPECT_EQ(digest(20'000).code, Code::ok);
}

TEST(LimitsTest, PlansCountAsMemoryOfTheHost) {
  auto device = cpu::create({.memory_bytes = 1 << 28, .threads = 1});
  ASSERT_TRUE(device.ok());
  if (const auto plan = (*device)->make_plan({.rank = 1, .n = {8}}); !plan.ok()) {
    GTEST_SKIP() << plan.status().message();
  }
  const auto server = require(
      daemon::Server::create({.listen = {"127.0.0.1:0"}, .session = {.host_memory_bytes = 4 << 20}},
                             one(std::move(device).value())));
  RawClient client(server->addresses().front());
  start(client);
  client.command(Opcode::allocate, {}, wire::Allocate{BufferId{1}, 1 << 20});
  const auto transform = [&](std::uint64_t id, std::uint64_t points) {
    wire::Body body;
    encode_plan(PlanId{id}, {.rank = 1, .n = {points}}, body);
    client.command(Opcode::make_plan, {}, body.bytes());
    client.command(Opcode::execute_plan, kQueue,
                   wire::ExecutePlan{PlanId{id}, BufferId{1}, BufferId{1}});
    return client.synchronize(kQueue);
  };
  // Tables for primes are large: the daemon counts 160 bytes per point.
  EXPECT_EQ(transform(1, 10'007).code, Code::ok);
  const wire::Outcome refused = transform(2, 10'009);
  EXPECT_EQ(refused.code, Code::out_of_memory);
  EXPECT_NE(refused.message.find("--session-host-memory"), std::string::npos) << refused.message;
  client.command(Opcode::destroy_plan, {}, wire::DestroyPlan{PlanId{2}});
  EXPECT_EQ(transform(3, 4096).code, Code::ok);
  client.command(Opcode::destroy_plan, {}, wire::DestroyPlan{PlanId{1}});
  EXPECT_EQ(transform(4, 10'009).code, Code::ok);
}

TEST(LimitsTest, AnUnusedConnectionIsClosed) {
  const auto server = serve({.longest_idle = std::chrono::seconds(4)});
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
