#pragma once
// A device behind a daemon, as a factory's product.

#include <memory>
#include <utility>

#include "client/remote_device.hpp"
#include "support/in_process_daemon.hpp"

namespace ob::test {

/// A daemon in this process and a client's device that reaches it.
struct Reached {
  std::unique_ptr<InProcessDaemon> daemon;
  std::unique_ptr<client::RemoteDevice> device;
};

/// @param make (memory_bytes) the device that the daemon offers
template <class Backend>
Result<std::shared_ptr<Device>> reached(Transport transport, Backend make,
                                        std::uint64_t memory_bytes) {
  auto inner = make(memory_bytes);
  if (!inner.ok()) return inner.status();
  auto both = std::make_shared<Reached>();
  both->daemon = std::make_unique<InProcessDaemon>(transport, one(std::move(inner).value()));
  auto opened = client::RemoteDevice::open(both->daemon->address());
  if (!opened.ok()) return opened.status();
  both->device = std::move(opened).value();
  return std::shared_ptr<Device>(both, both->device.get());
}

}  // namespace ob::test
