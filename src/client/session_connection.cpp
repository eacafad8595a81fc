#include "client/session_connection.hpp"

#include <algorithm>
#include <string>

#include "client/inherited_connections.hpp"
#include "device/kernels/module.hpp"

namespace ob::client {

using wire::Opcode;

namespace {

// The proxy looks every tick for so long after it has found commands that nobody had sent: a thread
// that hands over commands and waits in turns need not wake it each time.
constexpr std::chrono::microseconds kTicking{500};
// The thread that drives the connection may leave before the data have arrived.
constexpr std::chrono::milliseconds kOtherDrives{1};

}  // namespace

SessionConnection::SessionConnection(std::unique_ptr<Connection> connection, std::uint64_t first_id,
                                     std::shared_ptr<Proxy> proxy)
    : proxy_(std::move(proxy)), link_(std::move(connection), first_id), queues_(link_) {
  queues_.set_listener(*this);
  link_.connection().set_mark_listener(
      [this](std::uint64_t sequence, const wire::Reached& reached) {
        take_mark(sequence, reached);
      });
  link_.connection().set_module_listener(
      [this](std::uint64_t sequence, const ModuleReport& report) {
        take_module(sequence, report);
      });
  remember(link_.connection().stream());
}

SessionConnection::~SessionConnection() {
  fail_marks({Code::unavailable, "the device was closed"});
  if (!link_.broken() && link_.command(Opcode::goodbye, {}).ok()) {
    (void)link_.flush();  // the daemon frees everything in any case
  }
  forget(link_.connection().stream());
}

Result<QueueId> SessionConnection::create_queue() {
  const std::lock_guard lock(mutex_);
  auto queue = queues_.create();
  if (queue.ok()) own_[*queue];
  leave_to_proxy();
  return queue;
}

Status SessionConnection::destroy_queue(QueueId queue) {
  const std::lock_guard lock(mutex_);
  OB_RETURN_IF_ERROR(send_reads(queue));
  const Drive drive(*this);
  OB_RETURN_IF_ERROR(queues_.destroy(queue));
  own_[queue].progress->end();
  own_.erase(queue);
  return {};
}

std::shared_ptr<QueueProgress> SessionConnection::progress(QueueId queue) {
  const std::lock_guard lock(mutex_);
  return own_[queue].progress;
}

Status SessionConnection::set_accuracy(QueueId queue, Accuracy accuracy) {
  const std::lock_guard lock(mutex_);
  return queues_.set_accuracy(queue, accuracy);
}

std::uint64_t SessionConnection::next_id() {
  const std::lock_guard lock(mutex_);
  return link_.next_id();
}

Result<std::uint64_t> SessionConnection::command(Opcode opcode, std::span<const std::byte> body) {
  const std::lock_guard lock(mutex_);
  OB_RETURN_IF_ERROR(link_.usable());
  auto sent = link_.command(opcode, {}, body);
  leave_to_proxy();
  return sent;
}

Status SessionConnection::flush() {
  const std::lock_guard lock(mutex_);
  return link_.flush();
}

Status SessionConnection::flush(QueueId queue) {
  const std::lock_guard lock(mutex_);
  OB_RETURN_IF_ERROR(send_reads(queue));
  return link_.flush();
}

void SessionConnection::note_read(std::uint64_t sequence) noexcept {
  if (sequence > read_.load(std::memory_order_relaxed)) {
    read_.store(sequence, std::memory_order_release);  // under the lock, so by one thread at a time
  }
}

Status SessionConnection::wait_read(std::uint64_t sequence) {
  if (sequence <= read_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(mutex_);
  if (sequence <= read_.load(std::memory_order_relaxed)) return {};
  OB_RETURN_IF_ERROR(link_.usable());
  const Drive drive(*this);
  const std::uint64_t sent = link_.connection().next_sequence() - 1;
  const auto round_trip = link_.connection().ping();  // which the daemon reads after them
  OB_RETURN_IF_ERROR(link_.note(round_trip.status()));
  note_read(sent);
  return {};
}

Status SessionConnection::wait_data(std::uint64_t sequence) {
  const auto gate = arrivals().gate(sequence);
  if (gate == nullptr) return {};
  while (!gate->is_open()) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock.owns_lock()) {
      OB_RETURN_IF_ERROR(link_.usable());
      const Drive drive(*this);
      return link_.note(link_.connection().wait_data(sequence));
    }
    (void)gate->wait_for(kOtherDrives);
  }
  return gate->outcome();
}

