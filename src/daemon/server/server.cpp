#include "daemon/server/server.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <sstream>

#include "daemon/io/log.hpp"
#include "daemon/server/idle_sessions.hpp"
#include "daemon/server/stream_source.hpp"

namespace ob::daemon {
namespace {

using transport::Clock;

// A client between two commands of one call is silent for less than this.
constexpr auto kQuiet = std::chrono::milliseconds(50);
constexpr auto kDrainPollInterval = std::chrono::milliseconds(5);
// A client that is silent for this long is between calls. A new session costs it little: it
// reconnects and sends its operands again.
constexpr auto kIdleTime = std::chrono::milliseconds(500);
// The session of a client that has left ends within this time, unless the device cannot stop its
// command.
constexpr auto kLeavingTime = std::chrono::seconds(1);

Transport transport_of(const std::string& address, const transport::Stream& stream) {
  if (stream.shares_memory()) return Transport::shm;
  return address.starts_with("ucx:") ? Transport::ucx : Transport::tcp;
}

}  // namespace

Server::Server(ServerConfig config, std::vector<std::unique_ptr<Device>> devices)
    : config_(std::move(config)),
      sessions_(std::move(devices), config_.session),
      stripes_(config_.striping),
      peers_(config_.may_connect, config_.security),
      handshakes_(config_.handshakes),
      members_(config_.max_connections),
      strangers_(log::warn),
      services_{*this,          peers_, stripes_, handshakes_, members_, config_.longest_idle,
                config_.kernels},
      silent_({config_.handshakes.silent != 0 ? config_.handshakes.silent
                                              : SilentStreams::share_of_process(),
               config_.handshakes.time},
              [this](const std::string& source, const Status& why) { log_closed(source, why); }),
      revocations_(config_.security, [this] { shut_down_revoked(); }) {
  if (config_.leases != nullptr) {
    config_.leases->set_end_sessions([this] { shut_down_cut_off(); });
  }
}

Result<std::unique_ptr<Server>> Server::create(ServerConfig config,
                                               std::vector<std::unique_ptr<Device>> devices) {
  std::unique_ptr<Server> server(new Server(std::move(config), std::move(devices)));
  if (!server->life_signs_.runs()) {
    return Status(Code::out_of_memory, "cannot start the thread that sends signs of life");
  }
  for (const std::string& address : server->config_.listen) {
    OB_ASSIGN_OR_RETURN(auto listener, transport::listen(address, server->config_.security));
    server->listeners_.push_back(std::move(listener));
  }
  for (const auto& listener : server->listeners_) {
    server->acceptors_.emplace_back(
        [raw = server.get(), &listener] { raw->accept_from(*listener); });
  }
  return server;
}

Server::~Server() {
  stop_accepting();
  shut_down_idle(true);
  join_finished(true);
}

std::vector<std::string> Server::addresses() const {
  std::vector<std::string> all;
  for (const auto& listener : listeners_) all.push_back(listener->address());
  return all;
}

void Server::accept_from(transport::Listener& listener) {
  while (!closing_) {
    auto bare = listener.accept_bare(Clock::now() + RepeatedLog::kPeriod);
    strangers_.write_counts();
    if (bare.ok()) {
      receive_from(listener, std::move(*bare));
    } else if (bare.status().code() != Code::deadline_exceeded && !closing_) {
      log::warn("cannot accept on " + listener.address() + ": " + bare.status().message());
      std::this_thread::sleep_for(kQuiet);  // for example without descriptors: waits to recover
    }
  }
}

// Does not wait for the other side.
void Server::receive_from(transport::Listener& listener,
                          std::unique_ptr<transport::Stream> bare) noexcept try {
  // Over a Unix socket, bytes do not come through the descriptor. There, only users of this machine
  // can be silent.
  if (!bare->can_be_striped()) return admit(listener, std::move(bare));
  silent_.add(std::move(bare), [this, &listener](std::unique_ptr<transport::Stream> heard) {
    admit(listener, std::move(heard));
  });
} catch (const std::exception& error) {
  log_failed(listener, error);
}

void Server::admit(transport::Listener& listener, std::unique_ptr<transport::Stream> bare) noexcept
    try {
  join_finished(false);
  const std::string source = source_of(bare->peer());
  const Status status = start(listener, std::move(bare));
  if (!status.ok()) log_closed(source, status);
} catch (const std::exception& error) {
  log_failed(listener, error);
}

Status Server::start(transport::Listener& listener, std::unique_ptr<transport::Stream> bare) {
  OB_ASSIGN_OR_RETURN(auto stream, listener.open(std::move(bare)));
  std::list<Client> fresh(1);
  Client& client = fresh.front();
  const Transport transport = transport_of(listener.address(), *stream);
  sessions_.counters().connections.add(transport);
  client.connection = std::make_unique<Connection>(std::move(stream), services_);
  client.connection->count_in(sessions_.counters().traffic[static_cast<std::size_t>(transport)]);
  if (!client.connection->has_place()) return {Code::unavailable, "too many handshakes end"};
  const std::lock_guard lock(mutex_);
  if (closing_) return {};
  client.thread = std::thread([this, &client] { serve(client); });
  clients_.splice(clients_.end(), fresh);
  return {};
}

void Server::serve(Client& client) noexcept {
  log::debug(client.connection->peer() + " connected");
  Status status;
  try {
    status = client.connection->run();
  } catch (const std::exception& error) {  // most likely out of memory: only this client fails
    client.connection->shut_down();
    status = Status(Code::internal, error.what());
  }
  DaemonCounters& counters = sessions_.counters();
  if (client.connection->is_member()) {
    counters.ended.add(status.code());
    log_end(*client.connection, status);
  } else if (!status.ok()) {
    log_stranger(*client.connection, status);
  }
  client.over = true;
}

void Server::log_stranger(const Connection& connection, const Status& status) {
  sessions_.counters().refusals.add(status.code());
  const bool gone = status.code() == Code::connection_lost;
  const std::string who = connection.name() + " (" + connection.peer() + ")";
  if (gone) return log::debug(who + " is gone: " + status.message());
  strangers_.add(connection.source(), status.code(), who + " turned away: " + status.message());
}

// There is no thread or memory: only this client fails.
void Server::log_failed(const transport::Listener& listener, const std::exception& error) noexcept
    try {
  strangers_.add(listener.address(), Code::internal,
                 "cannot accept a client: " + std::string(error.what()));
} catch (const std::exception&) {  // not even for the line
}

void Server::log_closed(const std::string& source, const Status& status) noexcept try {
  sessions_.counters().refusals.add(status.code());
  strangers_.add(source, status.code(),
                 "closed a connection from " + source + ": " + status.message());
} catch (const std::exception&) {  // no memory for the line
}

void Server::log_end(const Connection& connection, const Status& status) const {
  // At this point the client has proven its identity.
  const std::string who = connection.name() + " (" + connection.peer() + ")";
  if (status.ok()) {
    log::debug(who + " left");
  } else if (status.code() == Code::connection_lost) {
    log::info(who + " is gone: " + status.message());
  } else {
    log::warn(who + " cut off: " + status.message());
  }
}

// Joins threads that have ended, or all of them.
void Server::join_finished(bool all) {
  std::list<Client> gone;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = clients_.begin(); at != clients_.end();) {
      const auto next = std::next(at);
      if (all || at->over) gone.splice(gone.end(), clients_, at);
      at = next;
    }
  }
  for (Client& client : gone) client.thread.join();
}

