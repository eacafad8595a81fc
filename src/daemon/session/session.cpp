#include "daemon/session/session.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "daemon/memory/staged_reader.hpp"

namespace ob::daemon {
namespace {

// No honest client comes near these limits; a hostile one is stopped before its tables need much
// memory.
constexpr std::size_t kMaxObjects = 1 << 16;
constexpr std::size_t kMaxQueues = 256;
// An upper bound of a queue's memory: its 256 commands in flight and their answers, of 1 KiB each,
// in a ring that doubles; and the stack of the queue's thread.
constexpr std::uint64_t kQueueHostBytes = std::uint64_t{1} << 20;
// An upper bound of the daemon's memory for the entry of a buffer, plan or event.
constexpr std::uint64_t kRecordBytes = 1024;

std::shared_ptr<UseCounter> lease_use_of(const SessionLease* lease) {
  const LeaseAccount* const account = account_of(lease);
  return account != nullptr ? account->use() : nullptr;
}

LeaseWeight lease_weight_of(const SessionLease* lease) {
  const LeaseAccount* const account = account_of(lease);
  return account != nullptr ? account->weight() : LeaseWeight();
}

Status too_many(const char* what, std::size_t limit) {
  return Status(Code::denied, std::string("session has too many ") + what + " (limit " +
                                  std::to_string(limit) + ")");
}

Status unknown(const char* what, std::uint64_t id) {
  return Status(Code::invalid_argument, std::string("unknown ") + what + " " + std::to_string(id) +
                                            " (freed or never made)");
}

Status taken(const char* what, std::uint64_t id) {
  return Status(Code::protocol_error,
                std::string(what) + " id " + std::to_string(id) + " is in use or 0");
}

}  // namespace

Session::Session(const SessionDevice& device, const wire::Token& token, UserId user,
                 SessionAccounts accounts, bool holds_user_data,
                 std::unique_ptr<const SessionLease> lease)
    : lease_(std::move(lease)),
      use_(
          std::make_shared<UseCounter>(UseCounter::Wholes{device.use, lease_use_of(lease_.get())})),
      counters_(device.counters != nullptr ? device.counters : std::make_shared<DaemonCounters>()),
      device_(device.device),
      plan_cache_(device.plans),
      member_(device.share),
      device_index_(device.index),
      token_(token),
      account_{user, SessionId{token[0]}, lease_weight_of(lease_.get()), use_.get()},
      accounts_(std::move(accounts)),
      holds_user_data_(holds_user_data),
      peers_(device_, accounts_.host_memory, accounts_.threads, over()),
      modules_(device_, account_) {}

Session::~Session() {
  peers_.close();
  grants_.close();
  for (const auto& [id, queue] : queues_) destroy(*queue);
  for (const auto& [id, event] : events_) (void)device_.destroy_event(event.known.local);
}

std::function<bool()> Session::over() const {
  if (lease_ == nullptr) return {};
  return [gate = lease_->commands()] { return !gate->valid(); };
}

// There is no object yet that the failure could stick to.
Result<Reservation> Session::reserve_record(const char* what) {
  auto record = reserve_host(kRecordBytes);
  if (record.ok()) return record;
  return Status(Code::denied, record.status().message()).in(what);
}

// --- queues --------------------------------------------------------------------------------------

Status Session::create_queue(QueueId id, const void* owner) {
  const std::lock_guard lock(mutex_);
  if (!id || queues_.count(id) != 0) return taken("queue", id.value);
  if (queues_.size() >= kMaxQueues) return too_many("queues", kMaxQueues);
  auto queue = std::make_shared<SessionQueue>();
  queue->owner = owner;
  queue->counters = counters_;
  if (lease_ != nullptr) queue->errors = lease_->errors();
  auto memory = reserve_host(kQueueHostBytes);
  // There is no queue yet that the failure could stick to.
  if (!memory.ok()) return Status(Code::denied, memory.status().message()).in("a queue");
  queue->memory = std::move(memory).value();
  auto thread = reserve_thread();
  if (!thread.ok()) return Status(Code::denied, thread.status().message()).in("a queue");
  queue->thread = std::move(thread).value();
  const auto made = device_.create_queue(account_);
  if (!made.ok()) {
    queue->note_told(made.status(), 0);
    return made.status();
  }
  queue->local = *made;
  queues_[id] = std::move(queue);
  return {};
}

Status Session::set_accuracy(QueueId id, const void* owner, Accuracy accuracy) {
  const auto named = queue(id);
  if (!named || named->owner != owner) {
    return Status(Code::protocol_error, "accuracy of queue " + std::to_string(id.value) +
                                            " (unknown, or made by another connection)");
  }
  return device_.set_accuracy(named->local, accuracy);
}

Status Session::destroy_queue(QueueId id, const void* owner) {
  std::shared_ptr<SessionQueue> queue;
  {
    const std::lock_guard lock(mutex_);
    const auto at = queues_.find(id);
    if (at == queues_.end()) return {};
    if (at->second->owner != owner) {
      return Status(Code::protocol_error, "queue " + std::to_string(id.value) +
                                              " belongs to another connection of the session");
    }
    queue = at->second;
    queues_.erase(at);
  }
  destroy(*queue);
  queue->reached = queue->submitted;
  return {};
}

// The queue for transfers is destroyed last: answers of the other queue use it.
void Session::destroy(SessionQueue& queue) {
  (void)device_.destroy_queue(queue.local);
  if (queue.transfers) (void)device_.destroy_queue(queue.transfers);
  // The uses of buffers hold the record of the queue for longer than its memory is needed. No other
  // thread reaches the writer: it belongs to the queue's connection.
  queue.writer.reset();
  queue.reader_memory = {};
  queue.memory = {};
  queue.transfers_thread = {};
  queue.thread = {};
}

Result<StagedWriter*> Session::writer(SessionQueue& queue) {
  if (queue.writer == nullptr) {
    OB_ASSIGN_OR_RETURN(Reservation memory, reserve_host(StagedWriter::kHostBytes));
    // A block's commands are looked up while the log still remembers them.
    queue.writer = std::make_unique<StagedWriter>(
        device_, queue.local, std::move(memory),
        [log = queue.log](const QueueReport& report) { (void)log->first_failed(report); });
  }
  return queue.writer.get();
}

Result<QueueId> Session::transfers(SessionQueue& queue) {
  if (!queue.transfers) {
    OB_ASSIGN_OR_RETURN(Reservation memory, reserve_host(StagedReader::kHostBytes));
    OB_ASSIGN_OR_RETURN(Reservation thread, reserve_thread());
    OB_ASSIGN_OR_RETURN(queue.transfers, device_.create_queue(account_));
    queue.reader_memory = std::move(memory);
    queue.transfers_thread = std::move(thread);
  }
  return queue.transfers;
}

void Session::destroy_queues_of(const void* owner) {
  std::vector<QueueId> ids;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, queue] : queues_) {
      if (queue->owner == owner) ids.push_back(id);
    }
  }
  for (const QueueId id : ids) (void)destroy_queue(id, owner);
}

