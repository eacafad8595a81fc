#pragma once
// The connections of one process. The thread that makes a call acquires a whole connection, and the
// next call uses the connection again.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/link.hpp"
#include "client/inherited_connections.hpp"
#include "client/lease_directory.hpp"
#include "client/link_probe.hpp"
#include "client/remote_device.hpp"

namespace ob::client {

class ConnectionCache;

/// State that the user of a connection keeps with it; destroyed with the connection.
struct Attachment {
  virtual ~Attachment() = default;
};

/// One acquired device with its queue. Its destructor returns it to the cache, which drops a broken
/// one.
class AcquiredDevice {
 public:
  AcquiredDevice() = default;
  AcquiredDevice(AcquiredDevice&&) noexcept = default;
  AcquiredDevice& operator=(AcquiredDevice&&) noexcept = default;
  ~AcquiredDevice();

  RemoteDevice& device() const noexcept { return *device_; }
  QueueId queue() const noexcept { return queue_; }
  std::size_t server() const noexcept { return server_; }
  /// The index of the device in its server.
  std::uint32_t device_index() const noexcept { return device_->connection().welcome().device; }
  /// True if a failure counts against the server, because the connection is new or the server fell
  /// silent. Else it counts only against a connection that may have broken while it was idle.
  bool counts_against_server() const noexcept {
    return counts_against_server_ || device_->connection().is_unresponsive();
  }
  /// The number of the connection, never used again; plans of another connection are unknown here.
  std::uint64_t connection_id() const noexcept { return connection_id_; }
  /// Empty on a new connection. Later users of the connection find the object that is stored here.
  /// Its destructor must not use the device.
  std::unique_ptr<Attachment>& attachment() noexcept { return attachment_; }

 private:
  friend class ConnectionCache;
  ConnectionCache* cache_ = nullptr;
  std::unique_ptr<RemoteDevice> device_;
  std::unique_ptr<Attachment> attachment_;
  QueueId queue_;
  std::size_t server_ = 0;
  std::uint64_t connection_id_ = 0;
  bool counts_against_server_ = true;
  bool is_reported_ = false;  // report_failure() knows that it is broken
  bool is_borrowed_ = false;  // by borrow_idle()
};

/// Threads: any.
class ConnectionCache {
 public:
  struct Config {
    std::vector<std::string> servers;  ///< in order of preference
    LeaseSource lease;                 ///< of a pool; its devices count as servers of one device
    /// acquire() may ask the pool's manager for devices, which takes up to
    /// LeaseDirectory::kPatience
    Asking asking = Asking::allowed;
    ConnectionConfig connection;  ///< security is added from the key
    std::string key_folder;       ///< key of this client, see transport::load_key(); or empty
    bool plain = false;           ///< see load_key()
    int retry_after_ms = 5000;    ///< pause after a failure; doubles up to 64-fold
    /// Measure the first connection to each server at once, not only when measure() asks for it.
    bool measure_links = true;
    Thoroughness how_measured = Thoroughness::quick;
    std::size_t max_connections = 64;  ///< per process; calls beyond stay local
  };

  /// @param config without servers if it names a lease
  explicit ConnectionCache(Config config);
  /// @pre all acquired devices were given back
  ~ConnectionCache();
  ConnectionCache(const ConnectionCache&) = delete;
  ConnectionCache& operator=(const ConnectionCache&) = delete;

  /// Returns an idle connection to the first server that is not set aside, or a new one.
  /// Errors: unavailable if there is no server, none answers, or all connections are busy; declined
  /// if no lease of a pool is held, and the manager must not be asked for one.
  Result<AcquiredDevice> acquire() { return acquire(config_.asking); }
  Result<AcquiredDevice> acquire(Asking asking);

  /// Returns connections to `count` more devices, idle or new ones, all different from each other
  /// and from `first`. Returns fewer if there are fewer devices or servers do not answer. Servers
  /// take turns, since the devices of one server share its link.
  std::vector<AcquiredDevice> acquire_others(const AcquiredDevice& first, std::size_t count);
  /// Returns an idle connection to `server`, if there is one; makes no new connection.
  std::optional<AcquiredDevice> acquire_idle(std::size_t server) { return take_idle(server); }

  /// Returns an idle connection to `server`, if there is one, for work that nobody waits for and
  /// that takes milliseconds: acquire() waits for its return at most kMostBorrowed rather than make
  /// another connection, on whose device no operands are.
  std::optional<AcquiredDevice> borrow_idle(std::size_t server);
  static constexpr std::chrono::milliseconds kMostBorrowed{10};

