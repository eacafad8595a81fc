#include "api/objects.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace ob::api {

// --- devices -------------------------------------------------------------------------------------

std::optional<QueueId> OpenDevice::Watches::take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::nullopt;
  const QueueId watch = idle_.back();
  idle_.pop_back();
  return watch;
}

void OpenDevice::Watches::give_back(QueueId watch) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(watch);
}

Result<QueueId> OpenDevice::take_watch() {
  if (const auto idle = watches_->take()) return *idle;
  return device_->create_queue();
}

Result<std::shared_ptr<client::Proxy>> OpenDevice::proxy() {
  const std::lock_guard lock(mutex_);
  if (proxy_ == nullptr) {
    OB_ASSIGN_OR_RETURN(proxy_, client::Proxy::acquire());
  }
  return proxy_;
}

// --- queues --------------------------------------------------------------------------------------

void QueueRecord::note_call(std::uint64_t command, std::string_view name) {
  const std::lock_guard lock(mutex_);
  auto known = names_.find(name);
  if (known == names_.end()) known = names_.emplace(name).first;
  calls_.emplace_back(command, *known);
}

void QueueRecord::forget_calls() {
  const std::lock_guard lock(mutex_);
  calls_.clear();
}

void PendingCallbacks::begin() {
  const std::lock_guard lock(mutex_);
  ++count_;
}

void PendingCallbacks::end() {
  const std::lock_guard lock(mutex_);
  if (--count_ == 0) ended_.notify_all();
}

void PendingCallbacks::wait() {
  if (client::Proxy::is_this_thread()) return;
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return count_ == 0; });
}

void describe(const QueueReport& report, const Outcome& outcome, ob_report& result) noexcept {
  result.failed_command = report.failed_command;
  result.compute_ns = report.compute_ns;
  result.plan_ns = report.plan_ns;
  result.waited_ns = report.waited_ns;
  result.error.struct_bytes = sizeof result.error;
  describe(outcome, result.error);
}

Queue::~Queue() {
  (void)(*device)->destroy_queue(id);
  if (copied_) (void)(*device)->destroy_event(copied_);
  device->copies().forget(id);
  record_->callbacks().wait();  // one of them may hold the last use of this queue
}

Result<EventId> Queue::copied() {
  if (!copied_) {
    OB_ASSIGN_OR_RETURN(copied_, (*device)->create_event());
  }
  return copied_;
}

void Queue::count(std::string_view name) {
  ++commands_;
  if (!name.empty()) record_->note_call(commands_, name);
}

Status Queue::call_back(void (*done)(void* user, const ob_report* report), void* user,
                        std::shared_ptr<const std::atomic<bool>> released) {
  OB_ASSIGN_OR_RETURN(auto proxy, device->proxy());
  record_->callbacks().begin();
  // The mark may be answered on a thread that must not run the program's code.
  Status asked = (*device)->mark(id, [proxy = proxy.get(), record = record_, done, user,
                                      released = std::move(released)](const QueueMark& mark) {
    proxy->post([record, done, user, released, report = mark.report] {
      released->wait(false);
      ob_report result{};
      result.struct_bytes = sizeof result;
      describe(report, record->outcome_of(report), result);
      done(user, &result);
      record->callbacks().end();
    });
  });
  if (!asked.ok()) record_->callbacks().end();
  return asked;
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
  if (report->status.ok()) record_->forget_calls();
  return report;
}

Outcome QueueRecord::outcome_of(const QueueReport& report) const {
  Outcome outcome(report.status);
  outcome.command = report.failed_command;
  const std::lock_guard lock(mutex_);
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
  if (clock_ == nullptr) return {};
  return (*device)->mark(queue, [clock = clock_, record = clock_->begin()](const QueueMark& mark) {
    clock->note(record, mark);
  });
}

Status Event::record_transfer(QueueId queue) {
  client::SharedDevice* const remote = device->remote();
  if (remote == nullptr || clock_ != nullptr) {
    return {Code::invalid_argument,
            "messages record no times; make the event with ob_event_create(..., 0, ...)"};
  }
  const std::lock_guard lock(mutex_);
  OB_RETURN_IF_ERROR(remote->record_transfer(queue, id));
  ++records_;
  return {};
}

