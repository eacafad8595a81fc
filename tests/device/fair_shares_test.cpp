// Shares of leases, users and sessions in turns that a single thread gives, with random lengths.

#include "device/fair_shares.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "support/random.hpp"

namespace ob {
namespace {

using ob::test::uniform;
using std::chrono::nanoseconds;

Account account(std::uint64_t lease, std::uint32_t share, std::uint64_t user = 1,
                std::uint64_t session = 1) {
  return {UserId{user}, SessionId{session}, {LeaseId{lease}, share}};
}

// A client that computes whenever it is its turn, while it has work.
struct Client {
  Account account;
  nanoseconds longest_turn;
  nanoseconds served{0};
  std::optional<FairShares::Claim> claim{};
};

// Gives one turn to the client that is next. Clients with work always wait for a turn.
class Device {
 public:
  explicit Device(std::mt19937_64& random) : random_(random) {}

  void work(Client& client) {
    if (!client.claim) client.claim = shares_.enter(client.account);
  }

  Client& give_turn(std::vector<Client>& clients) {
    Client* next = nullptr;
    for (Client& client : clients) {
      if (!client.claim) continue;
      if (next == nullptr || client.claim->served() < next->claim->served()) next = &client;
    }
    shares_.begin(*next->claim);
    const nanoseconds took(uniform<std::int64_t>(random_, 1, next->longest_turn.count()));
    shares_.leave(*next->claim, took);
    next->claim.reset();
    next->served += took;
    return *next;
  }

  void run(std::vector<Client>& clients, int turns) {
    for (Client& client : clients) work(client);
    for (int i = 0; i < turns; ++i) work(give_turn(clients));
  }

