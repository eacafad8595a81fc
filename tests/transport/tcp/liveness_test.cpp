// A peer whose machine falls silent, and a peer that is only busy. The silent machine is a network
// namespace whose interface goes down.

#include "support/own_network.hpp"
#include "transport/link.hpp"

namespace ob::transport::test {
namespace {

using ob::test::kNoNetwork;
using ob::test::run_in_own_network;
using ob::test::set_loopback;

TEST(Liveness, AnUnreachablePeerIsNoticedByASender) {
  const int outcome = run_in_own_network([] {
    Link link(Kind::tcp);
    if (!set_loopback(false)) return kNoNetwork;
    if (!send_all(*link.client, bytes_of("anybody there?")).ok()) return 2;
    return link.client->wait(true, false, test_deadline()).code() == Code::connection_lost ? 0 : 1;
  });
  if (outcome == kNoNetwork) GTEST_SKIP() << "no network namespaces here";
  EXPECT_EQ(outcome, 0);
}

TEST(Liveness, AnUnreachablePeerIsNoticedOnAnIdleConnection) {
  const int outcome = run_in_own_network([] {
    Link link(Kind::tcp);
    if (!set_loopback(false)) return kNoNetwork;
    std::byte byte{};
    return receive_all(*link.client, {&byte, 1}).code() == Code::connection_lost ? 0 : 1;
  });
  if (outcome == kNoNetwork) GTEST_SKIP() << "no network namespaces here";
  EXPECT_EQ(outcome, 0);
}

TEST(Liveness, APeerThatIsTooBusyToReceiveIsNotGivenUp) {
  Link link(Kind::tcp);
  const std::vector<std::byte> text(1 << 20, std::byte{5});
  std::size_t sent = 0;
  Status status;
  const Deadline busy_until =
      Clock::now() + std::chrono::seconds(9);  // much longer than the limit for a silent peer
  while (status.ok()) {
    auto accepted = try_send(*link.client, text);
    ASSERT_TRUE(accepted.ok()) << accepted.status().message();
    sent += *accepted;
    if (*accepted == 0) status = link.client->wait(false, true, busy_until);
  }
  EXPECT_EQ(status.code(), Code::deadline_exceeded) << status.message();
  std::vector<std::byte> received(sent);
  EXPECT_TRUE(receive_all(*link.server, received).ok());
  EXPECT_TRUE(talks(*link.client, *link.server));
}

}  // namespace
}  // namespace ob::transport::test