std::optional<QueueReport> SessionConnection::await(QueueId queue, bool clear,
                                                    transport::Deadline deadline) {
  const auto failure = [](const Status& status) {
    QueueReport report;
    report.status = status;
    return report;
  };
  const std::lock_guard lock(mutex_);
  if (link_.usable().ok() && pass_unsent(queue)) return queues_.report(queue, clear);
  // Commands may follow a wait that ends at its limit, and the question is on its way then.
  if (deadline != transport::Deadline::max()) {
    if (Status sent = send_reads(queue); !sent.ok()) return failure(sent);
  }
  const Drive drive(*this);
  const auto passed = queues_.pass(queue, deadline);
  if (!passed.ok()) return failure(passed.status());
  if (!*passed) return std::nullopt;
  note_read(queues_.reached(queue));
  const QueueReport report = queues_.report(queue, clear);
  OwnQueue& own = own_[queue];
  // Under the lock, because the end of a buffer waits for its reads.
  for (const MappedRead& read : std::exchange(own.reads, {})) {
    if (report.status.ok()) read.run();
  }
  own.progress->advance(queues_.reached(queue));
  return report;
}

// Copies of mapped buffers have run when their commands return, if nothing else is under way.
// @pre mutex_ is held
bool SessionConnection::pass_unsent(QueueId queue) {
  const auto own = own_.find(queue);
  return own != own_.end() && !own->second.is_under_way(queues_.reached(queue)) &&
         queues_.pass_unsent(queue);
}

// --- reads of mapped buffers ---------------------------------------------------------------------

Result<bool> SessionConnection::count(QueueId queue) {
  const std::lock_guard lock(mutex_);
  OB_RETURN_IF_ERROR(send_reads(queue));
  return queues_.enter(queue);
}

Result<std::uint64_t> SessionConnection::read(QueueId queue, MappedRead read) {
  {
    const std::lock_guard lock(mutex_);
    OB_ASSIGN_OR_RETURN(const bool healthy, queues_.enter(queue));
    if (!healthy) return std::uint64_t{0};
    OwnQueue& own = own_[queue];
    if (own.is_under_way(queues_.reached(queue))) {
      own.reads.push_back(std::move(read));
      return link_.connection().next_sequence();
    }
  }
  read.run();
  return std::uint64_t{0};
}

// @pre mutex_ is held
Status SessionConnection::send_reads(QueueId queue) {
  const auto own = own_.find(queue);
  if (own == own_.end() || own->second.reads.empty()) return {};
  OB_RETURN_IF_ERROR(link_.usable());
  std::vector<std::uint64_t> sequences;
  for (const MappedRead& read : std::exchange(own->second.reads, {})) {
    const auto sent =
        link_.connection().read(queue, wire::Read{read.buffer, read.region}, read.destination);
    if (!sent.ok()) return link_.note(sent.status());
    sequences.push_back(*sent);
  }
  queues_.renumber_last(queue, sequences);
  own->second.sent = sequences.back();
  leave_to_proxy();
  return {};
}

Result<std::uint64_t> SessionConnection::send_reads_of(BufferId buffer) {
  const std::lock_guard lock(mutex_);
  std::uint64_t last = 0;
  for (const auto& [queue, own] : own_) {
    const bool uses = std::any_of(own.reads.begin(), own.reads.end(),
                                  [&](const MappedRead& read) { return read.buffer == buffer; });
    if (uses) OB_RETURN_IF_ERROR(send_reads(queue));
    last = std::max(last, own.sent);
  }
  return last;
}

// --- marks ---------------------------------------------------------------------------------------

Status SessionConnection::mark(QueueId queue, MarkDone done) {
  const std::lock_guard lock(mutex_);
  OB_RETURN_IF_ERROR(send_reads(queue));
  OB_ASSIGN_OR_RETURN(const std::uint64_t sent, queues_.submit_mark(queue));
  marks_[sent] = {queue, std::move(done)};
  leave_to_proxy();
  return {};
}

void SessionConnection::take_mark(std::uint64_t sequence, const wire::Reached& reached) {
  const auto mark = marks_.extract(sequence);
  if (mark.empty()) return;
  note_read(sequence);
  if (const auto own = own_.find(mark.mapped().queue); own != own_.end()) {
    own->second.progress->advance(sequence);
  }
  mark.mapped().done(queues_.mark_of(mark.mapped().queue, reached));
}

Result<std::uint64_t> SessionConnection::load_module(const wire::LoadModule& message,
                                                     std::span<const std::byte> payload,
                                                     Built built) {
  const std::lock_guard lock(mutex_);
  OB_RETURN_IF_ERROR(link_.usable());
  // Layouts are of memory that may be written; this one is sent.
  auto* const bytes = const_cast<std::byte*>(payload.data());
  const auto sent = link_.connection().load_module(message, Layout::bytes(bytes, payload.size()));
  if (!sent.ok()) return link_.note(sent.status());
  modules_[*sent] = std::move(built);
  leave_to_proxy();
  return sent;
}

void SessionConnection::take_module(std::uint64_t sequence, const ModuleReport& report) {
  const auto module = modules_.extract(sequence);
  if (!module.empty() && module.mapped()) module.mapped()(report);
}

