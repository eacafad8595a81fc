#include "client/shared_device.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "client/device_info.hpp"
#include "client/fill_message.hpp"
#include "device/kernels/kernel_codec.hpp"
#include "routines/codec.hpp"

namespace ob::client {
namespace {

using wire::Opcode;

// The numbers of a connection's queues and objects. A session never has as many of them.
constexpr std::uint64_t kIdsOfConnection = std::uint64_t{1} << 40;

constexpr const char* kBuffer = "buffer";
constexpr const char* kPlan = "plan";
constexpr const char* kModule = "module";

bool ends_session(const Status& status) noexcept {
  switch (status.code()) {
    case Code::connection_lost:
    case Code::protocol_error:
    case Code::deadline_exceeded: return true;
    default: return false;
  }
}

Status no_such(const char* kind, std::uint64_t id) {
  return {Code::invalid_argument,
          std::string(kind) + " " + std::to_string(id) + " does not exist (was it destroyed?)"};
}

Status sizes_differ(const char* command) {
  return {Code::invalid_argument, std::string("the two sides of a ") + command +
                                      " differ in size; give both the same number of elements"};
}

}  // namespace

Result<std::unique_ptr<SharedDevice>> SharedDevice::open(const std::string& address,
                                                         const ConnectionConfig& config,
                                                         std::uint64_t least_mapped_bytes) {
  ConnectionConfig shared = config;
  if (shared.host == nullptr) shared.host = std::make_shared<HostSilence>();
  OB_ASSIGN_OR_RETURN(auto proxy, Proxy::acquire());
  OB_ASSIGN_OR_RETURN(auto connection, Connection::open(address, shared));
  auto main = std::make_shared<SessionConnection>(std::move(connection), 1, proxy);
  return std::unique_ptr<SharedDevice>(
      new SharedDevice(address, shared, std::move(main), std::move(proxy), least_mapped_bytes));
}

SharedDevice::SharedDevice(std::string address, const ConnectionConfig& config, ConnectionPtr main,
                           std::shared_ptr<Proxy> proxy, std::uint64_t least_mapped_bytes)
    : proxy_(std::move(proxy)),
      address_(std::move(address)),
      config_(config),
      main_(std::move(main)),
      info_(device_info(main_->connection())),
      big_endian_(main_->connection().welcome().big_endian),
      least_mapped_bytes_(least_mapped_bytes) {
  config_.join = main_->connection().welcome().token;
  watch_received(*main_);
  proxy_->add(*this);
}

SharedDevice::~SharedDevice() { proxy_->remove(*this); }

// --- the proxy -----------------------------------------------------------------------------------

std::vector<SharedDevice::ConnectionPtr> SharedDevice::all_connections() const {
  const std::lock_guard lock(mutex_);
  std::vector<ConnectionPtr> all = connections_;
  all.push_back(main_);
  return all;
}

ProxyClient::Clock::time_point SharedDevice::tend(Clock::time_point now,
                                                  std::vector<pollfd>& sources) {
  Clock::time_point next = Clock::time_point::max();
  if (lost_.load(std::memory_order_acquire)) return next;
  for (const ConnectionPtr& connection : all_connections()) {
    const auto look = connection->tend(now, sources);
    if (!look.ok()) {
      (void)note(look.status());
      return Clock::time_point::max();
    }
    next = std::min(next, *look);
  }
  return next;
}

// --- failures ------------------------------------------------------------------------------------

Status SharedDevice::usable() const {
  if (!lost_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(mutex_);
  return failure_;
}

// Returns `status`, or the failure of the session if it has ended.
Status SharedDevice::note(Status status) {
  if (status.ok() || !ends_session(status)) return status;
  return fail(Status(Code::connection_lost, status.message()));
}

void SharedDevice::fence() {
  (void)fail(Status(Code::fenced, "the lease of this device is over (ask the pool for another)"));
}

// Ends the session, and returns its failure. A fence replaces an earlier failure: the daemon closes
// the connections of a lease that is over, and this client learns the reason later.
Status SharedDevice::fail(const Status& failure) {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_.ok() && failure.code() != Code::fenced) return failure_;
    failure_ = failure;
    lost_.store(true, std::memory_order_release);
    main_->shut_down();  // wakes the threads that wait
    for (const ConnectionPtr& connection : connections_) connection->shut_down();
  }
  for (const ConnectionPtr& connection : all_connections()) connection->fail_marks(failure);
  return failure;
}

