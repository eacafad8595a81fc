#pragma once
// A stream: a thread of its own runs its work in order.

#include <driver_types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

namespace standin {

/// A vector clock: for each stream, the number of its last work that happened before.
using Clock = std::map<std::uint64_t, std::uint64_t>;

/// Threads: any, unless said otherwise
class Stream {
 public:
  /// A piece of work; an error that it returns poisons the device.
  using Work = std::function<cudaError_t()>;

  Stream(int device, unsigned flags);
  /// Runs all submitted work first.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  int device() const noexcept { return device_; }
  unsigned flags() const noexcept { return flags_; }
  std::uint64_t number() const noexcept { return number_; }

  /// @return the position of the work in the stream
  std::uint64_t submit(Work work);
  bool done(std::uint64_t position);
  void wait(std::uint64_t position);
  /// Returns the position of the work that was submitted last.
  std::uint64_t tail();

  /// The clock of the next submitted work. Used only under the lock of the race search.
  Clock clock;

 private:
  struct State;
  static void run(const std::shared_ptr<State>& state);

  const int device_;
  const unsigned flags_;
  const std::uint64_t number_;
  const std::shared_ptr<State> state_;  // shared with the thread, which may outlive the object
};

}  // namespace standin
