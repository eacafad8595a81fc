#include "backend/cuda/queue.hpp"

#include <algorithm>

#include "backend/cuda/stream_mark.hpp"

namespace ob::cuda {
namespace {

// Consecutive computations share one turn up to this time, as long as no other queue wants to
// compute. A queue that comes later waits for them. A launch takes microseconds, so longer
// computations gain nothing from sharing.
constexpr double kTurnSeconds = 5e-3;
constexpr unsigned kTurnCommands = 64;
// A low estimate of an accelerator's rate, for computations that were never seen [flop/s].
constexpr double kSlowRate = 1e12;

// Combines two reports: the earlier failure counts, and times add up.
QueueReport merged(QueueReport report, const QueueReport& other) {
  if (!other.status.ok() && (report.status.ok() || other.failed_command < report.failed_command)) {
    report.status = other.status;
    report.failed_command = other.failed_command;
  }
  report.compute_ns += other.compute_ns;
  report.plan_ns += other.plan_ns;
  report.waited_ns += other.waited_ns;
  return report;
}

}  // namespace

Result<std::shared_ptr<CudaQueue>> CudaQueue::create(const Resources& resources,
                                                     const std::string& name,
                                                     const Account& account) {
  OB_ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, Stream::create(resources.gpu));
  return std::shared_ptr<CudaQueue>(new CudaQueue(resources, std::move(stream), name, account));
}

CudaQueue::CudaQueue(const Resources& resources, std::unique_ptr<Stream> stream,
                     const std::string& name, const Account& account)
    : HostQueue(name, account),
      gpu_(resources.gpu),
      events_(resources.events),
      stream_(std::move(stream)),
      work_(resources.memory, [this] { catch_up(); }),
      handles_(resources.gpu.libraries, stream_->get()),
      context_{.libraries = resources.gpu.libraries,
               .device = resources.gpu.ordinal,
               .stream = stream_->get(),
               .work = work_,
               .pinned = resources.pinned,
               .handles = handles_,
               .host = resources.host},
      copies_(context_),
      follower_(name + "-end", account) {}

CudaQueue::~CudaQueue() {
  (void)synchronize();  // commands use the members that are destroyed next
  finish_submitting();
  (void)gpu_.make_current();  // members are destroyed with the device current
}

void CudaQueue::set_accuracy(Accuracy accuracy) {
  submit({.cheap = true, .always = true, .counted = false}, [this, accuracy](QueueReport&) {
    context_.accuracy = accuracy;
    return Status();
  });
}

// --- computations ------------------------------------------------------------------------------

bool CudaQueue::joins_turn(const ComputeTime& time, const Computation& what) {
  if (time.wanted_by_others(what.account) || turn_commands_ >= kTurnCommands) return false;
  turn_seconds_ += std::max(time.predict(what), what.flop / kSlowRate);
  ++turn_commands_;
  return turn_seconds_ <= kTurnSeconds;
}

// A computation shares the turn of those before it, which the stream may still be running.
// Otherwise, and when other queues want to compute, it is submitted only when the stream has
// reached it: a turn is for computing, not for waiting for copies.
Status CudaQueue::begin(ComputeTime& time, const Computation& what, QueueReport& report) {
  std::shared_ptr<FairTurns::Turn> turn = turn_.lock();
  if (turn == nullptr || !joins_turn(time, what)) {
    if (turn != nullptr || time.wanted()) {
      turn.reset();
      OB_RETURN_IF_ERROR(context_.synchronize());
    }
    OB_ASSIGN_OR_RETURN(turn, time.take_turn(what, report));
    turn_ = turn;
    turn_seconds_ = std::max(time.predict(what), what.flop / kSlowRate);
    turn_commands_ = 1;
  }
  Event began;
  OB_RETURN_IF_ERROR(mark(began));
  running_ = std::make_unique<Running>(Running{std::move(turn), time, what, {}, std::move(began)});
  return {};
}

// --- behind the stream -------------------------------------------------------------------------