QueueReport SharedDevice::note(QueueReport report) {
  // A failure of a command has a number, and the connection is in order.
  if (report.failed_command == 0) report.status = note(std::move(report.status));
  return report;
}

// --- queues --------------------------------------------------------------------------------------

Result<SharedDevice::ConnectionPtr> SharedDevice::open_connection() {
  OB_ASSIGN_OR_RETURN(auto connection, Connection::open(address_, config_));
  const std::lock_guard lock(mutex_);
  if (!failure_.ok()) return failure_;
  auto opened = std::make_shared<SessionConnection>(
      std::move(connection), (connections_.size() + 1) * kIdsOfConnection + 1, proxy_);
  watch_received(*opened);
  connections_.push_back(opened);
  return opened;
}

// Returns an idle connection, a new one, or the one with the fewest queues.
// @pre opening_ is held
Result<SharedDevice::ConnectionPtr> SharedDevice::connection_for_queue() {
  ConnectionPtr least;
  std::size_t least_queues = 0;
  std::size_t open = 0;
  {
    const std::lock_guard lock(mutex_);
    open = connections_.size();
    for (const ConnectionPtr& connection : connections_) {
      const auto queues = static_cast<std::size_t>(
          std::count_if(queues_.begin(), queues_.end(),
                        [&](const auto& entry) { return entry.second.connection == connection; }));
      if (least == nullptr || queues < least_queues) least = connection, least_queues = queues;
    }
  }
  if (least != nullptr && (least_queues == 0 || open >= kMostQueueConnections)) return least;
  auto opened = open_connection();
  // A daemon may have as many connections as it takes.
  if (!opened.ok() && opened.status().code() == Code::unavailable) {
    return least != nullptr ? least : main_;
  }
  return opened;
}

Result<QueueId> SharedDevice::create_queue(const Account& /*account*/) {
  OB_RETURN_IF_ERROR(usable());
  const std::lock_guard one_at_a_time(opening_);
  auto connection = connection_for_queue();
  if (!connection.ok()) return note(connection.status());
  const auto queue = (*connection)->create_queue();
  if (!queue.ok()) return note(queue.status());
  auto progress = (*connection)->progress(*queue);
  const std::lock_guard lock(mutex_);
  queues_[*queue] = {*connection, std::move(progress), {}, {}};
  return queue;
}

Result<SharedDevice::ConnectionPtr> SharedDevice::connection_of(QueueId queue) const {
  const std::lock_guard lock(mutex_);
  if (!failure_.ok()) return failure_;
  const auto at = queues_.find(queue);
  if (at == queues_.end()) return no_such("queue", queue.value);
  return at->second.connection;
}

// The queue without its holds.
Result<SharedDevice::Queue> SharedDevice::find_queue(QueueId queue) const {
  const std::lock_guard lock(mutex_);
  if (!failure_.ok()) return failure_;
  const auto at = queues_.find(queue);
  if (at == queues_.end()) return no_such("queue", queue.value);
  return Queue{at->second.connection, at->second.progress, {}, {}};
}

Status SharedDevice::destroy_queue(QueueId queue) {
  OB_ASSIGN_OR_RETURN(const ConnectionPtr connection, connection_of(queue));
  OB_RETURN_IF_ERROR(note(connection->destroy_queue(queue)));
  const std::lock_guard lock(mutex_);
  queues_.erase(queue);
  return {};
}

