#pragma once
// The fixture of the tests of kernels: a device that runs them.

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "conformance/device/fixture.hpp"
#include "device/kernels/launch.hpp"
#include "device/kernels/module.hpp"

namespace ob::test {

/// Returns the devices that run kernels.
std::vector<DeviceFactory> kernel_factories();
/// Returns none if the cuda backend is not built.
std::vector<DeviceFactory> cuda_kernel_factories();

/// A scalar argument; `value` lives until the launch.
template <class T>
KernelArgument number(const T& value) {
  return {ParameterKind::scalar, sizeof value, &value, {}, 0};
}
inline KernelArgument memory(BufferId buffer, std::uint64_t offset_bytes = 0,
                             std::uint64_t extent_bytes = 0) {
  return {ParameterKind::buffer, 0, nullptr, {buffer, offset_bytes}, extent_bytes};
}
inline KernelArgument local(std::uint32_t bytes) {
  return {ParameterKind::local, bytes, nullptr, {}, 0};
}

using Extents = std::array<std::uint32_t, 3>;

class KernelTest : public DeviceTest {
 protected:
  /// Loads a portable module without waiting for it.
  ModuleId load(const std::string& source, const std::string& options = "");
  /// Loads a module and waits for the compiler's report.
  ModuleReport report_of(ModuleSource source, ModuleId* id = nullptr);
  ModuleReport report_of(const std::string& source, const std::string& options = "");

  Status launch(QueueId on, ModuleId module, const char* kernel, const Extents& groups,
                const Extents& group_size, const std::vector<KernelArgument>& arguments);
  /// Launches on the test's queue, and waits.
  Status run(ModuleId module, const char* kernel, const Extents& groups, const Extents& group_size,
             const std::vector<KernelArgument>& arguments);

  QueueId another_queue();

  template <class T>
  BufferId buffer_of(const std::vector<T>& elements) {
    return allocate(std::as_bytes(std::span(elements)));
  }
  template <class T>
  std::vector<T> contents(BufferId buffer, std::size_t count, std::uint64_t offset_bytes = 0) {
    std::vector<T> elements(count);
    const Bytes bytes = download(buffer, count * sizeof(T), offset_bytes);
    std::memcpy(elements.data(), bytes.data(), bytes.size());
    return elements;
  }
  /// Returns random numbers with many digits.
  std::vector<double> doubles(std::size_t count);
};

/// Expects a failure with this code that says `words`.
void expect_failure(const Status& status, Code code, const std::string& words);

}  // namespace ob::test

#define OB_OVER_KERNEL_DEVICES(suite)                                                        \
  INSTANTIATE_TEST_SUITE_P(device, suite, testing::ValuesIn(::ob::test::kernel_factories()), \
                           [](const auto& tested) { return tested.param.name; })
