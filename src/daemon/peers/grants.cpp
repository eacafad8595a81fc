#include "daemon/peers/grants.hpp"

#include "daemon/io/token.hpp"

namespace ob::daemon {

void Grants::add(const std::shared_ptr<Grant>& grant) {
  const std::lock_guard lock(mutex_);
  std::erase_if(grants_, [](const auto& known) { return known.second.expired(); });
  grants_.emplace(grant->secret()[0], grant);
}

std::shared_ptr<Grant> Grants::find(const wire::Token& secret) {
  const std::lock_guard lock(mutex_);
  const auto [begin, end] = grants_.equal_range(secret[0]);
  for (auto known = begin; known != end; ++known) {
    auto grant = known->second.lock();
    if (grant != nullptr && same(grant->secret(), secret)) return grant;
  }
  return nullptr;
}

}  // namespace ob::daemon
