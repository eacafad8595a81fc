#pragma once
// The daemon: it listens, gives each client a connection and a session on one of its devices, and
// stops on request.

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "daemon/io/repeated_log.hpp"
#include "daemon/peers/peer_directory.hpp"
#include "daemon/pool/leases.hpp"
#include "daemon/server/connection.hpp"
#include "daemon/server/connection_services.hpp"
#include "daemon/server/daemon_facts.hpp"
#include "daemon/server/handshake_budget.hpp"
#include "daemon/server/member_connections.hpp"
#include "daemon/server/revocation_watch.hpp"
#include "daemon/server/session_budgets.hpp"
#include "daemon/server/session_registry.hpp"
#include "daemon/server/silent_streams.hpp"
#include "daemon/server/stripe_group.hpp"
#include "daemon/session/kernel_rights.hpp"
#include "device/device.hpp"
#include "device/self_test.hpp"
#include "transport/security.hpp"
#include "transport/stream.hpp"

namespace ob::daemon {

struct ServerConfig {
  std::vector<std::string> listen;    ///< addresses as transport::listen() takes them
  std::size_t max_connections = 256;  ///< after the handshake; further clients are refused
  HandshakeLimits handshakes;         ///< limits of connections before that
  /// The keys that clients must have, except over Unix sockets; nullptr: none.
  std::shared_ptr<const transport::Security> security;
  SessionLimits session;
  bool may_connect = true;  ///< connects to other daemons, where clients have sessions
  std::chrono::seconds longest_idle = std::chrono::hours(24);  ///< then a connection is closed
  StripingConfig striping;
  KernelPolicy kernels;
  /// Admits sessions to the devices of a pool; nullptr: this daemon is in none. Outlives the
  /// server.
  Leases* leases = nullptr;
};

/// The state of a server after drain().
enum class Drained {
  clean,    ///< nothing is left
  left,     ///< devices still work for clients that went away themselves
  aborted,  ///< devices still work for clients that were cut off
};

/// Accepts connections, and serves each one on a thread of its own.   Threads: any
class Server final : public SessionDirectory {
 public:
  /// The time that work may still take after its client is gone.
  static constexpr std::chrono::seconds kEnding{1};

  /// Listens at once, so that addresses() are ready for clients.
  /// Errors: those of transport::listen()   @pre !devices.empty()
  static Result<std::unique_ptr<Server>> create(ServerConfig config,
                                                std::vector<std::unique_ptr<Device>> devices);
  /// Cuts off all clients, and waits for the devices' work.
  ~Server() override;

  /// Returns the bound addresses, in the order of ServerConfig::listen.
  std::vector<std::string> addresses() const;

  /// Accepts no new clients, and closes each connection once its commands are answered.
  /// After `timeout_s` it cuts off the clients that are left. When all have been gone for kEnding
  /// it stops waiting for the devices, because most devices cannot stop a command. Unless the
  /// result is clean, the server cannot be destroyed before those commands end; the process can
  /// exit.
  /// Threads: one
  Drained drain(double timeout_s);

  /// Reads the list of revoked members of ServerConfig::security now. Otherwise the server notices
  /// a new list within RevocationWatch::kInterval.   Threads: any
  void reload_revocations() noexcept { revocations_.reload(); }

  /// Returns the description of each device.
  std::vector<DeviceInfo> devices() const;
  /// Returns the memory of a device that is in use [bytes].
  std::uint64_t memory_used(std::size_t device) const {
    return sessions_.device(static_cast<std::uint32_t>(device)).memory_use().used_bytes;
  }

  /// Tests whether a device computes right; see ob::self_test().
  SelfTest self_test(std::size_t device, const std::function<bool()>& gives_up) {
    return ob::self_test(sessions_.device(static_cast<std::uint32_t>(device)), gives_up);
  }

  /// Returns what the metrics tell.   Threads: any, but not while the server is destroyed
  DaemonFacts facts();

  /// For connections of streams that the server has not accepted itself.
  const ConnectionServices& services() const noexcept { return services_; }

 private:
  struct Client {
    std::unique_ptr<Connection> connection;
    std::thread thread;
    std::atomic<bool> over{false};
    bool cut_off = false;  // while it waited for an answer
    bool revoked = false;
  };

  Server(ServerConfig config, std::vector<std::unique_ptr<Device>> devices);
  void accept_from(transport::Listener& listener);
  void receive_from(transport::Listener& listener,
                    std::unique_ptr<transport::Stream> bare) noexcept;
  void admit(transport::Listener& listener, std::unique_ptr<transport::Stream> bare) noexcept;
  Status start(transport::Listener& listener, std::unique_ptr<transport::Stream> bare);
  void serve(Client& client) noexcept;
  void log_stranger(const Connection& connection, const Status& status);
  void log_failed(const transport::Listener& listener, const std::exception& error) noexcept;
  void log_closed(const std::string& source, const Status& status) noexcept;
  void log_end(const Connection& connection, const Status& status) const;
  void join_finished(bool all);
  bool serves_anybody();
  std::size_t shut_down_idle(bool everybody);
  void shut_down_revoked();
  void stop_accepting();
  Drained unfinished(std::vector<std::size_t>& connections);
  void log_unfinished(Drained drained, const std::vector<std::size_t>& connections) const;
  void log_memory_use() const;

  Result<std::shared_ptr<Session>> open(const wire::Hello& hello, const std::string& user) override;
  void shut_down_cut_off();
  std::uint64_t make_room(const Session& wanting, std::uint64_t bytes) override;
  std::uint32_t device_count() const noexcept override { return sessions_.device_count(); }
  LifeSigns& life_signs() noexcept override { return life_signs_; }
  std::vector<Connection*> unused_connections(const SessionRegistry::Holder& session,
                                              transport::Clock::time_point& since);

  const ServerConfig config_;
  const std::chrono::system_clock::time_point started_ = std::chrono::system_clock::now();
  SessionRegistry sessions_;  // outlives all connections
  StripeGroups stripes_;
  LifeSigns life_signs_;
  PeerDirectory peers_;
  HandshakeBudget handshakes_;
  MemberConnections members_;
  RepeatedLog strangers_;  // lines about connections that did not finish their handshake
  const ConnectionServices services_;
  std::vector<std::unique_ptr<transport::Listener>> listeners_;
  std::vector<std::thread> acceptors_;
  std::atomic<bool> closing_{false};
  std::mutex mutex_;  // guards the list of clients
  std::list<Client> clients_;
  SilentStreams silent_;         // starts connections
  RevocationWatch revocations_;  // ends first, because it uses the list of clients
};

}  // namespace ob::daemon
