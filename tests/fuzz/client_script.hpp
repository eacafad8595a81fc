#pragma once
// A program that uses a remote device as a script says, and checks its own memory meanwhile.

#include <memory>
#include <vector>

#include "base/digest.hpp"
#include "client/remote_device.hpp"
#include "fuzz/input.hpp"

namespace ob::fuzz {

/// Each byte of the script is one operation: its low half selects the operation, its high half the
/// object. Only the elements of regions that were read may change. Once the device is broken,
/// nothing may change.
class ClientScript {
 public:
  ClientScript();
  /// Connects (transport::connect) and runs the script; then closes everything and checks the
  /// memory.
  void run(View script);

 private:
  void step(client::RemoteDevice& device, unsigned operation, unsigned argument);
  void move(client::RemoteDevice& device, unsigned operation, unsigned argument);
  void compute(client::RemoteDevice& device, unsigned operation, unsigned argument);
  void reach_others(client::RemoteDevice& device, unsigned operation);
  void read(client::RemoteDevice& device, unsigned argument);
  void digest(client::RemoteDevice& device, unsigned argument);
  Layout next_place(const Region& region);
  void mark(const Region& region, std::size_t first_byte);
  void check() const;

  template <class Id>
  Id one_of(const std::vector<Id>& ids, unsigned argument) const {
    return ids.empty() ? Id{argument} : ids[argument % ids.size()];
  }

  std::vector<std::byte> memory_;
  std::vector<std::byte> expected_;  // expected bytes of memory_ where nothing was read to
  std::vector<std::uint8_t> may_change_;
  std::size_t used_bytes_ = 0;
  std::vector<std::unique_ptr<Digest[]>> digests_;
  std::vector<QueueId> queues_;
  std::vector<BufferId> buffers_;
  std::vector<PlanId> plans_;
  std::vector<EventId> events_;
  std::vector<PeerId> peers_;
};

}  // namespace ob::fuzz
