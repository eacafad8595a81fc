#pragma once
// Grants for blocks that are too large to be put without asking.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "sial/exchange/message.hpp"

namespace ob::sial {

/// Lets workers send large blocks one after another, in the order in which they asked, so that
/// those on their way take a limited part of a server's memory.
/// Threads: owner only
class PutGrants {
 public:
  /// @param most_bytes of all granted blocks together. A larger one is granted alone.
  explicit PutGrants(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

  void ask(const Message& wish) { wishes_.push_back(wish); }
  /// Returns the next wish that can be granted now, and counts it.
  std::optional<Message> next() {
    if (wishes_.empty()) return std::nullopt;
    const std::uint64_t bytes = wishes_.front().words.at(0);
    if (granted_bytes_ != 0 && granted_bytes_ + bytes > most_bytes_) return std::nullopt;
    granted_bytes_ += bytes;
    Message wish = std::move(wishes_.front());
    wishes_.pop_front();
    return wish;
  }
  /// Notes that a granted block has arrived and been handled.
  void end(std::uint64_t bytes) noexcept { granted_bytes_ -= std::min(bytes, granted_bytes_); }

 private:
  const std::uint64_t most_bytes_;
  std::uint64_t granted_bytes_ = 0;
  std::deque<Message> wishes_;
};

}  // namespace ob::sial
