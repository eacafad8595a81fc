// Lists of revoked members: the handshakes that they refuse, and lists that cannot be used.

#include "transport/tls/revocations.hpp"

#include <filesystem>
#include <string>

#include "support/key_folder.hpp"
#include "transport/tls/secure_link.hpp"

namespace ob::transport::test {
namespace {

using ob::test::KeyFolder;

std::shared_ptr<const Security> key_in(const KeyFolder& folder, Side side) {
  return require(load_key(folder.path(), side, false));
}

void expect_refused(const SecureLink& link, const std::string& words) {
  EXPECT_FALSE(link.client_said.ok());
  EXPECT_FALSE(link.server_said.ok());
  const std::string said = link.client_said.message() + "\n" + link.server_said.message();
  EXPECT_NE(said.find(words), std::string::npos) << said;
}

TEST(Revocations, ARevokedClientIsRefusedAndToldSo) {
  const KeyFolder folder(OB_TEST_KEYS);
  folder.put("client");
  const SecureLink link({key("good", Side::client), key_in(folder, Side::daemon)});
  EXPECT_EQ(link.client_said.code(), Code::denied) << link.client_said.message();
  EXPECT_NE(link.client_said.message().find("revoked"), std::string::npos)
      << link.client_said.message();
  EXPECT_EQ(link.server_said.code(), Code::denied) << link.server_said.message();
  EXPECT_NE(link.server_said.message().find("is revoked"), std::string::npos)
      << link.server_said.message();
  const SecureLink other({key("other", Side::client), key_in(folder, Side::daemon)});
  EXPECT_TRUE(other.client_said.ok()) << other.client_said.message();
  const SecureLink peer({key("good", Side::daemon), key_in(folder, Side::daemon)});
  EXPECT_TRUE(peer.client_said.ok()) << peer.client_said.message();
}

TEST(Revocations, AClientWithAListRefusesARevokedDaemon) {
  const KeyFolder folder(OB_TEST_KEYS);
  const auto client = key_in(folder, Side::client);
  const auto daemon = key("good", Side::daemon);
  const SecureLink before({client, daemon});
  EXPECT_TRUE(before.client_said.ok()) << before.client_said.message();
  folder.put("daemon");  // the next connection reads it
  const SecureLink after({client, daemon});
  EXPECT_EQ(after.client_said.code(), Code::denied) << after.client_said.message();
  EXPECT_NE(after.client_said.message().find("is revoked"), std::string::npos)
      << after.client_said.message();
  EXPECT_FALSE(after.server_said.ok());
}

TEST(Revocations, ANewListTellsWhichOpenConnectionsMustEnd) {
  const KeyFolder folder(OB_TEST_KEYS);
  const auto daemon = key_in(folder, Side::daemon);
  EXPECT_FALSE(require(daemon->reload_revocations()));  // there is no list
  const SecureLink link({key("good", Side::client), daemon});
  const SecureLink other({key("other", Side::client), daemon});
  ASSERT_TRUE(link.client_said.ok()) << link.client_said.message();
  ASSERT_TRUE(other.client_said.ok()) << other.client_said.message();
  EXPECT_FALSE(link.server->revoked());
  folder.put("client");
  EXPECT_FALSE(link.server->revoked());
  EXPECT_TRUE(require(daemon->reload_revocations()));
  EXPECT_FALSE(require(daemon->reload_revocations()));
  EXPECT_TRUE(link.server->revoked());
  EXPECT_FALSE(other.server->revoked());
  EXPECT_FALSE(link.client->revoked());  // this side has no list
  expect_refused(SecureLink({key("good", Side::client), daemon}), "is revoked");
}

// A list that is being copied, a wrong one, an old one and none at all admit nobody again.
TEST(Revocations, AnUnusableListLeavesTheOneInForce) {
  const KeyFolder folder(OB_TEST_KEYS);
  folder.put("client");
  const auto daemon = key_in(folder, Side::daemon);
  for (const char* name : {"garbage", "half", "empty", "stranger", "nobody", "(none)"}) {
    name == std::string("(none)") ? folder.remove_list() : folder.put(name);
    const auto reloaded = daemon->reload_revocations();
    EXPECT_FALSE(reloaded.ok()) << name;
    EXPECT_NE(reloaded.status().message().find("pool.crl"), std::string::npos)
        << reloaded.status().message();
    EXPECT_FALSE(require(daemon->reload_revocations())) << name << " is reported once";
    expect_refused(SecureLink({key("good", Side::client), daemon}), "is revoked");
    const SecureLink other({key("other", Side::client), daemon});
    EXPECT_TRUE(other.client_said.ok()) << name << other.client_said.message();
  }
  folder.put("daemon");  // of the same number as the list in force
  EXPECT_TRUE(require(daemon->reload_revocations()));
  const SecureLink link({key("good", Side::client), daemon});
  EXPECT_TRUE(link.client_said.ok()) << link.client_said.message();
}

TEST(Revocations, AnUnusableListIsNoKey) {
  for (const char* name : {"garbage", "half", "empty", "stranger"}) {
    const KeyFolder folder(OB_TEST_KEYS);
    folder.put(name);
    for (const Side side : {Side::client, Side::daemon}) {
      const Status status = load_key(folder.path(), side, false).status();
      EXPECT_EQ(status.code(), Code::invalid_argument) << name << status.message();
      EXPECT_NE(status.message().find("pool.crl"), std::string::npos) << status.message();
    }
  }
  const KeyFolder folder(OB_TEST_KEYS);
  std::filesystem::create_directory(folder.list());
  EXPECT_EQ(load_key(folder.path(), Side::daemon, false).status().code(), Code::unavailable);
}

TEST(Revocations, AnExpiredListAdmitsNobody) {
  const KeyFolder folder(OB_TEST_KEYS);
  folder.put("expired");
  const SecureLink link({key("good", Side::client), key_in(folder, Side::daemon)});
  expect_refused(link, "newer list");
  EXPECT_EQ(link.server_said.code(), Code::denied) << link.server_said.message();
}

}  // namespace
}  // namespace ob::transport::test