void Session::abandon_queues_of(const void* owner) {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, queue] : queues_) {
    if (queue->owner == owner) (void)device_.abandon(queue->local);
  }
}

void Session::abandon_held_queues_of(const void* owner) {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, queue] : queues_) {
    if (queue->owner == owner && queue->holds.any()) (void)device_.abandon(queue->local);
  }
}

std::shared_ptr<SessionQueue> Session::queue(QueueId id) {
  const std::lock_guard lock(mutex_);
  const auto at = queues_.find(id);
  return at == queues_.end() ? nullptr : at->second;
}

// --- buffers -------------------------------------------------------------------------------------

Status Session::insert(BufferId id, SessionBuffer buffer) {
  OB_ASSIGN_OR_RETURN(buffer.record, reserve_record("a buffer"));
  const std::lock_guard lock(mutex_);
  if (!id || buffers_.count(id) != 0) return taken("buffer", id.value);
  if (buffers_.size() >= kMaxObjects) return too_many("buffers", kMaxObjects);
  buffers_.emplace(id, std::move(buffer));
  return {};
}

Status Session::allocate(BufferId id, std::uint64_t size_bytes) {
  {
    // This check runs before the device does anything; insert() decides.
    const std::lock_guard lock(mutex_);
    if (!id || buffers_.count(id) != 0) return taken("buffer", id.value);
  }
  OB_ASSIGN_OR_RETURN(auto memory,
                      DeviceBuffer::allocate(device_, account_, accounts_.memory, size_bytes));
  return insert(id, {std::move(memory), size_bytes, {}, {}, {}});
}

Status Session::allocate_broken(BufferId id, const Status& failure) {
  return insert(id, {nullptr, 0, failure, {}, {}});
}

void Session::free(BufferId id) {
  SessionBuffer gone;  // destroyed without the lock, because this may free its memory
  const std::lock_guard lock(mutex_);
  const auto at = buffers_.find(id);
  if (at == buffers_.end()) return;
  gone = std::move(at->second);
  buffers_.erase(at);
  forget_uses();
  std::erase_if(gone.uses, [](const BufferUse& use) { return !use.open(); });
  if (gone.memory == nullptr || gone.uses.empty()) return;
  freed_.push_back({std::exchange(gone.uses, {}), gone.memory->reservation()});
  has_freed_ = true;
}

Result<SessionBuffer> Session::buffer(BufferId id) {
  const std::lock_guard lock(mutex_);
  const auto at = buffers_.find(id);
  if (at == buffers_.end()) return unknown("buffer", id.value);
  if (!at->second.failure.ok()) return at->second.failure;
  return SessionBuffer{at->second.memory, at->second.size_bytes, {}, {}, {}};
}

