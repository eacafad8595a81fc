#pragma once
// Joins the parts of a collective statement. Worker 0 has one.

#include <cstdint>
#include <optional>
#include <vector>

#include "sial/exchange/message.hpp"

namespace ob::sial {

/// Collects the parts of one collective statement after the other.
/// Threads: owner only
class CollectiveHub {
 public:
  explicit CollectiveHub(Rank workers) : parts_(workers) {}

  /// Takes a part. Returns the result when all workers have sent theirs: a message of the kind
  /// result, or failure (R09) if they are in different statements.
  std::optional<Message> add(Message part);

 private:
  std::vector<std::optional<Message>> parts_;
  Rank arrived_ = 0;
};

}  // namespace ob::sial
