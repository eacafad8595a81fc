#pragma once
// Joins the parts of a collective statement. Worker 0 has one.

#include <cstdint>
#include <optional>
#include <vector>

#include "sial/exchange/message.hpp"

namespace ob::sial {

/// The way in which a collective statement joins the parts of the workers.
enum class Contribution : std::uint8_t {
  barrier,  ///< `words` are combined by or
  sum,      ///< `numbers` and `words` (two's complement) are added in the order of the ranks
  first,    ///< the part of worker `number` is the result
};

/// Threads: owner only
class CollectiveHub {
 public:
  explicit CollectiveHub(Rank workers) : parts_(workers) {}

  /// Takes a part. Returns the result when all workers have sent theirs.
  std::optional<Message> add(Message part);

 private:
  std::vector<std::optional<Message>> parts_;
  Rank arrived_ = 0;
};

}  // namespace ob::sial
