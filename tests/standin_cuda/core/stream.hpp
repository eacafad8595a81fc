#pragma once
// A stream: work in order, done by a thread of its own.

#include <driver_types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

namespace standin {

/// A vector clock: for each stream, the number of its last work that has happened before.
using Clock = std::map<std::uint64_t, std::uint64_t>;

/// Threads: any, unless said otherwise
class Stream {
 public:
  /// An error poisons the device.
  using Work = std::function<cudaError_t()>;

  Stream(int device, unsigned flags);
  /// Runs all submitted work first.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int device() const noexcept { return device_; }
  unsigned flags() const noexcept { return flags_; }
  std::uint64_t number() const noexcept { return number_; }

  /// @return its ticket
  std::uint64_t submit(Work work);
  bool done(std::uint64_t ticket);
  void wait(std::uint64_t ticket);
  /// The ticket of what was submitted last.
  std::uint64_t tail();

  /// The clock of the next submitted work. Used only under the lock of the race search.
  Clock clock;

 private:
  struct State;
  static void run(const std::shared_ptr<State>& state);

  const int device_;
  const unsigned flags_;
  const std::uint64_t number_;
  const std::shared_ptr<State> state_;  // the thread's, too: it may end after this object
};

}  // namespace standin