 private:
  std::mt19937_64& random_;
  FairShares shares_;
};

double per_share(const Client& client) {
  return static_cast<double>(client.served.count()) * LeaseWeight::kWhole /
         client.account.weight.share;
}

double longest_per_share(const Client& client) {
  return static_cast<double>(client.longest_turn.count()) * LeaseWeight::kWhole /
         client.account.weight.share;
}

// Goyal, Vin, Cheng 1996, theorem 1: the difference between two busy leases, each divided by its
// share, is at most one turn of each, divided likewise. The division of times rounds to whole ns.
TEST(FairShares, LeasesGetTimesInProportionToTheirShares) {
  auto random = ob::test::fresh_random();
  for (int round = 0; round < 200; ++round) {
    std::vector<Client> clients;
    for (std::uint64_t lease = 1; lease <= uniform<std::uint64_t>(random, 2, 5); ++lease) {
      clients.push_back({account(lease, uniform<std::uint32_t>(random, 1, 1000)),
                         nanoseconds(uniform<std::int64_t>(random, 1, 1'000'000'000))});
    }
    Device device(random);
    constexpr int kTurns = 2000;
    device.run(clients, kTurns);
    for (const Client& one : clients) {
      for (const Client& other : clients) {
        EXPECT_LE(per_share(one) - per_share(other),
                  longest_per_share(one) + longest_per_share(other) + kTurns)
            << one.account.weight.share << " beside " << other.account.weight.share;
      }
    }
  }
}

TEST(FairShares, AFourthGetsAFourth) {
  auto random = ob::test::fresh_random();
  std::vector<Client> clients{{account(1, 250), nanoseconds(1000)},
                              {account(2, 750), nanoseconds(70'000)}};
  Device device(random);
  device.run(clients, 100'000);
  const double all = static_cast<double>((clients[0].served + clients[1].served).count());
  EXPECT_NEAR(static_cast<double>(clients[0].served.count()) / all, 0.25, 0.001);
}

TEST(FairShares, SessionsOfALeaseShareItsTime) {
  auto random = ob::test::fresh_random();
  std::vector<Client> clients{{account(7, 1000, 1), nanoseconds(5000)}};
  for (std::uint64_t session = 1; session <= 8; ++session) {
    clients.push_back({account(8, 1000, 2, session), nanoseconds(500 * session)});
  }
  Device device(random);
  device.run(clients, 200'000);
  nanoseconds of_eight{0};
  for (std::size_t i = 1; i < clients.size(); ++i) of_eight += clients[i].served;
  const auto all = static_cast<double>((of_eight + clients[0].served).count());
  EXPECT_NEAR(static_cast<double>(of_eight.count()) / all, 0.5, 0.001);
  for (std::size_t i = 1; i < clients.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(clients[i].served.count()) / all, 0.5 / 8, 0.001) << i;
  }
}

TEST(FairShares, ClientsWithoutALeaseAreAsOne) {
  auto random = ob::test::fresh_random();
  std::vector<Client> clients{{account(0, 1000, 1), nanoseconds(1000)},
                              {account(0, 1000, 2), nanoseconds(3000)},
                              {account(0, 1000, 3, 1), nanoseconds(1000)},
                              {account(0, 1000, 3, 2), nanoseconds(1000)}};
  Device device(random);
  device.run(clients, 200'000);
  const auto third = static_cast<double>(clients[0].served.count());
  EXPECT_NEAR(static_cast<double>(clients[1].served.count()), third, 0.01 * third);
  EXPECT_NEAR(static_cast<double>(clients[2].served.count()), third / 2, 0.01 * third);
  EXPECT_NEAR(static_cast<double>(clients[3].served.count()), third / 2, 0.01 * third);
}

// A small share alone computes all the time, and pays nothing for it when others come.
TEST(FairShares, ALeaseThatWasAloneOrAwayIsLevelWithOthers) {
  auto random = ob::test::fresh_random();
  std::vector<Client> clients{{account(1, 10), nanoseconds(1000)},
                              {account(2, 990), nanoseconds(1000)}};
  Device device(random);
  device.work(clients[0]);
  for (int i = 0; i < 1000; ++i) device.work(device.give_turn(clients));
  EXPECT_EQ(clients[1].served, nanoseconds(0));
  clients[0].served = nanoseconds(0);
  device.run(clients, 100'000);
  const double all = static_cast<double>((clients[0].served + clients[1].served).count());
  EXPECT_NEAR(static_cast<double>(clients[0].served.count()) / all, 0.01, 0.001);
}

// Random clients come and go. Nobody who waits is passed by one of the same share for longer than
// one turn of each.
TEST(FairShares, NobodyStarvesWhileOthersComeAndGo) {
  auto random = ob::test::fresh_random();
  std::vector<Client> clients;
  for (std::uint64_t lease = 1; lease <= 6; ++lease) {
    clients.push_back({account(lease, lease % 2 == 0 ? 100 : 400), nanoseconds(1000)});
  }
  Device device(random);
  std::map<const Client*, int> waits;  // turns of others since it asked
  for (int turn = 0; turn < 50'000; ++turn) {
    for (Client& client : clients) {
      if (uniform(random, 0, 2) == 0) device.work(client);
    }
    const auto waiting = std::any_of(clients.begin(), clients.end(),
                                     [](const Client& client) { return client.claim.has_value(); });
    if (!waiting) continue;
    const Client* const served = &device.give_turn(clients);
    for (Client& client : clients) {
      waits[&client] = client.claim && &client != served ? waits[&client] + 1 : 0;
      // Turns take at least 1 ns, so their number is bounded by the lengths: here mostly equal
      // ones.
      EXPECT_LT(waits[&client], 200);
    }
  }
}

TEST(FairShares, ForgetsIdleLeases) {
  auto random = ob::test::fresh_random();
  Device device(random);
  std::vector<Client> busy{{account(1, 500), nanoseconds(1000)}};
  device.work(busy[0]);
  for (std::uint64_t lease = 2; lease < 5000; ++lease) {
    std::vector<Client> passing{{account(lease, 500), nanoseconds(10)}};
    device.work(passing[0]);
    device.give_turn(passing);
  }
  device.give_turn(busy);  // its claim is still good
  EXPECT_GT(busy[0].served, nanoseconds(0));
}

TEST(FairShares, AnAccountIsNamedByUserAndSession) {
  EXPECT_EQ(account(1, 250), account(2, 750));
  EXPECT_NE(account(1, 250, 1, 1), account(1, 250, 1, 2));
  EXPECT_LT(account(9, 1, 1, 9), account(1, 1, 2, 1));
}

}  // namespace
}  // namespace ob
