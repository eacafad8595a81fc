#pragma once
// Measures the rate of transfers between host memory and a device behind a daemon.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "bench/ceilings.hpp"
#include "bench/or_exit.hpp"
#include "client/remote_device.hpp"

namespace ob::bench {

/// A connection with one buffer, and host memory of the same size. All of both is touched.
class Traffic {
 public:
  Traffic(const std::string& address, std::size_t largest_bytes, unsigned streams = 1)
      : host_(largest_bytes, std::byte{1}),
        device_(or_exit(client::RemoteDevice::open(address, {.streams = streams}))) {
    queue_ = or_exit(device_->create_queue());
    buffer_ = or_exit(device_->allocate(largest_bytes));
    (void)rate(largest_bytes, Direction::to_peer, 1);
  }

  /// The rate of `messages` transfers of `bytes` with one wait at their end.   Units: GB/s
  double rate(std::size_t bytes, Direction direction, std::uint64_t messages) {
    const Region region{0, 1, Triangle::full, bytes, 1, bytes};
    const Layout host = Layout::bytes(host_.data(), bytes);
    const auto start = transport::Clock::now();
    for (std::uint64_t i = 0; i < messages; ++i) {
      or_exit(direction == Direction::to_peer ? device_->write(queue_, buffer_, region, host)
                                              : device_->read(queue_, buffer_, region, host));
    }
    or_exit(device_->synchronize(queue_).status);
    const std::chrono::duration<double> taken = transport::Clock::now() - start;
    return static_cast<double>(bytes) * static_cast<double>(messages) / taken.count() * 1e-9;
  }

  std::size_t streams() const noexcept {
    return device_->connection().stream().descriptors().count;
  }

 private:
  std::vector<std::byte> host_;
  std::unique_ptr<client::RemoteDevice> device_;
  QueueId queue_;
  BufferId buffer_;
};

}  // namespace ob::bench
