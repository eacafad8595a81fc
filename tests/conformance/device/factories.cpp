#include "conformance/device/factories.hpp"

#include <utility>

#include "backend/cpu/backend.hpp"
#include "backend/null/backend.hpp"

namespace ob::test {
namespace {

using Made = Result<std::shared_ptr<Device>>;

Made shared(Result<std::unique_ptr<Device>> made) {
  if (!made.ok()) return made.status();
  return std::shared_ptr<Device>(std::move(made).value());
}

Made null_device(std::uint64_t memory_bytes) {
  return shared(null::create({.memory_bytes = memory_bytes}));
}

Made cpu_device(std::uint64_t memory_bytes) {
  return shared(cpu::create({.memory_bytes = memory_bytes}));
}

// The second of two devices has a library instance of its own.
Made second_cpu_device(std::uint64_t memory_bytes) {
  return shared(cpu::create({.index = 1, .devices = 2, .memory_bytes = memory_bytes}));
}

}  // namespace

std::vector<DeviceFactory> device_factories() {
  return {
      {"null", false, null_device},
      {"cpu", true, cpu_device},
      {"cpu_1_of_2", true, second_cpu_device},
  };
}

}  // namespace ob::test
