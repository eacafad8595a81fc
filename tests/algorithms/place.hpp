#pragma once
// A device at one of the places, with the objects that it depends on.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "client/remote_device.hpp"
#include "support/forwarding_device.hpp"
#include "support/in_process_daemon.hpp"

namespace ob::test {

using Bytes = std::vector<std::byte>;

/// The places where a call can run: on a device in this process, or on the same behind a daemon.
enum class Place { local, local_hidden, tcp, shm };

inline std::string place_name(const testing::TestParamInfo<Place>& info) {
  switch (info.param) {
    case Place::local: return "local";
    case Place::local_hidden: return "local_hidden";
    case Place::tcp: return "tcp";
    case Place::shm: return "shm";
  }
  return "";
}

inline std::unique_ptr<Device> cpu_device(std::uint64_t memory_bytes = 256 << 20) {
  return require(cpu::create({.memory_bytes = memory_bytes, .threads = 1}));
}

class DeviceAt {
 public:
  explicit DeviceAt(Place place, std::unique_ptr<Device> device = cpu_device()) {
    if (place == Place::tcp || place == Place::shm) {
      daemon_ = std::make_unique<InProcessDaemon>(
          place == Place::tcp ? Transport::tcp : Transport::shm, one(std::move(device)));
      inner_ = require(
          client::RemoteDevice::open(daemon_->address(), {.timeouts = {.connect_ms = 30000}}));
    } else {
      inner_ = std::move(device);
    }
    device_ = std::make_unique<ForwardingDevice>(*inner_);
    if (place == Place::local_hidden) device_->hide_memory();
    queue_ = require(device_->create_queue());
  }
  ForwardingDevice& device() { return *device_; }
  QueueId queue() const { return queue_; }
  InProcessDaemon* daemon() { return daemon_.get(); }

 private:
  std::unique_ptr<InProcessDaemon> daemon_;
  std::unique_ptr<Device> inner_;
  std::unique_ptr<ForwardingDevice> device_;
  QueueId queue_;
};

}  // namespace ob::test
