// Limits that the sessions of one user share, and the part of each resource that is kept for
// others.

#include <chrono>
#include <thread>
#include <vector>

#include "daemon/memory/resource_budget.hpp"
#include "daemon/peers/session_peers.hpp"
#include "support/in_process_daemon.hpp"
#include "support/raw_client.hpp"
#include "support/temporary_folder.hpp"
#include "support/unused_transport.hpp"

namespace ob::test {
namespace {

using daemon::Reservation;
using daemon::Resource;
using daemon::ResourceAccount;
using daemon::ResourceBudget;
using wire::Opcode;

constexpr QueueId kQueue{1};
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMemoryBytes = 256 * kPage;

// --- the rule ------------------------------------------------------------------------------------

std::shared_ptr<ResourceBudget> budget_of(const Resource& resource) {
  return std::make_shared<ResourceBudget>(resource);
}

using Reservations = std::vector<Reservation>;

// Reserves one at a time until it fails.   Returns the number
int take_all(const std::shared_ptr<ResourceAccount>& account, Reservations& held) {
  for (int i = 0;; ++i) {
    auto one = ResourceAccount::reserve(account, 1);
    if (!one.ok()) return i;
    held.push_back(std::move(*one));
  }
}

TEST(ResourceBudgetTest, TheSessionsOfAUserHaveALimitTogether) {
  const auto budget = budget_of({.unit = "bytes",
                                 .all = 100,
                                 .user = 10,
                                 .session_option = "--s",
                                 .user_option = "--u",
                                 .all_option = "--a"});
  const auto first = budget->open("ada", 8);
  const auto second = budget->open("ada", 8);
  auto held = require(ResourceAccount::reserve(first, 6));
  EXPECT_EQ(first->room(), 2u);
  EXPECT_EQ(second->room(), 4u);
  EXPECT_EQ(second->equal_part(), 5u);
  const Status session = ResourceAccount::reserve(first, 3).status();
  EXPECT_EQ(session.message(),
            "no room for 3 bytes in this session (6 of its 8 are in use); free some or raise --s");
  const Status user = ResourceAccount::reserve(second, 5).status();
  EXPECT_EQ(user.code(), Code::out_of_memory);
  EXPECT_EQ(user.message(),
            "no room for 5 bytes in all sessions of this user (6 of its 10 are in use); free some "
            "or raise --u");
  EXPECT_TRUE(ResourceAccount::reserve(second, 4).ok());  // and gives it back
  EXPECT_TRUE(ResourceAccount::reserve(budget->open("bob", 8), 8).ok());
  held = {};
  EXPECT_EQ(second->room(), 8u);
}

TEST(ResourceBudgetTest, SessionsWithoutAUserCountForThemselves) {
  const auto budget = budget_of({.unit = "bytes", .all = 100, .user = 10});
  const auto first = budget->open("", UINT64_MAX);
  const auto second = budget->open("", UINT64_MAX);
  const auto held = require(ResourceAccount::reserve(first, 10));
  EXPECT_TRUE(ResourceAccount::reserve(second, 10).ok());
  EXPECT_FALSE(ResourceAccount::reserve(first, 1).ok());
}

TEST(ResourceBudgetTest, AUserAloneMayHaveAllAndBesideOthersThreeQuarters) {
  const auto budget = budget_of({.unit = "bytes", .all = 100, .all_option = "--a"});
  const auto ada = budget->open("ada", UINT64_MAX);
  const auto adas_other = budget->open("ada", UINT64_MAX);
  Reservations of_ada;
  EXPECT_EQ(take_all(ada, of_ada), 100);
  auto bob = budget->open("bob", UINT64_MAX);
  of_ada.resize(90);
  EXPECT_EQ(take_all(adas_other, of_ada), 0);
  EXPECT_EQ(ada->missing_share(0), 20u);  // 90 are three times 30, and 10 are left
  Reservations of_bob;
  EXPECT_EQ(take_all(bob, of_bob), 7);  // three times the 3 that are left, at most
  of_ada.resize(50);
  EXPECT_EQ(take_all(ada, of_ada), 19);  // 69 are three times 23, and 24 are left
  const Status refused = ResourceAccount::reserve(adas_other, 1).status();
  EXPECT_NE(refused.message().find("it holds 69, all users hold 76 of 100"), std::string::npos)
      << refused.message();
  EXPECT_NE(refused.message().find("--a"), std::string::npos);
  of_bob.clear();
  bob.reset();
  EXPECT_EQ(take_all(adas_other, of_ada), 31);
}

TEST(ResourceBudgetTest, SessionsWithoutAUserAreOthersToEachOther) {
  const auto budget = budget_of({.unit = "bytes", .all = 100});
  const auto first = budget->open("", UINT64_MAX);
  Reservations of_first;
  EXPECT_EQ(take_all(first, of_first), 100);
  of_first.clear();
  const auto second = budget->open("", UINT64_MAX);
  EXPECT_EQ(take_all(first, of_first), 75);
}

TEST(ResourceBudgetTest, SomethingIsAlwaysLeftForTheNextUser) {
  const auto budget =
      budget_of({.unit = "threads", .all = 1000, .sharing = Resource::Sharing::always});
  std::vector<std::shared_ptr<ResourceAccount>> users;
  Reservations held;
  // Also those without a proven user.
  for (const std::string name : {"ada", "bob", "", "", "eve"}) {
    users.push_back(budget->open(name, UINT64_MAX));
    EXPECT_GT(take_all(users.back(), held), 0) << name;
  }
  EXPECT_LT(held.size(), 1000u);
}

TEST(ResourceBudgetTest, ImpossibleAmountsAreRefused) {
  const auto budget = budget_of({.unit = "bytes", .all = 1000});
  const auto ada = budget->open("ada", UINT64_MAX);
  const auto bob = budget->open("bob", UINT64_MAX);
  const auto some = require(ResourceAccount::reserve(ada, 10));
  for (const std::uint64_t amount : {UINT64_MAX, UINT64_MAX - 9, std::uint64_t{1} << 62}) {
    EXPECT_EQ(ResourceAccount::reserve(ada, amount).status().code(), Code::out_of_memory);
    EXPECT_GT(ada->missing_share(amount), 0u);
  }
  EXPECT_EQ(ada->used(), 10u);
}

TEST(ResourceBudgetTest, CountsOfManyThreadsComeOutEven) {
  const auto budget = budget_of({.unit = "bytes", .all = 1000});
  const auto ada = budget->open("ada", UINT64_MAX);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 5000; ++k) {
        const auto mine = budget->open(k % 2 == 0 ? "ada" : "", UINT64_MAX);
        (void)ResourceAccount::reserve(mine, 7);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ada->room(), UINT64_MAX);
  EXPECT_TRUE(ResourceAccount::reserve(ada, 1000).ok());
}

// --- sessions ------------------------------------------------------------------------------------

// A daemon that knows two users: the test's own over a Unix socket, and nobody over TCP.
class UserLimitsTest : public testing::Test {
 protected:
  void serve(const daemon::SessionLimits& limits) {
    server_ = require(daemon::Server::create(
        {.listen = {"unix:" + folder_.file("socket"), "127.0.0.1:0"}, .session = limits},
        one(require(null::create({.memory_bytes = kMemoryBytes})))));
  }
  std::string address(Transport transport) const {
    return server_->addresses()[transport == Transport::shm ? 0 : 1];
  }
  std::unique_ptr<RawClient> connect(Transport transport) const {
    auto client = std::make_unique<RawClient>(address(transport));
    client->shake_hands();
    client->command(Opcode::create_queue, kQueue);
    return client;
  }