Status Event::hold(OpenDevice& other, QueueId queue) {
  if (&other == device.get()) return (*device)->wait(queue, id);
  {
    const std::lock_guard lock(mutex_);
    if (records_ == 0) return {};
  }
  auto gate = std::make_shared<Gate>();
  OB_RETURN_IF_ERROR(other->hold(queue, gate));
  Status asked = open_when_done(gate);
  if (!asked.ok()) gate->open(asked);  // the queue fails rather than waits for ever
  return asked;
}

// Opens the gate when the last record is done, with the failure of the message that recorded it.
Status Event::open_when_done(std::shared_ptr<Gate> gate) {
  const std::lock_guard lock(mutex_);
  OB_ASSIGN_OR_RETURN(const QueueId watch, device->take_watch());
  OB_RETURN_IF_ERROR((*device)->wait(watch, id));
  return (*device)->mark(
      watch, [gate = std::move(gate), watches = device->watches(), watch](const QueueMark& mark) {
        if (mark.report.status.ok()) watches->give_back(watch);
        gate->open(mark.report.status);
      });
}

std::uint64_t RecordClock::begin() {
  const std::lock_guard lock(mutex_);
  return ++records_;
}

// The failure of a queue does not matter: its marks are reached all the same.
void RecordClock::note(std::uint64_t record, const QueueMark& mark) {
  const std::lock_guard lock(mutex_);
  if (record < done_) return;
  done_ = record;
  clock_ns_ = mark.clock_ns;
  if (clock_ns_ == 0) lost_ = mark.report.status;
}

Result<std::uint64_t> RecordClock::last() const {
  const std::lock_guard lock(mutex_);
  if (records_ == 0) {
    return Status(Code::invalid_argument, "the event was never recorded; record it first");
  }
  if (done_ < records_) {
    return Status(Code::deadline_exceeded, "the event is not done yet; wait for it first");
  }
  OB_RETURN_IF_ERROR(lost_);
  return clock_ns_;
}

Result<std::uint64_t> Event::clock() const {
  if (clock_ != nullptr) return clock_->last();
  return Status(Code::invalid_argument,
                "the event notes no times; make it with ob_event_create(..., OB_TIMED, ...)");
}

Result<std::shared_ptr<EventSignal>> EventSignal::create() {
  const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) {
    return Status(Code::unavailable,
                  "no descriptor for the event (the process has no more); raise its limit");
  }
  return std::shared_ptr<EventSignal>(new EventSignal(descriptor));
}

EventSignal::~EventSignal() { ::close(descriptor_); }

std::uint64_t EventSignal::arm() {
  const std::lock_guard lock(mutex_);
  std::uint64_t old = 0;
  (void)!::read(descriptor_, &old, sizeof old);  // it may have none
  return ++armed_;
}

bool EventSignal::is_done(std::uint64_t record) {
  const std::lock_guard lock(mutex_);
  return record <= done_;
}

void EventSignal::set(std::uint64_t armed, std::uint64_t record) {
  const std::lock_guard lock(mutex_);
  done_ = std::max(done_, record);
  const std::uint64_t one = 1;
  if (armed == armed_) (void)!::write(descriptor_, &one, sizeof one);
}

// A watch of its own holds for the record, so that the record costs nothing.
Result<int> Event::descriptor() {
  const std::lock_guard lock(mutex_);
  if (signal_ == nullptr) {
    OB_ASSIGN_OR_RETURN(signal_, EventSignal::create());
  }
  const std::uint64_t armed = signal_->arm();
  if (records_ == 0) {
    signal_->set(armed, 0);
    return signal_->descriptor();
  }
  OB_ASSIGN_OR_RETURN(const QueueId watch, device->take_watch());
  OB_RETURN_IF_ERROR((*device)->wait(watch, id));
  OB_RETURN_IF_ERROR(
      (*device)->mark(watch, [signal = signal_, armed, record = records_,
                              watches = device->watches(), watch](const QueueMark& mark) {
        const bool done = mark.report.status.ok();
        if (done) watches->give_back(watch);
        signal->set(armed, done ? record : 0);  // a lost device ends the wait, too
      }));
  return signal_->descriptor();
}

// Returns a queue that waits for the last record, one whose waiter has left or a new one.
Result<Event::Watch> Event::watch_last_record() {
  const std::lock_guard lock(mutex_);
  if (records_ == 0 || (signal_ != nullptr && signal_->is_done(records_))) return Watch{};
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
  if (report->status.ok()) device->watches()->give_back(watch.queue);
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