  /// Reports the failure of a device that its user keeps. Like the return of a broken device, this
  /// sets the server aside if the failure counts against it, and drops the server's idle
  /// connections. The later return of the device does not do this again, because the connections
  /// that are idle then may be new ones.
  void report_failure(AcquiredDevice& broken) noexcept;

  /// Returns the server that acquire() would use now.
  std::optional<std::size_t> preferred() const noexcept;
  /// True if acquire() would probably succeed without waiting for a dead server.
  bool usable() const noexcept { return preferred().has_value(); }
  /// True if the pool's manager should be asked soon: see LeaseDirectory::is_old().
  bool is_lease_old() const { return lease_ && lease_->is_old(); }
  /// Renews the process's own lease, if it is old. Takes as long as the manager's answer.
  void renew_lease();
  /// Gives the process's own lease back, and waits a moment for the answer.
  void give_lease_back();

  /// True if a connection to the server was made, and it has not failed since.
  bool is_reached(std::size_t server) const noexcept;
  /// True if the server has failed a moment ago.
  bool is_set_aside(std::size_t server) const noexcept;
  /// Returns the number of servers. That of a lease is 1 until the manager was asked, and may grow;
  /// some of them may have been taken back.
  std::size_t server_count() const { return lease_ ? lease_->size() : config_.servers.size(); }
  /// Returns what server_count() never exceeds.
  std::size_t most_servers() const noexcept { return servers_.size(); }
  /// Names a server for people.
  std::string server_name(std::size_t server) const {
    return lease_ ? lease_->name(server) : config_.servers[server];
  }
  /// Measures the link to the server of `acquired`, unless that was done before. Only one thread
  /// measures; others do not wait for it.
  /// Errors: those of measure_link()
  Status measure(AcquiredDevice& acquired);
  /// Measures the link once more. The better measurement counts, because the other one has met a
  /// busy machine.
  /// Errors: those of measure_link()
  Status measure_again(AcquiredDevice& acquired);

  /// Returns the measurement of the link to a server; zeros before it.
  Link link(std::size_t server) const;
  /// Returns the description of the device that the daemon sent over the first connection. Its
  /// backend is empty before.
  DeviceInfo device_info(std::size_t server) const;

 private:
  friend class AcquiredDevice;
  static constexpr std::uint32_t kAnyDevice = UINT32_MAX;
  struct Server {
    std::int64_t down_until_ms = 0;
    int failures = 0;           ///< connections that failed in a row
    std::uint32_t devices = 0;  ///< number of devices; 0: not connected yet
    bool known = false;         ///< the link is valid
    bool measuring = false;     ///< one thread measures: several would disturb each other
    unsigned borrowed = 0;      ///< connections that borrow_idle() gave away
    Link link;
    DeviceInfo info;
    std::shared_ptr<HostSilence> host;
  };

  void give_back(AcquiredDevice& acquired) noexcept;
  void note_return(AcquiredDevice& acquired) noexcept;
  std::optional<AcquiredDevice> take_idle(std::size_t server, std::uint32_t device = kAnyDevice);
  void drop_idle(std::size_t server) noexcept;
  void wait_for_borrowed(std::size_t server);
  bool make_room(std::size_t server) noexcept;
  Result<AcquiredDevice> idle_or_new(std::size_t server, std::uint32_t device, Asking asking,
                                     bool& full);
  Result<AcquiredDevice> connect(std::size_t server, std::uint32_t device_index, Asking asking);
  Result<std::shared_ptr<const transport::Security>> key();
  Result<std::unique_ptr<RemoteDevice>> open(const std::string& address, ConnectionConfig config);
  Result<std::unique_ptr<RemoteDevice>> open_leased(std::size_t server, ConnectionConfig config,
                                                    Asking asking);
  bool is_out(std::size_t server) const noexcept;
  void note_failure(std::size_t server, Code code) noexcept;
  std::uint32_t devices_of(std::size_t server) const noexcept;
  void set_aside(std::size_t server) noexcept;
  Status measure_unless(AcquiredDevice& acquired, bool (*is_done)(const Server&));

  const Config config_;
  const std::unique_ptr<LeaseDirectory> lease_;  // nullptr: servers are named
  std::once_flag key_loaded_;
  Result<std::shared_ptr<const transport::Security>> key_{nullptr};
  mutable std::mutex mutex_;
  std::vector<Server> servers_;
  std::condition_variable returned_;  // a borrowed connection is idle again, or closed
  std::vector<AcquiredDevice> idle_;
  std::size_t open_ = 0;
  std::uint64_t next_connection_ = 1;
};

}  // namespace ob::client
