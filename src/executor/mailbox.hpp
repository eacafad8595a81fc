#pragma once
// The memory through which the daemon and an executor process talk.

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/status.hpp"

namespace ob::executor {

/// Waits until `word` no longer has the value `seen`, is woken, or the time is over.
/// Threads: any, also of two processes
/// Source:  futex(2)
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t seen,
                std::optional<std::chrono::milliseconds> longest = {}) noexcept;
void futex_wake(std::atomic<std::uint32_t>& word) noexcept;

/// One request at a time, its answer, and short notices. The two processes share it. Neither
/// trusts the other: a reader loads a field once, and checks what it loaded.
/// Memory: zero at first, which is a valid empty lane; has no pointers
struct Lane {
  static constexpr std::size_t kBodyBytes = 4096;
  static constexpr std::size_t kTextBytes = 512;
  static constexpr std::uint32_t kNotices = 256;

  // Written by the daemon.
  alignas(64) std::atomic<std::uint32_t> bell;  ///< futex of the executor: work has come
  std::atomic<std::uint32_t> request;           ///< number of the last request
  std::atomic<std::uint32_t> notices_sent;
  std::atomic<std::uint32_t> sleeping;  ///< not 0: the daemon waits for the futex of the answer
  std::atomic<std::uint32_t> kind;
  std::atomic<std::uint32_t> body_bytes;
  std::atomic<std::int32_t> core;  ///< see Request
  std::array<std::byte, kBodyBytes> body;
  std::array<std::uint64_t, kNotices> notices;

  // Written by the executor.
  alignas(64) std::atomic<std::uint32_t> answer;  ///< number of the last answered request; a futex
  std::atomic<std::uint32_t> notices_read;
  std::atomic<std::uint32_t> taken;  ///< number of the last request whose work has begun
  std::atomic<std::uint32_t> done;   ///< parts of that request that are done
  std::atomic<std::uint32_t> code;
  std::atomic<std::uint32_t> text_bytes;
  std::array<char, kTextBytes> text;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(std::is_standard_layout_v<Lane>);

/// The whole shared memory. Each lane has a thread of the executor.
struct Mailbox {
  static constexpr std::size_t kLanes = 2;
  std::array<Lane, kLanes> lanes;
};

/// A request as the executor received it.
struct Request {
  std::uint32_t number = 0;
  std::uint32_t kind = 0;
  std::int32_t core = -1;  ///< the core on which the executor's thread is to run; -1: any
  std::vector<std::byte> body;
};

/// Stores a request, and wakes the executor.   @returns its number
/// Threads: the daemon's, one at a time for a lane
/// @pre body.size() <= Lane::kBodyBytes
std::uint32_t post(Lane& lane, std::uint32_t kind, std::span<const std::byte> body,
                   std::int32_t core = -1) noexcept;
/// Sleeps until another answer than `seen` has come, or the time is over.
/// Threads: the daemon's, one at a time for a lane
void sleep_until_answer(Lane& lane, std::uint32_t seen, std::chrono::milliseconds longest) noexcept;
/// Returns the answer of the last request.   @pre it has come
Status answer_of(const Lane& lane);
/// Stores a notice, which has no answer, and wakes the executor. Returns false if the executor has
/// not read the last Lane::kNotices ones.
/// Threads: the daemon's, one at a time for a lane
bool notify(Lane& lane, std::uint64_t notice) noexcept;

/// Waits for a request or a notice; returns what has come first, notices before requests.
/// @param seen the number of the last request that was answered
/// Threads: the executor's thread for the lane
struct Arrival {
  std::vector<std::uint64_t> notices;
  std::optional<Request> request;
};
Arrival await_work(Lane& lane, std::uint32_t seen);
/// Stores the answer to a request, and wakes the daemon.
void answer(Lane& lane, std::uint32_t number, const Status& status) noexcept;

}  // namespace ob::executor
