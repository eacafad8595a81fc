#pragma once
// Sleeping until the other side has done something, and waking it only if it sleeps.

#include "transport/shm/layout.hpp"
#include "transport/stream.hpp"

namespace ob::transport::shm {

/// Sleeps on our own words until `ready()` is true, the other side rings, or `until` passes
/// (spuriously, too). Threads: any
template <class Ready>
void sleep_on(BellWords& ours, bool receiver, bool sender, Deadline until, Ready ready);

/// Wakes everybody who sleeps on `theirs` for bytes. Call after publishing.   Cost: a load if
/// nobody sleeps
void ring_receivers(BellWords& theirs) noexcept;
/// Wakes everybody who sleeps on `theirs` for room, if there is enough of it. Call after releasing.
template <class WorthWaking>
void ring_senders(BellWords& theirs, WorthWaking worth_waking) noexcept;
/// Wakes everybody who sleeps on `words`.
void ring_all(BellWords& words) noexcept;

/// Sleeps while words.rings == seen, until the deadline at most.
void futex_sleep(BellWords& words, std::uint32_t seen, Deadline until) noexcept;

template <class Ready>
void sleep_on(BellWords& ours, bool receiver, bool sender, Deadline until, Ready ready) {
  // Announce, then look again, while the other side publishes, then looks for announcements. All
  // four are sequentially consistent (here, in ring.cpp and in ring_receivers), so at least one
  // side sees the other. A ring between reading `rings` and sleeping changes the word, so that the
  // system does not put us to sleep.
  if (receiver) ours.sleeping_receivers.fetch_add(1, std::memory_order_seq_cst);
  if (sender) ours.sleeping_senders.fetch_add(1, std::memory_order_seq_cst);
  const std::uint32_t seen = ours.rings.load(std::memory_order_seq_cst);
  if (!ready()) futex_sleep(ours, seen, until);
  if (receiver) ours.sleeping_receivers.fetch_sub(1, std::memory_order_relaxed);
  if (sender) ours.sleeping_senders.fetch_sub(1, std::memory_order_relaxed);
}

template <class WorthWaking>
void ring_senders(BellWords& theirs, WorthWaking worth_waking) noexcept {
  if (theirs.sleeping_senders.load(std::memory_order_seq_cst) != 0 && worth_waking())
    ring_all(theirs);
}

}  // namespace ob::transport::shm
