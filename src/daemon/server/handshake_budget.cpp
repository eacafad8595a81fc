#include "daemon/server/handshake_budget.hpp"

#include <algorithm>
#include <utility>

namespace ob::daemon {

std::unique_ptr<HandshakeBudget::Place> HandshakeBudget::enter(HandshakeStream stream) {
  const std::lock_guard lock(mutex_);
  const auto closed = static_cast<std::size_t>(std::count_if(
      handshakes_.begin(), handshakes_.end(),
      [&](const Handshake& each) { return each.closed && each.stream.source == stream.source; }));
  // The threads of closed handshakes end soon. Others must not wait for those of one source.
  if (closed >= open_.most_of_source() || closed_ >= 2 * limits_.total) return nullptr;
  if (const auto source = open_.gives_way_to(stream.source)) close_oldest_of(*source);
  open_.add(stream.source);
  handshakes_.push_back({std::move(stream)});
  const At newest = std::prev(handshakes_.end());
  return std::unique_ptr<Place>(new Place(*this, newest));
}

void HandshakeBudget::close_oldest_of(const std::string& source) {
  const At oldest = std::find_if(handshakes_.begin(), handshakes_.end(), [&](const auto& each) {
    return !each.closed && each.stream.source == source;
  });
  oldest->closed = true;
  open_.remove(source);
  ++closed_;
  oldest->stream.close();
}

void HandshakeBudget::leave(At at) {
  const std::lock_guard lock(mutex_);
  if (at->closed) {
    --closed_;
  } else {
    open_.remove(at->stream.source);
  }
  handshakes_.erase(at);
}

bool HandshakeBudget::closed(At at) {
  const std::lock_guard lock(mutex_);
  return at->closed;
}

}  // namespace ob::daemon
