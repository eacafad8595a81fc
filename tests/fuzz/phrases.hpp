#pragma once
// Well-formed messages with small ids, which inputs are made and mutated from.

#include "fuzz/framing.hpp"

namespace ob::fuzz {

/// As a join token in a client's bytes: stands for the token of the last welcome. As a access key
/// in join_peer and connect_peer: for that of the last mailbox.
inline constexpr std::uint64_t kAnyToken = 0x4E454B4F54594E41;

/// Every message of a client, in an order that makes a session of them: queue 1, buffers 1 and 2,
/// plan 1, event 1.
std::vector<Piece> client_session();
/// Hello to further connections of the session.
Piece joining_hello();
/// A session that receives from another one, and from another daemon: three connections.
std::vector<Piece> peer_sessions();
/// The first message of another daemon.
Piece joining_daemon();
/// Every message of a daemon; replies say sequence 1.
std::vector<Piece> daemon_phrases();
/// The golden bytes of every message, in host-readable order (tests/wire/samples.hpp). Messages
/// whose opcode is not known here are left out.
std::vector<Piece> golden_messages();

}  // namespace ob::fuzz
