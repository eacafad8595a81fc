#include "device/host_queue.hpp"

#include <pthread.h>

#include <chrono>
#include <system_error>

#include "base/contract.hpp"

namespace ob {
namespace {

// Nobody wakes a held queue when its client leaves.
constexpr std::chrono::milliseconds kAbandonCheck{100};

}  // namespace

HostQueue::~HostQueue() {
  (void)synchronize();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_one();
  }
  if (worker_.joinable()) worker_.join();
}

void HostQueue::fail(Status status) {
  submit({.cheap = true}, [failure = std::move(status)](QueueReport&) { return failure; });
}

void HostQueue::record(std::shared_ptr<EventMark> mark) {
  OB_EXPECT(mark != nullptr);
  submit({.cheap = true, .always = true}, [mark = std::move(mark)](QueueReport&) {
    mark->set();
    return Status();
  });
}

void HostQueue::wait(std::shared_ptr<EventMark> mark) {
  const bool passed = mark == nullptr || mark->done();
  submit({.cheap = passed}, [mark = std::move(mark)](QueueReport&) {
    if (mark != nullptr) (void)mark->wait();
    return Status();
  });
}

void HostQueue::hold(std::shared_ptr<const Gate> gate) {
  OB_EXPECT(gate != nullptr);
  const bool open = gate->is_open();
  submit({.cheap = open}, [this, gate = std::move(gate)](QueueReport&) -> Status {
    while (!gate->wait_for(kAbandonCheck)) {
      if (abandoned()) return {Code::busy, "not held any longer (the client has gone)"};
    }
    return gate->outcome();
  });
}

QueueReport HostQueue::synchronize() {
  struct Arrival {
    std::mutex mutex;
    std::condition_variable changed;
    bool reached = false;
    QueueReport report;
  } arrival;
  reach(true, false, [&arrival](const QueueReport& report) {
    // Notify under the lock: once it is free, the waiter may destroy `arrival`.
    const std::lock_guard lock(arrival.mutex);
    arrival.report = report;
    arrival.reached = true;
    arrival.changed.notify_one();
  });
  std::unique_lock lock(arrival.mutex);
  arrival.changed.wait(lock, [&arrival] { return arrival.reached; });
  return std::move(arrival.report);
}

void HostQueue::reach(bool clear, bool /*hold*/, Done done) {
  submit({.cheap = true, .always = true, .counted = false},
         [clear, done = std::move(done)](QueueReport& report) {
           done(report);
           if (clear) report = QueueReport{};
           return Status();
         });
}

void HostQueue::end() {
  std::uint32_t busy = kBusy;
  if (state_.compare_exchange_strong(busy, kIdle, std::memory_order_release,
                                     std::memory_order_acquire)) {
    return;
  }
  // A callback, or a thread that took over the queue, has submitted a command meanwhile.
  std::unique_lock lock(mutex_);
  state_.store(kBusy, std::memory_order_release);
  start_draining(lock);
}

void HostQueue::enqueue(const TaskManner& manner, InlineTask task) {
  std::unique_lock lock(mutex_);
  pending_.push({manner.always, manner.counted, std::move(task)});
  if (draining_) return;
  for (;;) {
    std::uint32_t seen = kIdle;
    if (state_.compare_exchange_strong(seen, kBusy, std::memory_order_acq_rel)) {
      start_draining(lock);
      return;
    }
    if (seen == kBusyHandOver) return;
    seen = kBusy;
    if (state_.compare_exchange_strong(seen, kBusyHandOver, std::memory_order_acq_rel)) return;
  }
}

void HostQueue::start_draining(std::unique_lock<std::mutex>& lock) {
  OB_EXPECT(lock.owns_lock() && state_ != kIdle);
  draining_ = true;
  if (!worker_.joinable()) {
    try {
      worker_ = std::thread([this] { work(); });
      pthread_setname_np(worker_.native_handle(), name_.substr(0, 15).c_str());
    } catch (const std::system_error&) {
      drain(lock);  // the system has no more threads: run the commands here
      return;
    }
  }
  wake_.notify_one();
}

void HostQueue::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return draining_ || stopping_; });
    if (!draining_) return;
    drain(lock);
  }
}

void HostQueue::drain(std::unique_lock<std::mutex>& lock) {
  while (!pending_.empty()) {
    auto entry = pending_.pop();
    lock.unlock();
    run({.always = entry.always, .counted = entry.counted}, entry.task);
    // Release the command's buffers before the queue is reported idle.
    entry.task = InlineTask();
    lock.lock();
  }
  draining_ = false;
  state_.store(kIdle, std::memory_order_release);
}

}  // namespace ob
