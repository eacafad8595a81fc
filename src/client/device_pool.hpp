#pragma once
// The connections of one process: leased whole to the thread that makes a call, reused by the next.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/link.hpp"
#include "client/remote_device.hpp"

namespace ob::client {

class DevicePool;

/// One leased device with its queue. Returned to the pool on destruction, dropped if broken.
class Lease {
 public:
  Lease() = default;
  Lease(Lease&&) noexcept = default;
  Lease& operator=(Lease&&) noexcept = default;
  ~Lease();

  RemoteDevice& device() const noexcept { return *device_; }
  QueueId queue() const noexcept { return queue_; }
  std::size_t server() const noexcept { return server_; }
  /// Names the connection; plans made on another one are unknown here. Never reused.
  std::uint64_t connection_id() const noexcept { return connection_id_; }

 private:
  friend class DevicePool;
  DevicePool* pool_ = nullptr;
  std::unique_ptr<RemoteDevice> device_;
  QueueId queue_;
  std::size_t server_ = 0;
  std::uint64_t connection_id_ = 0;
};

/// Threads: any.
class DevicePool {
 public:
  struct Config {
    std::vector<std::string> servers;  ///< in order of preference
    Patience patience;
    int retry_after_ms = 5000;         ///< how long a server that failed is left alone
    std::size_t max_connections = 64;  ///< per process; calls beyond stay local
  };

  explicit DevicePool(Config config);
  /// @pre all leases were given back
  ~DevicePool();
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  /// An idle connection to the first server that is not set aside, or a new one.
  /// Errors: unavailable if there is no server, none answers, or all connections are busy.
  Result<Lease> lease();

  /// True if a lease() would probably succeed without waiting for a dead server.
  bool usable() const noexcept;
  const std::vector<std::string>& servers() const noexcept { return config_.servers; }
  /// Measured when the first connection to a server was made; zeros before.
  Link link(std::size_t server) const;
  /// What the daemon said of its device when the first connection was made.
  DeviceInfo device_info(std::size_t server) const;

 private:
  friend class Lease;
  struct Server {
    std::int64_t down_until_ms = 0;
    bool known = false;
    Link link;
    DeviceInfo info;
  };

  void give_back(Lease& lease) noexcept;
  void drop_idle(std::size_t server) noexcept;
  Result<Lease> connect(std::size_t server);
  void set_aside(std::size_t server) noexcept;

  const Config config_;
  mutable std::mutex mutex_;
  std::vector<Server> servers_;
  std::vector<Lease> idle_;
  std::size_t open_ = 0;
  std::uint64_t next_connection_ = 1;
};

/// Closes, in a forked child, the descriptors of all connections of its parent, without touching
/// anything else.
/// Threads: the child's only one; async-signal-safe.
void close_inherited_connections() noexcept;

}  // namespace ob::client
