#include "conformance/device/opencl_factories.hpp"

#include "backend/cpu/host_transforms.hpp"
#include "backend/opencl/backend.hpp"
#include "conformance/device/places.hpp"

namespace ob::test {

std::vector<DeviceFactory> opencl_factories() {
  return everywhere("opencl", true, [](std::uint64_t bytes) {
    return opencl::create({.memory_bytes = bytes,
                           .measure = false,
                           .host = host_routines(),
                           .transforms = cpu::open_host_transforms(1)});
  });
}

}  // namespace ob::test
