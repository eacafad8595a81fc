#include "api/objects.hpp"

#include <algorithm>
#include <string>

namespace ob::api {

// --- devices -------------------------------------------------------------------------------------

Result<QueueId> OpenDevice::take_watch() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_watches_.empty()) {
      const QueueId watch = idle_watches_.back();
      idle_watches_.pop_back();
      return watch;
    }
  }
  return device_->create_queue();
}

Status OpenDevice::runs_kernels() const {
  if (remote_ == nullptr) return device_->runs_kernels();
  return {Code::unsupported,
          "the device is behind a daemon, and this version runs kernels on local devices only; "
          "open local:cpu or local:opencl"};
}

void OpenDevice::give_back_watch(QueueId watch) {
  const std::lock_guard lock(mutex_);
  idle_watches_.push_back(watch);
}

// --- queues --------------------------------------------------------------------------------------

Queue::~Queue() { (void)(*device)->destroy_queue(id); }

void Queue::count(std::string_view name) {
  ++commands_;
  if (name.empty()) return;
  auto known = names_.find(name);
  if (known == names_.end()) known = names_.emplace(name).first;
  calls_.emplace_back(commands_, *known);
}

Layout Queue::capture(const Layout& from) {
  const std::uint64_t bytes = from.total_bytes();
  captured_.push_back(std::make_unique<std::byte[]>(bytes));
  captured_bytes_ += bytes;
  const Layout packed = Layout::bytes(captured_.back().get(), bytes);
  copy(packed, from);
  return packed;
}

std::optional<QueueReport> Queue::await(bool clear, Deadline deadline) {
  auto report = (*device)->await(id, clear, deadline);
  if (!report) return report;
  captured_.clear();
  captured_bytes_ = 0;
  if (clear || report->status.ok()) calls_.clear();
  return report;
}

Outcome Queue::outcome_of(const QueueReport& report) const {
  Outcome outcome(report.status);
  outcome.command = report.failed_command;
  const auto call = std::find_if(calls_.begin(), calls_.end(), [&](const auto& known) {
    return known.first == report.failed_command;
  });
  if (call != calls_.end()) outcome.name = call->second;
  // The mistake was found on the device, after the command had been handed over.
  if (!outcome.ok() && outcome.origin == OB_FROM_CALLER) outcome.origin = OB_FROM_DEVICE;
  return outcome;
}

// --- events --------------------------------------------------------------------------------------

Event::~Event() {
  // Queues that still wait end with the device.
  (void)(*device)->destroy_event(id);
}

Status Event::record(QueueId queue) {
  const std::lock_guard lock(mutex_);
  OB_RETURN_IF_ERROR((*device)->record(queue, id));
  ++records_;
  return {};
}

// Returns a queue that waits for the last record, one whose waiter has left or a new one.
Result<Event::Watch> Event::watch_last_record() {
  const std::lock_guard lock(mutex_);
  if (records_ == 0) return Watch{};
  const auto left = std::find_if(watches_.begin(), watches_.end(),
                                 [&](const Watch& watch) { return watch.record == records_; });
  if (left != watches_.end()) {
    const Watch watch = *left;
    watches_.erase(left);
    return watch;
  }
  OB_ASSIGN_OR_RETURN(const QueueId queue, device->take_watch());
  OB_RETURN_IF_ERROR((*device)->wait(queue, id));
  return Watch{queue, records_};
}

Status Event::await(Deadline deadline) {
  OB_ASSIGN_OR_RETURN(const Watch watch, watch_last_record());
  if (!watch.queue) return {};
  const auto report = (*device)->await(watch.queue, true, deadline);
  if (!report) {
    const std::lock_guard lock(mutex_);
    watches_.push_back(watch);
    return {Code::deadline_exceeded, "the event is not done yet; wait again"};
  }
  if (report->status.ok()) device->give_back_watch(watch.queue);
  return report->status;
}

Result<Deadline> deadline_after(std::int64_t timeout_ms) {
  if (timeout_ms < OB_FOREVER) {
    return Status(Code::invalid_argument, "a time limit of " + std::to_string(timeout_ms) +
                                              " ms (negative); OB_FOREVER waits without one");
  }
  // A year: beyond it the sum with the clock might overflow.
  constexpr std::int64_t kLongest_ms = std::int64_t{366} * 24 * 3600 * 1000;
  if (timeout_ms == OB_FOREVER || timeout_ms > kLongest_ms) return Deadline::max();
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
}

}  // namespace ob::api
