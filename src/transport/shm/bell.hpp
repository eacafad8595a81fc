#pragma once
// A bell on which one side sleeps until the other rings. Nobody pays for ringing unless the other
// side sleeps.

#include "transport/shm/layout.hpp"
#include "transport/stream.hpp"

namespace ob::transport::shm {

/// Sleeps on our own words until `ready()` is true, the other side rings, or `until` passes; it may
/// also wake spuriously.   Threads: any
template <class Ready>
void sleep_on(BellWords& ours, bool receiver, bool sender, Deadline until, Ready ready);

/// Wakes all threads that sleep on `theirs` for bytes. Call it after publishing bytes.
/// Cost: a load if nobody sleeps
void ring_receivers(BellWords& theirs) noexcept;
/// Wakes all threads that sleep on `theirs` for room, if there is enough. Call it after releasing.
template <class WorthWaking>
void ring_senders(BellWords& theirs, WorthWaking worth_waking) noexcept;
/// Wakes all threads that sleep on `words`.
void ring_all(BellWords& words) noexcept;

/// Sleeps while words.rings == seen, at most until the deadline.
void futex_sleep(BellWords& words, std::uint32_t seen, Deadline until) noexcept;

template <class Ready>
void sleep_on(BellWords& ours, bool receiver, bool sender, Deadline until, Ready ready) {
  // This side announces itself and then checks again; the other side publishes and then checks for
  // announcements. All four steps are sequentially consistent (here, in ring.cpp and in
  // ring_receivers), so at least one side sees the other. A ring between the read of `rings` and
  // the sleep changes the word, so that the system call returns at once.
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
