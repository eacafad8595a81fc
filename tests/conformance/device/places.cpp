#include "conformance/device/places.hpp"

#include <type_traits>
#include <utility>

#include "backend/cpu/host_routines.hpp"
#include "client/remote_device.hpp"
#include "client/shared_device.hpp"
#include "support/in_process_daemon.hpp"

namespace ob::test {
namespace {

// A daemon in this process, and a client's device that is connected to it.
template <class Remote>
struct Reached {
  std::unique_ptr<InProcessDaemon> daemon;
  std::unique_ptr<Remote> device;
};

template <class Remote>
using OpenDevice = Result<std::unique_ptr<Remote>> (*)(const std::string& address);

template <class Remote>
Result<std::unique_ptr<Remote>> open_remote(const std::string& address) {
  return Remote::open(address);
}

// Also the smallest copies map their buffers.
Result<std::unique_ptr<client::SharedDevice>> open_mapped(const std::string& address) {
  return client::SharedDevice::open(address, {}, 1);
}

template <class Remote>
DeviceFactory behind(Transport transport, const std::string& name, bool computes,
                     const MakeDevice& make, OpenDevice<Remote> open = open_remote<Remote>) {
  const auto create = [=](std::uint64_t memory_bytes) -> Result<std::shared_ptr<Device>> {
    OB_ASSIGN_OR_RETURN(std::unique_ptr<Device> inner, make(memory_bytes));
    auto both = std::make_shared<Reached<Remote>>();
    both->daemon = std::make_unique<InProcessDaemon>(transport, one(std::move(inner)));
    OB_ASSIGN_OR_RETURN(both->device, open(both->daemon->address()));
    return std::shared_ptr<Device>(both, both->device.get());
  };
  return {name, computes, create, std::is_same_v<Remote, client::SharedDevice>, true};
}

}  // namespace

DeviceFactory here(const std::string& name, bool computes, const MakeDevice& make) {
  const auto create = [=](std::uint64_t memory_bytes) -> Result<std::shared_ptr<Device>> {
    OB_ASSIGN_OR_RETURN(std::unique_ptr<Device> made, make(memory_bytes));
    return std::shared_ptr<Device>(std::move(made));
  };
  return {name, computes, create};
}

std::vector<DeviceFactory> everywhere(const std::string& name, bool computes,
                                      const MakeDevice& make) {
  using client::RemoteDevice;
  return {here(name, computes, make),
          behind<RemoteDevice>(Transport::tcp, name + "_over_tcp", computes, make),
          behind<RemoteDevice>(Transport::shm, name + "_over_shm", computes, make)};
}

std::vector<DeviceFactory> shared_remote(const std::string& name, bool computes,
                                         const MakeDevice& make) {
  using client::SharedDevice;
  return {behind<SharedDevice>(Transport::tcp, name + "_shared_over_tcp", computes, make),
          behind<SharedDevice>(Transport::shm, name + "_shared_over_shm", computes, make),
          behind<SharedDevice>(Transport::shm, name + "_shared_and_mapped", computes, make,
                               open_mapped)};
}

std::shared_ptr<const HostRoutines> host_routines() {
  static const auto opened = [] {
    auto made = cpu::open_host_routines(1);
    return made.ok() ? std::shared_ptr<const HostRoutines>(std::move(made).value()) : nullptr;
  }();
  return opened;
}

}  // namespace ob::test
