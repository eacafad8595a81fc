// The library's question to the manager: when it is asked, and what becomes of its answers.

#include "client/lease_directory.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "pool/registration.hpp"
#include "support/stub_manager.hpp"

namespace ob::client {
namespace {

using test::http_response;
using test::StubManager;

// A handle of device `n/INDEX` with a token that names its epoch.
std::string handle(int index, int epoch, const std::string& machine = "elsewhere") {
  const std::string name = "n/" + std::to_string(index);
  return R"({"device":")" + name + R"(","daemon":"n","addresses":["10.0.0.1:7","unix:/s"],)" +
         R"("machine":")" + machine + R"(","epoch":)" + std::to_string(epoch) + R"(,"token":")" +
         name + "@" + std::to_string(epoch) + R"("})";
}

std::string held(const std::string& handles, int left_ms = 60'000) {
  return http_response("200 OK", R"({"state":"held","now_ms":1000,"end_ms":)" +
                                     std::to_string(1000 + left_ms) + R"(,"handles":[)" + handles +
                                     "]}");
}

std::string problem(const std::string& status, const std::string& name) {
  return http_response(
      status, R"({"type":"urn:outboard:problem:)" + name + R"(","detail":"said )" + name + "\"}");
}

TEST(LeaseDirectory, AsksOnceForAllDevices) {
  StubManager manager([](const std::string& request) {
    EXPECT_TRUE(request.starts_with("GET /v1/leases/job%2F1?uid=")) << request;
    return held(handle(0, 5) + "," + handle(1, 6));
  });
  LeaseDirectory lease({"job/1", manager.url()});
  EXPECT_EQ(lease.size(), 1U);
  EXPECT_EQ(lease.name(0), "lease job/1");
  for (const std::string token : {"n/0@5", "n/1@6", "n/0@5"}) {
    const auto ticket = lease.ticket(token == "n/1@6" ? 1 : 0, nullptr);
    ASSERT_TRUE(ticket.ok()) << ticket.status().message();
    EXPECT_EQ(ticket->token, token);
    EXPECT_EQ(ticket->addresses, std::vector<std::string>{"10.0.0.1:7"});
  }
  EXPECT_EQ(lease.size(), 2U);
  EXPECT_EQ(lease.name(1), "10.0.0.1:7");
  EXPECT_EQ(manager.requests(), 1);
  EXPECT_EQ(lease.ticket(2, nullptr).status().code(), Code::fenced);
}

TEST(LeaseDirectory, AsksForTheDevicesOfItsRank) {
  for (const auto& [devices, each] : {std::pair{1U, "0"}, std::pair{2U, "2"}}) {
    StubManager manager([&](const std::string& request) {
      const std::string wanted = std::string("&rank=5&per_rank=") + each + " HTTP";
      EXPECT_NE(request.find(wanted), std::string::npos) << request;
      return held(handle(0, 5));
    });
    LeaseDirectory lease({.id = "x", .manager = manager.url(), .devices = devices, .rank = 5});
    EXPECT_TRUE(lease.ticket(0, nullptr).ok());
  }
}

TEST(LeaseDirectory, PrefersSocketsOfThisMachine) {
  StubManager manager([](const std::string&) { return held(handle(0, 5, pool::machine_name())); });
  LeaseDirectory lease({"x", manager.url()});
  const auto ticket = lease.ticket(0, nullptr);
  ASSERT_TRUE(ticket.ok()) << ticket.status().message();
  EXPECT_EQ(ticket->addresses, (std::vector<std::string>{"unix:/s", "10.0.0.1:7"}));
}

TEST(LeaseDirectory, AsksAgainForARefusedToken) {
  int epoch = 5;
  StubManager manager([&](const std::string&) { return held(handle(0, epoch)); });
  LeaseDirectory lease({"x", manager.url()});
  ASSERT_TRUE(lease.ticket(0, nullptr).ok());
  lease.drop(0, "n/0@5");
  EXPECT_EQ(lease.ticket(0, nullptr).status().code(), Code::fenced);  // it is still the same
  epoch = 6;
  const auto fresh = lease.ticket(0, nullptr);
  ASSERT_TRUE(fresh.ok()) << fresh.status().message();
  EXPECT_EQ(fresh->token, "n/0@6");
  lease.drop(0, "n/0@5");  // late
  EXPECT_TRUE(lease.ticket(0, nullptr).ok());
  EXPECT_EQ(manager.requests(), 3);
}

