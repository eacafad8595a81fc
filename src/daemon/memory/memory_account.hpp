#pragma once
// The memory of a session, counted against its limit.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/status.hpp"

namespace ob::daemon {

class MemoryAccount;

/// A part of an account, which returns when the reservation ends. It is empty after a move from it,
/// or if it was made by default.
class Reservation {
 public:
  Reservation() noexcept = default;
  Reservation(Reservation&& other) noexcept
      : account_(std::move(other.account_)), bytes_(std::exchange(other.bytes_, 0)) {}
  Reservation& operator=(Reservation&& other) noexcept {
    std::swap(account_, other.account_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Reservation();

 private:
  friend MemoryAccount;
  Reservation(std::shared_ptr<MemoryAccount> account, std::uint64_t bytes) noexcept
      : account_(std::move(account)), bytes_(bytes) {}

  std::shared_ptr<MemoryAccount> account_;
  std::uint64_t bytes_ = 0;
};

/// Counts the memory of one session.   Threads: any
class MemoryAccount {
 public:
  /// @param option the command line's option that raises the limit, for messages; a literal
  MemoryAccount(std::uint64_t limit_bytes, const char* option)
      : limit_bytes_(limit_bytes), option_(option) {}

  /// Errors: out_of_memory beyond the limit
  static Result<Reservation> reserve(const std::shared_ptr<MemoryAccount>& account,
                                     std::uint64_t size_bytes);

  std::uint64_t used_bytes() const noexcept { return used_bytes_; }
  /// Returns the rest of the limit [bytes].
  std::uint64_t room_bytes() const noexcept {
    return limit_bytes_ - std::min<std::uint64_t>(limit_bytes_, used_bytes_);
  }

 private:
  friend Reservation;
  const std::uint64_t limit_bytes_;
  const char* const option_;
  std::atomic<std::uint64_t> used_bytes_{0};
};

inline Reservation::~Reservation() {
  if (account_ != nullptr) account_->used_bytes_ -= bytes_;
}

}  // namespace ob::daemon
