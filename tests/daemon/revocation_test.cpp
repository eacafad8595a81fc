// A daemon ends the connections of members that are revoked while it runs.

#include <csignal>

#include "support/in_process_daemon.hpp"
#include "support/key_folder.hpp"
#include "support/raw_client.hpp"
#include "transport/security.hpp"

namespace ob::test {
namespace {

using transport::Side;

class RevocationTest : public testing::Test {
 protected:
  RevocationTest() {
    daemon::ServerConfig config;
    config.security = require(transport::load_key(folder.path(), Side::daemon, false));
    daemon =
        std::make_unique<InProcessDaemon>(Transport::tcp, one(null_device()), std::move(config));
  }

  // Connects with this key; the session is open.
  std::unique_ptr<RawClient> client(const std::string& name) {
    const auto key =
        require(transport::load_key(std::string(OB_TEST_KEYS) + "/" + name, Side::client, false));
    auto made = std::make_unique<RawClient>(
        require(transport::connect(daemon->address(), RawClient::deadline(), key.get())));
    (void)made->shake_hands();
    return made;
  }

  KeyFolder folder{OB_TEST_KEYS};
  std::unique_ptr<InProcessDaemon> daemon;
};

void expect_lives(RawClient& client) {
  const std::uint64_t asked = client.command(wire::Opcode::ping);
  const Received answer = client.answer();
  ASSERT_TRUE(answer.end.ok()) << answer.end.message();
  EXPECT_EQ(answer.opcode(), wire::Opcode::pong);
  EXPECT_EQ(answer.header.sequence, asked);
}

TEST_F(RevocationTest, ANewListEndsTheConnectionsOfTheRevokedOnly) {
  const auto ada = client("good");
  const auto ada_again = client("good");
  const auto bob = client("other");
  folder.put("client");
  daemon->server().reload_revocations();
  EXPECT_EQ(ada->answer().end.code(), Code::connection_lost);
  EXPECT_EQ(ada_again->answer().end.code(), Code::connection_lost);
  expect_lives(*bob);
}

TEST_F(RevocationTest, TheDaemonNoticesANewListItself) {
  const auto ada = client("good");
  const auto bob = client("other");
  expect_lives(*ada);
  folder.put("client");
  EXPECT_EQ(ada->answer().end.code(), Code::connection_lost);  // within RawClient::deadline()
  expect_lives(*bob);
}

TEST_F(RevocationTest, AnUnusableListEndsNothing) {
  const auto ada = client("good");
  for (const char* name : {"nobody", "garbage", "stranger", "expired"}) {
    folder.put(name);
    daemon->server().reload_revocations();
    expect_lives(*ada);
  }
}

}  // namespace
}  // namespace ob::test
