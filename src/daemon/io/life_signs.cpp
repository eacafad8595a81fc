#include "daemon/io/life_signs.hpp"

#include <pthread.h>

#include <algorithm>

#include "base/quiet_thread.hpp"
#include "daemon/io/channel.hpp"
#include "daemon/io/prompt_thread.hpp"

namespace ob::daemon {

LifeSigns::LifeSigns() : thread_(quiet_thread([this] { run(); })) {}

LifeSigns::~LifeSigns() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void LifeSigns::run() {
  (void)::pthread_setname_np(::pthread_self(), "life-signs");  // for people who debug
  make_thread_prompt();
  std::unique_lock lock(mutex_);
  while (!closing_) {
    if (channels_.empty()) {
      changed_.wait(lock);
      continue;
    }
    for (Channel* channel : channels_) channel->show_life(kAnnouncedMs);
    (void)changed_.wait_for(lock, kInterval, [this] { return closing_; });
  }
}

LifeSigns::Registration::Registration(LifeSigns& signs, Channel& channel)
    : signs_(signs), channel_(channel) {
  const std::lock_guard lock(signs_.mutex_);
  signs_.channels_.push_back(&channel);
  signs_.changed_.notify_all();
}

LifeSigns::Registration::~Registration() {
  const std::lock_guard lock(signs_.mutex_);
  auto& channels = signs_.channels_;
  channels.erase(std::find(channels.begin(), channels.end(), &channel_));
}

}  // namespace ob::daemon
