#include "sial/server/message_queue.hpp"

#include <algorithm>
#include <utility>

namespace ob::sial {
namespace {

// Messages whose blocks are read ahead, and among which the next one is chosen: enough to keep a
// disk busy.
constexpr std::size_t kReadAhead = 32;
// The system may drop a block from its memory before anybody has looked. After so many looks in
// vain, some tens of milliseconds, the first message waits for the disk.
constexpr unsigned kMostLooks = 200;

bool keeps_order(const Message& one, const Message& other) noexcept {
  const Concerns left = concerns_of(one.kind);
  const Concerns right = concerns_of(other.kind);
  if (left == Concerns::all || right == Concerns::all) return true;
  if (left == Concerns::nothing || right == Concerns::nothing) return false;
  return one.array == other.array && one.number == other.number;
}

}  // namespace

Concerns concerns_of(MessageKind kind) noexcept {
  switch (kind) {
    case MessageKind::get:
    case MessageKind::prefetch:
    case MessageKind::touch:
    case MessageKind::put:
    case MessageKind::accumulate:
    case MessageKind::fill:
    case MessageKind::add:
    case MessageKind::scale: return Concerns::block;
    case MessageKind::next_chunk:
    case MessageKind::ask_credit: return Concerns::nothing;
    default: return Concerns::all;
  }
}

void MessageQueue::push(Message message) {
  if (messages_.size() < kReadAhead) readiness_.announce(message);
  bytes_ += bytes_of(message);
  peak_bytes_ = std::max(peak_bytes_, bytes_);
  messages_.push_back(std::move(message));
}

std::optional<Message> MessageQueue::take() {
  const std::size_t near = std::min(messages_.size(), kReadAhead);
  for (std::size_t at = 0; at < near; ++at) {
    if (must_follow_another(at)) continue;
    if (!readiness_.ready_for(messages_[at])) return std::nullopt;
    if (!readiness_.waits_for_disk(messages_[at])) return remove(at);
  }
  if (near == 0 || ++looks_ < kMostLooks) return std::nullopt;
  return remove(0);
}

// All messages in front of this one stay, because they wait for the disk.
bool MessageQueue::must_follow_another(std::size_t at) const noexcept {
  const auto begin = messages_.begin();
  return std::any_of(begin, begin + static_cast<std::ptrdiff_t>(at),
                     [&](const Message& other) { return keeps_order(other, messages_[at]); });
}

Message MessageQueue::remove(std::size_t at) {
  looks_ = 0;
  Message message = std::move(messages_[at]);
  messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(at));
  if (messages_.size() >= kReadAhead) readiness_.announce(messages_[kReadAhead - 1]);
  return message;
}

}  // namespace ob::sial
