#pragma once
// The loop of an executor process.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/fd.hpp"
#include "base/status.hpp"
#include "executor/mailbox.hpp"

namespace ob::executor {

// The descriptors of an executor process beside stdin, stdout and stderr.
inline constexpr int kMailboxFd = 3;
inline constexpr int kSocketFd = 4;

/// The request that every executor answers when it has started. Kinds from 1 on are the service's.
inline constexpr std::uint32_t kReady = 0;

/// The work of an executor.   Threads: one for each lane
class Service {
 public:
  virtual ~Service() = default;

  /// Prepares the process, for instance opens libraries. The answer to kReady is the result.
  virtual Status start() = 0;
  /// Carries out a request.
  virtual Status handle(std::size_t lane, std::uint32_t kind, std::span<const std::byte> body) = 0;
  virtual void take_notice(std::size_t lane, std::uint64_t notice) = 0;

 protected:
  /// Says how many parts of the running request are done. The daemon learns it when the request
  /// has been answered, or this process has ended.
  void tell_done(std::size_t lane, std::uint32_t parts) noexcept {
    mailbox_->lanes[lane].done.store(parts, std::memory_order_release);
  }

 private:
  friend Status serve(Service& service, std::size_t lanes);
  Mailbox* mailbox_ = nullptr;  // set before the first request
};

/// Serves the daemon that started this process, for ever.
/// @param lanes the first ones are served
/// Errors: internal if the process was not started by a daemon
Status serve(Service& service, std::size_t lanes = Mailbox::kLanes);

/// Receives the descriptor that came with the running request; none without one.
Fd receive_descriptor() noexcept;

}  // namespace ob::executor
