#pragma once
// The gate is the daemon's side of leases: it decides who may use a device, and until when.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.hpp"
#include "base/use_counter.hpp"
#include "daemon/lease_gate/lease_account.hpp"
#include "daemon/lease_gate/lease_session.hpp"
#include "pool/desired_state.hpp"
#include "pool/lease_claims.hpp"

namespace ob::daemon {

/// A device that the gate guards.
struct GatedDevice {
  std::string id;  ///< as the daemon registers it
  std::uint64_t memory_bytes = 0;
  bool isolated = false;  ///< DeviceInfo::isolated
};

/// A session that may be opened now.
struct Admission {
  LeaseSessionId id;
  std::uint32_t device = 0;               ///< index among the gate's devices
  std::shared_ptr<LeaseSession> session;  ///< for its commands
  /// Shared by the lease's sessions on the device; nullptr: the session has no lease.
  std::shared_ptr<const LeaseAccount> account;
};

/// Why a client gets no session. The names are those of tests/pool/gate_vectors.json.
enum class Refusal : std::uint8_t {
  starting,  ///< the daemon has not registered yet
  denied,    ///< the token is for somebody or something else, or makes no sense
  fenced,    ///< the lease is over
  expired,   ///< the token's time is over
  fencing,   ///< sessions of older leases still end: the caller asks again
  full,      ///< memory, weights or sessions
  held,      ///< without a lease: leases have all devices, or they are closed
};

/// Returns the name, e.g. "fencing".
const char* to_string(Refusal why) noexcept;

struct Refused {
  Refusal why;
  std::string sentence;

  /// Returns what the client is told: starting unavailable; denied denied; fenced and expired
  /// fenced; fencing, full and held busy.
  Status status() const;
};

/// A session that may not go on.
struct CutOff {
  LeaseSessionId id;
  bool leased = true;  ///< false: it had no lease

  friend bool operator==(const CutOff&, const CutOff&) = default;
};

/// A part of a heartbeat. A session of a lease counts until leave(), also when it was cut off.
struct LeaseReport {
  struct Session {
    std::uint64_t epoch = 0;
    bool valid = true;
    bool busy = false;  ///< a command ran since the last report, or runs
  };
  /// The use of a lease on a device since the daemon started. It counts until forget_told().
  struct LeaseUse {
    std::uint64_t epoch = 0;
    Use use;
  };
  struct Device {
    std::string id;
    std::uint64_t floor = 0;  ///< in force
    std::vector<Session> sessions;
    std::vector<LeaseUse> uses;
  };
  std::int64_t rev = -1;  ///< of the desired state in force; -1: none yet
  std::vector<Device> devices;
};

/// Decides which sessions the devices of a daemon serve. Sessions without a lease
/// get devices that no lease has, and end as soon as one does. It answers
/// tests/pool/gate_vectors.json, as the model in python/outboard/pool/simulation/gate_model.py
/// does.
///
/// It is a state machine without threads, clocks and input: `now_ms` is pool time as the daemon
/// estimates it. One lock of its owner guards all calls. Who calls what:
///
/// * The agent's thread: set_pool() and apply() with the answer to a registration, apply() with
///   each later answer, tick() at least each second, report() for each heartbeat.
/// * A connection's thread, at hello: verify_lease_token() without the lock, then admit(), or
///   admit_unleased() for a client without a token. While
///   the answer is `fencing` it may wait without the lock for sessions to end, and ask again. It
///   makes the session with Admission::account, and checks LeaseSession::valid() after the session
///   is known to those who cut off. Whoever joins a session checks valid(), too.
/// * A connection's thread, at each command: LeaseSession::begin_command() and end_command(),
///   without the lock. A command that may not begin fails with `fenced`.
/// * After each admit(), apply() and tick(): take_cut_off(), and then, without the lock, the
///   connections of those sessions are shut down.
/// * The agent's thread, after the manager has answered a heartbeat: forget_told(), and then
///   apply().
/// * The end of a session, after its queues have ended and its memory is free: leave(). Until then
///   nobody else gets in above it, and the manager hears of it.
///
/// Threads: one at a time
class LeaseGate {
 public:
  struct Config {
    std::string daemon;  ///< its name in tokens
    std::vector<GatedDevice> devices;
    /// Without word from the manager for longer than `contact_ms`, tokens and sessions whose time
    /// is over stay good until `grace_ms` after the last word.
    std::int64_t grace_ms = 600'000;
    std::int64_t contact_ms = 4'000;
  };
  using Answer = std::variant<Admission, Refused>;

  explicit LeaseGate(Config config);

  /// Names the pool whose tokens are good. Before this and the first apply(), none is.
  /// Errors: denied if the pool was another one before, whose keys and epochs mean nothing here;
  ///         invalid_argument for an empty name
  Status set_pool(const std::string& pool);