Status SharedDevice::set_accuracy(QueueId queue, Accuracy accuracy) {
  OB_ASSIGN_OR_RETURN(const ConnectionPtr connection, connection_of(queue));
  return note(connection->set_accuracy(queue, accuracy));
}

Status SharedDevice::flush(QueueId queue) {
  OB_ASSIGN_OR_RETURN(const ConnectionPtr connection, connection_of(queue));
  return note(connection->flush(queue));
}

// After a wait for the queue: what it has waited for itself is over, too.
void SharedDevice::note_passed(QueueId queue, bool successful) {
  const std::lock_guard lock(mutex_);
  const auto at = queues_.find(queue);
  if (at == queues_.end()) return;
  std::erase_if(at->second.holds, [&](const Hold& hold) {
    if (!at->second.progress->is_over(hold.sequence)) return false;
    if (successful) hold.other->advance(hold.other_sequence);  // else it may have been skipped
    return true;
  });
}

std::optional<QueueReport> SharedDevice::await(QueueId queue, bool clear,
                                               transport::Deadline deadline) {
  const auto connection = connection_of(queue);
  if (!connection.ok()) {
    QueueReport failure;
    failure.status = connection.status();
    return failure;
  }
  auto report = (*connection)->await(queue, clear, deadline);
  if (!report) return report;
  note_passed(queue, report->status.ok());
  if (report->status.ok()) report->status = wait_reads(queue);
  return note(std::move(*report));
}

QueueReport SharedDevice::synchronize(QueueId queue) {
  return *await(queue, true, transport::Deadline::max());
}

Status SharedDevice::on_reached(QueueId queue, bool clear,
                                std::function<void(const QueueReport&)> done) {
  OB_RETURN_IF_ERROR(connection_of(queue).status());
  done(*await(queue, clear, transport::Deadline::max()));
  return {};
}

Status SharedDevice::mark(QueueId queue, std::function<void(const QueueMark&)> done) {
  OB_ASSIGN_OR_RETURN(const ConnectionPtr connection, connection_of(queue));
  OB_RETURN_IF_ERROR(note(connection->mark(queue, after_reads(queue, std::move(done)))));
  // The session may have ended before the mark was known: its marks had been ended then.
  if (const Status ended = usable(); !ended.ok()) connection->fail_marks(ended);
  return {};
}

// --- objects -------------------------------------------------------------------------------------

template <class Message>
Result<std::uint64_t> SharedDevice::make(Objects& objects, Opcode opcode, std::uint64_t id,
                                         std::uint64_t size_bytes, const Message& body) {
  const auto sent = main_->command(opcode, body);
  if (!sent.ok()) return note(sent.status());
  const std::lock_guard lock(mutex_);
  Object& object = objects[id];
  object.made = *sent;
  object.size_bytes = size_bytes;
  return id;
}

// Ends an object after the commands that use it.
Status SharedDevice::end(Objects& objects, std::uint64_t id, const char* kind, Opcode opcode,
                         std::span<const std::byte> body) {
  Object ended;
  {
    const std::lock_guard lock(mutex_);
    const auto at = objects.find(id);
    if (at == objects.end()) return no_such(kind, id);
    ended = std::move(at->second);
    objects.erase(at);
  }
  if (lost_.load(std::memory_order_acquire)) return {};  // the session's end has freed it
  for (const Use& use : ended.uses) {
    if (use.progress->is_over(use.sequence)) continue;
    std::uint64_t last = use.sequence;
    if (ended.segment != nullptr) {  // a read is sent later than the sequence of its use says
      const auto sent = use.connection->send_reads_of(BufferId{id});
      if (!sent.ok()) return note(sent.status());
      last = std::max(last, *sent);
    }
    OB_RETURN_IF_ERROR(note(use.connection->wait_read(last)));
  }
  OB_RETURN_IF_ERROR(note(main_->command(opcode, body).status()));
  return note(main_->flush());  // others may wait for the memory
}

