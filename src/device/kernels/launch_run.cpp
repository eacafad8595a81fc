#include "device/kernels/launch_run.hpp"

#include <algorithm>
#include <utility>

namespace ob {

std::shared_ptr<LaunchRun::Entry> LaunchRun::append(std::unique_ptr<PendingLaunch> launch) {
  auto entry = std::make_shared<Entry>(Entry{std::move(launch), {}});
  const std::lock_guard lock(mutex_);
  entries_.push_back(entry);
  return entry;
}

// Returns the first entry and those behind it, `most` in all. Entries before it have had their
// turn.
std::vector<std::shared_ptr<LaunchRun::Entry>> LaunchRun::from(const std::shared_ptr<Entry>& first,
                                                               std::size_t most) {
  std::vector<std::shared_ptr<Entry>> found;
  const std::lock_guard lock(mutex_);
  while (!entries_.empty() && entries_.front().lock() != first) entries_.pop_front();
  for (const auto& each : entries_) {
    auto entry = each.lock();
    if (entry == nullptr || found.size() == most) break;
    found.push_back(std::move(entry));
  }
  return found;
}

// A request ends before all its launches have run if they take long. It costs something to prepare
// the others, so the next request has at most twice as many as ran.
LaunchRun::Request LaunchRun::run(const std::shared_ptr<Entry>& first, HostQueue& queue,
                                  const KernelCaller* caller, const GoesAlong& goes_along) {
  const std::size_t most = std::min(next_most_, first->launch->most_together());
  const std::vector<std::shared_ptr<Entry>> all = from(first, most);
  std::vector<PendingLaunch*> launches{first->launch.get()};
  std::uint64_t waited_ns = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    PendingLaunch& launch = *all[i]->launch;
    // One that does not fit its kernel fails in its own turn.
    if (!launch.has_module_of(*first->launch) || !launch.prepare(waited_ns).ok()) break;
    if (!goes_along(launch)) break;
    launches.push_back(&launch);
  }
  std::size_t ran = 0;
  Request request;
  request.status = PendingLaunch::run_some(launches, queue, caller, ran);
  next_most_ = 2 * std::max<std::size_t>(1, ran);
  for (std::size_t i = 0; i < ran; ++i) all[i]->outcome = Status();
  if (!request.status.ok()) all[ran]->outcome = request.status;
  request.last = launches[request.status.ok() ? ran - 1 : ran];
  return request;
}

LaunchQueue::Place LaunchQueue::place(std::unique_ptr<PendingLaunch> launch) {
  if (run_ == nullptr || submitted() != submitted_with_it_) run_ = std::make_shared<LaunchRun>();
  submitted_with_it_ = submitted() + 1;
  auto entry = run_->append(std::move(launch));
  return {run_, std::move(entry)};
}

}  // namespace ob
