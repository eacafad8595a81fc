#include "algorithms/blocked_factorization.hpp"

#include "algorithms/ranks.hpp"

namespace ob::algorithms {

Status BlockedFactorization::run() {
  return run_ranks(fabric_, [this](std::size_t at) {
    // Whatever ends this rank early, the others do not wait for its turn.
    struct Guard {
      Turnstile& sending;
      Status status{Code::out_of_memory, "no memory for a call on several devices"};
      ~Guard() {
        if (!status.ok()) sending.abort(status);
      }
    } guard{sending_};
    guard.status = rank(at);
    return guard.status;
  });
}

Status BlockedFactorization::rank(std::size_t at) {
  OB_RETURN_IF_ERROR(allocate(at));
  if (at < blocks_.blocks()) OB_RETURN_IF_ERROR(ensure_sent(at, at));
  if (owns(at, 0)) {
    OB_RETURN_IF_ERROR(make(at, 0));
    // its next block travels while the panel is made
    if (blocks_.devices < blocks_.blocks()) {
      OB_RETURN_IF_ERROR(ensure_sent(at, blocks_.devices));
    }
    OB_RETURN_IF_ERROR(deliver(at, 0));
  }
  for (std::size_t panel = 0; panel < panels_; ++panel) {
    if (needs(at, panel)) OB_RETURN_IF_ERROR(step(at, panel));
  }
  for (std::size_t block = blocks_.next_of(at, panels_); block < blocks_.blocks();
       block += blocks_.devices) {
    OB_RETURN_IF_ERROR(fetch_block(at, block));
  }
  return {};
}

Status BlockedFactorization::ensure_sent(std::size_t at, std::size_t block) {
  if (block < sent_[at]) return {};
  sent_[at] = block + 1;
  OB_RETURN_IF_ERROR(sending_.enter(block));
  OB_RETURN_IF_ERROR(send_block(at, block));
  sending_.leave(block);
  return {};
}

// Updates all own blocks behind a panel, the next panel first.
Status BlockedFactorization::step(std::size_t at, std::size_t panel) {
  const std::size_t slot = slot_of(panel);
  const bool mine = owns(at, panel);
  if (!mine) OB_RETURN_IF_ERROR(fabric_.take(at, panel, landing(at, panel, slot), slot));
  const std::size_t next = panel + 1;
  const bool makes_next = owns(at, next) && next < panels_;
  if (makes_next) {
    if (panel == 0) OB_RETURN_IF_ERROR(ensure_sent(at, next));
    OB_RETURN_IF_ERROR(update(at, panel, next, 1));
    OB_RETURN_IF_ERROR(make(at, next));
  }
  OB_RETURN_IF_ERROR(update_rest(at, panel, blocks_.next_of(at, makes_next ? next + 1 : next)));
  OB_RETURN_IF_ERROR(fabric_.release(at, slot));
  return makes_next ? deliver(at, next) : Status();
}

Status BlockedFactorization::make(std::size_t at, std::size_t panel) {
  OB_RETURN_IF_ERROR(factor(at, panel));
  std::vector<std::size_t> receivers;
  for (std::size_t i = 1; i < blocks_.devices; ++i) {
    const std::size_t other = (at + i) % blocks_.devices;
    if (needs(other, panel)) receivers.push_back(other);
  }
  OB_RETURN_IF_ERROR(fabric_.offer(at, panel, parcel(at, panel), receivers));
  return fetch_block(at, panel);
}

Status BlockedFactorization::deliver(std::size_t at, std::size_t panel) {
  OB_RETURN_IF_ERROR(before_delivery(at, panel));
  return fabric_.deliver(at);
}

Status BlockedFactorization::update_rest(std::size_t at, std::size_t panel, std::size_t first) {
  if (first >= blocks_.blocks()) return {};
  if (panel > 0) {
    const std::size_t count = (blocks_.blocks() - 1 - first) / blocks_.devices + 1;
    return update(at, panel, first, count);
  }
  // The first panel is applied to each block as it arrives.
  for (std::size_t block = first; block < blocks_.blocks(); block += blocks_.devices) {
    OB_RETURN_IF_ERROR(ensure_sent(at, block));
    OB_RETURN_IF_ERROR(update(at, panel, block, 1));
  }
  return {};
}

}  // namespace ob::algorithms