Result<BufferId> SharedDevice::allocate(std::uint64_t size_bytes, const Account& /*owner*/) {
  OB_RETURN_IF_ERROR(usable());
  const BufferId id{main_->next_id()};
  OB_RETURN_IF_ERROR(
      make(buffers_, Opcode::allocate, id.value, size_bytes, wire::Allocate{id, size_bytes})
          .status());
  return id;
}

Status SharedDevice::free(BufferId buffer) {
  wire::Body body;
  wire::encode(wire::Free{buffer}, body);
  return end(buffers_, buffer.value, kBuffer, Opcode::free, body.bytes());
}

Result<SegmentView> SharedDevice::segment(BufferId) {
  return Status(Code::unsupported, "the segments of a remote device belong to its daemon");
}

Result<PlanId> SharedDevice::make_plan(const FftPlan& plan, const Account& /*account*/) {
  OB_RETURN_IF_ERROR(usable());
  const PlanId id{main_->next_id()};
  wire::Body body;
  encode_plan(id, plan, body);
  const std::span<const std::byte> bytes = body.bytes();
  OB_RETURN_IF_ERROR(make(plans_, Opcode::make_plan, id.value, 0, bytes).status());
  return id;
}

Status SharedDevice::destroy_plan(PlanId plan) {
  wire::Body body;
  wire::encode(wire::DestroyPlan{plan}, body);
  return end(plans_, plan.value, kPlan, Opcode::destroy_plan, body.bytes());
}

// --- commands ------------------------------------------------------------------------------------

Status SharedDevice::wait_made(std::span<const Named> uses) {
  std::uint64_t made = 0;
  {
    const std::lock_guard lock(mutex_);
    for (const Named& use : uses) {
      const auto at = use.objects.find(use.id);
      if (at != use.objects.end()) {
        made = std::max(made, at->second.made);
      } else if (use.kind != nullptr) {
        return no_such(use.kind, use.id);  // the daemon may not have read its end yet
      }
    }
  }
  return note(main_->wait_read(made));
}

void SharedDevice::note_uses(std::span<const Named> uses, const Use& use) {
  const std::lock_guard lock(mutex_);
  for (const Named& named : uses) {
    const auto at = named.objects.find(named.id);
    if (at == named.objects.end()) continue;
    std::vector<Use>& known = at->second.uses;
    const auto same = std::find_if(known.begin(), known.end(), [&](const Use& other) {
      return other.progress == use.progress;
    });
    if (same != known.end()) {
      same->sequence = std::max(same->sequence, use.sequence);
      continue;
    }
    std::erase_if(known, [](const Use& other) { return other.progress->is_over(other.sequence); });
    known.push_back(use);
  }
}

Status SharedDevice::write(QueueId queue, BufferId buffer, const Region& region,
                           const Layout& source) {
  if (packed_bytes(region) != source.total_bytes()) return sizes_differ("write");
  OB_ASSIGN_OR_RETURN(const bool written, write_mapped(queue, buffer, region, source));
  if (written) return {};
  const std::array uses{Named{buffers_, buffer.value, kBuffer}};
  return submit(queue, uses, [&](Connection& connection) {
    return connection.write(queue, wire::Write{buffer, region}, source);
  });
}

Status SharedDevice::read(QueueId queue, BufferId buffer, const Region& region,
                          const Layout& destination) {
  if (packed_bytes(region) != destination.total_bytes()) return sizes_differ("read");
  OB_ASSIGN_OR_RETURN(const bool taken, read_mapped(queue, buffer, region, destination));
  if (taken) return {};
  const std::array uses{Named{buffers_, buffer.value, kBuffer}};
  return submit(queue, uses, [&](Connection& connection) {
    return connection.read(queue, wire::Read{buffer, region}, destination);
  });
}

