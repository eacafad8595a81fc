#pragma once
// The devices of the pool's lease that a program runs under.

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "pool/lease_handles.hpp"
#include "transport/security.hpp"
#include "transport/stream.hpp"

namespace ob::client {

/// Names a lease, and the manager that knows it.
struct LeaseSource {
  std::string id;       ///< empty: there is no lease
  std::string manager;  ///< its URL
};

/// It opens a session on one device of the lease.
struct LeaseTicket {
  std::vector<std::string> addresses;  ///< of the daemon, the best first
  std::string token;
};

/// Asks the manager when a connection is made, and keeps its answer. Nothing is open between two
/// questions, and no thread runs. Devices keep their numbers; those that the lease gains later
/// follow.
/// Threads: any; while one asks, others wait in ticket() only
class LeaseDirectory {
 public:
  /// The most devices of a lease that a process uses; its connections are bounded, too.
  static constexpr std::size_t kMostDevices = 16;
  /// The most time that the manager gets for its answer. Calls run locally after that.
  static constexpr std::chrono::milliseconds kPatience{2000};

  explicit LeaseDirectory(LeaseSource source) : source_(std::move(source)) {}

  /// Returns the number of devices; 1 before the first answer.
  std::size_t size() const;
  /// Names a device for people: the address of its daemon; before the first answer, the lease.
  std::string name(std::size_t index) const;

  /// Returns what opens a session on the device. Asks the manager if that is not known, is old, or
  /// was refused before.
  /// @param security the key of this program; nullptr: none
  /// Errors: fenced if the lease, or its handle on this device, is over; unavailable,
  /// deadline_exceeded, denied if the manager cannot be asked or refuses
  Result<LeaseTicket> ticket(std::size_t index,
                             const std::shared_ptr<const transport::Security>& security);
  /// Notes that a daemon has refused the token because the lease is over.
  void drop(std::size_t index, const std::string& token);

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    pool::LeaseHandle handle;
    bool dropped = false;
  };

  // @pre of all: asking_ is held
  bool is_fresh(std::size_t index) const;
  Status ask(const std::shared_ptr<const transport::Security>& security);
  Result<pool::LeaseState> answer(const std::shared_ptr<const transport::Security>& security);
  void take(pool::LeaseState lease, Clock::time_point asked);
  Result<LeaseTicket> known(std::size_t index) const;
  Status over() const;

  const LeaseSource source_;
  std::mutex asking_;              // guards what follows, and is held while the manager is asked
  Clock::time_point renew_at_{};   // the tokens are old from then on
  Clock::time_point failed_at_{};  // the end of the last question that failed
  Status failure_;                 // of it
  bool is_over_ = false;           // the manager has said so
  mutable std::mutex mutex_;       // guards entries_, for a moment
  std::vector<Entry> entries_;
};

}  // namespace ob::client
