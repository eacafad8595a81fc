#pragma once
// The devices of the pool's lease that a program has.

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/link.hpp"
#include "base/status.hpp"
#include "client/lease_request.hpp"
#include "pool/lease_handles.hpp"
#include "transport/security.hpp"
#include "transport/stream.hpp"

namespace ob::client {

/// It opens a session on one device of the lease.
struct LeaseTicket {
  std::vector<std::string> addresses;  ///< of the daemon, the best first
  std::string token;
};

/// Whoever connects may wait for the manager's answer, or not.
enum class Asking { allowed, never };

/// Asks the manager when a connection is made, and keeps its answer. Nothing is open between two
/// questions, and no thread runs. Devices keep their numbers; those that the lease gains later
/// follow, and so do those of a new lease.
/// Threads: any; while one asks, others whose device must be asked for wait in ticket()
class LeaseDirectory {
 public:
  /// The most devices that a process meets; its connections are bounded, too.
  static constexpr std::size_t kMostDevices = 64;
  /// The most time that the manager gets for its answer. Calls run locally after that.
  static constexpr std::chrono::milliseconds kPatience{2000};
  /// The least time between two questions about devices that cannot be reached.
  static constexpr std::chrono::seconds kPause{5};

  explicit LeaseDirectory(LeaseSource source) : request_(std::move(source)) {}

  /// Returns the number of devices; 1 before the first answer.
  std::size_t size() const;
  /// Names a device for people: the address of its daemon; before the first answer, the lease.
  std::string name(std::size_t index) const;
  /// True if the lease has lost this device. False for the first one if there is no other.
  bool is_retired(std::size_t index) const;
  /// True if the lease waits for devices: the program's own one for its first, which keeps its
  /// place in the queue if the manager is asked again within seconds; or that of `outboard run` for
  /// others in place of lost ones.
  bool is_waiting() const;

  /// Returns what opens a session on the device. Asks the manager if that is not known, is old, or
  /// was refused before.
  /// @param security the key of this program; nullptr: none
  /// Errors: declined if it is not known and must not be asked for; fenced if the lease, or its
  /// handle on this device, is over; unavailable, unsupported, deadline_exceeded, denied if the
  /// manager cannot be asked or refuses
  Result<LeaseTicket> ticket(std::size_t index,
                             const std::shared_ptr<const transport::Security>& security,
                             Asking asking = Asking::allowed);
  /// Notes that a daemon has refused the token because the lease is over.
  void drop(std::size_t index, const std::string& token);
  /// Notes the measurement of a device's link, for the next question to the manager.
  void note_link(std::size_t index, const Link& link);
  /// Notes that a device cannot be connected to. The next ticket() for it asks the manager, unless
  /// that was done within kPause.
  void note_unreachable(std::size_t index);

  /// True if an own lease is held, and its tokens will be worth nothing soon.
  bool is_old() const;
  /// Renews an own lease that is old.   Errors: those of LeaseRequest::ask()
  Status renew(const std::shared_ptr<const transport::Security>& security);
  /// Gives an own lease back, unless the manager is being asked. No device is left.
  void give_back(const std::shared_ptr<const transport::Security>& security,
                 transport::Deadline deadline);

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    pool::LeaseHandle handle;
    bool dropped = false;
    bool unreachable = false;  // since the manager was asked last
  };

  // @pre of these: asking_ is held
  Status ask(const std::shared_ptr<const transport::Security>& security);
  void take(pool::LeaseState lease, Clock::time_point asked);
  void drop_all();
  pool::Sightings unsaid();

  bool is_unreachable(std::size_t index) const;
  bool is_known(std::size_t index, Clock::time_point until) const;
  Result<LeaseTicket> known(std::size_t index) const;
  Result<LeaseTicket> held_now(std::size_t index) const;
  std::optional<Result<LeaseTicket>> known_without_asking(std::size_t index) const;
  Status no_device() const;
  Status over() const;

  std::mutex asking_;              // is held while the manager is asked, and guards these
  LeaseRequest request_;           // its constants need no lock
  Clock::time_point failed_at_{};  // the end of the last question that failed
  Status failure_;                 // of it
  bool is_over_ = false;           // the manager has said so

  mutable std::mutex mutex_;      // guards what follows, for a moment
  Clock::time_point renew_at_{};  // the tokens are old from then on
  Clock::time_point ends_at_{};   // the tokens are worth nothing from then on
  Clock::time_point asked_at_{};  // the begin of the last question
  bool is_waiting_ = false;
  std::vector<Entry> entries_;
  pool::Sightings unsaid_;
};

}  // namespace ob::client