  /// Enforces a desired state, unless it is older than the one in force. Floors never fall. Devices
  /// that the gate does not have are ignored.
  /// Errors: invalid_argument, and nothing changes, if a device of the gate or an epoch of it is
  ///         listed twice, or has more than kMostLeases leases, or a number is negative or beyond
  ///         2^63 - 1. Such a state is no word from the manager.
  /// Cost: proportional to the state and the open sessions
  Status apply(const pool::DesiredState& desired, std::int64_t now_ms);

  /// Admits one more session. A token that implies a higher floor raises it, even if the session
  /// must wait for older ones (fencing). Sessions without a lease are cut off in the same way.
  /// @param claims of a verified token
  /// @param user the proven peer, Stream::user(); empty: nobody
  Answer admit(const pool::LeaseClaims& claims, std::string_view user, std::int64_t now_ms);

  /// Admits a session without a lease, to the device with the fewest of those that no lease has.
  /// A lease counts from when the gate hears of it, by a state or a token, until all its sessions
  /// have left.
  Answer admit_unleased();

  /// Forgets a session that has ended, whose memory is free. Unknown ones are ignored.
  void leave(LeaseSessionId id);

  /// Cuts off sessions whose time is over, unless the manager is silent.
  void tick(std::int64_t now_ms);

  /// Returns the sessions that were cut off since the last call, each once.
  std::vector<CutOff> take_cut_off();

  /// Returns the floor in force of a device: sessions of lower epochs may not go on.
  /// @param device its index in the configuration
  std::uint64_t floor(std::size_t device) const { return devices_[device].floor; }

  /// Returns the gate's part of a heartbeat.
  LeaseReport report();

  /// Forgets the uses in a report that the manager has taken, of leases that had ended in the
  /// desired state of the report: nothing can be added to them.
  /// @pre no desired state was applied since report()
  void forget_told(const LeaseReport& report);

 private:
  struct Session {
    std::shared_ptr<LeaseSession> shared;
    std::shared_ptr<const LeaseAccount> account;
    std::int64_t end_ms = 0;  // of its token
    std::int64_t rev = 0;     // of its token

    std::uint64_t epoch() const noexcept { return account->terms().epoch; }
  };
  struct LeaseUse {
    std::shared_ptr<UseCounter> counter;
    std::int64_t rev = 0;  // the highest of the lease's tokens
  };
  struct Device {
    GatedDevice about;
    std::uint64_t floor = 0;
    std::map<std::uint64_t, pool::DesiredLease> listed;  // the leases that live, by epoch
    std::map<LeaseSessionId, Session> sessions;
    std::map<std::uint64_t, LeaseUse> uses = {};  // by epoch
    std::map<LeaseSessionId, std::shared_ptr<LeaseSession>> unleased =
        {};                       // sessions without a lease
    std::int64_t token_rev = -1;  // the highest of good tokens: no older state knows their leases
    bool closed = true;           // to sessions without a lease, until a state opens it
  };
  using Listed = std::map<std::uint64_t, pool::DesiredLease>;
  using Refusals = std::optional<Refused>;  // nothing: no reason to refuse

  Device* find(std::string_view id) noexcept;
  Result<std::vector<Listed>> read_leases(const pool::DesiredState& desired) const;
  Refusals refuse_all() const;
  Refusals refuse_stranger(const pool::LeaseClaims& claims, std::string_view user,
                           std::int64_t now_ms) const;
  Refusals refuse_end(const Device& device, const pool::LeaseClaims& claims,
                      std::int64_t now_ms) const;
  Refusals refuse_terms(const Device& device, const pool::LeaseClaims& claims) const;
  Refusals refuse_room(const Device& device, const pool::LeaseClaims& claims) const;
  bool is_over(const Device& device, std::uint64_t epoch, std::int64_t rev) const noexcept;
  bool in_time(const Device& device, std::uint64_t epoch, std::int64_t end_ms,
               std::int64_t now_ms) const noexcept;
  void raise_floor(Device& device, std::uint64_t floor);
  bool is_held(const Device& device) const noexcept;
  void end_unleased(Device& device);
  void cut_off(LeaseSessionId id, LeaseSession& session);
  Admission open(Device& device, const pool::LeaseClaims& claims);

  const Config config_;
  std::string pool_;  // empty: not known yet
  std::vector<Device> devices_;
  std::vector<CutOff> cut_off_;
  std::uint64_t last_id_ = 0;
  std::int64_t rev_ = -1;  // of the state in force; -1: there was none
  std::int64_t state_ms_ = -1;
  std::int64_t heard_ms_ = 0;
};

}  // namespace ob::daemon
