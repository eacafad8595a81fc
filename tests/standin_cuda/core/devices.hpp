#pragma once
// The devices: the current one of each thread, their faults, their streams.

#include <driver_types.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "live_set.hpp"
#include "stream.hpp"

namespace standin {

/// Threads: any; each thread has its own current device
class Devices {
 public:
  static Devices& instance();

  int count() const noexcept { return static_cast<int>(sticky_.size()); }
  static int& current() noexcept;

  /// Returns the fault that a device had, cudaSuccess if it had none.
  cudaError_t sticky(int device) const noexcept { return sticky_[device].load(); }
  void poison(int device, cudaError_t error) noexcept;
  void revive(int device) noexcept { sticky_[device] = cudaSuccess; }

  void allow_peer(int device, int peer, bool allow);
  /// Returns true if work of `device` may use memory of `owner`.
  bool reaches(int device, int owner);

  LiveSet<Stream>& streams() noexcept { return streams_; }
  /// Returns nullptr for an invalid handle. 0 and cudaStreamLegacy name the default stream of the
  /// current device.
  std::shared_ptr<Stream> stream(cudaStream_t handle);
  std::shared_ptr<Stream> default_stream(int device);
  bool is_default(const Stream& stream);
  /// Returns the streams that wait for the default stream and for which it waits.
  std::vector<std::shared_ptr<Stream>> blocking_streams(int device);
  std::vector<std::shared_ptr<Stream>> streams_of(int device);

 private:
  Devices();
  std::vector<std::atomic<cudaError_t>> sticky_;
  LiveSet<Stream> streams_{"stream(s)"};
  std::mutex mutex_;
  std::vector<std::shared_ptr<Stream>> default_streams_;
  std::set<std::pair<int, int>> peers_;
};

}  // namespace standin