void SessionConnection::fail_marks(const Status& failure) {
  arrivals().fail(failure);
  const std::lock_guard lock(mutex_);
  for (const auto& [sequence, built] : std::exchange(modules_, {})) {
    if (built) built({failure, {}, {}});
  }
  for (const auto& [sequence, mark] : std::exchange(marks_, {})) {
    QueueMark failed;
    failed.report.status = failure;
    mark.done(failed);
  }
}

// --- the proxy -----------------------------------------------------------------------------------

// Wakes the proxy if there is something to do that it does not know of.   @pre mutex_ is held
void SessionConnection::leave_to_proxy() noexcept {
  Connection& connection = link_.connection();
  if (proxy_knows_ || driven_.load(std::memory_order_relaxed)) return;
  if (!connection.has_unsent() && !connection.awaits_answers()) return;
  proxy_knows_ = true;
  proxy_->wake();
}

Result<transport::Deadline> SessionConnection::tend(transport::Deadline now,
                                                    std::vector<pollfd>& sources) {
  // The thread that waits wakes the proxy when it leaves.
  if (driven_.load(std::memory_order_relaxed)) return now + std::chrono::seconds(1);
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return now + Proxy::kTick;
  OB_RETURN_IF_ERROR(link_.usable());
  Connection& connection = link_.connection();
  if (connection.has_unsent()) unsent_seen_ = now;
  const auto next = connection.look();
  if (!next.ok()) return link_.note(next.status());
  const bool ticks = now - unsent_seen_ < kTicking;
  const bool awaits = connection.awaits_answers();
  // Commands that are handed over before the next tick need not wake the proxy.
  proxy_knows_ = ticks;
  if (awaits && connection.stream().can_be_striped()) {
    for (const int descriptor : connection.stream().descriptors()) {
      sources.push_back({descriptor, POLLIN, 0});
    }
  }
  return ticks ? std::min(*next, now + Proxy::kTick) : *next;
}

// --- other devices -------------------------------------------------------------------------------

Result<wire::Token> SessionConnection::open_mailbox() {
  const std::lock_guard lock(mutex_);
  OB_RETURN_IF_ERROR(link_.usable());
  const Drive drive(*this);
  OB_ASSIGN_OR_RETURN(const std::uint64_t sent, link_.command(Opcode::open_mailbox, {}));
  const auto opened = link_.connection().wait_mailbox(sent);
  if (!opened.ok()) return link_.note(opened.status());
  if (opened->code != Code::ok) {
    return Status(opened->code,
                  std::string("the daemon opens no mailbox (") + to_string(opened->code) + ")");
  }
  return opened->access_key;
}

Status SessionConnection::connect_peer(const wire::ConnectPeer& peer) {
  const std::lock_guard lock(mutex_);
  OB_RETURN_IF_ERROR(link_.usable());
  const Drive drive(*this);
  OB_ASSIGN_OR_RETURN(const std::uint64_t sent, link_.command(Opcode::connect_peer, {}, peer));
  const auto answer = link_.connection().wait_peer(sent);
  if (!answer.ok()) return link_.note(answer.status());
  return {answer->code, answer->message};
}

Result<wire::Token> SessionConnection::create_grant(const wire::CreateGrant& grant) {
  const std::lock_guard lock(mutex_);
  OB_RETURN_IF_ERROR(link_.usable());
  const Drive drive(*this);
  OB_ASSIGN_OR_RETURN(const std::uint64_t sent, link_.command(Opcode::create_grant, {}, grant));
  const auto answer = link_.connection().wait_granted(sent);
  if (!answer.ok()) return link_.note(answer.status());
  if (answer->code != Code::ok) return Status(answer->code, answer->message);
  return answer->secret;
}

Status SessionConnection::failure(QueueId queue) {
  const std::lock_guard lock(mutex_);
  return queues_.failure(queue);
}

Result<MappedSegment> SessionConnection::map(BufferId buffer, std::uint64_t size_bytes) {
  const std::lock_guard lock(mutex_);
  OB_RETURN_IF_ERROR(link_.usable());
  const Drive drive(*this);
  OB_ASSIGN_OR_RETURN(const std::uint64_t asked,
                      link_.command(Opcode::locate, {}, wire::Locate{buffer}));
  const auto where = link_.connection().wait_location(asked);
  if (!where.ok()) return link_.note(where.status());
  note_read(asked);
  if (where->code != Code::ok) {
    return Status(where->code,
                  std::string("the daemon cannot map the buffer (") + to_string(where->code) + ")");
  }
  auto segment = MappedSegment::receive(link_.connection().stream(), *where, size_bytes);
  if (!segment.ok()) return link_.note(segment.status());
  return segment;
}

}  // namespace ob::client
