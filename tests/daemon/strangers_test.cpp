// Connections that do not finish their handshake, and the connections of members beside them.

#include <sys/socket.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "daemon/io/repeated_log.hpp"
#include "daemon/server/handshake_budget.hpp"
#include "daemon/server/member_connections.hpp"
#include "daemon/server/stream_source.hpp"
#include "support/raw_client.hpp"

namespace ob::test {
namespace {

using daemon::HandshakeBudget;
using daemon::MemberConnections;
using daemon::RepeatedLog;
using wire::Opcode;

constexpr QueueId kQueue{1};

std::unique_ptr<daemon::Server> serve(daemon::ServerConfig config) {
  config.listen = {"127.0.0.1:0"};
  return require(daemon::Server::create(std::move(config), one(null_device())));
}

// Waits for the end of the stream, and expects that no bytes came before.
Status end_of(transport::Stream& stream) {
  std::byte byte{};
  const iovec part{&byte, 1};
  for (;;) {
    OB_ASSIGN_OR_RETURN(const std::size_t received, stream.try_receive({&part, 1}));
    EXPECT_EQ(received, 0u);
    OB_RETURN_IF_ERROR(stream.wait(true, false, RawClient::deadline()));
  }
}

TEST(StrangersTest, SilentConnectionsTakeNoPlaceOfMembers) {
  const auto server = serve({.max_connections = 4, .handshakes = {.silent = 64}});
  std::vector<std::unique_ptr<transport::Stream>> silent;
  for (int i = 0; i < 100; ++i) {  // more than one address may have
    silent.push_back(
        require(transport::connect(server->addresses().front(), RawClient::deadline())));
  }
  for (int i = 0; i < 3; ++i) {
    RawClient member(server->addresses().front());
    member.shake_hands();
    member.command(Opcode::create_queue, kQueue);
    EXPECT_EQ(member.synchronize(kQueue).code, Code::ok);
  }
  EXPECT_EQ(end_of(*silent.front()).code(), Code::connection_lost);  // closed for newer ones
}

TEST(StrangersTest, AHandshakeHasADeadline) {
  const auto server = serve({.handshakes = {.time = std::chrono::milliseconds(100)}});
  RawClient silent(server->addresses().front());
  EXPECT_EQ(silent.receive().end.code(), Code::connection_lost);
  // Bytes that arrive one by one do not extend it.
  RawClient slow(server->addresses().front());
  wire::Body body;
  wire::encode(wire::Hello{.client = std::string(400, 'x')}, body);
  std::size_t sent = 0;
  std::array<std::byte, wire::kHeaderBytes> header;
  wire::encode_header({.opcode = Opcode::hello,
                       .body_bytes = static_cast<std::uint32_t>(body.bytes().size()),
                       .queue = {}},
                      header);
  Bytes all(header.begin(), header.end());
  all.insert(all.end(), body.bytes().begin(), body.bytes().end());
  while (sent < all.size() && slow.send_bytes(std::span(all).subspan(sent, 1))) {
    ++sent;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // 400 bytes take 2 s
  }
  EXPECT_LT(sent, all.size());
}

TEST(StrangersTest, OneUserCannotTakeAllConnections) {
  const auto server = serve({.max_connections = 8});
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(std::make_unique<RawClient>(server->addresses().front()));
    clients.back()->shake_hands();
  }
  RawClient one_more(server->addresses().front());
  one_more.hello();
  const Received refused = one_more.receive();
  ASSERT_TRUE(refused.end.ok()) << refused.end.message();
  ASSERT_EQ(refused.opcode(), Opcode::refused);
  EXPECT_EQ(refused.as<wire::Refused>().code, Code::unavailable);
  EXPECT_NE(refused.as<wire::Refused>().message.find("6 of the daemon's 8"), std::string::npos)
      << refused.as<wire::Refused>().message;
}

TEST(MemberConnectionsTest, TheLastQuarterIsForUsersWithFew) {
  MemberConnections members(64);
  std::vector<MemberConnections::Seat> seats;
  for (int i = 0; i < 48; ++i) seats.push_back(require(members.enter("ada")));
  EXPECT_EQ(members.enter("ada").status().code(), Code::unavailable);
  for (const std::string user : {"bob", "eve", "joe", "zoe"}) {
    for (int i = 0; i < 4; ++i) seats.push_back(require(members.enter(user)));
    if (user != "zoe") {
      EXPECT_NE(members.enter(user).status().message().find("kept for others"), std::string::npos);
    }
  }
  EXPECT_NE(members.enter("kim").status().message().find("full"), std::string::npos);
  seats.erase(seats.begin(), seats.begin() + 2);  // ada's
  EXPECT_EQ(members.enter("ada").status().code(), Code::unavailable);
  EXPECT_TRUE(members.enter("kim").ok());
  seats.clear();
  for (int i = 0; i < 48; ++i) seats.push_back(require(members.enter("bob")));
}

TEST(MemberConnectionsTest, AFewConnectionsAreForAnybody) {
  MemberConnections members(2);
  const auto first = require(members.enter(""));
  const auto second = require(members.enter(""));
  EXPECT_EQ(members.enter("").status().code(), Code::unavailable);
}

// Handshakes of which a test sees which ones the budget has closed, in order.
class Handshakes {
 public:
  explicit Handshakes(std::size_t total) : budget_({.total = total}) {}
  HandshakeBudget::Place* enter(const std::string& name, const std::string& source) {
    auto place = budget_.enter({source, [this, name] { closed.push_back(name); }});
    return place == nullptr ? nullptr : (places_[name] = std::move(place)).get();
  }
  void leave(const std::string& name) { places_.erase(name); }

