#include "algorithms/factor/blocked_factorization.hpp"

#include <algorithm>

#include "algorithms/factor/ranks.hpp"

namespace ob::algorithms {

Status BlockedFactorization::run() {
  return run_ranks(exchange_, [this](std::size_t at) {
    // Whatever ends this rank early, the others do not wait for its turn.
    struct Guard {
      BlockedFactorization& run;
      Status status{Code::out_of_memory, "no memory for a call on several devices"};
      ~Guard() {
        if (status.ok()) return;
        run.send_gate_.abort(status);
        run.results_gate_.abort(status);
      }
    } guard{*this};
    guard.status = rank(at);
    return guard.status;
  });
}

Status BlockedFactorization::rank(std::size_t at) {
  OB_RETURN_IF_ERROR(allocate(at));
  for (std::size_t number = 0; number < distribution_.slabs(); ++number) {
    slab_[at] = number;
    OB_RETURN_IF_ERROR(run_slab(at));
    if (number + 1 < distribution_.slabs()) OB_RETURN_IF_ERROR(finish_slab(at));
  }
  return {};
}

Status BlockedFactorization::run_slab(std::size_t at) {
  const Slab& now = slab(at);
  const std::size_t own = distribution_.next_of(at, now.first);
  if (own < now.end) OB_RETURN_IF_ERROR(ensure_sent(at, own));
  if (has(at, 0)) {
    OB_RETURN_IF_ERROR(make(at, 0));
    // its next block travels while the panel is made
    const std::size_t next = distribution_.next_of(at, 1);
    if (next < now.end) OB_RETURN_IF_ERROR(ensure_sent(at, next));
    OB_RETURN_IF_ERROR(complete_panel(at, 0));
  }
  for (std::size_t panel = 0; panel < std::min(panels_, now.end); ++panel) {
    if (needs(at, panel)) OB_RETURN_IF_ERROR(step(at, panel));
  }
  for (std::size_t block = distribution_.next_of(at, std::max(panels_, now.first)); block < now.end;
       block = distribution_.next_of(at, block + 1)) {
    OB_RETURN_IF_ERROR(fetch_block(at, block));
  }
  return {};
}

// What is on the device is at home, where others may read it, before the next slab takes its place.
Status BlockedFactorization::finish_slab(std::size_t at) {
  OB_RETURN_IF_ERROR(exchange_.wait_results(at));
  const std::size_t end = std::min(panels_, slab(at).end);
  for (std::size_t panel = distribution_.next_of(at, slab(at).first); panel < end;
       panel = distribution_.next_of(at, panel + 1)) {
    results_gate_.leave(panel);
  }
  return {};
}

Status BlockedFactorization::ensure_sent(std::size_t at, std::size_t block) {
  if (block < sent_[at]) return {};
  sent_[at] = block + 1;
  OB_RETURN_IF_ERROR(send_gate_.enter(block, looking_at(at)));
  OB_RETURN_IF_ERROR(send_block(at, block));
  send_gate_.leave(block);
  return {};
}

// Updates all own blocks behind a panel, the next panel first.
Status BlockedFactorization::step(std::size_t at, std::size_t panel) {
  const std::size_t slot = slot_of(panel);
  if (panel < slab(at).first) {
    OB_RETURN_IF_ERROR(reload(at, panel));
  } else if (!has(at, panel)) {
    OB_RETURN_IF_ERROR(exchange_.receive(at, panel, receive_buffer(at, panel, slot), slot));
  }
  const std::size_t next = panel + 1;
  const bool makes_next = next < panels_ && has(at, next);
  if (makes_next) {
    if (panel == 0) OB_RETURN_IF_ERROR(ensure_sent(at, next));
    OB_RETURN_IF_ERROR(update(at, panel, next, next + 1));
    OB_RETURN_IF_ERROR(make(at, next));
  }
  const std::size_t rest = std::max(makes_next ? next + 1 : next, slab(at).first);
  OB_RETURN_IF_ERROR(update_rest(at, panel, distribution_.next_of(at, rest)));
  OB_RETURN_IF_ERROR(exchange_.release(at, slot));
  return makes_next ? complete_panel(at, next) : Status();
}

Status BlockedFactorization::make(std::size_t at, std::size_t panel) {
  OB_RETURN_IF_ERROR(factor(at, panel));
  std::vector<std::size_t> receivers;
  for (std::size_t i = 1; i < distribution_.devices(); ++i) {
    const std::size_t other = (at + i) % distribution_.devices();
    // asked of this rank's slab: another one may not have come to it yet
    if (distribution_.next_of(other, panel + 1) < slab(at).end) receivers.push_back(other);
  }
  OB_RETURN_IF_ERROR(exchange_.post_broadcast(at, panel, message(at, panel), receivers));
  return fetch_block(at, panel);
}

Status BlockedFactorization::complete_panel(std::size_t at, std::size_t panel) {
  OB_RETURN_IF_ERROR(before_completion(at, panel));
  return exchange_.complete(at);
}

Status BlockedFactorization::reload(std::size_t at, std::size_t panel) {
  OB_RETURN_IF_ERROR(results_gate_.enter(panel + 1, looking_at(at)));
  const std::size_t slot = slot_of(panel);
  OB_RETURN_IF_ERROR(exchange_.wait_slot(at, slot));
  const PanelMessage there = receive_buffer(at, panel, slot);
  const std::vector<Layout> here = host_panel(at, panel);
  for (std::size_t i = 0; i < here.size(); ++i) {
    OB_RETURN_IF_ERROR(exchange_.send(at, here[i], there.buffer, there.regions[i]));
  }
  return {};
}

Status BlockedFactorization::update_rest(std::size_t at, std::size_t panel, std::size_t first) {
  if (first >= slab(at).end) return {};
  if (panel > 0) return update(at, panel, first, slab(at).end);
  // The first panel is applied to each block as it arrives.
  for (std::size_t block = first; block < slab(at).end;
       block = distribution_.next_of(at, block + 1)) {
    OB_RETURN_IF_ERROR(ensure_sent(at, block));
    OB_RETURN_IF_ERROR(update(at, panel, block, block + 1));
  }
  return {};
}

}  // namespace ob::algorithms
