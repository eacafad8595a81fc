#include "daemon/server/revocation_watch.hpp"

#include <exception>
#include <string>
#include <utility>

#include "daemon/io/log.hpp"

namespace ob::daemon {

RevocationWatch::RevocationWatch(std::shared_ptr<const transport::Security> security,
                                 std::function<void()> end_revoked)
    : security_(std::move(security)), end_revoked_(std::move(end_revoked)) {
  if (security_ != nullptr) thread_ = std::thread([this] { run(); });
}

RevocationWatch::~RevocationWatch() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void RevocationWatch::run() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kInterval, [this] { return closing_; })) {
    lock.unlock();
    reload();
    lock.lock();
  }
}

void RevocationWatch::reload() noexcept try {
  if (security_ == nullptr) return;
  const auto reloaded = security_->reload_revocations();
  if (!reloaded.ok()) log::warn("revoked members: " + reloaded.status().message());
  if (reloaded.ok() && *reloaded) log::info("revoked members: a new list is in force");
  end_revoked_();
} catch (const std::exception& error) {  // most likely out of memory: the next reading follows
  log::warn("revoked members: " + std::string(error.what()));
}

}  // namespace ob::daemon
