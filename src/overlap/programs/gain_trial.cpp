#include "overlap/programs/gain_trial.hpp"

#include <algorithm>

#include "overlap/median.hpp"

namespace ob::overlap {

void GainTrial::arrive(std::uintptr_t place, std::int64_t now_ns) {
  if (state_ == State::looking) {
    look(place);
    last_ns_ = now_ns;
    return;
  }
  if (place != place_) {
    // Other places are parts of the same loop, unless the place itself stays away.
    if (++elsewhere_ <= kLost) return;
    watch_ = {};
    restart(true);
    return;
  }
  elsewhere_ = 0;
  if (state_ == State::trying)
    measure(now_ns);
  else
    watch(now_ns);
  last_ns_ = now_ns;
}

void GainTrial::look(std::uintptr_t place) {
  const auto at = std::find_if(seen_.begin(), seen_.end(),
                               [&](const Seen& seen) { return seen.place == place; });
  if (at == seen_.end()) {
    constexpr std::size_t kPlaces = 256;  // of a program without a loop
    if (seen_.size() < kPlaces) seen_.push_back({place, 1});
    return;
  }
  if (++at->arrivals < kFirstArrivals) return;
  place_ = place;
  state_ = State::trying;
  in_block_ = blocks_ = 0;
}

void GainTrial::measure(std::int64_t now_ns) {
  if (in_block_ > 0) intervals_[driving_ ? 1 : 0].push_back(now_ns - last_ns_);
  if (++in_block_ < kBlock) return;
  in_block_ = 0;
  driving_ = !driving_;
  if (++blocks_ == 2 * kBlocks) decide();
}

void GainTrial::decide() {
  without_ns_ = median(intervals_[0]);
  with_ns_ = median(intervals_[1]);
  driving_ = double(with_ns_) < (1 - kLeastGain) * double(without_ns_);
  state_ = State::decided;
  arrivals_ = 0;
  watch_.begin();
}

void GainTrial::watch(std::int64_t now_ns) {
  watch_.add(double(now_ns - last_ns_));
  ++arrivals_;
  const std::int64_t chosen_ns = driving_ ? with_ns_ : without_ns_;
  const bool changed = watch_.due(arrivals_) && watch_.changed(watch_.recent(), double(chosen_ns));
  if (changed || arrivals_ >= kAgain) restart(driving_);
}

void GainTrial::restart(bool driving) {
  state_ = State::looking;
  driving_ = driving;
  elsewhere_ = 0;
  seen_.clear();
  intervals_ = {};
}

}  // namespace ob::overlap
