#include "conformance/device/cuda_factories.hpp"

#include "backend/cuda/backend.hpp"
#include "conformance/device/places.hpp"

namespace ob::test {

std::vector<DeviceFactory> cuda_factories() {
  return everywhere("cuda", true, [](std::uint64_t bytes) {
    return cuda::create({.memory_bytes = bytes, .measure = false, .host = host_routines()});
  });
}

}  // namespace ob::test