// Returns the session's connections if none of them was used for a while, or its client has left,
// and sets `since` to the time of the last use. A session that holds a user's data ends only with
// its client.
// @pre mutex_ is held
std::vector<Connection*> Server::unused_connections(const SessionRegistry::Holder& session,
                                                    transport::Clock::time_point& since) {
  std::vector<Connection*> connections;
  since = {};
  for (const Client& client : clients_) {
    Connection& connection = *client.connection;
    if (connection.session_name() != session.name) continue;
    const auto now = Clock::now();
    const bool is_idle =
        !session.holds_user_data && connection.idle() && now - connection.idle_since() >= kIdleTime;
    if (!is_idle && !connection.left_after(now - kLeavingTime)) return {};
    if (is_idle) since = std::max(since, connection.idle_since());
    connections.push_back(&connection);
  }
  return connections;
}

std::uint64_t Server::make_room(const Session& wanting, std::uint64_t bytes) {
  const DeviceInfo& info = wanting.device().info();
  const std::uint64_t used = wanting.device().memory_use().used_bytes;
  const std::uint64_t room = info.memory_bytes - std::min(used, info.memory_bytes);
  if (bytes > info.memory_bytes) return 0;
  // Other programs may use an accelerator, so that memory is short although the daemon has room.
  const std::uint64_t lacking = bytes > room ? bytes - room : 0;
  const std::uint64_t needed = std::max(lacking, wanting.missing_share(bytes));
  const std::uint64_t missing = needed > 0 ? needed : bytes;
  std::vector<IdleSession> idle;
  const std::lock_guard lock(mutex_);
  for (const SessionRegistry::Holder& holder : sessions_.other_holders(wanting)) {
    IdleSession session{{}, holder.bytes, {}};
    session.connections = unused_connections(holder, session.since);
    if (!session.connections.empty()) idle.push_back(std::move(session));
  }
  std::uint64_t made = 0;
  for (const IdleSession& session : choose_idle(std::move(idle), missing)) {
    for (Connection* connection : session.connections) connection->shut_down();
    made += session.bytes;
  }
  if (made > 0) {
    log::info("clients that are idle or gone were disconnected: their " + std::to_string(made) +
              " bytes are needed");
  }
  return made;
}

