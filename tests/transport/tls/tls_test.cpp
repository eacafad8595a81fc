// Streams inside TLS: they work like other streams, and refuse everybody without a valid key.

#include <cstdlib>
#include <thread>

#include "support/random.hpp"
#include "transport/tls/openssl.hpp"
#include "transport/tls/secure_link.hpp"
#include "transport/tls/stream.hpp"

namespace ob::transport::test {
namespace {

std::vector<std::byte> random_bytes(std::mt19937_64& random, std::size_t size_bytes) {
  std::vector<std::byte> bytes(size_bytes);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

// Sends random parts, several in one call.
Status send_in_parts(Stream& stream, std::span<const std::byte> bytes, std::mt19937_64& random) {
  while (!bytes.empty()) {
    std::vector<iovec> parts;
    std::size_t offered = 0;
    for (int i = 0; i < 20 && offered < bytes.size(); ++i) {
      const std::size_t most = i % 3 == 0 ? 200'000 : 700;
      const std::size_t size =
          std::min(bytes.size() - offered, ob::test::uniform<std::size_t>(random, 0, most));
      parts.push_back(part(bytes.subspan(offered, size)));
      offered += size;
    }
    for (std::size_t taken = 0; taken < offered;) {
      std::vector<iovec> rest = parts;
      std::size_t skip = taken;
      for (iovec& one : rest) {
        const std::size_t count = std::min(skip, one.iov_len);
        one = {static_cast<std::byte*>(one.iov_base) + count, one.iov_len - count};
        skip -= count;
      }
      OB_ASSIGN_OR_RETURN(const std::size_t sent, stream.try_send(rest));
      if (sent == 0) OB_RETURN_IF_ERROR(stream.wait(false, true, test_deadline()));
      taken += sent;
    }
    bytes = bytes.subspan(offered);
  }
  return {};
}

void expect_both_ways(Stream& a, Stream& b, std::size_t size_bytes) {
  auto random = ob::test::fresh_random();
  const auto up = random_bytes(random, size_bytes);
  const auto down = random_bytes(random, size_bytes);
  std::vector<std::byte> heard_up(size_bytes, std::byte{0xA5});
  std::vector<std::byte> heard_down(size_bytes, std::byte{0xA5});
  const std::uint64_t seeds[] = {random(), random()};
  Status said[4];
  std::thread threads[] = {
      std::thread([&] {
        std::mt19937_64 own(seeds[0]);
        said[0] = send_in_parts(a, up, own);
      }),
      std::thread([&] { said[1] = receive_all(b, heard_up); }),
      std::thread([&] {
        std::mt19937_64 own(seeds[1]);
        said[2] = send_in_parts(b, down, own);
      }),
      std::thread([&] { said[3] = receive_all(a, heard_down); }),
  };
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : said) EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(heard_up == up);
  EXPECT_TRUE(heard_down == down);
}

TEST(Tls, CarriesBytesBothWaysAtOnce) {
  SecureLink link;
  ASSERT_TRUE(link.client_said.ok()) << link.client_said.message();
  ASSERT_TRUE(link.server_said.ok()) << link.server_said.message();
  expect_both_ways(*link.client, *link.server, 20 << 20);
}

TEST(Tls, CarriesThemInTheClearIfBothAgree) {
  for (const bool daemon_agrees : {false, true}) {
    SecureLink link({key("good", Side::client, true), key("good", Side::daemon, daemon_agrees)});
    ASSERT_TRUE(link.client_said.ok()) << link.client_said.message();
    expect_both_ways(*link.client, *link.server, 5 << 20);
  }
}

// A daemon with a silent client must not use up a core, and a waiting side must keep its deadline.
TEST(Tls, WaitersSleepUntilBytesCome) {
  for (const bool plain : {false, true}) {
    SecureLink link({key("good", Side::client, plain), key("good", Side::daemon, plain)});
    ASSERT_TRUE(link.client_said.ok()) << link.client_said.message();
    for (Stream* end : {link.client.get(), link.server.get()}) {
      std::byte byte{};
      const iovec room{&byte, 1};
      EXPECT_EQ(require(end->try_receive({&room, 1})), 0U);
      const Status said = end->wait(true, false, Clock::now() + std::chrono::milliseconds(20));
      EXPECT_EQ(said.code(), Code::deadline_exceeded) << (plain ? "plain" : "encrypted");
    }
  }
}

TEST(Tls, NamesTheProvenPeer) {
  SecureLink link;
  ASSERT_TRUE(link.server_said.ok()) << link.server_said.message();
  EXPECT_NE(link.server->peer().find("(client of good)"), std::string::npos) << link.server->peer();
  EXPECT_NE(link.client->peer().find("(daemon of good)"), std::string::npos) << link.client->peer();
  EXPECT_EQ(link.server->user(), "certificate client of good");
}

TEST(Tls, WhatTravelsCannotBeRead) {
  const Ends ends;
  Link below(Kind::tcp);
  Link beyond(Kind::tcp);
  // This relay passes on all bytes that the client sends, and records them.
  std::vector<std::byte> overheard;
  std::thread relay([&] {
    std::vector<std::byte> some(1 << 16);
    for (;;) {
      bool any = false;
      for (const auto& [from, to, listens] :
           {std::tuple{below.server.get(), beyond.client.get(), true},
            std::tuple{beyond.client.get(), below.server.get(), false}}) {
        const auto received = try_receive(*from, some);
        if (!received.ok()) return;
        if (*received > 0 && !send_all(*to, std::span(some).first(*received)).ok()) return;
        if (listens)
          overheard.insert(overheard.end(), some.begin(),
                           some.begin() + static_cast<std::ptrdiff_t>(*received));
        any = any || *received > 0;
      }
      if (!any) std::this_thread::yield();
    }
  });
  auto server = require(ends.daemon->accept_over(std::move(beyond.server)));
  const auto secret = bytes_of("the quick brown fox jumps over the lazy dog");
  std::vector<std::byte> heard(secret.size());
  std::thread answering([&] { EXPECT_TRUE(receive_all(*server, heard).ok()); });
  auto client = require(ends.client->connect_over(std::move(below.client), test_deadline()));
  EXPECT_TRUE(send_all(*client, secret).ok());
  answering.join();
  EXPECT_EQ(heard, secret);
  client->shut_down();
  relay.join();
  EXPECT_GT(overheard.size(), secret.size());
  EXPECT_EQ(std::search(overheard.begin(), overheard.end(), secret.begin(), secret.begin() + 8),
            overheard.end());
}

TEST(Tls, WhoIsNotOfThePoolGetsNoStream) {
  for (const char* name :
       {"stranger", "swapped", "expired", "upstart", "no_usage", "any_usage", "code_usage"}) {
    for (const Side side : {Side::client, Side::daemon}) {  // daemons open streams, too
      if (name == std::string("swapped")) continue;         // of the pool in another role
      SecureLink client({key(name, side), key("good", Side::daemon)});
      EXPECT_FALSE(client.client_said.ok()) << name;
      EXPECT_FALSE(client.server_said.ok()) << name;
      EXPECT_FALSE(client.server->from_daemon()) << name;
      EXPECT_TRUE(client.client_said.code() == Code::denied ||  // a stranger trusts nobody here
                  client.server_said.code() == Code::denied)
          << name << client.server_said.message();
    }
    SecureLink daemon({key("good", Side::client), key(name, Side::daemon)});
    EXPECT_EQ(daemon.client_said.code(), Code::denied) << name << daemon.client_said.message();
    EXPECT_FALSE(daemon.server_said.ok()) << name;
  }
}

// A peer is a client or a daemon. TLS does not decide what each of them may ask for.
TEST(Tls, WhoOpensAStreamIsAClientOrADaemonAndTheOtherSideKnowsWhich) {
  for (const bool plain : {false, true}) {
    for (const Side side : {Side::client, Side::daemon}) {
      const bool is_daemon = side == Side::daemon;
      SecureLink link({key("good", side, plain), key("good", Side::daemon, plain)});
      ASSERT_TRUE(link.client_said.ok()) << link.client_said.message();
      ASSERT_TRUE(link.server_said.ok()) << link.server_said.message();
      EXPECT_EQ(link.server->from_daemon(), is_daemon);
      EXPECT_FALSE(link.client->from_daemon());  // this end opened the stream
      const std::string name = is_daemon ? "daemon of good" : "client of good";
      EXPECT_EQ(link.server->user(), "certificate " + name);
      expect_both_ways(*link.client, *link.server, 1 << 20);
    }
  }
}

TEST(Tls, WhatTheCertificateSaysCountsNotWhoseFileItIs) {
  SecureLink client({key("swapped", Side::client), key("good", Side::daemon)});
  ASSERT_TRUE(client.server_said.ok()) << client.server_said.message();
  EXPECT_TRUE(client.server->from_daemon());
  SecureLink daemon({key("swapped", Side::daemon), key("good", Side::daemon)});
  ASSERT_TRUE(daemon.server_said.ok()) << daemon.server_said.message();
  EXPECT_FALSE(daemon.server->from_daemon());
}

TEST(Tls, ADaemonConnectsToDaemonsOnly) {
  SecureLink link({key("good", Side::daemon), key("swapped", Side::daemon)});
  EXPECT_EQ(link.client_said.code(), Code::denied) << link.client_said.message();
  EXPECT_FALSE(link.server_said.ok());
}

TEST(Tls, AClientWithoutAKeyIsToldSoInItsOwnWords) {
  Link link(Kind::tcp);
  auto server = require(key("good", Side::daemon)->accept_over(std::move(link.server)));
  ASSERT_TRUE(send_all(*link.client, bytes_of("\x20 hello of an older protocol")).ok());
  std::vector<std::byte> heard(5);
  const Status refused = receive_all(*server, heard);
  EXPECT_EQ(refused.code(), Code::denied);
  EXPECT_NE(refused.message().find("OUTBOARD_KEY"), std::string::npos) << refused.message();
  ASSERT_TRUE(send_all(*server, bytes_of("sorry")).ok());
  ASSERT_TRUE(receive_all(*link.client, heard).ok());
  EXPECT_EQ(heard, bytes_of("sorry"));
}

TEST(Tls, ADaemonWithoutAKeyIsNotTrusted) {
  Link link(Kind::tcp);
  ASSERT_TRUE(send_all(*link.server, bytes_of("\x20 who are you?")).ok());
  const auto made =
      key("good", Side::client)->connect_over(std::move(link.client), test_deadline());
  EXPECT_EQ(made.status().code(), Code::denied);
  EXPECT_NE(made.status().message().find("without TLS"), std::string::npos);
}

TEST(Tls, AMuteDaemonIsGivenUp) {
  Link link(Kind::tcp);
  const auto made = key("good", Side::client)->connect_over(std::move(link.client), soon());
  EXPECT_EQ(made.status().code(), Code::deadline_exceeded);
}

// --- other TLS programs of the pool --------------------------------------------------------------

struct FreeContext {
  void operator()(SSL_CTX* context) const noexcept { tls::OpenSsl::get().SSL_CTX_free(context); }
};

// A member of the pool that speaks TLS in its own way: with the files of Outboard's key, but with
// other application protocols.
class OtherProgram {
 public:
  explicit OtherProgram(Side side)
      : OtherProgram(side, side == Side::client ? "good/client" : "good/daemon") {}
  // @param member names the files of its key
  OtherProgram(Side side, const std::string& member) : side_(side) {
    const tls::OpenSsl& ssl = tls::OpenSsl::get();
    context_.reset(ssl.SSL_CTX_new(ssl.TLS_method()));
    const std::string own = folder(member);
    EXPECT_EQ(
        ssl.SSL_CTX_use_certificate_file(context_.get(), (own + ".pem").c_str(), SSL_FILETYPE_PEM),
        1);
    EXPECT_EQ(
        ssl.SSL_CTX_use_PrivateKey_file(context_.get(), (own + ".key").c_str(), SSL_FILETYPE_PEM),
        1);
    EXPECT_EQ(ssl.SSL_CTX_load_verify_file(context_.get(), folder("good/pool.pem").c_str()), 1);
    ssl.SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  }