  std::vector<std::string> closed;

 private:
  HandshakeBudget budget_;
  std::map<std::string, std::unique_ptr<HandshakeBudget::Place>> places_;
};

using Names = std::vector<std::string>;

TEST(HandshakeBudgetTest, ASourceBeyondHalfClosesItsOldest) {
  Handshakes handshakes(4);
  handshakes.enter("a1", "a");
  handshakes.enter("b1", "b");
  handshakes.enter("b2", "b");
  EXPECT_TRUE(handshakes.closed.empty());
  handshakes.enter("b3", "b");
  EXPECT_EQ(handshakes.closed, Names{"b1"});
  handshakes.enter("b4", "b");
  EXPECT_EQ(handshakes.closed, (Names{"b1", "b2"}));
}

TEST(HandshakeBudgetTest, AFullBudgetClosesOneOfTheMostNumerousSource) {
  Handshakes handshakes(4);
  handshakes.enter("a1", "a");
  handshakes.enter("b1", "b");
  handshakes.enter("b2", "b");
  handshakes.enter("c1", "c");
  auto* const fifth = handshakes.enter("d1", "d");
  ASSERT_NE(fifth, nullptr);
  EXPECT_EQ(handshakes.closed, Names{"b1"});
  EXPECT_FALSE(fifth->closed());
}

TEST(HandshakeBudgetTest, ClosedHandshakesCountForTheirSourceUntilTheyEnd) {
  Handshakes handshakes(2);
  handshakes.enter("a1", "a");
  handshakes.enter("a2", "a");
  EXPECT_EQ(handshakes.closed, Names{"a1"});
  EXPECT_EQ(handshakes.enter("a3", "a"), nullptr);
  EXPECT_NE(handshakes.enter("b1", "b"), nullptr);
  handshakes.leave("a1");
  EXPECT_NE(handshakes.enter("a3", "a"), nullptr);
  EXPECT_EQ(handshakes.closed, (Names{"a1", "a2"}));
}

TEST(StreamSourceTest, IsTheMachineOrTheUser) {
  EXPECT_EQ(daemon::source_of("10.0.0.7:40123"), "10.0.0.7");
  EXPECT_EQ(daemon::source_of("ucx:10.0.0.7:40123"), "10.0.0.7");
  EXPECT_EQ(daemon::source_of("[2001:db8:1:2:3:4:5:6]:7"), "2001:db8:1:2::/64");
  EXPECT_EQ(daemon::source_of("[2001:db8:1:2::9]:7"), "2001:db8:1:2::/64");
  EXPECT_EQ(daemon::source_of("[fe80::1%eth0]:7"), "fe80::/64");
  EXPECT_EQ(daemon::source_of("[::ffff:10.0.0.7]:7"), "10.0.0.7");
  EXPECT_EQ(daemon::source_of("unix:/tmp/a:b (uid 7)"), "unix:/tmp/a:b (uid 7)");
  EXPECT_EQ(daemon::source_of("unknown"), "unknown");
}

TEST(RepeatedLogTest, SumsUpRepetitions) {
  std::vector<std::string> lines;
  RepeatedLog log([&](const std::string& line) { lines.push_back(line); });
  const auto start = RepeatedLog::Clock::now();
  for (int i = 0; i < 1481; ++i) log.add("10.0.0.7", Code::denied, "no key", start);
  log.add("10.0.0.7", Code::deadline_exceeded, "too slow", start);
  log.add("10.0.0.8", Code::denied, "no key either", start);
  EXPECT_EQ(lines, (Names{"no key", "too slow", "no key either"}));
  log.write_counts(start + std::chrono::seconds(9));
  EXPECT_EQ(lines.size(), 3u);
  log.write_counts(start + std::chrono::seconds(10));
  EXPECT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines.back(), "and 1480 more like this from 10.0.0.7 in the last 10 s");
  log.add("10.0.0.7", Code::denied, "again", start + std::chrono::seconds(11));
  EXPECT_EQ(lines.back(), "again");
}

TEST(RepeatedLogTest, CountsManySourcesTogether) {
  std::vector<std::string> lines;
  RepeatedLog log([&](const std::string& line) { lines.push_back(line); });
  const auto start = RepeatedLog::Clock::now();
  for (int i = 0; i < 1000; ++i) log.add(std::to_string(i), Code::denied, "no key", start);
  EXPECT_LE(lines.size(), 100u);
  log.write_counts(start + std::chrono::seconds(10));
  EXPECT_NE(lines.back().find("more like this from other addresses"), std::string::npos);
}

}  // namespace
}  // namespace ob::test