bool Server::serves_anybody() {
  const std::lock_guard lock(mutex_);
  return std::any_of(clients_.begin(), clients_.end(),
                     [](const Client& client) { return !client.over; });
}

std::size_t Server::shut_down_idle(bool everybody) {
  const std::lock_guard lock(mutex_);
  std::size_t left = 0;
  for (Client& client : clients_) {
    if (client.over) continue;
    const bool waits = !client.connection->idle() && !client.connection->gone();
    if (waits && !everybody) {
      ++left;
      continue;
    }
    client.cut_off = waits;
    client.connection->shut_down();
  }
  return left;
}

void Server::shut_down_revoked() {
  const std::lock_guard lock(mutex_);
  for (Client& client : clients_) {
    if (client.over || client.revoked || !client.connection->revoked()) continue;
    client.revoked = true;
    log::warn(client.connection->peer() + " cut off: its certificate was revoked");
    client.connection->shut_down();
  }
}

// Threads: any, without locks
void Server::shut_down_cut_off() {
  const std::vector<const Session*> names = sessions_.cut_off_sessions();
  if (names.empty()) return;
  const std::lock_guard lock(mutex_);
  for (Client& client : clients_) {
    const Session* const name = client.connection->session_name();
    if (client.over || std::ranges::find(names, name) == names.end()) continue;
    client.connection->shut_down();
  }
}

Result<std::shared_ptr<Session>> Server::open(const wire::Hello& hello, const std::string& user) {
  if (config_.leases == nullptr) return sessions_.open(hello, user, nullptr);
  if (hello.join != wire::Token{}) {
    OB_ASSIGN_OR_RETURN(auto session, sessions_.open(hello, user, nullptr));
    OB_RETURN_IF_ERROR(config_.leases->check_join(hello, session->lease()));
    return session;
  }
  OB_ASSIGN_OR_RETURN(auto lease, config_.leases->admit(hello, user));
  return sessions_.open(hello, user, std::move(lease));
}