TEST(LeaseDirectory, KeepsTheNumbersOfDevices) {
  int asked = 0;
  StubManager manager([&](const std::string&) {
    return ++asked == 1 ? held(handle(0, 5) + "," + handle(1, 6), 0)
                        : held(handle(2, 7) + "," + handle(1, 6), 0);
  });
  LeaseDirectory lease({"x", manager.url()});
  ASSERT_TRUE(lease.ticket(0, nullptr).ok());  // is old at once
  EXPECT_EQ(lease.ticket(0, nullptr).status().code(), Code::fenced);
  EXPECT_EQ(lease.ticket(1, nullptr)->token, "n/1@6");
  EXPECT_EQ(lease.ticket(2, nullptr)->token, "n/2@7");
}

TEST(LeaseDirectory, TakesADeviceThatComesBack) {
  int asked = 0;
  StubManager manager(
      [&](const std::string&) { return held(++asked == 2 ? handle(2, 7) : handle(0, 5), 0); });
  LeaseDirectory lease({"x", manager.url()});
  ASSERT_TRUE(lease.ticket(0, nullptr).ok());  // is old at once
  EXPECT_EQ(lease.ticket(0, nullptr).status().code(), Code::fenced);
  const auto again = lease.ticket(0, nullptr);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->token, "n/0@5");
  EXPECT_TRUE(lease.is_retired(1));
}

TEST(LeaseDirectory, NeverAsksAgainOnceTheLeaseIsOver) {
  for (const std::string name : {"lease-over", "unknown"}) {
    StubManager manager([&](const std::string&) { return problem("410 Gone", name); });
    LeaseDirectory lease({"x", manager.url()});
    EXPECT_EQ(lease.ticket(0, nullptr).status().code(), Code::fenced);
    EXPECT_EQ(lease.ticket(0, nullptr).status().code(), Code::fenced);
    EXPECT_EQ(manager.requests(), 1);
  }
  StubManager manager([&](const std::string&) { return problem("503 Later", "starting"); });
  LeaseDirectory lease({"x", manager.url()});
  EXPECT_EQ(lease.ticket(0, nullptr).status().code(), Code::unavailable);
  EXPECT_EQ(lease.ticket(0, nullptr).status().message(), "said starting");
}

TEST(LeaseDirectory, AsksAgainForALeaseThatWaits) {
  int asked = 0;
  StubManager manager([&](const std::string&) {
    if (++asked > 1) return held(handle(0, 5));
    return http_response("202 Accepted",
                         R"({"state":"queued","now_ms":1,"end_ms":2,"handles":[]})");
  });
  LeaseDirectory lease({"x", manager.url()});
  EXPECT_EQ(lease.ticket(0, nullptr).status().code(), Code::unavailable);
  EXPECT_TRUE(lease.ticket(0, nullptr).ok());
}

TEST(LeaseDirectory, UsesAnOldTokenWhileTheManagerIsAway) {
  int asked = 0;
  StubManager manager([&](const std::string&) {
    return ++asked == 1 ? held(handle(0, 5), 0) : std::string("garbage\r\n\r\n");
  });
  LeaseDirectory lease({"x", manager.url()});
  EXPECT_TRUE(lease.ticket(0, nullptr).ok());
  const auto old = lease.ticket(0, nullptr);
  ASSERT_TRUE(old.ok()) << old.status().message();
  EXPECT_EQ(old->token, "n/0@5");
  EXPECT_EQ(lease.ticket(1, nullptr).status().code(), Code::protocol_error);
}

