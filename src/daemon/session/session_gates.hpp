#pragma once
// The gates at which a client holds its queues back.

#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/ids.hpp"
#include "base/status.hpp"
#include "device/gate.hpp"

namespace ob::daemon {

/// `hold` and `release` of one gate come on different connections, so either may be the first.
/// Threads: any
class SessionGates {
 public:
  /// Returns the gate for the queue that holds.
  /// Errors: protocol_error for id 0, or for a second hold; denied if too many gates wait
  Result<std::shared_ptr<const Gate>> hold(GateId id);
  /// Opens the gate.   Errors: as hold(), for a second release
  Status release(GateId id, Status outcome);

 private:
  struct Entry {
    std::shared_ptr<Gate> gate = std::make_shared<Gate>();
    bool held = false;
  };
  // Returns the entry of a gate that `first` has mentioned, or makes it.   @pre mutex_ is held
  Result<std::shared_ptr<Gate>> meet(GateId id, bool holds);

  std::mutex mutex_;
  std::unordered_map<GateId, Entry> waiting_;  // those of which one side has come
};

}  // namespace ob::daemon
