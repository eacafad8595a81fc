#include "daemon/server/server.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>

#include "daemon/io/token.hpp"
#include "transport/address.hpp"
#include "wire/codec.hpp"

namespace ob::daemon {
namespace {

using transport::Clock;

// A client between two commands of one call is silent for less than this.
constexpr auto kQuiet = std::chrono::milliseconds(50);
constexpr auto kLookAgain = std::chrono::milliseconds(5);
// A client that is turned away says hello at once, or misses the explanation.
constexpr auto kHelloTime = std::chrono::milliseconds(200);
// Who has said nothing for so long is not in the middle of anything, and pays little for a new
// session: connecting, and sending operands again.
constexpr auto kIdle = std::chrono::milliseconds(500);

}  // namespace

Server::Server(ServerConfig config, std::vector<std::unique_ptr<Device>> devices)
    : config_(std::move(config)), devices_(std::move(devices)), stripes_(config_.striping) {
  for (const auto& device : devices_) {
    plans_.push_back(std::make_unique<PlanCache>(*device));
    shares_.push_back(std::make_unique<MemoryShare>(device->info().memory_bytes));
  }
}

Result<std::unique_ptr<Server>> Server::create(ServerConfig config,
                                               std::vector<std::unique_ptr<Device>> devices) {
  std::unique_ptr<Server> server(new Server(std::move(config), std::move(devices)));
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
  shut_down_resting(true);
  reap(true);
}

std::vector<std::string> Server::addresses() const {
  std::vector<std::string> all;
  for (const auto& listener : listeners_) all.push_back(listener->address());
  return all;
}

void Server::accept_from(transport::Listener& listener) {
  while (!closing_) {
    auto stream = listener.accept(Clock::now() + std::chrono::hours(1));
    if (stream.ok()) {
      try {
        admit(std::move(*stream));
        // no thread, no memory: this client goes, the daemon stays
      } catch (const std::exception& error) {
        spdlog::warn("cannot take a client: {}", error.what());
      }
    } else if (stream.status().code() != Code::deadline_exceeded && !closing_) {
      spdlog::warn("cannot accept on {}: {}", listener.address(), stream.status().message());
      std::this_thread::sleep_for(kQuiet);  // out of descriptors, say: leave time to recover
    }
  }
}

// Tells a client that its turn never comes. It spoke first, or its words would reset the
// connection.
void Server::turn_away(transport::Stream& stream) {
  spdlog::warn("turned {} away: {} connections are open", stream.peer(), config_.max_connections);
  wire::Refused refused;
  refused.code = Code::unavailable;
  refused.message =
      "daemon is full (" + std::to_string(config_.max_connections) + " connections are open)";
  wire::Body body;
  wire::encode(refused, body);
  wire::Header header;
  header.opcode = wire::Opcode::refused;
  header.body_bytes = static_cast<std::uint32_t>(body.bytes().size());
  std::array<std::byte, wire::kHeaderBytes> bytes;
  wire::encode_header(header, bytes);
  std::array<std::byte, 4096> hello;
  const iovec in{hello.data(), hello.size()};
  if (!stream.wait(true, false, Clock::now() + kHelloTime).ok() ||
      !stream.try_receive({&in, 1}).ok())
    return;
  const iovec out[] = {{bytes.data(), bytes.size()},
                       {const_cast<std::byte*>(body.bytes().data()), body.bytes().size()}};
  (void)stream.try_send(out);  // a fresh stream has room for it
}

void Server::admit(std::unique_ptr<transport::Stream> stream) {
  reap(false);
  std::unique_lock lock(mutex_);
  if (closing_) return;
  if (clients_.size() >= config_.max_connections) {
    lock.unlock();
    turn_away(*stream);
    return;
  }
  std::list<Client> fresh(1);
  Client& client = fresh.front();
  client.connection = std::make_shared<Connection>(std::move(stream), *this);
  client.thread = std::thread([this, &client] { serve(client); });
  clients_.splice(clients_.end(), fresh);
}

void Server::serve(Client& client) noexcept {
  spdlog::debug("{} connected", client.connection->peer());
  Status status;
  try {
    status = client.connection->run();
  } catch (const std::exception& error) {  // out of memory, most likely: only this client suffers
    client.connection->shut_down();
    status = Status(Code::internal, error.what());
  }
  const std::string& name = client.connection->client();
  const std::string peer = client.connection->peer();  // proven by now
  if (status.ok()) {
    spdlog::debug("{} ({}) left", name, peer);
  } else if (status.code() == Code::connection_lost) {
    spdlog::info("{} ({}) is gone: {}", name, peer, status.message());
  } else {
    spdlog::warn("{} ({}) cut off: {}", name, peer, status.message());
  }
  client.over = true;
}

// Joins threads that are over, or all of them.
void Server::reap(bool all) {
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

Result<std::shared_ptr<Session>> Server::open(const wire::Hello& hello, const std::string& user) {
  const std::lock_guard lock(mutex_);
  std::erase_if(sessions_, [](const Known& known) { return known.session.expired(); });
  if (hello.join != wire::Token{}) {
    for (const Known& known : sessions_) {
      if (!same(known.token, hello.join)) continue;
      if (auto session = known.session.lock()) return session;
    }
    return Status(Code::denied, "no such session (it ended, or the token is wrong)");
  }
  const bool any = hello.device == UINT32_MAX;
  if (!any && hello.device >= devices_.size()) {
    return Status(Code::invalid_argument,
                  "device " + std::to_string(hello.device) +
                      " does not exist (devices: " + std::to_string(devices_.size()) + ")");
  }
  const std::uint32_t index = any ? least_used_device() : hello.device;
  OB_ASSIGN_OR_RETURN(const wire::Token token, new_token());
  auto session = std::make_shared<Session>(*devices_[index], *plans_[index], *shares_[index], index,
                                           token, user, config_.session);
  sessions_.push_back({token, index, session, session.get(), session->memory()});
  return session;
}

// As far as this daemon listens: without a key nobody beyond this machine is talked to.
Result<std::unique_ptr<transport::Stream>> Server::connect_to(const std::string& address,
                                                              transport::Deadline deadline) {
  if (!config_.may_connect) {
    return Status(Code::denied, "this daemon connects to no others (--no-peers)");
  }
  OB_ASSIGN_OR_RETURN(const transport::Address parsed, transport::parse_address(address));
  if (!std::holds_alternative<transport::TcpAddress>(parsed)) {
    return Status(Code::unsupported, "daemons reach each other over TCP only");
  }
  if (config_.security == nullptr && !transport::stays_on_this_machine(address)) {
    return Status(Code::denied, "without a key this daemon connects to none on other machines");
  }
  return transport::connect(address, deadline, config_.security.get());
}

// @pre mutex_ is held. No session is held here: the last to let go of one waits for its work.
std::uint32_t Server::least_used_device() {
  std::vector<std::size_t> sessions(devices_.size(), 0);
  for (const Known& known : sessions_) ++sessions[known.device];
  return static_cast<std::uint32_t>(std::min_element(sessions.begin(), sessions.end()) -
                                    sessions.begin());
}

// The session's connections, if none of them was used for a while; `since` is when the last one
// was.
// @pre mutex_ is held
std::vector<Connection*> Server::if_idle(const Session* session,
                                         transport::Clock::time_point& since) {
  std::vector<Connection*> connections;
  since = {};
  for (const Client& client : clients_) {
    Connection& connection = *client.connection;
    if (connection.session_name() != session) continue;
    since = std::max(since, connection.resting_since());
    if (!connection.at_rest() || Clock::now() - since < kIdle) return {};
    connections.push_back(&connection);
  }
  return connections;
}

std::uint64_t Server::make_room(const Session& wanting, std::uint64_t bytes) {
  struct Idle {
    transport::Clock::time_point since;
    std::uint64_t bytes;
    std::vector<Connection*> connections;
  };
  std::vector<Idle> idle;
  const std::lock_guard lock(mutex_);
  for (const Known& known : sessions_) {
    Idle session{{}, known.memory->used_bytes(), {}};
    const bool same_device = known.device == wanting.device_index() && known.name != &wanting;
    if (!same_device || session.bytes == 0) continue;
    session.connections = if_idle(known.name, session.since);
    if (!session.connections.empty()) idle.push_back(std::move(session));
  }
  std::sort(idle.begin(), idle.end(),
            [](const Idle& a, const Idle& b) { return a.since < b.since; });
  std::uint64_t made = 0;
  for (const Idle& session : idle) {
    if (made >= bytes) break;
    for (Connection* connection : session.connections) connection->shut_down();
    made += session.bytes;
  }
  if (made > 0) spdlog::info("idle clients were let go: their {} bytes are needed", made);
  return made;
}

std::size_t Server::shut_down_resting(bool everybody) {
  const std::lock_guard lock(mutex_);
  std::size_t left = 0;
  for (Client& client : clients_) {
    if (client.over) continue;
    const bool waits = !client.connection->at_rest() && !client.connection->gone();
    if (waits && !everybody) {
      ++left;
      continue;
    }
    client.cut_off = waits;
    client.connection->shut_down();
  }
  return left;
}

void Server::stop_accepting() {
  closing_ = true;
  for (const auto& listener : listeners_) listener->close();
  for (std::thread& acceptor : acceptors_) {
    if (acceptor.joinable()) acceptor.join();
  }
}

Drained Server::drain(double patience_s) {
  stop_accepting();
  const auto deadline = Clock::now() + std::chrono::duration<double>(patience_s);
  if (patience_s > 0) std::this_thread::sleep_for(kQuiet);
  std::size_t left = 0;
  while ((left = shut_down_resting(false)) > 0 && Clock::now() < deadline)
    std::this_thread::sleep_for(kQuiet);
  if (left > 0) {
    spdlog::warn("cut off after {} s: {} connections", patience_s, left);
    shut_down_resting(true);
  }
  const auto end = Clock::now() + kEnding;
  std::vector<std::size_t> connections;
  Drained drained = unfinished(connections);
  for (; drained != Drained::clean && Clock::now() < end; drained = unfinished(connections))
    std::this_thread::sleep_for(kLookAgain);
  reap(false);
  if (drained == Drained::clean) {
    log_memory_use();
    return drained;
  }
  const char* const whose = drained == Drained::given_up ? "were cut off" : "went away";
  for (std::size_t i = 0; i < connections.size(); ++i) {
    if (connections[i] == 0) continue;
    spdlog::warn("given up: device {} still works for {} connections that {}", i, connections[i],
                 whose);
  }
  spdlog::warn("given up: not all that was begun has ended");
  return drained;
}

// Who still waits for a device, and the number of connections at each.
Drained Server::unfinished(std::vector<std::size_t>& connections) {
  const std::lock_guard lock(mutex_);
  connections.assign(devices_.size(), 0);
  Drained drained = Drained::clean;
  for (const Client& client : clients_) {
    if (client.over) continue;
    if (drained != Drained::given_up) {
      drained = client.cut_off ? Drained::given_up : Drained::left;
    }
    const Session* name = client.connection->session_name();
    const auto known = std::find_if(sessions_.begin(), sessions_.end(), [&](const Known& k) {
      return name != nullptr && k.name == name;
    });
    if (known != sessions_.end()) ++connections[known->device];
  }
  return drained;
}

void Server::log_memory_use() const {
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const MemoryUse use = devices_[i]->memory_use();
    if (use.allocations == 0) continue;
    spdlog::info("device {}: {} allocations, {} of them in memory kept from others", i,
                 use.allocations, use.reused);
  }
}

}  // namespace ob::daemon
