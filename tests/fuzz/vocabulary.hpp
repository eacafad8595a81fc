#pragma once
// Well-formed messages with small ids. Inputs are made and mutated from them.

#include "fuzz/framing.hpp"

namespace ob::fuzz {

/// A placeholder in a client's bytes: for the token of the last welcome in a hello that joins, and
/// for the access key of the last mailbox in join_peer and connect_peer.
inline constexpr std::uint64_t kAnyToken = 0x4E454B4F54594E41;

/// Returns every message of a client, in an order that forms a session: queue 1, buffers 1 and 2,
/// plan 1, event 1.
std::vector<RawMessage> client_session();
/// Returns the hello of further connections of the session.
RawMessage joining_hello();
/// Returns three connections: a session that receives from another session and another daemon.
std::vector<RawMessage> peer_sessions();
/// Returns the first message of another daemon.
RawMessage joining_daemon();
/// Returns every message of a daemon; replies carry sequence 1.
std::vector<RawMessage> daemon_messages();
/// Returns the golden bytes of every message (tests/wire/samples.hpp).
std::vector<RawMessage> golden_messages();

}  // namespace ob::fuzz
