#pragma once
// What a lease gate must answer, by the definitions of docs/pool.md, from the whole history of what
// it was told. It keeps facts and looks through them at each question. It shares no code with the
// gate.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "pool/desired_state.hpp"
#include "pool/lease_claims.hpp"

namespace ob::daemon::test {

class LeaseOracle {
 public:
  struct Device {
    std::string id;
    std::uint64_t memory_bytes;
  };
  struct Session {
    std::uint64_t id;
    std::size_t device;
    pool::LeaseClaims claims;
    bool leased = true;  // false: it has no lease, and the claims mean nothing
    bool valid = true;
    int running = 0;
    bool used = false;  // since the last report
    bool left = false;
    bool cut_off = false;  // the gate has told so
  };

  LeaseOracle(std::string pool, std::string daemon, std::vector<Device> devices,
              std::int64_t grace_ms, std::int64_t contact_ms)
      : pool_(std::move(pool)),
        daemon_(std::move(daemon)),
        devices_(std::move(devices)),
        grace_ms_(grace_ms),
        contact_ms_(contact_ms) {}

  /// Returns whether the gate must take the state.
  bool state(const pool::DesiredState& state, std::int64_t now_ms);
  /// Returns "admitted", or the name of the refusal. If it is admitted, opened() follows.
  std::string admit(const pool::LeaseClaims& claims, const std::string& user, std::int64_t now_ms);
  void opened(std::uint64_t id, const pool::LeaseClaims& claims);
  /// Returns "admitted", or the name of the refusal, for a client without a lease. If it is
  /// admitted, opened_unleased() follows.
  std::string admit_unleased() const;
  /// Returns false if the device is not one of those for clients without a lease.
  bool opened_unleased(std::uint64_t id, std::size_t device);
  void tick(std::int64_t now_ms);

  /// All sessions so far. The test sets `running` and what follows.
  std::vector<Session>& sessions() noexcept { return sessions_; }
  std::uint64_t floor(std::size_t device) const;
  /// The revision of the state in force; -1: none.
  std::int64_t rev() const;
  /// Returns what is wrong with the commands that run; empty if nothing is: I1 of docs/pool.md.
  std::string violation() const;

 private:
  struct Told {
    pool::DesiredState state;
    std::int64_t at_ms;
    bool taken;  // false: an older one, which only shows that the manager lives
  };
  struct Floor {
    std::size_t device;
    std::uint64_t floor;
    std::int64_t rev;  // of its token
  };

  std::size_t index_of(const std::string& device) const;
  const pool::DesiredState* in_force() const;
  const pool::DesiredLease* listed(std::size_t device, std::uint64_t epoch) const;
  bool ended(std::size_t device, const pool::LeaseClaims& claims) const;
  bool late(std::size_t device, const pool::LeaseClaims& claims, std::int64_t now_ms) const;
  bool contradicted(std::size_t device, const pool::LeaseClaims& claims) const;
  bool fits(std::size_t device, const pool::LeaseClaims& claims) const;
  bool is_free(std::size_t device) const;
  std::size_t unleased_sessions(std::size_t device) const;

  const std::string pool_;
  const std::string daemon_;
  const std::vector<Device> devices_;
  const std::int64_t grace_ms_;
  const std::int64_t contact_ms_;
  std::vector<Told> told_;
  std::vector<Floor> floors_;  // of tokens
  std::vector<Session> sessions_;
};

}  // namespace ob::daemon::test