  static wire::Outcome have(RawClient& client, std::uint64_t id, std::uint64_t bytes) {
    client.command(Opcode::allocate, {}, wire::Allocate{BufferId{id}, bytes});
    client.command(Opcode::write, kQueue, wire::Write{BufferId{id}, line(8)}, Bytes(8));
    return client.synchronize(kQueue);
  }
  static void expect_refused(const wire::Outcome& outcome, const std::string& words) {
    EXPECT_EQ(outcome.code, Code::out_of_memory);
    EXPECT_NE(outcome.message.find(words), std::string::npos) << outcome.message;
  }

 private:
  const TemporaryFolder folder_;
  std::unique_ptr<daemon::Server> server_;
};

TEST_F(UserLimitsTest, TheSessionsOfAUserShareTheDevicesMemory) {
  serve({.user_memory_bytes = 100 * kPage});
  const auto first = connect(Transport::shm);
  const auto second = connect(Transport::shm);
  EXPECT_EQ(have(*first, 1, 60 * kPage).code, Code::ok);
  EXPECT_EQ(have(*second, 1, 40 * kPage).code, Code::ok);
  expect_refused(have(*second, 2, 8),
                 "(409600 of its 409600 are in use); free some or raise "
                 "--user-memory");
  first->command(Opcode::free, {}, wire::Free{BufferId{1}});
  EXPECT_EQ(first->synchronize(kQueue).code, Code::ok);
  EXPECT_EQ(have(*second, 3, 8).code, Code::ok);
  // Each client over TCP is a user of its own.
  for (int i = 0; i < 2; ++i) {
    const auto other = connect(Transport::tcp);
    EXPECT_EQ(have(*other, 1, 80 * kPage).code, Code::ok);
  }
}

TEST_F(UserLimitsTest, ASessionIsJoinedByItsUserAlone) {
  serve({});
  wire::Hello hello;
  RawClient first(address(Transport::shm));
  hello.join = first.shake_hands().token;
  RawClient second(address(Transport::shm));
  EXPECT_EQ(second.shake_hands(hello).token, hello.join);
  RawClient stranger(address(Transport::tcp));
  stranger.hello(hello);
  const Received refused = stranger.receive();
  ASSERT_EQ(refused.opcode(), Opcode::refused);
  EXPECT_EQ(refused.as<wire::Refused>().code, Code::denied);
}

TEST_F(UserLimitsTest, AUserAloneMayUseTheWholeDevice) {
  serve({});
  const auto first = connect(Transport::shm);
  const auto second = connect(Transport::shm);
  EXPECT_EQ(have(*first, 1, kMemoryBytes / 2).code, Code::ok);
  EXPECT_EQ(have(*second, 1, kMemoryBytes / 2).code, Code::ok);
}

TEST_F(UserLimitsTest, ManySessionsOfAUserLeaveAPartForAnother) {
  serve({});
  const auto other = connect(Transport::tcp);
  std::vector<std::unique_ptr<RawClient>> greedy;
  std::uint64_t got = 0;
  for (int i = 0; i < 8; ++i) {
    greedy.push_back(connect(Transport::shm));
    for (std::uint64_t id = 1; have(*greedy.back(), id, 8 * kPage).code == Code::ok; ++id) ++got;
    // A session with an unanswered command does not end as idle.
    greedy.back()->command(Opcode::write, kQueue, wire::Write{BufferId{1}, line(8)}, Bytes(8));
  }
  EXPECT_EQ(got, kMemoryBytes / kPage / 8 * 3 / 4);
  expect_refused(have(*greedy.front(), 99, 8 * kPage), "a part is kept for others");
  EXPECT_EQ(have(*other, 1, 32 * kPage).code, Code::ok);
}

TEST_F(UserLimitsTest, AUserWhoHasLeftNoLongerCounts) {
  serve({});
  auto other = connect(Transport::tcp);
  const auto greedy = connect(Transport::shm);
  EXPECT_EQ(have(*greedy, 1, kMemoryBytes / 2).code, Code::ok);
  expect_refused(have(*greedy, 2, kMemoryBytes / 2), "a part is kept for others");
  other.reset();
  std::uint64_t id = 3;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (have(*greedy, id, kMemoryBytes / 2).code != Code::ok) {
    ASSERT_LT(std::chrono::steady_clock::now(), until);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ++id;
  }
}

// Buffers of eight bytes take pages.
TEST_F(UserLimitsTest, SmallBuffersLeaveAPartForAnother) {
  serve({});
  const auto other = connect(Transport::tcp);
  const auto greedy = connect(Transport::shm);
  std::uint64_t got = 0;
  while (got < 256 && have(*greedy, got + 1, 8).code == Code::ok) ++got;
  EXPECT_EQ(got, 192u);
  EXPECT_EQ(have(*other, 1, 32 * kPage).code, Code::ok);
}

// Its end leaves enough, and the user alone.
TEST_F(UserLimitsTest, AnIdleSessionOfAnotherEndsForALargeCall) {
  serve({});
  const auto first = connect(Transport::shm);
  EXPECT_EQ(have(*first, 1, 64 * kPage).code, Code::ok);
  const auto idle = connect(Transport::tcp);
  EXPECT_EQ(have(*idle, 1, 96 * kPage).code, Code::ok);
  std::this_thread::sleep_for(std::chrono::milliseconds(700));  // then it counts as idle
  const auto second = connect(Transport::shm);
  EXPECT_EQ(first->synchronize(kQueue).code, Code::ok);
  EXPECT_EQ(have(*second, 1, 96 * kPage).code, Code::ok);
  EXPECT_FALSE(idle->receive().end.ok());
  EXPECT_EQ(first->synchronize(kQueue).code, Code::ok);
}

TEST_F(UserLimitsTest, TheSessionsOfAUserShareMemoryOfTheHost) {
  serve({.user_host_memory_bytes = 5 << 19});  // two queues and a half
  const auto first = connect(Transport::shm);
  const auto second = connect(Transport::shm);
  EXPECT_EQ(first->synchronize(kQueue).code, Code::ok);
  EXPECT_EQ(second->synchronize(kQueue).code, Code::ok);
  const auto third = connect(Transport::shm);
  const Received refused = third->answer();
  ASSERT_EQ(refused.opcode(), Opcode::failed);
  EXPECT_NE(refused.as<wire::Outcome>().message.find("--user-host-memory"), std::string::npos)
      << refused.as<wire::Outcome>().message;
  const auto other = connect(Transport::tcp);
  EXPECT_EQ(other->synchronize(kQueue).code, Code::ok);
}

// 65536 of them would be few bytes on the device, and many in the daemon's tables.
TEST_F(UserLimitsTest, EntriesOfTablesCountAsMemoryOfTheHost) {
  serve({.host_memory_bytes = 5 << 19});
  const auto client = connect(Transport::tcp);
  for (std::uint64_t id = 1; id <= 2000; ++id) {
    client->command(Opcode::record, kQueue, wire::Record{EventId{id}});
  }
  const wire::Outcome outcome = client->synchronize(kQueue);
  EXPECT_EQ(outcome.code, Code::denied);
  EXPECT_NE(outcome.message.find("--session-host-memory"), std::string::npos) << outcome.message;
}

// --- threads and plans ---------------------------------------------------------------------------

// A session whose user may have few threads and plans.
class FewTest : public testing::Test {
 protected:
  static std::shared_ptr<ResourceAccount> account(const char* unit, std::uint64_t most) {
    return budget_of({.unit = unit, .all = most})->open("ada", UINT64_MAX);
  }

