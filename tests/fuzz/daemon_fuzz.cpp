// Sends the bytes of clients, one connection after another, to a daemon with two null devices of
// little memory. The sanitizers check memory. This target checks that for any bytes the daemon
// sends only whole, well-formed messages, comes to an end, and holds no memory of the client
// afterwards.

#include <array>
#include <chrono>
#include <cstring>
#include <future>
#include <optional>
#include <utility>

#include "backend/null/backend.hpp"
#include "daemon/server/connection.hpp"
#include "daemon/server/server.hpp"
#include "fuzz/byte_stream.hpp"
#include "fuzz/failure.hpp"
#include "fuzz/mutator.hpp"
#include "fuzz/vocabulary.hpp"

namespace ob::fuzz {
namespace {

constexpr unsigned kDevices = 2;
// Many times more than the answers to one input need, but little enough for an input to use up.
constexpr std::uint64_t kMemoryBytes = std::uint64_t{512} << 10;
// Offset in the body of hello, join_stream, join_peer and connect_peer.
constexpr std::size_t kTokenAt = 8;
// After this time a message of another daemon counts as unwanted.
constexpr std::chrono::milliseconds kUnwanted{20};

// Lives as long as the program: each input reaches a daemon that earlier inputs have used.
struct Daemon {
  std::array<Device*, kDevices> devices{};
  std::unique_ptr<daemon::Server> server;

  Daemon() {
    std::vector<std::unique_ptr<Device>> made;
    for (unsigned i = 0; i < kDevices; ++i) {
      auto device = null::create({.index = i, .devices = kDevices, .memory_bytes = kMemoryBytes});
      expect(device.ok(), "null devices can be made");
      devices[i] = device->get();
      made.push_back(std::move(*device));
    }
    // An input must not make the daemon connect to a server on this machine.
    daemon::ServerConfig config;
    config.may_connect = false;
    config.kernels.without_key = daemon::KernelRights::portable;  // they do nothing
    auto created = daemon::Server::create(std::move(config), std::move(made));
    expect(created.ok(), "a server can be made");
    server = std::move(*created);
  }
  const daemon::ConnectionServices& services() { return server->services(); }
  std::uint64_t used_bytes() const {
    std::uint64_t used = 0;
    for (const Device* device : devices) used += device->memory_use().used_bytes;
    return used;
  }
};

// Returns true for the first message of a stream, which begins with the magic.
bool opens_stream(const RawMessage& piece) {
  std::uint32_t magic = 0;
  if (piece.body.size() >= sizeof magic) std::memcpy(&magic, piece.body.data(), sizeof magic);
  return magic == wire::kMagic;
}

// Inserts a token that an input cannot know: that of a new session, or a mailbox's access key.
void put_token(RawMessage& piece, const wire::Token& token) {
  wire::Token said;
  if (piece.body.size() < kTokenAt + sizeof said) return;
  std::memcpy(&said, piece.body.data() + kTokenAt, sizeof said);
  if (said == wire::Token{kAnyToken, kAnyToken})
    std::memcpy(piece.body.data() + kTokenAt, &token, sizeof token);
}

bool carries_access_key(const RawMessage& piece) {
  return piece.opcode() == wire::Opcode::join_peer || piece.opcode() == wire::Opcode::connect_peer;
}

/// Runs clients one after another on one daemon.
class Clients {
 public:
  Clients(Daemon& daemon, const Delivery& delivery) : daemon_(daemon), delivery_(delivery) {}

  void serve(std::vector<RawMessage> messages) {
    if (messages.empty()) return;
    for (RawMessage& piece : messages) {
      if (access_key_ && carries_access_key(piece)) put_token(piece, *access_key_);
    }
    const bool is_peer = carries_access_key(messages.front());
    if (token_ && !is_peer) put_token(messages.front(), *token_);
    const Bytes says = join(messages);
    MessageChecker checker(MessageChecker::Side::daemon);
    checker.on_welcome = [&](const wire::Token& token) { keep(token); };
    checker.on_mailbox = [&](const wire::Token& access_key) { access_key_ = access_key; };
    const auto connection = std::make_shared<daemon::Connection>(
        std::make_unique<ByteStream>(delivery_, says, checker), daemon_.services());
    is_peer ? run_peer(*connection) : (void)connection->run();
  }

 private:
  // The connection of another daemon lasts until its peer messages are wanted or the session ends.
  void run_peer(daemon::Connection& connection) {
    auto done = std::async(std::launch::async, [&] { (void)connection.run(); });
    if (done.wait_for(kUnwanted) != std::future_status::ready) session_.reset();
    done.wait();
  }

  // Joins the session, because a session ends with its last connection.
  void keep(const wire::Token& token) {
    token_ = token;
    if ((delivery_.flags & kKeepsSession) == 0 || session_) return;
    wire::Hello hello;
    hello.join = token;
    if (auto session = daemon_.services().sessions.open(hello, {}); session.ok())
      session_ = *session;
  }

  Daemon& daemon_;
  const Delivery delivery_;
  std::optional<wire::Token> token_;
  std::optional<wire::Token> access_key_;
  std::shared_ptr<daemon::Session> session_;
};

void run(View bytes) {
  static Daemon& daemon = *new Daemon;  // its threads may run until the end
  const Input input = parse(bytes);
  {
    Clients clients(daemon, input.delivery);
    std::vector<RawMessage> messages;
    for (RawMessage& piece : split(input.stream)) {
      const bool next = (input.delivery.flags & kSplitsAtHello) != 0 && opens_stream(piece);
      if (next) clients.serve(std::exchange(messages, {}));
      messages.push_back(std::move(piece));
    }
    clients.serve(std::move(messages));
  }
  expect(daemon.used_bytes() == 0, "nothing is held of clients that left");
}

std::vector<RawMessage> vocabulary() {
  std::vector<RawMessage> all = client_session();
  all.push_back(joining_hello());
  for (RawMessage& piece : peer_sessions()) all.push_back(std::move(piece));
  return all;
}

}  // namespace
}  // namespace ob::fuzz

OB_FUZZ_MESSAGES(ob::fuzz::vocabulary())

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ob::fuzz::run({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
