#pragma once
// Submission of work, and what has happened before what.

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

#include "access.hpp"
#include "stream.hpp"

namespace standin {

/// Remembers which work may run beside which, and finds uses of the same memory of which one writes
/// and neither waits for the other. What one thread of the host has waited for, all know: races
/// that only threads of the host could have are not looked for. Threads: any
class Order {
 public:
  static Order& instance();

  /// Reports a race if there is one; the work runs anyhow.
  /// @return the ticket
  std::uint64_t submit(const std::shared_ptr<Stream>& stream, const Access& access,
                       Stream::Work work);
  /// The stream's next work comes behind all of that.
  void wait(Stream& stream, const Clock& clock);
  /// Returns the clock of a stream, with its own work so far.
  Clock clock_of(Stream& stream);
  /// The host has waited for all of that.
  void host_knows(const Clock& clock);

  /// Waits for the stream, which is gone then: all know what it did, and clocks forget it.
  void finish(Stream& stream);

  /// Waits for all work of a stream, or of a device.
  void synchronize(Stream& stream);
  void synchronize_device(int device);

 private:
  Order() = default;
  void find_race(const Stream& stream, const Clock& known, const Use& use);
  bool knows(const Clock& clock, const Use& use) const;
  void learn(Clock& into, const Clock& from) const;

  std::mutex mutex_;
  Clock host_;
  std::set<std::uint64_t> living_;  // numbers of streams that had work and are not gone
};

}  // namespace standin
