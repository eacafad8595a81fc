#include "timeline.hpp"

#include <algorithm>

#include "faults.hpp"

namespace standin {

Timeline& Timeline::instance() {
  static auto* const kTimeline = new Timeline;
  return *kTimeline;
}

void Timeline::watch(const std::string& held) {
  const std::lock_guard lock(mutex_);
  watching_ = true;
  intervals_.clear();
  waiting_.clear();
  holding_.clear();
  for (std::size_t at = 0; at < held.size();) {
    const std::size_t end = std::min(held.find(',', at), held.size());
    holding_.insert(held.substr(at, end - at));
    at = end + 1;
  }
}

void Timeline::release() {
  const std::lock_guard lock(mutex_);
  holding_.clear();
  changed_.notify_all();
}

void Timeline::release(const std::string& call) {
  const std::lock_guard lock(mutex_);
  holding_.erase(call);
  changed_.notify_all();
}

std::uint64_t Timeline::held() {
  const std::lock_guard lock(mutex_);
  return held_;
}

std::uint64_t Timeline::waiting(const std::string& call) {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, waiting_[call]));
}

std::uint64_t Timeline::overlaps(const std::string& call, const std::string& other) {
  const std::lock_guard lock(mutex_);
  std::uint64_t pairs = 0;
  for (const Interval& a : intervals_) {
    for (const Interval& b : intervals_) {
      if (a.call == call && b.call == other && a.stream != b.stream && a.begin < b.end &&
          b.begin < a.end)
        ++pairs;
    }
  }
  return call == other ? pairs / 2 : pairs;
}

void Timeline::submitted(const char* call) {
  const std::lock_guard lock(mutex_);
  if (watching_) ++waiting_[plain_name(call)];
}

Timeline::Running::Running(std::uint64_t stream, const char* call) {
  Timeline& timeline = instance();
  std::unique_lock lock(timeline.mutex_);
  if (!timeline.watching_) return;
  number_ = timeline.intervals_.size();
  const std::string name = plain_name(call);
  --timeline.waiting_[name];
  timeline.intervals_.push_back({.stream = stream, .call = name, .begin = Clock::now()});
  ++timeline.held_;
  timeline.changed_.wait(lock, [&] { return timeline.holding_.count(name) == 0; });
  --timeline.held_;
}

Timeline::Running::~Running() {
  if (number_ == SIZE_MAX) return;
  Timeline& timeline = instance();
  const std::lock_guard lock(timeline.mutex_);
  // watch() may have started again.
  if (number_ < timeline.intervals_.size()) timeline.intervals_[number_].end = Clock::now();
}

}  // namespace standin
