#include "overlap/plan.hpp"

#include <algorithm>

#include "overlap/agreement.hpp"
#include "overlap/clock.hpp"

namespace ob::overlap {

Plan::Plan(std::string name, Communicator comm, int world_rank)
    : name_(std::move(name)), comm_(std::move(comm)), world_rank_(world_rank) {}

Status Plan::keep(const Status& status) {
  if (description_.ok()) description_ = status;
  return status;
}

Status Plan::commit(bool check, std::vector<Mode> candidates) {
  if (committed()) return Status(Code::invalid_argument, "the plan is committed already");
  OB_RETURN_IF_ERROR(agree(comm_.get(), described_, description_));
  auto made = Exchange::create(comm_.get(), std::move(described_), check);
  // One rank may have no memory for what the others have.
  OB_RETURN_IF_ERROR(agree(comm_.get(), {}, made.status()));
  exchange_ = std::move(made).value();
  if (check) checks_ = std::make_unique<RegionChecks>(*exchange_);
  trials_.emplace(std::move(candidates));
  not_ready_.resize(exchange_->messages().size());
  waited_for_.assign(exchange_->messages().size(), 0);
  for (const Message& message : exchange_->messages()) bytes_ += std::int64_t(message.bytes());
  return {};
}

Result<Mode> Plan::next_mode() {
  const std::int64_t now = now_ns();
  if (began_ns_ != 0) trials_->record(double(now - began_ns_) * 1e-9);
  if (trials_->due()) {
    std::vector<double> times = trials_->medians();
    OB_RETURN_IF_ERROR(
        mpi_status("MPI_Allreduce", MPI_Allreduce(MPI_IN_PLACE, times.data(), int(times.size()),
                                                  MPI_DOUBLE, MPI_MAX, comm_.get())));
    trials_->choose(times);
  }
  return trials_->next();
}

Status Plan::prepare(Mode mode, bool hold_sends) {
  if (!failure_.ok()) return failure_;
  mode_ = mode;
  under_way_ = true;
  over_.store(false, std::memory_order_relaxed);
  exchange_->prepare(hold_sends);
  for (std::size_t i = exchange_->receives(); i < not_ready_.size(); ++i) {
    not_ready_[i].assign(1, exchange_->messages()[i].box);
    if (checks_ && !hold_sends) checks_->sent(i);
  }
  if (checks_) checks_->begin();
  began_ns_ = now_ns();
  return {};
}

Plan::Progress Plan::begin() noexcept { return progress(exchange_->start(), true); }

Plan::Progress Plan::drive() noexcept {
  const Result<bool> moved = exchange_->advance();
  return progress(moved.status(), !moved.ok() || *moved);
}

Plan::Progress Plan::progress(Status status, bool moved) noexcept {
  const bool ended = !status.ok() || exchange_->complete();
  if (ended) {
    failure_ = std::move(status);
    over_.store(true, std::memory_order_release);
  }
  return {moved, ended};
}

Status Plan::ready(const Box& box) {
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

void Plan::release_all() {
  for (std::size_t i = exchange_->receives(); checks_ && i < not_ready_.size(); ++i)
    if (exchange_->held(i)) checks_->sent(i);
  exchange_->release_all();
}

Status Plan::finish() {
  under_way_ = false;
  if (!failure_.ok()) return failure_;
  note_run();
  if (!checks_) return {};
  const Status checked = checks_->finish(comm_.rank());
  exchange_->unpack();
  return checked;
}

void Plan::note_run() {
  const double seconds = double(exchange_->moved_ns() - began_ns_) * 1e-9;
  ModeTimes& times = times_[std::size_t(mode_)];
  ++times.runs;
  times.moving_s += seconds;
  if (seconds > 0) wire_s_ = wire_s_ == 0 ? seconds : std::min(wire_s_, seconds);
}

int Plan::failed_neighbour() const noexcept {
  const int failed = exchange_ ? exchange_->failed_message() : -1;
  return failed < 0 ? -1 : exchange_->messages()[std::size_t(failed)].peer;
}

void Plan::add_wait(double seconds) {
  times_[std::size_t(mode_)].wait_s += seconds;
  if (!waited_for_.empty()) waited_for_[exchange_->last_completed()] += seconds;
}

}  // namespace ob::overlap
