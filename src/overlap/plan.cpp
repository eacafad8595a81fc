#include "overlap/plan.hpp"

#include <algorithm>

#include "overlap/clock.hpp"

namespace ob::overlap {

Plan::Plan(std::string name, std::vector<Communicator> comms, int world_rank)
    : name_(std::move(name)), comms_(std::move(comms)), world_rank_(world_rank) {}

Plan::~Plan() {
  (void)choice.release();  // MPI may still write to one that has not ended
}

Status Plan::keep(const Status& status) {
  if (description_.ok()) description_ = status;
  return status;
}

bool Plan::over() const noexcept {
  return std::all_of(runs_.begin(), runs_.end(), [](const auto& run) { return run->over(); });
}

void Plan::note_iteration() {
  const std::int64_t now = now_ns();
  if (iteration_began_ns_ != 0) trials_->record(double(now - iteration_began_ns_) * 1e-9);
  iteration_began_ns_ = now;
}

int Plan::failed_neighbour() const noexcept {
  for (const auto& run : runs_) {
    // The driver of a run that is not over may write this number now.
    if (!run->over() || run->exchange() == nullptr) continue;
    const int failed = run->exchange()->failed_message();
    if (failed >= 0) return run->exchange()->messages()[std::size_t(failed)].peer;
  }
  return -1;
}

void Plan::add_start(const Run& run, double seconds) {
  times_[std::size_t(run.mode())].start_s += seconds;
}

void Plan::add_wait(const Run& run, double seconds) {
  times_[std::size_t(run.mode())].wait_s += seconds;
}

void Plan::note_moved(Mode mode, double seconds) {
  ModeTimes& times = times_[std::size_t(mode)];
  ++times.runs;
  times.moving_s += seconds;
  if (seconds > 0) shortest_s_ = shortest_s_ == 0 ? seconds : std::min(shortest_s_, seconds);
}

}  // namespace ob::overlap
