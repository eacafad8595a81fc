#pragma once
// Submission of work, and the happens-before order of work.

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

#include "access.hpp"
#include "stream.hpp"

namespace standin {

/// Records which work may run concurrently. Finds a race: two uses of the same memory, at least one
/// of which writes, where neither waits for the other. If one thread of the host has waited for
/// work, this counts for all host threads; races between host threads are not searched for.
/// Threads: any
class Order {
 public:
  static Order& instance();

  /// Submits the work. Reports a race if there is one; the work runs all the same.
  /// @return the position of the work in the stream
  std::uint64_t submit(const std::shared_ptr<Stream>& stream, const Access& access,
                       Stream::Work work);
  /// Orders the next work of the stream behind all work in `clock`.
  void wait(Stream& stream, const Clock& clock);
  /// Returns the clock of a stream, with its own work so far.
  Clock clock_of(Stream& stream);
  /// Records that the host has waited for all work in `clock`.
  void host_knows(const Clock& clock);

  /// Waits for the stream and removes it. All clocks count its work as done and forget the stream.
  void finish(Stream& stream);

  /// Waits for all work of a stream.
  void synchronize(Stream& stream);
  void synchronize_device(int device);

 private:
  Order() = default;
  void find_race(const Stream& stream, const Clock& known, const Use& use);
  bool knows(const Clock& clock, const Use& use) const;
  void learn(Clock& into, const Clock& from) const;

  std::mutex mutex_;
  Clock host_;
  std::set<std::uint64_t> living_;  // numbers of the live streams that had work
};

}  // namespace standin
