#pragma once
// Well-formed messages with small ids, from which inputs are made and mutated.

#include "fuzz/framing.hpp"

namespace ob::fuzz {

/// Stands for the token of the last welcome where a client's bytes have it as the token to join,
/// and for the access key of the last mailbox in join_peer and connect_peer.
inline constexpr std::uint64_t kAnyToken = 0x4E454B4F54594E41;

/// Every message of a client, in an order that makes a session of them: queue 1, buffers 1 and 2,
/// plan 1, event 1.
std::vector<RawMessage> client_session();
/// Hello to further connections of the session.
RawMessage joining_hello();
/// A session that receives from another one, and from another daemon: three connections.
std::vector<RawMessage> peer_sessions();
/// The first message of another daemon.
RawMessage joining_daemon();
/// Every message of a daemon; replies say sequence 1.
std::vector<RawMessage> daemon_messages();
/// The golden bytes of every message (tests/wire/samples.hpp).
std::vector<RawMessage> golden_messages();

}  // namespace ob::fuzz
