// The lease of a program, its own or that of `outboard run`: what it asks the manager for, and
// when.

#include "client/lease_request.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "client/lease_directory.hpp"
#include "pool/lease_answer.hpp"
#include "support/stub_manager.hpp"
#include "support/temporary_folder.hpp"

namespace ob::client {
namespace {

using test::http_response;
using test::StubManager;

std::string lease_answer(const std::string& state, const std::string& device, int left_ms) {
  const std::string handle = R"({"device":")" + device +
                             R"(","daemon":"n","addresses":["10.0.0.1:7"],"machine":"elsewhere",)" +
                             R"("epoch":1,"token":"of )" + device + "\"}";
  return http_response(state == "queued" ? "202 Accepted" : "200 OK",
                       R"({"state":")" + state + R"(","now_ms":1000,"end_ms":)" +
                           std::to_string(1000 + left_ms) + R"(,"handles":[)" +
                           (state == "held" ? handle : "") + "]}");
}

std::string refusal(const std::string& status, const std::string& name) {
  return http_response(
      status, R"({"type":"urn:outboard:problem:)" + name + R"(","detail":"said )" + name + "\"}");
}

std::string verb_of(const std::string& request) { return request.substr(0, request.find(' ')); }

std::string id_of(const std::string& request) {
  const std::string path = "/v1/leases/";
  const auto begin = request.find(path) + path.size();
  return request.substr(begin, request.find_first_of(" ?", begin) - begin);
}

// Answers in this order, and keeps the requests.
struct Script {
  std::vector<std::string> answers;
  std::vector<std::string> requests = {};

  std::string next(const std::string& request) {
    requests.push_back(request);
    EXPECT_LE(requests.size(), answers.size()) << request;
    return answers[std::min(requests.size(), answers.size()) - 1];
  }
  std::string verbs() const {
    std::string all;
    for (const std::string& request : requests) all += verb_of(request) + " ";
    return all;
  }
};

struct OwnLease {
  explicit OwnLease(std::vector<std::string> answers, std::size_t devices = 1)
      : script{std::move(answers)},
        manager([this](const std::string& request) { return script.next(request); }),
        lease({.id = {},
               .manager = manager.url(),
               .devices = devices,
               .rank = {},
               .least_gflops = 12.5}) {}

  Result<LeaseTicket> ticket(Asking asking = Asking::allowed, std::size_t index = 0) {
    return lease.ticket(index, nullptr, asking);
  }

  Script script;
  StubManager manager;
  LeaseDirectory lease;
};