Status SharedDevice::copy(QueueId queue, BufferId source, const Region& from, BufferId destination,
                          const Region& to) {
  const std::array uses{Named{buffers_, source.value, kBuffer},
                        Named{buffers_, destination.value, kBuffer}};
  return submit(queue, uses, [&](Connection& connection) {
    return connection.command(Opcode::copy, queue, wire::Copy{source, destination, from, to});
  });
}

Status SharedDevice::fill(QueueId queue, BufferId buffer, const Region& region,
                          std::span<const std::byte> element) {
  OB_ASSIGN_OR_RETURN(const wire::Fill message, fill_message(buffer, region, element));
  const std::array uses{Named{buffers_, buffer.value, kBuffer}};
  return submit(queue, uses,
                [&](Connection& connection) { return connection.fill(queue, message); });
}

Status SharedDevice::digest(QueueId queue, BufferId buffer, const Region& region,
                            std::uint64_t chunk_bytes, std::span<Digest> digests) {
  const std::array uses{Named{buffers_, buffer.value, kBuffer}};
  return submit(queue, uses, [&](Connection& connection) {
    return connection.digest(queue, wire::Digest{buffer, region, chunk_bytes}, digests);
  });
}

Status SharedDevice::call(QueueId queue, const Descriptor& routine, const Argument* arguments) {
  wire::Body body;
  encode_call(routine, arguments, body);
  std::vector<Named> uses;
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (!is_memory(routine.kinds[i])) continue;
    uses.push_back({buffers_, arguments[i].device.buffer.value, nullptr});
  }
  return submit(queue, uses, [&](Connection& connection) {
    return connection.command(Opcode::call, queue, body.bytes());
  });
}

Status SharedDevice::execute(QueueId queue, PlanId plan, BufferRef input, BufferRef output) {
  const std::array uses{Named{buffers_, input.buffer.value, kBuffer},
                        Named{buffers_, output.buffer.value, kBuffer},
                        Named{plans_, plan.value, kPlan}};
  const wire::ExecutePlan body{plan, input.buffer, output.buffer, input.offset_bytes,
                               output.offset_bytes};
  return submit(queue, uses, [&](Connection& connection) {
    return connection.command(Opcode::execute_plan, queue, body);
  });
}

// --- kernels -------------------------------------------------------------------------------------

Status SharedDevice::runs_kernels() {
  const wire::KernelSupport& support = main_->connection().kernels();
  if (support.kinds != 0) return {};
  return {Code::unsupported, address_ + " runs no kernels of this client (" + support.why + ")"};
}

Result<ModuleId> SharedDevice::load_module(ModuleSource source,
                                           std::function<void(const ModuleReport&)> built,
                                           const Account& /*account*/) {
  OB_RETURN_IF_ERROR(usable());
  OB_RETURN_IF_ERROR(check_source(source));
  OB_RETURN_IF_ERROR(runs_kernels());
  {
    const std::lock_guard lock(mutex_);
    if (modules_.size() >= kMostModules) {
      return Status(Code::out_of_memory, "more than " + std::to_string(kMostModules) +
                                             " modules of a device; unload some");
    }
  }
  const ModuleId id{main_->next_id()};
  OB_ASSIGN_OR_RETURN(const wire::LoadModule message, describe_module(id, source));
  const auto sent = main_->load_module(message, module_payload(source), std::move(built));
  if (!sent.ok()) return note(sent.status());
  const std::lock_guard lock(mutex_);
  modules_[id.value].made = *sent;
  return id;
}

Status SharedDevice::unload_module(ModuleId module) {
  wire::Body body;
  wire::encode(wire::UnloadModule{module}, body);
  return end(modules_, module.value, kModule, Opcode::unload_module, body.bytes());
}

