#include "overlap/move_plan.hpp"

#include <algorithm>

#include "overlap/agreement.hpp"

namespace ob::overlap {

MovePlan::MovePlan(std::string name, Communicator comm, int world_rank)
    : Plan(std::move(name), std::move(comm), world_rank) {
  add_run(Run::Done::when_all_moved);
}

Status MovePlan::commit(bool check, std::vector<Mode> candidates, Trace* trace) {
  if (committed()) return Status(Code::invalid_argument, "the plan is committed already");
  OB_RETURN_IF_ERROR(agree(comm().get(), described_, description()));
  auto made = Exchange::create(comm().get(), std::move(described_), check, trace);
  // One rank may have no memory for what the others have.
  OB_RETURN_IF_ERROR(agree(comm().get(), {}, made.status()));
  exchange_ = std::move(made).value();
  if (check) checks_ = std::make_unique<RegionChecks>(*exchange_);
  not_ready_.resize(exchange_->messages().size());
  waited_for_.assign(exchange_->messages().size(), 0);
  set_candidates(std::move(candidates));
  return {};
}

Status MovePlan::prepare(Mode mode, bool hold_sends) {
  OB_RETURN_IF_ERROR(run().failure());
  under_way_ = true;
  for (std::size_t i = exchange_->receives(); i < not_ready_.size(); ++i) {
    not_ready_[i].assign(1, exchange_->messages()[i].box);
    if (checks_ && !hold_sends) checks_->sent(i);
  }
  if (checks_) checks_->begin();
  run().prepare(*exchange_, mode, hold_sends);
  return {};
}

Status MovePlan::ready(const Box& box) {
  if (!cells) return Status(Code::unsupported, "ready() is for halo plans");
  for (std::size_t i = exchange_->receives(); i < not_ready_.size(); ++i) {
    if (!exchange_->held(i)) continue;
    not_ready_[i] = subtract(not_ready_[i], box);
    if (!not_ready_[i].empty()) continue;
    if (checks_) checks_->sent(i);
    exchange_->release(i);
  }
  return {};
}

void MovePlan::release_all() {
  if (!under_way_) return;
  for (std::size_t i = exchange_->receives(); checks_ && i < not_ready_.size(); ++i)
    if (exchange_->held(i)) checks_->sent(i);
  exchange_->release_all();
}

Status MovePlan::finish() {
  under_way_ = false;
  OB_RETURN_IF_ERROR(run().failure());
  note_run(run());
  if (!checks_) return {};
  const Status checked = checks_->finish(comm().rank());
  exchange_->unpack();
  return checked;
}

void MovePlan::add_wait(const Run& run, double seconds) {
  Plan::add_wait(run, seconds);
  if (!waited_for_.empty()) waited_for_[exchange_->last_completed()] += seconds;
}

std::string MovePlan::summary() const {
  return std::to_string(exchange_->messages().size()) + " messages, " +
         std::to_string(exchange_->bytes()) + " bytes a run";
}

LongestWait MovePlan::longest_wait() const {
  const auto longest = std::max_element(waited_for_.begin(), waited_for_.end());
  if (longest == waited_for_.end()) return {};
  const Message& message = exchange_->messages()[std::size_t(longest - waited_for_.begin())];
  return {*longest, std::string(message.sends ? "a message to rank " : "a message from rank ") +
                        std::to_string(message.peer)};
}

}  // namespace ob::overlap
