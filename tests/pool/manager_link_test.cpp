// Addresses of managers, kept connections, refusals, and the bodies that travel.

#include "pool/manager_link.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <future>
#include <limits>
#include <string>
#include <thread>
#include <utility>

#include "base/fd.hpp"
#include "pool/json.hpp"
#include "pool/lease_handles.hpp"
#include "pool/pool_time.hpp"
#include "pool/registration.hpp"
#include "support/stub_manager.hpp"

namespace ob::pool {
namespace {

using transport::Clock;

transport::Deadline soon() { return Clock::now() + std::chrono::seconds(20); }

TEST(ManagerAddress, ReadsUrls) {
  const auto plain = ManagerAddress::parse("http://127.0.0.1:9/");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->address, "127.0.0.1:9");
  EXPECT_FALSE(plain->secure);
  const auto secure = ManagerAddress::parse("https://pool");
  ASSERT_TRUE(secure.ok());
  EXPECT_EQ(secure->address, "pool:7780");
  EXPECT_TRUE(secure->secure);
  EXPECT_EQ(ManagerAddress::parse("https://[::1]")->address, "[::1]:7780");
  EXPECT_EQ(ManagerAddress::parse("unix:/run/pool.sock")->address, "unix:/run/pool.sock");
}

TEST(ManagerAddress, RefusesOthers) {
  for (const char* const url : {"", "pool", "pool:7780", "ftp://pool", "https://", "https://a:b:c",
                                "http://ucx:localhost:1", "unix:"}) {
    EXPECT_EQ(ManagerAddress::parse(url).status().code(), Code::invalid_argument) << url;
  }
  EXPECT_EQ(ManagerAddress::parse("http://pool:7780").status().code(), Code::denied);
}

using test::http_response;
using test::StubManager;

ManagerLink link_to(const std::string& urls) { return {*parse_managers(urls), nullptr}; }

// A refusal as standbys answer it.
std::string refusal(const std::string& name) {
  return http_response("503 Service Unavailable", R"({"type":"urn:outboard:problem:)" + name +
                                                      R"(","detail":"another one leads"})");
}

TEST(ManagerLink, KeepsItsConnectionAndMakesANewOneWhereItWasClosed) {
  int asked = 0;
  bool closed = false;
  StubManager manager([&](const std::string&) -> std::optional<std::string> {
    if (asked == 2 && !std::exchange(closed, true)) return std::nullopt;
    return http_response("200 OK", std::to_string(++asked));
  });
  ManagerLink link = link_to(manager.url());
  for (const char* const body : {"1", "2", "3"}) {
    const auto response = link.ask("GET", "/", {}, soon());
    ASSERT_TRUE(response.ok()) << response.status().message();
    EXPECT_EQ(response->body, body);
  }
  EXPECT_EQ(manager.connections(), 2);
}

// A socket of a manager that listens on a free port of this machine.
Fd listening(std::string& url) {
  Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(listener.get(), any, bytes), 0);
  EXPECT_EQ(::listen(listener.get(), 1), 0);
  EXPECT_EQ(::getsockname(listener.get(), any, &bytes), 0);
  url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  return listener;
}

// A thread that gets SIGUSR1 stands still until somebody writes into the second pipe.
Fd stands_still[2], goes_on[2];
void stand_still(int) {
  char byte = 0;
  (void)!::write(stands_still[1].get(), &byte, 1);
  (void)!::read(goes_on[0].get(), &byte, 1);
}

void open_pipe(Fd (&ends)[2]) {
  int fds[2];
  ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  for (int i : {0, 1}) ends[i].reset(fds[i]);
}