Status SharedDevice::launch(QueueId queue, const KernelLaunch& launch) {
  OB_ASSIGN_OR_RETURN(const wire::Launch message, describe_launch(launch));
  std::vector<Named> uses{{modules_, launch.module.value, kModule}};
  for (const KernelArgument& argument : launch.arguments) {
    if (argument.kind == ParameterKind::buffer) {
      uses.push_back({buffers_, argument.place.buffer.value, kBuffer});
    }
  }
  return submit(queue, uses, [&](Connection& connection) {
    return connection.command(Opcode::launch, queue, message);
  });
}

// --- events --------------------------------------------------------------------------------------

Result<EventId> SharedDevice::create_event() {
  OB_RETURN_IF_ERROR(usable());
  const std::lock_guard lock(mutex_);
  const EventId event = event_numbers_.take();
  events_[event] = {};
  return event;
}

Status SharedDevice::destroy_event(EventId event) {
  const std::lock_guard lock(mutex_);
  if (events_.erase(event) == 0) return no_such("event", event.value);
  transfers_.erase(event);
  event_numbers_.give_back(event);
  return {};
}

Status SharedDevice::record(QueueId queue, EventId event) {
  // Even a queue that has failed marks the event.
  return record_by(queue, event, Opcode::record, {.always = true});
}

// Records the event with this command.
Status SharedDevice::record_by(QueueId queue, EventId event, Opcode opcode,
                               const SubmitManner& manner) {
  OB_ASSIGN_OR_RETURN(const Queue by, find_queue(queue));
  {
    const std::lock_guard lock(mutex_);
    if (events_.count(event) == 0) return no_such("event", event.value);
  }
  const auto sent = by.connection->submit(queue, manner, [&](Connection& to) {
    return to.command(opcode, queue, wire::Record{event});
  });
  if (!sent.ok()) return note(sent.status());
  const std::lock_guard lock(mutex_);
  const auto at = events_.find(event);
  if (at != events_.end()) at->second = {by.connection, by.progress, *sent};
  if (opcode == Opcode::record) {
    transfers_.erase(event);
  } else {
    transfers_.insert(event);
  }
  return {};
}

Status SharedDevice::wait(QueueId queue, EventId event) {
  Use recorded;
  bool transfer = false;
  {
    const std::lock_guard lock(mutex_);
    const auto at = events_.find(event);
    if (at == events_.end()) return no_such("event", event.value);
    recorded = at->second;
    transfer = transfers_.count(event) != 0;
  }
  OB_ASSIGN_OR_RETURN(const ConnectionPtr connection, connection_of(queue));
  if (recorded.connection != nullptr && recorded.connection != connection) {
    OB_RETURN_IF_ERROR(note(recorded.connection->wait_read(recorded.sequence)));
  }
  std::uint64_t held = 0;
  OB_RETURN_IF_ERROR(submit(queue, {}, [&](Connection& to) -> Result<std::uint64_t> {
    // The number may have belonged to another event, whose record the daemon still knows.
    if (recorded.connection == nullptr) return std::uint64_t{0};
    auto sent = to.command(Opcode::wait, queue, wire::Wait{event});
    if (sent.ok()) held = *sent;
    return sent;
  }));
  if (held != 0) note_hold(queue, {held, recorded.progress, recorded.sequence});
  if (held != 0) note_reads(queue, held, recorded);
  if (held != 0 && transfer) note_outside(queue, held);
  return {};
}

void SharedDevice::note_hold(QueueId queue, const Hold& hold) {
  const std::lock_guard lock(mutex_);
  const auto at = queues_.find(queue);
  if (at == queues_.end() || at->second.progress == hold.other) return;
  std::vector<Hold>& holds = at->second.holds;
  const auto same = std::find_if(holds.begin(), holds.end(),
                                 [&](const Hold& known) { return known.other == hold.other; });
  if (same == holds.end()) {
    holds.push_back(hold);
  } else {
    *same = hold;
  }
}

}  // namespace ob::client