std::vector<DeviceInfo> Server::devices() const {
  std::vector<DeviceInfo> all;
  for (std::uint32_t i = 0; i < sessions_.device_count(); ++i) {
    all.push_back(sessions_.device(i).info());
  }
  return all;
}

DaemonFacts Server::facts() {
  DaemonFacts facts{.started = started_,
                    .members = 0,
                    .handshakes = 0,
                    .devices = {},
                    .counters = sessions_.counters()};
  {
    const std::lock_guard lock(mutex_);
    for (const Client& client : clients_) {
      if (!client.over) ++(client.connection->is_member() ? facts.members : facts.handshakes);
    }
  }
  const std::vector<SessionRegistry::SessionCount> sessions = sessions_.session_counts();
  for (std::uint32_t i = 0; i < sessions_.device_count(); ++i) {
    const Device& device = sessions_.device(i);
    facts.devices.push_back({.backend = device.info().backend,
                             .memory_bytes = device.info().memory_bytes,
                             .memory = device.memory_use(),
                             .sessions = sessions[i].all,
                             .unleased_sessions = sessions[i].unleased,
                             .turns = device.turns(),
                             .executor_deaths = device.executor_deaths(),
                             .use = sessions_.use_of(i)});
  }
  return facts;
}

void Server::stop_accepting() {
  closing_ = true;
  for (const auto& listener : listeners_) listener->close();
  for (std::thread& acceptor : acceptors_) {
    if (acceptor.joinable()) acceptor.join();
  }
  silent_.close();
}

Drained Server::drain(double timeout_s) {
  stop_accepting();
  const auto deadline = Clock::now() + std::chrono::duration<double>(timeout_s);
  if (timeout_s > 0 && serves_anybody()) std::this_thread::sleep_for(kQuiet);
  std::size_t left = 0;
  while ((left = shut_down_idle(false)) > 0 && Clock::now() < deadline)
    std::this_thread::sleep_for(kQuiet);
  if (left > 0) {
    std::ostringstream line;
    line << "cut off after " << timeout_s << " s: " << left << " connections";
    log::warn(line.str());
    shut_down_idle(true);
  }
  const auto end = Clock::now() + kEnding;
  std::vector<std::size_t> connections;
  Drained drained = unfinished(connections);
  for (; drained != Drained::clean && Clock::now() < end; drained = unfinished(connections))
    std::this_thread::sleep_for(kDrainPollInterval);
  join_finished(false);
  if (drained == Drained::clean) {
    log_memory_use();
  } else {
    log_unfinished(drained, connections);
  }
  return drained;
}

void Server::log_unfinished(Drained drained, const std::vector<std::size_t>& connections) const {
  const std::string whose = drained == Drained::aborted ? "were cut off" : "went away";
  for (std::size_t i = 0; i < connections.size(); ++i) {
    if (connections[i] == 0) continue;
    log::warn("aborted: device " + std::to_string(i) + " still works for " +
              std::to_string(connections[i]) + " connections that " + whose);
  }
  log::warn("aborted: not all commands have ended");
}

// Returns whether devices still work for connections, and sets the number of connections of each.
Drained Server::unfinished(std::vector<std::size_t>& connections) {
  const std::lock_guard lock(mutex_);
  connections.assign(sessions_.device_count(), 0);
  Drained drained = Drained::clean;
  for (const Client& client : clients_) {
    if (client.over) continue;
    if (drained != Drained::aborted) {
      drained = client.cut_off ? Drained::aborted : Drained::left;
    }
    const auto device = sessions_.device_of(client.connection->session_name());
    if (device) ++connections[*device];
  }
  return drained;
}

void Server::log_memory_use() const {
  for (std::uint32_t i = 0; i < sessions_.device_count(); ++i) {
    const MemoryUse use = sessions_.device(i).memory_use();
    if (use.allocations == 0) continue;
    log::info("device " + std::to_string(i) + ": " + std::to_string(use.allocations) +
              " allocations, " + std::to_string(use.reused) +
              " of them in memory kept from others");
  }
}

}  // namespace ob::daemon
