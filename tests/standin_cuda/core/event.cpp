#include "event.hpp"

#include <utility>

namespace standin {

std::shared_ptr<Record> Event::record() {
  const std::lock_guard lock(mutex_);
  return record_;
}

void Event::record(std::shared_ptr<Record> record) {
  const std::lock_guard lock(mutex_);
  record_ = std::move(record);
}

LiveSet<Event>& Event::all() {
  static auto* const kEvents = new LiveSet<Event>("event(s)");
  return *kEvents;
}

}  // namespace standin
