#include "daemon/server/handshake_budget.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace ob::daemon {

std::unique_ptr<HandshakeBudget::Place> HandshakeBudget::enter(HandshakeStream stream) {
  const std::lock_guard lock(mutex_);
  const std::string source = stream.source;
  const std::size_t most_of_source = std::max<std::size_t>(1, limits_.total / 2);
  const auto count = [&](bool closed) {
    return static_cast<std::size_t>(
        std::count_if(handshakes_.begin(), handshakes_.end(), [&](const Handshake& each) {
          return each.closed == closed && each.stream.source == source;
        }));
  };
  // The threads of closed handshakes end soon. Others must not wait for those of one source.
  if (count(true) >= most_of_source || closed_ >= 2 * limits_.total) return nullptr;
  handshakes_.push_back({std::move(stream)});
  const At newest = std::prev(handshakes_.end());
  if (count(false) > most_of_source) {
    close_oldest_of(source);
  } else if (handshakes_.size() - closed_ > limits_.total) {
    close_oldest_of(most_numerous());
  }
  return std::unique_ptr<Place>(new Place(*this, newest));
}

std::string HandshakeBudget::most_numerous() const {
  std::unordered_map<std::string, std::size_t> counts;
  for (const Handshake& each : handshakes_) {
    if (!each.closed) ++counts[each.stream.source];
  }
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

void HandshakeBudget::close_oldest_of(const std::string& source) {
  const At oldest = std::find_if(handshakes_.begin(), handshakes_.end(), [&](const auto& each) {
    return !each.closed && each.stream.source == source;
  });
  oldest->closed = true;
  ++closed_;
  oldest->stream.close();
}

void HandshakeBudget::leave(At at) {
  const std::lock_guard lock(mutex_);
  if (at->closed) --closed_;
  handshakes_.erase(at);
}

bool HandshakeBudget::closed(At at) {
  const std::lock_guard lock(mutex_);
  return at->closed;
}

}  // namespace ob::daemon
