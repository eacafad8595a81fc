#pragma once
// Measures the best that this machine can do, next to each figure that is compared with it. None of
// Outboard's own code is used. Every function forks, so it is called from a single-threaded
// program.

#include "bench/conversation.hpp"
#include "bench/samples.hpp"

namespace ob::bench {

/// Plain blocking sockets over the loopback, TCP_NODELAY, cubic, transfers of up to 1 MiB at a
/// time.
std::unique_ptr<Conversation> raw_tcp(std::size_t largest_bytes);

/// GB/s of messages of `bytes` one way between two processes. messages = 0: enough to time.
Samples raw_tcp_stream(std::size_t bytes, Direction direction, int repetitions,
                       std::uint64_t messages = 0);

/// us for a message of `bytes` there and back. rounds = 0: enough to time.
Samples raw_tcp_ping_pong(std::size_t bytes, int repetitions, std::uint64_t rounds = 0);

/// us for a message of `bytes` there and back between two processes that poll flags in shared
/// memory and copy it in and out, through one slot each way.
Samples raw_memory_ping_pong(std::size_t bytes, int repetitions, std::uint64_t rounds = 0);

/// GB/s of memcpy by one thread, pages touched. Warm: the same source and destination again and
/// again; cold: both lie beyond any cache.
double memcpy_once(std::size_t bytes, bool cold);
Samples memcpy_rate(std::size_t bytes, bool cold, int repetitions);

}  // namespace ob::bench
