#pragma once
// The grants of a daemon.

#include <memory>
#include <mutex>
#include <unordered_map>

#include "daemon/peers/grant.hpp"
#include "wire/message.hpp"

namespace ob::daemon {

/// Finds grants by their secrets.   Threads: any
class Grants {
 public:
  void add(const std::shared_ptr<Grant>& grant);
  /// Returns nullptr if no grant has this secret.
  std::shared_ptr<Grant> find(const wire::Token& secret);

 private:
  std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, std::weak_ptr<Grant>> grants_;  // by half of the secret
};

}  // namespace ob::daemon