  std::unique_ptr<Device> device = null_device();
  daemon::PlanCache plans{*device};
  daemon::MemoryShare share{1 << 28};
  daemon::Session session{{*device, plans, share},
                          {1, 2},
                          UserId{1},
                          {account("bytes", 1 << 28), account("bytes", 1 << 28),
                           account("threads", 2), account("plans", 2)}};
};

TEST_F(FewTest, AQueueTakesAThread) {
  EXPECT_TRUE(session.create_queue(QueueId{1}, this).ok());
  EXPECT_TRUE(session.create_queue(QueueId{2}, this).ok());
  const Status refused = session.create_queue(QueueId{3}, this);
  EXPECT_EQ(refused.code(), Code::denied);
  EXPECT_NE(refused.message().find("threads"), std::string::npos) << refused.message();
  EXPECT_TRUE(session.destroy_queue(QueueId{1}, this).ok());
  EXPECT_TRUE(session.create_queue(QueueId{3}, this).ok());
}

TEST_F(FewTest, ReadsThroughTheHostTakeAThread) {
  EXPECT_TRUE(session.create_queue(QueueId{1}, this).ok());
  EXPECT_TRUE(session.transfers(*session.queue(QueueId{1})).ok());
  EXPECT_EQ(session.create_queue(QueueId{2}, this).code(), Code::denied);
}

TEST_F(FewTest, PlansAreCounted) {
  const auto plan = [](std::uint64_t points) { return FftPlan{.rank = 1, .n = {points}}; };
  EXPECT_TRUE(session.make_plan(PlanId{1}, plan(8)).ok());
  EXPECT_TRUE(session.make_plan(PlanId{2}, plan(16)).ok());
  EXPECT_TRUE(session.make_plan(PlanId{3}, plan(32)).ok());  // and sticks to the plan
  EXPECT_EQ(session.plan(PlanId{3}).status().code(), Code::out_of_memory);
  session.destroy_plan(PlanId{1});
  EXPECT_TRUE(session.make_plan(PlanId{4}, plan(32)).ok());
  EXPECT_TRUE(session.plan(PlanId{4}).ok());
}

TEST_F(FewTest, ALinkTakesAThread) {
  const auto add = [&](std::uint64_t id) {
    return session.peers().add(PeerId{id}, std::make_unique<UnusedTransport>());
  };
  EXPECT_TRUE(add(1).ok());
  EXPECT_TRUE(add(2).ok());
  EXPECT_EQ(add(3).code(), Code::out_of_memory);
  session.peers().remove(PeerId{1});
  EXPECT_TRUE(add(3).ok());
}

}  // namespace
}  // namespace ob::test
