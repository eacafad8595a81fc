#include "daemon/session.hpp"

#include <algorithm>
#include <string>

namespace ob::daemon {
namespace {

// No honest client comes near; a hostile one is stopped before its tables hurt.
constexpr std::size_t kMaxObjects = 1 << 16;
constexpr std::size_t kMaxQueues = 256;

Status too_many(const char* what, std::size_t limit) {
  return Status(Code::denied, std::string("session has too many ") + what + " (limit " +
                                  std::to_string(limit) + ")");
}

Status unknown(const char* what, std::uint64_t id) {
  return Status(Code::invalid_argument,
                std::string("unknown ") + what + " " + std::to_string(id) + " (freed or never made)");
}

Status taken(const char* what, std::uint64_t id) {
  return Status(Code::protocol_error, std::string(what) + " id " + std::to_string(id) + " is in use or 0");
}

}  // namespace

Session::Session(Device& device, std::uint32_t device_index, const wire::Token& token)
    : device_(device), device_index_(device_index), token_(token) {}

Session::~Session() {
  for (const auto& [id, queue] : queues_) (void)device_.destroy_queue(queue->local);
  for (const auto& [id, local] : plans_) (void)device_.destroy_plan(local);
  for (const auto& [id, local] : events_) (void)device_.destroy_event(local);
  for (const auto& [id, buffer] : buffers_) (void)device_.free(buffer.local);
}

Status Session::create_queue(QueueId id) {
  const std::lock_guard lock(mutex_);
  if (!id || queues_.count(id) != 0) return taken("queue", id.value);
  if (queues_.size() >= kMaxQueues) return too_many("queues", kMaxQueues);
  OB_ASSIGN_OR_RETURN(const QueueId local, device_.create_queue());
  auto queue = std::make_shared<SessionQueue>();
  queue->local = local;
  queues_[id] = std::move(queue);
  return {};
}

void Session::destroy_queue(QueueId id) {
  std::shared_ptr<SessionQueue> queue;
  {
    const std::lock_guard lock(mutex_);
    const auto at = queues_.find(id);
    if (at == queues_.end()) return;
    queue = at->second;
    queues_.erase(at);
  }
  (void)device_.destroy_queue(queue->local);
  queue->reached = queue->submitted;
}

std::shared_ptr<SessionQueue> Session::queue(QueueId id) {
  const std::lock_guard lock(mutex_);
  const auto at = queues_.find(id);
  return at == queues_.end() ? nullptr : at->second;
}

Status Session::allocate(BufferId id, std::uint64_t size_bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (!id || buffers_.count(id) != 0) return taken("buffer", id.value);
    if (buffers_.size() >= kMaxObjects) return too_many("buffers", kMaxObjects);
  }
  OB_ASSIGN_OR_RETURN(const BufferId local, device_.allocate(size_bytes));
  const std::lock_guard lock(mutex_);
  const bool fresh = buffers_.try_emplace(id, SessionBuffer{local, size_bytes, {}}).second;
  if (fresh) return {};
  (void)device_.free(local);  // another connection of the session was faster
  return taken("buffer", id.value);
}

void Session::free(BufferId id) {
  const std::lock_guard lock(mutex_);
  const auto at = buffers_.find(id);
  if (at == buffers_.end()) return;  // its allocation failed, and was reported
  // A read's answer touches the memory when its queue gets there: the buffer goes after the last open use.
  const std::shared_ptr<void> last_use(nullptr, [&device = device_, local = at->second.local](void*) {
    (void)device.free(local);
  });
  for (const SessionBuffer::Use& use : at->second.uses) {
    if (use.queue->reached >= use.command) continue;
    (void)device_.on_reached(use.queue->local, false, [last_use](const QueueReport&) {});
  }
  buffers_.erase(at);
}

Result<SessionBuffer> Session::buffer(BufferId id) {
  const std::lock_guard lock(mutex_);
  const auto at = buffers_.find(id);
  if (at == buffers_.end()) return unknown("buffer", id.value);
  return SessionBuffer{at->second.local, at->second.size_bytes, {}};
}

Result<BufferId> Session::use(BufferId id, const std::shared_ptr<SessionQueue>& queue) {
  const std::lock_guard lock(mutex_);
  const auto at = buffers_.find(id);
  if (at == buffers_.end()) return unknown("buffer", id.value);
  auto& uses = at->second.uses;
  const auto mine = std::find_if(uses.begin(), uses.end(), [&](const auto& u) { return u.queue == queue; });
  if (mine != uses.end()) {
    mine->command = queue->submitted;
  } else {
    uses.push_back({queue, queue->submitted});
  }
  return at->second.local;
}

std::vector<SessionBuffer::Use> Session::open_uses(BufferId id) {
  const std::lock_guard lock(mutex_);
  const auto at = buffers_.find(id);
  if (at == buffers_.end()) return {};
  std::erase_if(at->second.uses, [](const auto& u) { return u.queue->reached >= u.command; });
  return at->second.uses;
}

Status Session::make_plan(PlanId id, const FftPlan& plan) {
  {
    const std::lock_guard lock(mutex_);
    if (!id || plans_.count(id) != 0) return taken("plan", id.value);
    if (plans_.size() >= kMaxObjects) return too_many("plans", kMaxObjects);
  }
  OB_ASSIGN_OR_RETURN(const PlanId local, device_.make_plan(plan));
  const std::lock_guard lock(mutex_);
  plans_[id] = local;
  return {};
}

void Session::destroy_plan(PlanId id) {
  const std::lock_guard lock(mutex_);
  const auto at = plans_.find(id);
  if (at == plans_.end()) return;
  (void)device_.destroy_plan(at->second);
  plans_.erase(at);
}

Result<PlanId> Session::plan(PlanId id) {
  const std::lock_guard lock(mutex_);
  const auto at = plans_.find(id);
  if (at == plans_.end()) return unknown("plan", id.value);
  return at->second;
}

Result<EventId> Session::event(EventId id) {
  const std::lock_guard lock(mutex_);
  const auto at = events_.find(id);
  if (at != events_.end()) return at->second;
  if (events_.size() >= kMaxObjects) return too_many("events", kMaxObjects);
  OB_ASSIGN_OR_RETURN(const EventId local, device_.create_event());
  events_[id] = local;
  return local;
}

}  // namespace ob::daemon
