// Measured rates of a device's routines.

#include <cmath>
#include <set>

#include "conformance/device/fixture.hpp"
#include "device/measure_rates.hpp"
#include "routines/rate_family.hpp"

namespace ob::test {
namespace {

class RatesTest : public DeviceTest {};

TEST_P(RatesTest, EachFamilyIsMeasuredAndLeavesNoMemory) {
  const std::uint64_t used_before = device().memory_use().used_bytes;
  const std::vector<RoutineRate> rates = measure_rates(device());
  EXPECT_EQ(device().memory_use().used_bytes, used_before);
  EXPECT_LE(rates.size(), kMaxRoutineRates);
  std::set<RateFamily> families;
  RoutineRate last;
  for (const RoutineRate& rate : rates) {
    EXPECT_TRUE(std::isfinite(rate.gflops) && rate.gflops > 0);
    const bool is_ordered = rate.family > last.family ||
                            (rate.family == last.family && rate.flop > last.flop && last.flop > 0);
    EXPECT_TRUE(is_ordered) << static_cast<int>(rate.family) << ", " << rate.flop;
    families.insert(rate.family);
    last = rate;
  }
  std::set<RateFamily> expected = {RateFamily::transform};
  for (const MeasuredRoutine& measured : measured_routines()) expected.insert(measured.family);
  EXPECT_EQ(families, expected);
}

// Devices in this process: the measurement is made where the device is.
std::vector<DeviceFactory> measured_devices() {
  std::vector<DeviceFactory> found;
  for (const DeviceFactory& factory : device_factories()) {
    const bool is_here =
        factory.name == "cpu" || factory.name == "cuda" || factory.name == "opencl";
    if (is_here) found.push_back(factory);
  }
  return found;
}

INSTANTIATE_TEST_SUITE_P(device, RatesTest, testing::ValuesIn(measured_devices()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace ob::test
