#pragma once
// Two sides with keys that shake hands.

#include <memory>
#include <string>
#include <thread>

#include "transport/link.hpp"
#include "transport/security.hpp"

namespace ob::transport::test {

inline std::string folder(const std::string& name) {
  return std::string(OB_TEST_KEYS) + "/" + name;
}

inline std::shared_ptr<const Security> key(const std::string& name, Side side, bool plain = false) {
  return require(load_key(folder(name), side, plain));
}

struct Ends {
  std::shared_ptr<const Security> client = key("good", Side::client);
  std::shared_ptr<const Security> daemon = key("good", Side::daemon);
};

/// Two ends of a TCP connection, each of them secured, and the status of each side.
struct SecureLink {
  explicit SecureLink(const Ends& ends = {}) : raw(Kind::tcp) {
    server = require(ends.daemon->accept_over(std::move(raw.server)));
    std::thread answering([this] { server_said = answer(); });
    auto made = ends.client->connect_over(std::move(raw.client), test_deadline());
    client_said = made.status();
    if (made.ok()) {
      client = std::move(*made);
      client_said = greet();
    } else {
      server->shut_down();
    }
    answering.join();
  }

  // A client learns that it is refused when it waits for an answer.
  Status greet() {
    std::byte byte{1};
    OB_RETURN_IF_ERROR(send_all(*client, {&byte, 1}));
    return receive_all(*client, {&byte, 1});
  }
  Status answer() {
    std::byte byte{};
    const Status status = receive_all(*server, {&byte, 1});
    if (!status.ok()) {
      server->shut_down();
      return status;
    }
    return send_all(*server, {&byte, 1});
  }

  Link raw;
  std::unique_ptr<Stream> client;
  std::unique_ptr<Stream> server;
  Status client_said;
  Status server_said;
};

}  // namespace ob::transport::test