// Many threads that call at once wait for one question, also if it fails.
TEST(LeaseDirectory, GivesASilentManagerUp) {
  StubManager manager([](const std::string&) { return std::string(); });
  LeaseDirectory lease({"x", manager.url()});
  std::atomic<int> waiting{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      ++waiting;
      while (waiting < 4) std::this_thread::yield();
      EXPECT_EQ(lease.ticket(0, nullptr).status().code(), Code::deadline_exceeded);
    });
  }
  while (waiting < 4) std::this_thread::yield();
  EXPECT_EQ(lease.size(), 1U);  // does not wait
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(manager.requests(), 1);
}

// The manager hears once of a link and of a device that cannot be reached, before it is asked.
TEST(LeaseDirectory, TellsWhatItHasSeen) {
  std::vector<std::string> told;
  StubManager manager([&](const std::string& request) {
    if (!request.starts_with("POST /v1/renew ")) return held(handle(0, 5) + "," + handle(1, 6), 0);
    told.push_back(request);
    return http_response("200 OK", R"({"now_ms":1,"leases":[]})");
  });
  LeaseDirectory lease({"x", manager.url()});
  Link link;
  lease.note_link(0, link);  // nobody knows a device yet
  ASSERT_TRUE(lease.ticket(0, nullptr).ok());
  lease.note_link(0, link);  // not measured
  link.round_trip_s = 0.002;
  link.to_bytes_per_s = 1e9;
  link.from_bytes_per_s = 3e9;
  lease.note_link(0, link);
  lease.note_unreachable(1);
  lease.note_unreachable(7);  // does not exist
  ASSERT_TRUE(lease.ticket(1, nullptr).ok());
  ASSERT_TRUE(lease.ticket(0, nullptr).ok());
  ASSERT_EQ(told.size(), 1U);
  const std::string expected = R"({"ids":["x"],"unreachable":["n/1"],"links":[{"machine":")" +
                               pool::machine_name() +
                               R"(","daemon":"n","rtt_us":2000.0,"bytes_per_s":1500000000.0}]})";
  EXPECT_TRUE(told[0].ends_with(expected)) << told[0];
}

// One call would wait for both otherwise, and each takes seconds to be silent.
TEST(LeaseDirectory, TriesEitherTheManagerOrTheDevice) {
  bool is_away = false;
  StubManager manager([&](const std::string&) {
    return is_away ? std::string("garbage\r\n\r\n") : held(handle(0, 5), 1);
  });
  LeaseDirectory lease({"x", manager.url()});
  ASSERT_TRUE(lease.ticket(0, nullptr).ok());
  is_away = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // its token is old
  lease.note_unreachable(0);
  EXPECT_FALSE(lease.ticket(0, nullptr).ok());
  const int asked = manager.requests();
  EXPECT_TRUE(lease.ticket(0, nullptr).ok());  // to be tried with the old token
  EXPECT_EQ(manager.requests(), asked);
}

// A rank whose device is lost has none until it is replaced, and asks for it as others do.
TEST(LeaseDirectory, ReplacesTheDeviceOfARank) {
  std::string told;
  StubManager manager([&](const std::string& request) {
    if (request.starts_with("POST ")) {
      told = request;
      return http_response("200 OK", R"({"now_ms":1,"leases":[]})");
    }
    EXPECT_NE(request.find("rank=1"), std::string::npos) << request;
    return held(told.empty() ? handle(0, 5) : "", 0);
  });
  LeaseDirectory lease({.id = "x", .manager = manager.url(), .rank = 1});
  ASSERT_TRUE(lease.ticket(0, nullptr).ok());
  lease.note_unreachable(0);
  EXPECT_EQ(lease.ticket(0, nullptr).status().code(), Code::unavailable);
  EXPECT_NE(told.find(R"("unreachable":["n/0"])"), std::string::npos) << told;
  EXPECT_TRUE(lease.is_waiting());
}

TEST(LeaseDirectory, SaysWhereItIsWrong) {
  LeaseDirectory unnamed({"x", ""});
  EXPECT_EQ(unnamed.ticket(0, nullptr).status().code(), Code::invalid_argument);
  LeaseDirectory unsafe({"x", "https://127.0.0.1:1"});
  EXPECT_EQ(unsafe.ticket(0, nullptr).status().code(), Code::denied);
}

}  // namespace
}  // namespace ob::client