TEST(OwnLease, IsTakenAndGivenBack) {
  OwnLease own({lease_answer("held", "n/0", 30'000), http_response("204 No Content", "")});
  EXPECT_EQ(own.ticket(Asking::never).status().code(), Code::declined);
  EXPECT_EQ(own.manager.requests(), 0);
  const auto ticket = own.ticket();
  ASSERT_TRUE(ticket.ok()) << ticket.status().message();
  EXPECT_EQ(ticket->token, "of n/0");
  EXPECT_TRUE(own.ticket(Asking::never).ok());
  EXPECT_FALSE(own.lease.is_old());
  own.lease.give_back(nullptr, StubManager::patience());
  EXPECT_EQ(own.script.verbs(), "PUT DELETE ");
  EXPECT_EQ(id_of(own.script.requests[0]).size(), 32U);
  EXPECT_EQ(id_of(own.script.requests[0]), id_of(own.script.requests[1]));
  EXPECT_NE(own.script.requests[1].find("?early=1 "), std::string::npos) << own.script.requests[1];
  EXPECT_EQ(own.ticket(Asking::never).status().code(), Code::declined);
}

// A short program renews nothing. It tells of the link when it gives the device back.
TEST(OwnLease, TellsOfItsLinkAtTheEnd) {
  OwnLease own({lease_answer("held", "n/0", 30'000), http_response("204 No Content", ""),
                http_response("200 OK", R"({"now_ms":1,"leases":[]})")});
  ASSERT_TRUE(own.ticket().ok());
  own.lease.note_link(0, {.round_trip_s = 1e-4, .to_bytes_per_s = 1e9, .from_bytes_per_s = 1e9});
  own.lease.give_back(nullptr, StubManager::patience());
  EXPECT_EQ(own.script.verbs(), "PUT DELETE POST ");
  const std::string& told = own.script.requests[2];
  EXPECT_TRUE(told.starts_with("POST /v1/renew ")) << told;
  EXPECT_NE(told.find(R"({"ids":[],)"), std::string::npos) << told;
  EXPECT_NE(told.find(R"("rtt_us":100.0,"bytes_per_s":)"), std::string::npos) << told;
}

TEST(OwnLease, KeepsItsPlaceInTheQueue) {
  OwnLease own({lease_answer("queued", "", 30'000), lease_answer("queued", "", 30'000),
                lease_answer("held", "n/0", 30'000)});
  EXPECT_EQ(own.ticket().status().code(), Code::unavailable);
  EXPECT_TRUE(own.lease.is_waiting());
  EXPECT_EQ(own.ticket().status().code(), Code::unavailable);
  EXPECT_TRUE(own.ticket().ok());
  EXPECT_FALSE(own.lease.is_waiting());
  EXPECT_EQ(own.script.verbs(), "PUT GET GET ");
  EXPECT_EQ(id_of(own.script.requests[0]), id_of(own.script.requests[2]));
}

TEST(OwnLease, AsksForLessWhereNotAllAreFree) {
  OwnLease own({refusal("409 Conflict", "can-never-fit"), lease_answer("queued", "", 30'000),
                http_response("204 No Content", ""), lease_answer("held", "n/0", 30'000)},
               3);
  EXPECT_TRUE(own.ticket().ok());
  EXPECT_EQ(own.script.verbs(), "PUT PUT DELETE PUT ");
}

TEST(OwnLease, IsNotForPoolsWithoutFastDevices) {
  OwnLease own({refusal("409 Conflict", "can-never-fit"), lease_answer("held", "n/0", 30'000)});
  const auto refused = own.ticket();
  EXPECT_EQ(refused.status().code(), Code::unsupported);
  EXPECT_NE(refused.status().message().find("no device with 12.5 GFLOP/s"), std::string::npos)
      << refused.status().message();
  EXPECT_TRUE(own.ticket().ok());  // devices may have come meanwhile
  EXPECT_EQ(own.script.verbs(), "PUT PUT ");
}

TEST(OwnLease, IsTakenAnewOnceItIsOver) {
  OwnLease own({lease_answer("held", "n/0", 0), refusal("410 Gone", "lease-over"),
                lease_answer("held", "n/1", 30'000)});
  ASSERT_TRUE(own.ticket().ok());
  // Its time is over at once, and calls do not wait for another one.
  EXPECT_EQ(own.ticket(Asking::never).status().code(), Code::declined);
  EXPECT_TRUE(own.lease.is_old());
  EXPECT_TRUE(own.lease.renew(nullptr).ok());
  EXPECT_EQ(own.script.verbs(), "PUT GET PUT ");
  EXPECT_NE(id_of(own.script.requests[0]), id_of(own.script.requests[2]));
  EXPECT_TRUE(own.lease.is_retired(0));
  EXPECT_EQ(own.ticket(Asking::never).status().code(), Code::declined);
  const auto other = own.ticket(Asking::never, 1);
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_EQ(other->token, "of n/1");
}

// The manager may be away for a while: calls go on with the tokens that are good.
TEST(OwnLease, IsKeptWhileTheManagerIsAway) {
  OwnLease own({lease_answer("held", "n/0", 3), "garbage\r\n\r\n"});
  ASSERT_TRUE(own.ticket().ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(own.lease.is_old());
  EXPECT_FALSE(own.lease.renew(nullptr).ok());
  EXPECT_FALSE(own.lease.is_old());  // asked again after a pause
  EXPECT_TRUE(own.ticket().ok());    // the daemon judges it
}

// The lease that `outboard run` acquires. Its command asks the manager only where it must.
struct LeaseOfTheCommand {
  explicit LeaseOfTheCommand(std::vector<std::string> answers, std::optional<unsigned> rank = {},
                             const std::string& other_manager = {})
      : script{std::move(answers)},
        manager([this](const std::string& request) { return script.next(request); }),
        lease({.id = "of-the-command",
               .manager = other_manager.empty() ? manager.url() : other_manager,
               .answer = file,
               .devices = 1,
               .rank = rank}) {}

  void hand_over(const pool::LeaseState& state) const {
    ASSERT_TRUE(pool::hand_over(file, state, std::chrono::steady_clock::now()).ok());
  }
  Result<LeaseTicket> ticket() { return lease.ticket(0, nullptr, Asking::allowed); }

  const test::TemporaryFolder folder;
  const std::string file = folder.file("lease");
  Script script;
  StubManager manager;
  LeaseDirectory lease;
};

const pool::LeaseState kHeld{
    "held", 1'000, 31'000, {{"n/7", "n", {"10.0.0.1:7"}, "elsewhere", 1, "of n/7"}}};

TEST(LeaseOfTheCommand, IsHandedOver) {
  LeaseOfTheCommand run({});
  run.hand_over(kHeld);
  const auto ticket = run.ticket();
  ASSERT_TRUE(ticket.ok()) << ticket.status().message();
  EXPECT_EQ(ticket->token, "of n/7");
  EXPECT_EQ(run.manager.requests(), 0);
}

TEST(LeaseOfTheCommand, MayBeRefused) {
  LeaseOfTheCommand run({});
  run.hand_over({});
  EXPECT_EQ(run.ticket().status().code(), Code::fenced);
  EXPECT_EQ(run.ticket().status().code(), Code::fenced);
  EXPECT_EQ(run.manager.requests(), 0);
}

TEST(LeaseOfTheCommand, IsDividedByTheManager) {
  LeaseOfTheCommand run({lease_answer("held", "n/3", 30'000)}, 3);
  run.hand_over(kHeld);
  const auto ticket = run.ticket();
  ASSERT_TRUE(ticket.ok()) << ticket.status().message();
  EXPECT_EQ(ticket->token, "of n/3");
  EXPECT_NE(run.script.requests[0].find("rank=3"), std::string::npos) << run.script.requests[0];
}

TEST(LeaseOfTheCommand, IsAskedForWhereNoAnswerComes) {
  LeaseOfTheCommand run({lease_answer("held", "n/0", 30'000)});
  EXPECT_EQ(run.ticket().status().code(), Code::deadline_exceeded);
  EXPECT_EQ(run.manager.requests(), 0);
  const auto ticket = run.ticket();
  ASSERT_TRUE(ticket.ok()) << ticket.status().message();
  EXPECT_EQ(ticket->token, "of n/0");
}

// A rank on another machine may ask before `outboard run` has asked.
TEST(LeaseOfTheCommand, ComesLaterThanARankElsewhere) {
  const std::string unknown = refusal("404 Not Found", "unknown");
  LeaseOfTheCommand run({unknown, unknown, lease_answer("held", "n/0", 30'000)});
  std::filesystem::remove_all(run.folder.path());
  const auto ticket = run.ticket();
  ASSERT_TRUE(ticket.ok()) << ticket.status().message();
  EXPECT_EQ(ticket->token, "of n/0");
  EXPECT_EQ(run.script.verbs(), "GET GET GET ");
}

std::string lease_without_devices() {
  return http_response("200 OK", R"({"state":"held","now_ms":1,"end_ms":30001,"handles":[]})");
}

// Its device was lost, and another one is granted when one is free. The manager may restart then.
TEST(LeaseOfTheCommand, WaitsForADeviceInPlaceOfALostOne) {
  LeaseOfTheCommand run({lease_without_devices(), refusal("503 Service Unavailable", "starting"),
                         lease_answer("held", "n/1", 30'000)});
  run.hand_over(kHeld);
  const auto first = run.ticket();
  ASSERT_TRUE(first.ok()) << first.status().message();
  run.lease.drop(0, first->token);
  for (const char* says : {"its last one was lost", "said starting"}) {
    const auto none = run.ticket();
    EXPECT_EQ(none.status().code(), Code::unavailable);
    EXPECT_NE(none.status().message().find(says), std::string::npos) << none.status().message();
    EXPECT_TRUE(run.lease.is_waiting());
    EXPECT_FALSE(run.lease.is_retired(0));  // else nobody would ask
  }
  EXPECT_EQ(run.ticket().status().code(), Code::fenced);  // it has another number
  EXPECT_FALSE(run.lease.is_waiting());
  EXPECT_TRUE(run.lease.is_retired(0));
  const auto other = run.lease.ticket(1, nullptr);
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_EQ(other->token, "of n/1");
}

// The part of a rank may be nothing for ever.
TEST(LeaseOfTheCommand, DoesNotWaitForTheDevicesOfOtherRanks) {
  LeaseOfTheCommand run({lease_without_devices()}, 3);
  run.hand_over(kHeld);
  EXPECT_EQ(run.ticket().status().code(), Code::fenced);
  EXPECT_FALSE(run.lease.is_waiting());
}

// A thread whose device is good goes on while another one asks the manager, which takes its time.
TEST(LeaseOfTheCommand, GivesGoodDevicesWhileTheManagerIsAsked) {
  LeaseOfTheCommand* command = nullptr;
  std::optional<Code> meanwhile;
  StubManager slow([&](const std::string&) {
    std::thread other([&] { meanwhile = command->lease.ticket(0, nullptr).status().code(); });
    other.join();
    return lease_answer("held", "n/7", 30'000);
  });
  LeaseOfTheCommand run({}, {}, slow.url());
  command = &run;
  auto two = kHeld;
  two.handles.push_back({"n/8", "n", {"10.0.0.1:8"}, "elsewhere", 1, "of n/8"});
  run.hand_over(two);
  ASSERT_TRUE(run.ticket().ok());
  run.lease.drop(1, "of n/8");
  EXPECT_EQ(run.lease.ticket(1, nullptr).status().code(), Code::fenced);
  EXPECT_EQ(slow.requests(), 1);
  EXPECT_EQ(meanwhile, Code::ok);
}

TEST(LeaseOfTheCommand, IsAskedForAgainOnlyAtItsStart) {
  LeaseOfTheCommand run({lease_answer("held", "n/0", 0), refusal("410 Gone", "lease-over")});
  std::filesystem::remove_all(run.folder.path());
  ASSERT_TRUE(run.ticket().ok());
  EXPECT_EQ(run.ticket().status().code(), Code::fenced);
  EXPECT_EQ(run.script.verbs(), "GET GET ");
}

}  // namespace
}  // namespace ob::client