// The buffers on both sides are full before the link reads the answer, as on a busy machine.
TEST(ManagerLink, AManagerThatSendsTooMuchNoticesThatTheConnectionIsClosed) {
  open_pipe(stands_still);
  open_pipe(goes_on);
  const auto former = std::signal(SIGUSR1, stand_still);
  std::string url;
  const Fd listener = listening(url);
  auto accepted = std::async(std::launch::async, [&, link = ::pthread_self()] {
    Fd peer(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    std::string request(4096, ' ');
    EXPECT_GT(::recv(peer.get(), request.data(), request.size(), 0), 0);
    EXPECT_EQ(::pthread_kill(link, SIGUSR1), 0);
    EXPECT_EQ(::read(stands_still[0].get(), request.data(), 1), 1);
    const std::string endless = http_response("200 OK", std::string(32 << 20, 'x'));
    const auto taken = ::send(peer.get(), endless.data(), endless.size(), MSG_DONTWAIT);
    EXPECT_GT(taken, 0);
    EXPECT_LT(taken, static_cast<ssize_t>(endless.size())) << "the buffers are not full";
    EXPECT_EQ(::write(goes_on[1].get(), request.data(), 1), 1);
    return peer;
  });
  ManagerLink link = link_to(url);
  EXPECT_EQ(link.ask("GET", "/", {}, soon()).status().code(), Code::protocol_error);
  const Fd peer = accepted.get();
  (void)std::signal(SIGUSR1, former);
  pollfd sender{peer.get(), POLLOUT, 0};
  ASSERT_EQ(::poll(&sender, 1, 20'000), 1) << "it still waits for room in a closed connection";
  EXPECT_NE(sender.revents & (POLLERR | POLLHUP), 0);
}

TEST(ManagerLink, NamesAManagerThatDoesNotAnswer) {
  std::string url;
  {
    const StubManager gone([](const std::string&) { return std::nullopt; });
    url = gone.url();
  }
  const auto response = link_to(url).ask("GET", "/", {}, soon());
  EXPECT_EQ(response.status().code(), Code::unavailable);
  EXPECT_NE(response.status().message().find(url), std::string::npos);
}

TEST(ManagerAddress, ReadsSeveralUrls) {
  const auto managers = parse_managers("https://a,http://127.0.0.1:9/,unix:/run/s");
  ASSERT_TRUE(managers.ok());
  ASSERT_EQ(managers->size(), 3U);
  EXPECT_EQ((*managers)[0].address, "a:7780");
  EXPECT_EQ((*managers)[1].address, "127.0.0.1:9");
  EXPECT_EQ((*managers)[2].address, "unix:/run/s");
  for (const char* const urls : {"", ",", "https://a,", ",https://a", "https://a,,https://b"}) {
    EXPECT_EQ(parse_managers(urls).status().code(), Code::invalid_argument) << urls;
  }
}

TEST(ManagerLink, FindsTheManagerThatLeads) {
  std::string dead;
  {
    const StubManager gone([](const std::string&) { return std::nullopt; });
    dead = gone.url();
  }
  std::atomic<bool> leads = false;
  StubManager standby([&](const std::string&) {
    return leads ? http_response("200 OK", "standby") : refusal("not-leader");
  });
  StubManager leader([&](const std::string&) -> std::optional<std::string> {
    if (leads) return std::nullopt;  // it has ended
    return http_response("200 OK", "leader");
  });
  ManagerLink link = link_to(dead + "," + standby.url() + "," + leader.url());
  for (int i = 0; i < 2; ++i) {
    const auto response = link.ask("GET", "/", {}, soon());
    ASSERT_TRUE(response.ok()) << response.status().message();
    EXPECT_EQ(response->body, "leader");
  }
  EXPECT_EQ(standby.requests(), 1);  // the second request began with the leader
  EXPECT_EQ(link.url(), leader.url());
  leads = true;
  const auto response = link.ask("GET", "/", {}, soon());
  ASSERT_TRUE(response.ok()) << response.status().message();
  EXPECT_EQ(response->body, "standby");
}

TEST(ManagerLink, TellsTheRefusalIfNoneLeads) {
  StubManager first([](const std::string&) { return refusal("storage"); });
  StubManager second([](const std::string&) { return refusal("not-leader"); });
  ManagerLink link = link_to(first.url() + "," + second.url());
  const auto response = link.ask("GET", "/", {}, soon());
  ASSERT_TRUE(response.ok()) << response.status().message();
  EXPECT_EQ(response->status, 503);
  EXPECT_EQ(problem_of(*response).name, "not-leader");
}

TEST(ManagerLink, TakesOtherRefusalsFromTheManagerThatIsAsked) {
  StubManager first([](const std::string&) {
    return http_response("410 Gone", R"({"type":"urn:outboard:problem:lease-over"})");
  });
  StubManager second([](const std::string&) { return http_response("200 OK", "no"); });
  ManagerLink link = link_to(first.url() + "," + second.url());
  EXPECT_EQ(link.ask("GET", "/", {}, soon())->status, 410);
  EXPECT_EQ(second.connections(), 0);
}

TEST(ManagerLink, NeedsAKeyForHttps) {
  const auto response = link_to("https://127.0.0.1:1").ask("GET", "/", {}, soon());
  EXPECT_EQ(response.status().code(), Code::denied);
}

TEST(ManagerLink, IsInterruptedWhileItWaits) {
  int asked = 0;
  StubManager manager([&](const std::string&) {  // falls silent
    return ++asked == 1 ? http_response("200 OK", "1") : std::string();
  });
  ManagerLink link = link_to(manager.url());
  ASSERT_TRUE(link.ask("GET", "/", {}, soon()).ok());
  std::thread other([&] { link.interrupt(); });
  EXPECT_EQ(link.ask("GET", "/", {}, soon()).status().code(), Code::connection_lost);
  other.join();
  EXPECT_EQ(link.ask("GET", "/", {}, soon()).status().code(), Code::connection_lost);
}

TEST(Problem, IsReadFromAnswers) {
  HttpResponse response{410, R"({"type":"urn:outboard:problem:lease-over","detail":"gone"})"};
  EXPECT_EQ(problem_of(response).name, "lease-over");
  EXPECT_EQ(problem_of(response).detail, "gone");
  response.body = "<html>";
  EXPECT_EQ(problem_of(response).name, "");
  EXPECT_NE(problem_of(response).detail.find("410"), std::string::npos);
}

TEST(Bodies, AreWrittenAsTheManagerReadsThem) {
  const Use use{.received_bytes = 1, .sent_bytes = 2, .compute_ns = 3, .waited_ns = 4};
  const Heartbeat beat{"i", 3, 4, {{"n/0", 5, {{6, true}}, 7, {{8, use}}, 9, true, 10}}, 0.5};
  EXPECT_EQ(to_json(beat),
            R"({"instance":"i","seq":3,"rev":4,"devices":[{"id":"n/0","floor":5,)"
            R"("failed_sessions":9,"fatal":true,"self_tests_ok":10,"memory_used_bytes":7,)"
            R"("sessions":[{"epoch":6,"busy":true}],"uses":[{"epoch":8,)"
            R"("compute_ns":3,"waited_ns":4,"bytes_in":1,"bytes_out":2}]}],"wait_s":0.5})");
  const Registration about{
      "i", {{"n/0", "cpu", "a \"b\"\n", 1, 2.5, 3}}, {8}, {"127.0.0.1:1"}, "m", {{"rack", "r7"}}};
  EXPECT_EQ(to_json(about),
            R"({"instance":"i","devices":[{"id":"n/0","kind":"cpu","model":"a \"b\"\n",)"
            R"("memory_bytes":1,"gflops":2.5,"epoch_seen":3}],"wire":[8],)"
            R"("addresses":["127.0.0.1:1"],"machine":"m","labels":{"rack":"r7"}})");
}

TEST(Bodies, AreRead) {
  const auto registered = read_registered(
      R"({"now_ms":5,"rev":6,"pool":"p","keys":[{"kid":"k","der":"AAE="}],"heartbeat_s":2.0,)"
      R"("devices":[{"id":"n/0","floor":7,"leases":[{"epoch":8,"end_ms":9,"memory_bytes":10,)"
      R"("share":11,"more":null}],"closed":true,"broken":true}],"more":[]})");
  ASSERT_TRUE(registered.ok()) << registered.status().message();
  EXPECT_EQ(registered->pool, "p");
  EXPECT_EQ(registered->keys.at(0).der, std::string("\0\1", 2));
  EXPECT_EQ(registered->state.rev, 6);
  EXPECT_EQ(registered->state.devices.at(0).leases.at(0).end_ms, 9);
  EXPECT_TRUE(registered->state.devices.at(0).closed);
  EXPECT_TRUE(registered->state.devices.at(0).broken);
  const auto lease =
      read_lease(R"({"state":"held","now_ms":1,"end_ms":2,"handles":[{"device":"n/0","daemon":"n",)"
                 R"("addresses":["a:1"],"machine":"m","epoch":3,"token":"t"}]})");
  ASSERT_TRUE(lease.ok()) << lease.status().message();
  EXPECT_EQ(lease->handles.at(0).token, "t");
}

TEST(Bodies, TheTimeLeftOfALeaseIsBounded) {
  using std::chrono::milliseconds;
  const LeaseState lease{.state = "held", .now_ms = 1'000, .end_ms = 31'000, .handles = {}};
  EXPECT_EQ(lease.left(), milliseconds(30'000));
  EXPECT_EQ(lease.until_renewal(), milliseconds(10'000));
  const LeaseState over{.state = "held", .now_ms = 31'000, .end_ms = 1'000, .handles = {}};
  EXPECT_EQ(over.left(), milliseconds(0));
  constexpr auto kLast = std::numeric_limits<std::int64_t>::max();
  const LeaseState endless{.state = "held", .now_ms = 0, .end_ms = kLast, .handles = {}};
  EXPECT_EQ(endless.left(), std::chrono::hours(24));
  const LeaseState wrong{.state = "held", .now_ms = -kLast, .end_ms = kLast, .handles = {}};
  EXPECT_EQ(wrong.left(), std::chrono::hours(24));
}

TEST(Bodies, OfOtherFormsAreRefused) {
  for (const char* const body :
       {"", "[]", "{", "{}", R"({"rev":1,"now_ms":2})", R"({"rev":-1,"now_ms":2,"devices":[]})",
        R"({"rev":1.0,"now_ms":2,"devices":[]})", R"({"rev":"1","now_ms":2,"devices":[]})",
        R"({"rev":9223372036854775808,"now_ms":2,"devices":[]})",
        R"({"rev":1,"now_ms":2,"devices":{}})", R"({"rev":1,"now_ms":2,"devices":[1]})",
        R"({"rev":1,"now_ms":2,"devices":[{"id":"a","floor":1,"leases":[{}]}]})"}) {
    EXPECT_EQ(read_desired(body).status().code(), Code::protocol_error) << body;
  }
  std::string deep = R"({"rev":)";
  for (int i = 0; i < 30'000; ++i) deep += '[';
  EXPECT_EQ(read_desired(deep).status().code(), Code::protocol_error);
}

TEST(PoolClock, TrustsQuickAnswersAndNeverGoesBack) {
  PoolClock clock;
  EXPECT_FALSE(clock.at(0).has_value());
  EXPECT_TRUE(clock.is_stale(0));
  clock.note(1'000'000, 0, 2'000);  // too slow
  EXPECT_FALSE(clock.at(2'000).has_value());
  clock.note(1'000'000, 100, 120);
  EXPECT_EQ(clock.at(120), 1'000'010);
  clock.note(1'005'000, 1'000, 1'900);  // slower than the known one
  EXPECT_EQ(clock.at(2'000), 1'001'890);
  clock.note(1'002'000, 3'000, 3'002);  // says less than before
  EXPECT_EQ(clock.at(3'002), 1'002'001);
  EXPECT_EQ(clock.at(2'500), 1'002'001);
  EXPECT_FALSE(clock.is_stale(3'002));
  EXPECT_TRUE(clock.is_stale(3'002 + PoolClock::kMostAgeMs));
}

}  // namespace
}  // namespace ob::pool
