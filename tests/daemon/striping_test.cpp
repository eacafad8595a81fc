// Connections of several streams, and streams that must not join.

#include <chrono>
#include <future>
#include <thread>

#include "support/random.hpp"
#include "support/raw_client.hpp"
#include "transport/striped_stream.hpp"

namespace ob::test {
namespace {

using wire::Opcode;
using Clients = std::vector<std::unique_ptr<RawClient>>;

constexpr QueueId kQueue{1};
constexpr BufferId kBuffer{1};
constexpr std::uint32_t kBlockBytes = 100;

wire::Hello hello_for(std::uint8_t extra_streams) {
  wire::Hello hello;
  hello.extra_streams = extra_streams;
  return hello;
}

class StripingTest : public testing::Test {
 protected:
  /// Sends hello and receives the terms.
  wire::Stripes ask(RawClient& first, std::uint8_t extra_streams) {
    first.shake_hands(hello_for(extra_streams));
    const Received stripes = first.receive();
    EXPECT_EQ(stripes.opcode(), Opcode::stripes);
    return stripes.end.ok() ? stripes.as<wire::Stripes>() : wire::Stripes();
  }

  std::unique_ptr<RawClient> knock(std::uint8_t index, const wire::Token& access_key,
                                   std::uint16_t version = wire::kVersion) {
    auto client = std::make_unique<RawClient>(daemon.address());
    wire::Body body;
    wire::encode(wire::JoinStream{version, index, access_key, ""}, body);
    EXPECT_TRUE(client->send({.opcode = Opcode::join_stream, .queue = {}}, body.bytes()));
    return client;
  }

  void expect_refused(RawClient& client, Code code) {
    const Received refused = client.receive();
    ASSERT_TRUE(refused.end.ok()) << refused.end.message();
    ASSERT_EQ(refused.opcode(), Opcode::refused);
    EXPECT_EQ(refused.as<wire::Refused>().code, code);
    EXPECT_EQ(client.receive().end.code(), Code::connection_lost);
  }

  Clients knock_all(const wire::Stripes& terms) {
    Clients all;
    for (std::uint8_t i = 1; i <= terms.extra_streams; ++i)
      all.push_back(knock(i, terms.access_key));
    return all;
  }

  static void expect_joined(const Received& answer) {
    EXPECT_TRUE(answer.end.ok()) << answer.end.message();
    EXPECT_EQ(answer.opcode(), Opcode::joined);
  }

  /// Returns one client over all of the streams after they have joined.
  RawClient striped(RawClient& first, Clients others) {
    for (auto& other : others) expect_joined(other->receive());
    return over_all(first, std::move(others));
  }

  /// Returns one client over all of the streams after all answers have arrived.
  RawClient over_all(RawClient& first, Clients others) {
    std::vector<std::unique_ptr<transport::Stream>> streams;
    for (auto& other : others) streams.push_back(other->release());
    auto stream = std::make_unique<transport::StripedStream>(first.release());
    stream->stripe(std::move(streams), kBlockBytes);
    return RawClient(std::move(stream));
  }

