#pragma once
// Measures the best that this machine can do, next to each figure that is compared with it. None of
// Outboard's own code is used. Every function forks, so it is called from a single-threaded
// program.

#include "bench/conversation.hpp"
#include "bench/samples.hpp"

namespace ob::bench {

/// A conversation over plain blocking sockets on the loopback, with TCP_NODELAY, cubic, and
/// transfers of up to 1 MiB at a time.
std::unique_ptr<Conversation> raw_tcp(std::size_t largest_bytes);

/// Measures the rate of messages of `bytes` one way between two processes.   Units: GB/s
/// @param messages 0: as many as a measurement needs
Samples raw_tcp_stream(std::size_t bytes, Direction direction, int repetitions,
                       std::uint64_t messages = 0);

/// Measures the round trip of a message of `bytes`.   Units: us
/// @param rounds 0: as many as a measurement needs
Samples raw_tcp_ping_pong(std::size_t bytes, int repetitions, std::uint64_t rounds = 0);

/// Measures the round trip of a message of `bytes` between two processes that poll flags in shared
/// memory. They copy the message in and out, through one slot in each direction.   Units: us
Samples raw_memory_ping_pong(std::size_t bytes, int repetitions, std::uint64_t rounds = 0);

/// Twice this much memory, source and destination, is in no cache.
inline constexpr std::size_t kBeyondCaches_bytes = std::size_t{512} << 20;

/// Measures memcpy by one thread, with touched pages.   Units: GB/s
/// @param cold true: source and destination are in no cache; false: they are always the same
double memcpy_once(std::size_t bytes, bool cold);
Samples memcpy_rate(std::size_t bytes, bool cold, int repetitions);

}  // namespace ob::bench
