#pragma once
// The daemon: listens, gives each client a connection and a session on one of its devices, drains
// on request.

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "daemon/server/connection.hpp"
#include "daemon/server/stripe_group.hpp"
#include "daemon/session/plan_cache.hpp"
#include "device/device.hpp"
#include "transport/security.hpp"
#include "transport/stream.hpp"

namespace ob::daemon {

struct ServerConfig {
  std::vector<std::string> listen;    ///< addresses as transport::listen() takes them
  std::size_t max_connections = 256;  ///< further clients are turned away
  /// What clients must prove, except over Unix sockets; nullptr: nothing.
  std::shared_ptr<const transport::Security> security;
  SessionLimits session;
  bool may_connect = true;  ///< to other daemons, for clients that have sessions there
  std::chrono::seconds longest_idle = std::chrono::hours(24);  ///< then a connection is closed
  StripingConfig striping;
};

/// How a server was drained.
enum class Drained {
  clean,     ///< nothing is left
  left,      ///< devices still work for clients that went away themselves
  given_up,  ///< devices still work for clients that were cut off
};

/// Threads: any.
class Server final : public SessionDirectory {
 public:
  /// How long what clients asked for may still take after they are gone.
  static constexpr std::chrono::seconds kEnding{1};

  /// Listens at once, so that addresses() are ready for clients. Devices must be at least one.
  /// Errors: those of transport::listen().
  static Result<std::unique_ptr<Server>> create(ServerConfig config,
                                                std::vector<std::unique_ptr<Device>> devices);
  /// Waits for what the devices still do.
  ~Server() override;

  /// The bound addresses, in the order asked for.
  std::vector<std::string> addresses() const;

  /// Takes no new clients, lets every client finish what it has asked for, closes, returns.
  /// Bounded: after `patience_s` whoever is left is cut off, and when all have been gone for
  /// kEnding devices are not waited for any longer: a command that one runs cannot be taken back.
  /// Unless it is clean then, the server cannot be destroyed before they end; the process can.
  /// Threads: one
  Drained drain(double patience_s);

 private:
  struct Client {
    std::shared_ptr<Connection> connection;
    std::thread thread;
    std::atomic<bool> over{false};
    bool cut_off = false;  // while it waited for something
  };

  struct Known {
    wire::Token token;
    std::uint32_t device;
    std::weak_ptr<Session> session;
    const Session* name;
    std::shared_ptr<const MemoryAccount> memory;
  };

  Server(ServerConfig config, std::vector<std::unique_ptr<Device>> devices);
  void accept_from(transport::Listener& listener);
  void admit(std::unique_ptr<transport::Stream> stream);
  void turn_away(transport::Stream& stream);
  void serve(Client& client) noexcept;
  void reap(bool all);
  std::size_t shut_down_resting(bool everybody);
  void stop_accepting();
  Drained unfinished(std::vector<std::size_t>& connections);
  void log_memory_use() const;

  Result<std::shared_ptr<Session>> open(const wire::Hello& hello, const std::string& user) override;
  std::uint64_t make_room(const Session& wanting, std::uint64_t bytes) override;
  std::uint32_t device_count() const noexcept override {
    return static_cast<std::uint32_t>(devices_.size());
  }
  StripeGroups& stripes() noexcept override { return stripes_; }
  Mailboxes& mailboxes() noexcept override { return mailboxes_; }
  Result<std::unique_ptr<transport::Stream>> connect_to(const std::string& address,
                                                        transport::Deadline deadline) override;
  std::chrono::seconds longest_idle() const noexcept override { return config_.longest_idle; }
  std::uint32_t least_used_device();
  std::vector<Connection*> if_idle(const Session* session, transport::Clock::time_point& since);

  const ServerConfig config_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<PlanCache>> plans_;     // of each device
  std::vector<std::unique_ptr<MemoryShare>> shares_;  // of each device
  StripeGroups stripes_;
  Mailboxes mailboxes_;
  std::vector<std::unique_ptr<transport::Listener>> listeners_;
  std::vector<std::thread> acceptors_;
  std::atomic<bool> closing_{false};
  std::mutex mutex_;  // of both below
  std::list<Client> clients_;
  std::vector<Known> sessions_;
};

}  // namespace ob::daemon