  SSL_CTX* context() const { return context_.get(); }

  // Its end of the connection, which never uses more than the handshake.
  std::unique_ptr<Stream> over(std::unique_ptr<Stream> stream) const {
    const tls::OpenSsl& ssl = tls::OpenSsl::get();
    tls::Session session(ssl.SSL_new(context_.get()));
    if (side_ == Side::client) {
      ssl.SSL_set_connect_state(session.get());
    } else {
      ssl.SSL_set_purpose(session.get(), X509_PURPOSE_ANY);
      ssl.SSL_set_accept_state(session.get());
    }
    return std::make_unique<tls::TlsStream>(std::move(session), std::move(stream), side_);
  }

 private:
  const Side side_;
  std::unique_ptr<SSL_CTX, FreeContext> context_;
};

Status daemon_status_for(const OtherProgram& client) {
  Link link(Kind::tcp);
  auto server = require(key("good", Side::daemon)->accept_over(std::move(link.server)));
  auto theirs = client.over(std::move(link.client));
  std::thread talking([&] {
    const std::byte byte{1};
    (void)send_all(*theirs, {&byte, 1});
    std::byte answer{};
    (void)receive_all(*theirs, {&answer, 1});
  });
  std::byte byte{};
  const Status status = receive_all(*server, {&byte, 1});
  server->shut_down();
  talking.join();
  return status;
}

Status client_status_for(const OtherProgram& daemon) {
  Link link(Kind::tcp);
  auto theirs = daemon.over(std::move(link.server));
  std::thread talking([&] {
    std::byte byte{};
    (void)receive_all(*theirs, {&byte, 1});
  });
  auto made = key("good", Side::client)->connect_over(std::move(link.client), test_deadline());
  const Status status = made.status();
  theirs->shut_down();
  talking.join();
  return status;
}

// A manager selects no protocol, and its name is compared. A daemon that poses as one has another.
TEST(Tls, TheManagerIsKnownByItsName) {
  const auto good = key("good", Side::client);  // opens OpenSSL
  for (const bool is_manager : {true, false}) {
    const OtherProgram member(Side::daemon, is_manager ? "manager/manager" : "managed/daemon");
    Link link(Kind::tcp);
    auto theirs = member.over(std::move(link.server));
    std::thread talking([&] {
      std::byte byte{};
      (void)receive_all(*theirs, {&byte, 1});
    });
    const auto made = good->connect_to_manager(std::move(link.client), test_deadline());
    theirs->shut_down();
    talking.join();
    EXPECT_EQ(made.status().code(), is_manager ? Code::ok : Code::denied)
        << made.status().message();
    if (!is_manager) {
      EXPECT_NE(made.status().message().find("is no manager"), std::string::npos);
    }
  }
}

TEST(Tls, ASideKnowsItsOwnName) {
  EXPECT_EQ(key("good", Side::client)->name(), "client of good");
  EXPECT_EQ(key("good", Side::daemon)->name(), "daemon of good");
}

// Daemons that a manager knows have certificates for both usages. They open no sessions.
TEST(Tls, ADaemonThatAlsoProvesItselfAsAClientIsADaemon) {
  const auto good = key("good", Side::daemon);  // opens OpenSSL
  for (const bool managed : {true, false}) {
    OtherProgram member(Side::client, managed ? "managed/daemon" : "good/client");
    constexpr unsigned char kOurs[] = "\x08outboard";
    tls::OpenSsl::get().SSL_CTX_set_alpn_protos(member.context(), kOurs, sizeof kOurs - 1);
    Link link(Kind::tcp);
    auto server = require(good->accept_over(std::move(link.server)));
    auto theirs = member.over(std::move(link.client));
    std::thread talking([&] {
      const std::byte byte{1};
      (void)send_all(*theirs, {&byte, 1});
    });
    std::byte byte{};
    const Status status = receive_all(*server, {&byte, 1});
    talking.join();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(server->from_daemon(), managed);
  }
}

TEST(Tls, AClientMustNameTheProtocolThatItSpeaks) {
  const auto good = key("good", Side::client);  // opens OpenSSL
  OtherProgram client(Side::client);
  const Status none = daemon_status_for(client);
  EXPECT_EQ(none.code(), Code::denied) << none.message();
  EXPECT_NE(none.message().find("application protocol"), std::string::npos) << none.message();
  constexpr unsigned char kOther[] = "\x08http/1.1";
  tls::OpenSsl::get().SSL_CTX_set_alpn_protos(client.context(), kOther, sizeof kOther - 1);
  const Status other = daemon_status_for(client);
  EXPECT_EQ(other.code(), Code::denied) << other.message();
  EXPECT_NE(other.message().find("application protocol"), std::string::npos) << other.message();
  constexpr unsigned char kOurs[] = "\x08outboard";
  tls::OpenSsl::get().SSL_CTX_set_alpn_protos(client.context(), kOurs, sizeof kOurs - 1);
  EXPECT_TRUE(daemon_status_for(client).ok());
}

int select_plain(SSL*, const unsigned char** chosen, unsigned char* bytes, const unsigned char*,
                 unsigned, void*) {
  *chosen = reinterpret_cast<const unsigned char*>(tls::kPlain.data());
  *bytes = static_cast<unsigned char>(tls::kPlain.size());
  return SSL_TLSEXT_ERR_OK;
}

TEST(Tls, ADaemonMustSelectAProtocolThatTheClientOffers) {
  const auto good = key("good", Side::client);  // opens OpenSSL
  OtherProgram daemon(Side::daemon);
  const Status none = client_status_for(daemon);
  EXPECT_EQ(none.code(), Code::denied) << none.message();
  tls::OpenSsl::get().SSL_CTX_set_alpn_select_cb(daemon.context(), select_plain, nullptr);
  const Status not_offered = client_status_for(daemon);  // data would travel unencrypted
  EXPECT_EQ(not_offered.code(), Code::denied) << not_offered.message();
}

// --- bytes that are no conversation --------------------------------------------------------------

// Replayed bytes of a client open no connection.
TEST(Tls, ARecordedConversationDoesNotOpenAnother) {
  std::vector<std::byte> recorded;
  {
    Link below(Kind::tcp);
    Link beyond(Kind::tcp);
    auto server = require(key("good", Side::daemon)->accept_over(std::move(beyond.server)));
    std::thread answering([&] {
      std::byte byte{};
      EXPECT_TRUE(receive_all(*server, {&byte, 1}).ok());
      server->shut_down();
    });
    std::thread relay([&] {
      std::vector<std::byte> some(1 << 16);
      for (;;) {
        const auto up = try_receive(*below.server, some);
        if (!up.ok()) return;
        recorded.insert(recorded.end(), some.begin(),
                        some.begin() + static_cast<std::ptrdiff_t>(*up));
        if (*up > 0 && !send_all(*beyond.client, std::span(some).first(*up)).ok()) return;
        const auto down = try_receive(*beyond.client, some);
        if (!down.ok()) return;
        if (*down > 0 && !send_all(*below.server, std::span(some).first(*down)).ok()) return;
        std::this_thread::yield();
      }
    });
    auto client =
        require(key("good", Side::client)->connect_over(std::move(below.client), test_deadline()));
    const std::byte byte{1};
    EXPECT_TRUE(send_all(*client, {&byte, 1}).ok());
    answering.join();
    client->shut_down();
    relay.join();
  }
  Link link(Kind::tcp);
  auto server = require(key("good", Side::daemon)->accept_over(std::move(link.server)));
  ASSERT_TRUE(send_all(*link.client, recorded).ok());
  std::byte byte{};
  EXPECT_EQ(receive_all(*server, {&byte, 1}).code(), Code::denied);
  EXPECT_EQ(byte, std::byte{});
}

TEST(Tls, GarbageEndsTheStream) {
  auto random = ob::test::fresh_random();
  for (int i = 0; i < 50; ++i) {
    Link link(Kind::tcp);
    auto server = require(key("good", Side::daemon)->accept_over(std::move(link.server)));
    auto garbage = random_bytes(random, ob::test::uniform<std::size_t>(random, 1, 20'000));
    if (i % 2 == 0) garbage[0] = std::byte{22};  // it starts like a handshake
    ASSERT_TRUE(send_all(*link.client, garbage).ok());
    link.client->shut_down();
    std::byte byte{};
    EXPECT_FALSE(receive_all(*server, {&byte, 1}).ok());
  }
}

TEST(Tls, FilesAreLookedAt) {
  const auto status = [](const std::string& name) {
    return load_key(folder(name), Side::client, false).status();
  };
  EXPECT_EQ(status("readable").code(), Code::denied);
  EXPECT_NE(status("readable").message().find("chmod 600"), std::string::npos);
  EXPECT_EQ(status("nothing").code(), Code::unavailable);
  EXPECT_NE(status("nothing").message().find("outboard key init"), std::string::npos);
  EXPECT_EQ(status("mixed").code(), Code::invalid_argument);
}

}  // namespace
}  // namespace ob::transport::test