Result<std::shared_ptr<DeviceBuffer>> Session::use(BufferId id,
                                                   const std::shared_ptr<SessionQueue>& queue) {
  const std::lock_guard lock(mutex_);
  const auto at = buffers_.find(id);
  if (at == buffers_.end()) return unknown("buffer", id.value);
  if (!at->second.failure.ok()) return at->second.failure;
  auto& uses = at->second.uses;
  const auto mine =
      std::find_if(uses.begin(), uses.end(), [&](const auto& u) { return u.queue == queue; });
  if (mine != uses.end()) {
    mine->command = queue->submitted;
  } else {
    std::erase_if(uses, [](const BufferUse& use) { return !use.open(); });
    uses.push_back({queue, queue->submitted});
  }
  return at->second.memory;
}

std::vector<BufferUse> Session::open_uses(BufferId id) {
  const std::lock_guard lock(mutex_);
  const auto at = buffers_.find(id);
  if (at == buffers_.end()) return {};
  std::erase_if(at->second.uses, [](const BufferUse& use) { return !use.open(); });
  return at->second.uses;
}

std::vector<BufferUse> Session::open_uses_of_freed() {
  forget_released();
  const std::lock_guard lock(mutex_);
  std::vector<BufferUse> uses;
  for (const Freed& freed : freed_) uses.insert(uses.end(), freed.uses.begin(), freed.uses.end());
  return uses;
}

void Session::forget_released() {
  if (!has_freed_) return;
  const std::lock_guard lock(mutex_);
  forget_uses();
}

void Session::forget_uses() {
  std::erase_if(freed_, [](Freed& freed) {
    std::erase_if(freed.uses, [](const BufferUse& use) { return !use.open(); });
    return freed.uses.empty();
  });
  has_freed_ = !freed_.empty();
}

// --- plans and events ----------------------------------------------------------------------------

Result<Session::Plan> Session::planned(const FftPlan& plan) {
  OB_ASSIGN_OR_RETURN(Reservation count, ResourceAccount::reserve(accounts_.plans, 1));
  OB_ASSIGN_OR_RETURN(Reservation memory, reserve_host(device_.plan_host_bytes(plan)));
  OB_ASSIGN_OR_RETURN(auto made, plan_cache_.plan_for(plan, account_));
  return Plan{std::move(made), std::move(memory), std::move(count), {}, {}};
}

Status Session::make_plan(PlanId id, const FftPlan& plan) {
  {
    const std::lock_guard lock(mutex_);
    if (!id || plans_.count(id) != 0) return taken("plan", id.value);
    if (plans_.size() >= kMaxObjects) return too_many("plans", kMaxObjects);
  }
  OB_ASSIGN_OR_RETURN(Reservation record, reserve_record("a plan"));
  auto made = planned(plan);
  if (!made.ok()) made = Plan{nullptr, {}, {}, {}, made.status()};
  made->record = std::move(record);
  const std::lock_guard lock(mutex_);
  // It fails if another connection of the session was faster.
  return plans_.try_emplace(id, std::move(made).value()).second ? Status()
                                                                : taken("plan", id.value);
}

void Session::destroy_plan(PlanId id) {
  Plan gone;  // destroyed without the lock, because the cache may destroy the plan
  const std::lock_guard lock(mutex_);
  const auto at = plans_.find(id);
  if (at == plans_.end()) return;
  gone = std::move(at->second);
  plans_.erase(at);
}

Result<PlanId> Session::plan(PlanId id) {
  const std::lock_guard lock(mutex_);
  const auto at = plans_.find(id);
  if (at == plans_.end()) return unknown("plan", id.value);
  if (!at->second.failure.ok()) return at->second.failure;
  return at->second.made->local();
}

void Session::withdraw_plans() {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, plan] : plans_) {
    if (plan.made != nullptr) plan.made->withdraw();
  }
}

Result<Session::KnownEvent> Session::event(EventId id) {
  const std::lock_guard lock(mutex_);
  const auto at = events_.find(id);
  if (at != events_.end()) return at->second.known;
  if (!id) return unknown("event", id.value);
  if (events_.size() >= kMaxObjects) return too_many("events", kMaxObjects);
  OB_ASSIGN_OR_RETURN(Reservation record, reserve_record("an event"));
  OB_ASSIGN_OR_RETURN(const EventId local, device_.create_event());
  const KnownEvent known{local, nullptr};
  events_[id] = {known, std::move(record)};
  return known;
}

Result<EventId> Session::record(EventId id, std::shared_ptr<const Gate> transfer) {
  OB_ASSIGN_OR_RETURN(const KnownEvent known, event(id));
  const std::lock_guard lock(mutex_);
  events_[id].known.transfer = std::move(transfer);  // events are never removed
  return known.local;
}

}  // namespace ob::daemon
