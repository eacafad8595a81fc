#include "overlap/run.hpp"

#include <algorithm>

#include "overlap/clock.hpp"
#include "overlap/scoped_span.hpp"

namespace ob::overlap {

void Run::prepare(Exchange& exchange, Mode mode, bool hold_sends, const Region* source,
                  std::byte* packed) noexcept {
  exchange_ = &exchange;
  source_ = source;
  packed_ = packed;
  mode_ = mode;
  done_.store(false, std::memory_order_relaxed);
  over_.store(false, std::memory_order_relaxed);
  exchange.prepare(hold_sends);
  began_ns_ = now_ns();
}

Run::Progress Run::begin() noexcept {
  if (source_ != nullptr) {
    const ScopedSpan span(exchange_->trace(), "pack", source_->bytes());
    source_->pack(packed_);
  }
  return progress(exchange_->start(), true);
}

Run::Progress Run::drive() noexcept {
  const Result<bool> moved = exchange_->advance();
  return progress(moved.status(), !moved.ok() || *moved);
}

Run::Progress Run::progress(Status status, bool moved) noexcept {
  Progress result{moved};
  result.over = !status.ok() || exchange_->complete();
  const bool arrived = done_when_ == Done::when_arrived && exchange_->arrived();
  result.done = (result.over || arrived) && !done_.load(std::memory_order_relaxed);
  if (result.over) failure_ = std::move(status);
  // The program may end the run as soon as it sees over_, so that is last.
  if (result.done) done_.store(true, std::memory_order_release);
  if (result.over) over_.store(true, std::memory_order_release);
  return result;
}

double Run::finish() noexcept {
  // A run without messages has not moved since prepare().
  const double seconds =
      double(std::max<std::int64_t>(0, exchange_->moved_ns() - began_ns_)) * 1e-9;
  if (seconds > 0) rate_ = std::max(rate_, double(exchange_->bytes()) / seconds);
  return seconds;
}

}  // namespace ob::overlap