// Without an event, this waits for the stream.
Status CudaQueue::mark(Event& event) {
  auto recorded = events_->record(context_.stream);
  if (recorded.ok()) {
    event = std::move(*recorded);
    return {};
  }
  Status status = recorded.status();
  (void)context_.synchronize();
  return status;
}

void CudaQueue::pass(const Submitted& submitted, QueueReport& report) const {
  Status status = gpu_.make_current();
  if (submitted.passed != nullptr) status = submitted.passed->wait();
  if (submitted.running != nullptr && submitted.passed != nullptr && status.ok()) {
    const Running& running = *submitted.running;
    const std::uint64_t took_ns = submitted.passed->ns_since(*running.began);
    running.time.count(running.what, took_ns, running.status, report);
  }
  if (status.ok() || !report.status.ok()) return;
  if (submitted.running != nullptr && submitted.running->what.is_kernel) {
    status = Status(Code::kernel_fault, "kernel " + std::string(submitted.running->what.name) +
                                            ": " + status.message());
  }
  report.status = std::move(status);
  report.failed_command = submitted.number;
}

// Waits until all submitted commands have run and released their memory.
void CudaQueue::catch_up() {
  const auto reached = std::make_shared<EventMark>();
  follower_.on_reached(false, [reached](const QueueReport&) { reached->set(); });
  (void)reached->wait();
}

// The thread that submitted the last command may not have returned from the submission.
void CudaQueue::finish_submitting() {
  const auto reached = std::make_shared<EventMark>();
  HostQueue::reach(false, false, [reached](const QueueReport&) { reached->set(); });
  (void)reached->wait();
}

void CudaQueue::wait_until_let_go() {
  if (held_ == 0) return;
  std::unique_lock lock(mutex_);
  let_go_.wait(lock, [this] { return held_ == 0; });
}

void CudaQueue::reach(bool clear, bool hold, Done done) {
  const TaskManner manner{.cheap = true, .always = true, .counted = false};
  submit(manner, [this, manner, clear, hold, done = std::move(done)](QueueReport& report) mutable {
    QueueReport before = clear ? std::exchange(report, {}) : report;
    if (hold) ++held_;
    follower_.submit(manner, [this, clear, hold, before = std::move(before),
                              done = std::move(done)](QueueReport& passed) {
      done(merged(before, passed));
      if (clear) passed = {};
      if (!hold) return Status();
      const std::lock_guard lock(mutex_);
      --held_;
      let_go_.notify_all();
      return Status();
    });
    return Status();
  });
}

// --- events ------------------------------------------------------------------------------------

std::shared_ptr<EventMark> CudaQueue::make_mark() const { return std::make_shared<StreamMark>(); }

void CudaQueue::record(std::shared_ptr<EventMark> event_mark) {
  auto mark_here = std::static_pointer_cast<StreamMark>(std::move(event_mark));
  const TaskManner manner{.cheap = held_ == 0, .always = true};
  submit(manner, [this, mark_here = std::move(mark_here)](QueueReport&) {
    wait_until_let_go();
    Event event;
    Status status = gpu_.make_current();
    if (status.ok()) status = mark(event);
    mark_here->submitted(event);
    follower_.submit({.always = true, .counted = false},
                     [event = std::move(event), mark_here](QueueReport&) {
                       if (event != nullptr) (void)event->wait();
                       mark_here->reached();
                       return Status();
                     });
    return status;
  });
}

// Waits on this thread until the other queue has submitted its mark, and then in the stream.
void CudaQueue::wait(std::shared_ptr<EventMark> event_mark) {
  if (event_mark == nullptr || event_mark->done()) {
    submit({.cheap = true}, [](QueueReport&) { return Status(); });
    return;
  }
  auto other = std::static_pointer_cast<StreamMark>(std::move(event_mark));
  const bool quick = other->is_submitted();
  submit_work(quick, [other = std::move(other)](CudaQueue& on, QueueReport&) -> Status {
    const Event event = other->event();
    if (event != nullptr) return event->hold(on.context().stream);
    (void)other->EventMark::wait();
    return {};
  });
}

}  // namespace ob::cuda