  /// Sends random bytes through the device and back.
  void expect_works(RawClient& client) {
    auto random = fresh_random();
    Bytes bytes(uniform<std::size_t>(random, 1, 300'000));
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    client.command(Opcode::create_queue, kQueue);
    client.command(Opcode::allocate, QueueId{}, wire::Allocate{kBuffer, bytes.size()});
    client.command(Opcode::write, kQueue, wire::Write{kBuffer, line(bytes.size())}, bytes);
    client.command(Opcode::read, kQueue, wire::Read{kBuffer, line(bytes.size())});
    const Received data = client.answer();
    ASSERT_TRUE(data.end.ok()) << data.end.message();
    ASSERT_EQ(data.opcode(), Opcode::data);
    EXPECT_TRUE(data.payload == bytes);
    EXPECT_EQ(client.synchronize(kQueue).code, Code::ok);
  }

  daemon::StripingConfig config{.max_streams = 5, .block_bytes = kBlockBytes};
  InProcessDaemon daemon{Transport::tcp, one(null_device()), 256, config};
};

TEST_F(StripingTest, AConnectionUsesAllItsStreams) {
  RawClient first(daemon.address());
  const wire::Stripes terms = ask(first, 3);
  EXPECT_EQ(terms.extra_streams, 3);
  EXPECT_EQ(terms.block_bytes, kBlockBytes);
  EXPECT_NE(terms.access_key, wire::Token{});
  RawClient client = striped(first, knock_all(terms));
  expect_works(client);
  client.command(Opcode::goodbye);
  EXPECT_EQ(client.receive().end.code(), Code::connection_lost);
}

TEST_F(StripingTest, TheOrderOfJoiningDoesNotMatter) {
  RawClient first(daemon.address());
  const wire::Stripes terms = ask(first, 3);
  Clients others(3);
  for (const std::uint8_t index : {3, 1, 2}) others[index - 1U] = knock(index, terms.access_key);
  RawClient client = striped(first, std::move(others));
  expect_works(client);
}

TEST_F(StripingTest, TheDaemonGrantsNoMoreThanItsOption) {
  RawClient first(daemon.address());
  const wire::Stripes terms = ask(first, 255);
  EXPECT_EQ(terms.extra_streams, 4);
  RawClient client = striped(first, knock_all(terms));
  expect_works(client);
}

TEST_F(StripingTest, WithoutAGrantTheConnectionStaysAsItIs) {
  InProcessDaemon plain(Transport::tcp, one(null_device()), 256, {.max_streams = 1});
  RawClient over_tcp(plain.address());
  EXPECT_EQ(ask(over_tcp, 3).extra_streams, 0);
  expect_works(over_tcp);
  InProcessDaemon here(Transport::shm);
  RawClient over_shm(here.address());
  EXPECT_EQ(ask(over_shm, 3).extra_streams, 0);
  over_shm.command(Opcode::ping);
  EXPECT_EQ(over_shm.receive().opcode(), Opcode::pong);
}

TEST_F(StripingTest, AClientThatDoesNotAskGetsNoTerms) {
  RawClient client(daemon.address());
  client.shake_hands();
  client.command(Opcode::ping);
  EXPECT_EQ(client.receive().opcode(), Opcode::pong);
}

TEST_F(StripingTest, AccessKeysAreFreshAndNoSessionTokens) {
  RawClient first(daemon.address());
  const wire::Stripes terms = ask(first, 1);
  RawClient second(daemon.address());
  EXPECT_NE(ask(second, 1).access_key, terms.access_key);
  RawClient confused(daemon.address());
  wire::Hello hello;
  hello.join = terms.access_key;
  confused.hello(hello);
  expect_refused(confused, Code::denied);
}

TEST_F(StripingTest, WrongAccessKeysAreRefusedAndDisturbNobody) {
  RawClient first(daemon.address());
  const wire::Stripes terms = ask(first, 2);
  for (int bit = 0; bit < 128; bit += 9) {
    wire::Token wrong = terms.access_key;
    wrong[static_cast<std::size_t>(bit / 64)] ^= std::uint64_t{1} << bit % 64;
    expect_refused(*knock(1, wrong), Code::denied);
  }
  expect_refused(*knock(1, wire::Token{}), Code::denied);
  RawClient client = striped(first, knock_all(terms));
  expect_works(client);
}

TEST_F(StripingTest, WrongIndicesAreRefusedAndDisturbNobody) {
  RawClient first(daemon.address());
  const wire::Stripes terms = ask(first, 2);
  expect_refused(*knock(0, terms.access_key), Code::invalid_argument);
  expect_refused(*knock(3, terms.access_key), Code::invalid_argument);
  expect_refused(*knock(255, terms.access_key), Code::invalid_argument);
  RawClient client = striped(first, knock_all(terms));
  expect_works(client);
}

TEST_F(StripingTest, ASecondStreamOfOneIndexIsRefused) {
  RawClient first(daemon.address());
  const wire::Stripes terms = ask(first, 2);
  Clients same;
  for (int i = 0; i < 2; ++i) same.push_back(knock(1, terms.access_key));
  auto late = std::async(std::launch::async, [&] { return same[1]->receive(); });
  Clients others;
  // The stream that is served first joins. Its answer comes when the other stream has joined, too.
  auto last = std::async(std::launch::async, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // until both are served
    return knock(2, terms.access_key);
  });
  const Received answers[] = {same[0]->receive(), late.get()};
  const bool first_joined = answers[0].opcode() == Opcode::joined;
  const Received& refused = answers[first_joined ? 1 : 0];
  ASSERT_EQ(refused.opcode(), Opcode::refused);
  EXPECT_EQ(refused.as<wire::Refused>().code, Code::denied);
  expect_joined(answers[first_joined ? 0 : 1]);
  others.push_back(std::move(same[first_joined ? 0 : 1]));
  others.push_back(last.get());
  expect_joined(others.back()->receive());
  RawClient client = over_all(first, std::move(others));
  expect_works(client);
}

TEST_F(StripingTest, AnAccessKeyIsGoodForOneConnection) {
  RawClient first(daemon.address());
  const wire::Stripes terms = ask(first, 2);
  RawClient client = striped(first, knock_all(terms));
  for (const std::uint8_t index : {1, 2, 3}) {
    expect_refused(*knock(index, terms.access_key), Code::denied);
  }
  expect_works(client);
}

TEST_F(StripingTest, AnotherVersionIsRefused) {
  RawClient first(daemon.address());
  const wire::Stripes terms = ask(first, 1);
  expect_refused(*knock(1, terms.access_key, 77), Code::version_mismatch);
  RawClient client = striped(first, knock_all(terms));
  expect_works(client);
}

TEST_F(StripingTest, AMalformedJoinIsAnsweredAndAStrangersIsNot) {
  const Bytes zeros(32);
  RawClient stranger(daemon.address());
  stranger.send({.opcode = Opcode::join_stream, .queue = {}}, zeros);
  EXPECT_EQ(stranger.receive().end.code(), Code::connection_lost);
  wire::Body body;
  wire::encode(wire::JoinStream{}, body);
  Bytes bytes(body.bytes().begin(), body.bytes().end());
  bytes[7] = std::byte{1};
  RawClient careless(daemon.address());
  careless.send({.opcode = Opcode::join_stream, .queue = {}}, bytes);
  const Received failed = careless.receive();
  ASSERT_EQ(failed.opcode(), Opcode::failed);
  EXPECT_EQ(failed.as<wire::Outcome>().code, Code::protocol_error);
}

TEST_F(StripingTest, MissingStreamsEndTheConnection) {
  config.join_timeout = std::chrono::seconds(2);  // the second stream joins long before
  InProcessDaemon impatient(Transport::tcp, one(null_device()), 256, config);
  RawClient first(impatient.address());
  const wire::Stripes terms = ask(first, 2);
  RawClient second(impatient.address());
  wire::Body body;
  wire::encode(wire::JoinStream{wire::kVersion, 1, terms.access_key, ""}, body);
  second.send({.opcode = Opcode::join_stream, .queue = {}}, body.bytes());
  const Received failed = first.receive();
  ASSERT_EQ(failed.opcode(), Opcode::failed);
  EXPECT_EQ(failed.as<wire::Outcome>().code, Code::deadline_exceeded);
  EXPECT_EQ(first.receive().end.code(), Code::connection_lost);
  EXPECT_EQ(second.receive().end.code(), Code::connection_lost);
  RawClient late(impatient.address());
  wire::encode(wire::JoinStream{wire::kVersion, 2, terms.access_key, ""}, body = {});
  late.send({.opcode = Opcode::join_stream, .queue = {}}, body.bytes());
  expect_refused(late, Code::denied);
  RawClient other(impatient.address());
  other.shake_hands();
  expect_works(other);
}

TEST_F(StripingTest, AClientThatGoesOnTooEarlyIsCutOff) {
  RawClient first(daemon.address());
  const wire::Stripes terms = ask(first, 2);
  const auto second = knock(1, terms.access_key);
  first.command(Opcode::ping);
  const Received failed = first.receive();
  ASSERT_EQ(failed.opcode(), Opcode::failed);
  EXPECT_EQ(failed.as<wire::Outcome>().code, Code::protocol_error);
  // The daemon reads the second stream before or after it has ended the first one.
  const Received cut_off = second->receive();
  if (!cut_off.end.ok()) {
    EXPECT_EQ(cut_off.end.code(), Code::connection_lost);
  } else {
    EXPECT_EQ(cut_off.opcode(), Opcode::refused);
    EXPECT_EQ(cut_off.as<wire::Refused>().code, Code::denied);
  }
}

TEST_F(StripingTest, AClientThatLeavesTakesItsStreamsAlong) {
  RawClient first(daemon.address());
  const wire::Stripes terms = ask(first, 2);
  const auto second = knock(1, terms.access_key);
  first.disconnect();
  EXPECT_EQ(second->receive().end.code(), Code::connection_lost);
  expect_refused(*knock(2, terms.access_key), Code::denied);
}

TEST_F(StripingTest, TheEndOfOneStreamEndsTheSession) {
  for (const std::size_t dead : {0, 1, 2}) {
    RawClient first(daemon.address());
    first.hello(hello_for(2));
    const auto token = first.receive().as<wire::Welcome>().token;
    (void)first.receive_facts();
    const auto terms = first.receive().as<wire::Stripes>();
    Clients others = knock_all(terms);
    for (auto& other : others) ASSERT_EQ(other->receive().opcode(), Opcode::joined);
    RawClient* all[] = {&first, others[0].get(), others[1].get()};
    all[dead]->disconnect();
    for (RawClient* client : all) {
      if (client == all[dead]) continue;
      EXPECT_EQ(client->receive().end.code(), Code::connection_lost);
    }
    wire::Hello hello;
    hello.join = token;
    for (const auto until = RawClient::deadline();;) {  // it ends just after its streams
      RawClient late(daemon.address());
      late.hello(hello);
      if (late.receive().opcode() == Opcode::refused) break;
      ASSERT_LT(transport::Clock::now(), until);
    }
  }
}

TEST_F(StripingTest, DrainingDoesNotWaitForMissingStreams) {
  RawClient first(daemon.address());
  const wire::Stripes terms = ask(first, 2);
  const auto second = knock(1, terms.access_key);
  daemon.server().drain(3600);
  EXPECT_EQ(first.answer().end.code(), Code::connection_lost);
  EXPECT_EQ(second->receive().end.code(), Code::connection_lost);
}

}  // namespace
}  // namespace ob::test
