#pragma once
// A daemon tells the manager of its pool these facts, and reads its answers
// (docs/pool-openapi.json: DaemonBody, Registered, HeartbeatBody, DesiredAnswer).

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "base/use_counter.hpp"
#include "pool/desired_state.hpp"
#include "pool/lease_token.hpp"

namespace ob::pool {

/// A device, as its daemon describes it.
struct DeviceFacts {
  std::string id;
  std::string kind;   ///< "cuda"
  std::string model;  ///< its name, for people
  std::uint64_t memory_bytes = 0;
  double gflops = 0;             ///< of a product in double precision
  std::uint64_t epoch_seen = 0;  ///< the highest floor that it has had
};

/// A daemon that starts.
struct Registration {
  std::string instance;  ///< random for each start
  std::vector<DeviceFacts> devices;
  std::vector<std::uint16_t> wire;     ///< versions of the protocol that it serves
  std::vector<std::string> addresses;  ///< under which clients reach it
  std::string machine;                 ///< machine_name()
  std::map<std::string, std::string> labels;
};

/// The answer to a registration.
struct Registered {
  std::string pool;
  std::vector<LeaseKey> keys;
  double heartbeat_s = 0;
  DesiredState state;
};

/// A device, as it is now.
struct DeviceReport {
  struct Session {
    std::uint64_t epoch = 0;
    bool busy = false;  ///< a command ran since the last heartbeat, or runs
  };
  std::string id;
  std::uint64_t floor = 0;
  /// The use of a lease since the daemon started, also of one that has ended.
  struct LeaseUse {
    std::uint64_t epoch = 0;
    Use use;
  };
  std::vector<Session> sessions;
  std::uint64_t memory_used_bytes = 0;
  std::vector<LeaseUse> uses;
  std::uint64_t failed_sessions = 0;  ///< that had a device error in the last minute
  bool fatal = false;                 ///< it computes nothing, or wrongly
  std::uint64_t self_tests_ok = 0;    ///< in a row, since it broke
};

struct Heartbeat {
  std::string instance;
  std::uint64_t seq = 0;  ///< rises
  std::int64_t rev = 0;   ///< of the desired state in force
  std::vector<DeviceReport> devices;
  double wait_s = 0;  ///< the manager may delay its answer so long, until something changes
};

/// Names this machine for the choice of near devices: daemons and clients on it say the same, until
/// it boots again. Empty if the kernel does not tell.
std::string machine_name();

std::string to_json(const Registration& registration);
std::string to_json(const Heartbeat& heartbeat);

/// Errors, of both: protocol_error; the message names what is missing
Result<Registered> read_registered(std::string_view json);
Result<DesiredState> read_desired(std::string_view json);

}  // namespace ob::pool
