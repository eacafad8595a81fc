#pragma once
// The fixture of every test of the suite: a device, a queue, and random numbers from a printed
// seed.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "conformance/device/factories.hpp"

namespace ob::test {

inline constexpr std::uint64_t kMiB = 1 << 20;
/// The fill of device memory and host arrays before a test writes them. A number with all bits set
/// is a NaN in every precision.
inline constexpr std::byte kPoison{0xFF};

/// Returns true if tests take all cases and rounds, not the part that the default run takes. The
/// variable OUTBOARD_CONFORMANCE_ALL=1 wants it.
bool wants_all();

using Bytes = std::vector<std::byte>;

class DeviceTest : public testing::TestWithParam<DeviceFactory> {
 protected:
  static constexpr std::uint64_t kMemoryBytes = 256 * kMiB;

  /// Creates the device. OUTBOARD_TEST_SEED repeats a run.
  void SetUp() override;

  Device& device() { return *device_; }
  QueueId queue() const { return queue_; }

  /// Returns the outcome of a command: the error of its submission, else the queue's report.
  Status outcome(const Status& submitted) { return outcome(queue_, submitted); }
  Status outcome(QueueId queue, const Status& submitted);

  BufferId allocate(std::uint64_t size_bytes);
  /// Returns a buffer that holds `contents`.
  BufferId allocate(std::span<const std::byte> contents);
  void upload(BufferId buffer, std::span<const std::byte> contents, std::uint64_t offset_bytes = 0);
  Bytes download(BufferId buffer, std::uint64_t size_bytes, std::uint64_t offset_bytes = 0);

  std::uint64_t random(std::uint64_t from, std::uint64_t to) {
    return std::uniform_int_distribution<std::uint64_t>(from, to)(engine_);
  }
  double uniform(double from, double to) {
    return std::uniform_real_distribution<double>(from, to)(engine_);
  }
  Bytes random_bytes(std::uint64_t size_bytes);

 private:
  std::shared_ptr<Device> device_;
  QueueId queue_;
  std::mt19937_64 engine_;
};

/// Returns a region of size_bytes packed bytes at an offset.
Region byte_region(std::uint64_t size_bytes, std::uint64_t offset_bytes = 0);

}  // namespace ob::test

/// Runs a suite's tests over every device.
#define OB_OVER_ALL_DEVICES(suite)                                                           \
  INSTANTIATE_TEST_SUITE_P(device, suite, testing::ValuesIn(::ob::test::device_factories()), \
                           [](const auto& tested) { return tested.param.name; })
