#pragma once
// Counts what a daemon does, for its metrics.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "base/use_counter.hpp"
#include "wire/opcode.hpp"

namespace ob::daemon {

/// The ways by which connections reach a daemon.
enum class Transport : std::uint8_t { tcp, shm, ucx };
inline constexpr std::array kTransportNames{"tcp", "shm", "ucx"};

/// A counter for each value of an enumeration, which may come from outside.   Threads: any
template <class Kind, std::size_t kKinds>
class CountsByKind {
 public:
  void add(Kind kind) noexcept {
    const auto at = static_cast<std::size_t>(kind);
    if (at < kKinds) counts_[at].fetch_add(1, std::memory_order_relaxed);
  }
  std::uint64_t of(Kind kind) const noexcept {
    const auto at = static_cast<std::size_t>(kind);
    return at < kKinds ? counts_[at].load(std::memory_order_relaxed) : 0;
  }

 private:
  std::array<std::atomic<std::uint64_t>, kKinds> counts_{};
};

/// Threads: any
struct DaemonCounters {
  static constexpr std::size_t kOpcodes = 256;  // more than there are
  static constexpr std::size_t kCodes = 32;     // more than there are

  CountsByKind<wire::Opcode, kOpcodes> commands;  ///< that clients sent in their sessions
  CountsByKind<Code, kCodes> failed_answers;      ///< answers of queues that told of a failure
  CountsByKind<Code, kCodes> refusals;            ///< connections that did not become members
  CountsByKind<Code, kCodes> ended;               ///< connections of members that have ended
  CountsByKind<Transport, kTransportNames.size()> connections;  ///< accepted ones
  /// The bytes of accepted connections, by Transport.
  std::array<std::shared_ptr<UseCounter>, kTransportNames.size()> traffic{
      std::make_shared<UseCounter>(), std::make_shared<UseCounter>(),
      std::make_shared<UseCounter>()};
};

}  // namespace ob::daemon
