// Compares calls in panels with the oracles of the device suite, componentwise, for every routine,
// precision, side, triangle, transpose and diagonal. Also checks that every other byte is
// unchanged.

#include <atomic>

#include "algorithms/metered_device.hpp"
#include "algorithms/panels/panels.hpp"
#include "algorithms/place.hpp"
#include "conformance/device/oracle.hpp"

namespace ob::test {
namespace {

std::atomic<int> g_in_panels{0};
std::atomic<int> g_in_strips{0};

// A device that runs its calls in panels on another device. Its own memory takes the role of the
// program's memory.
class PanellingDevice final : public MeteredDevice {
 public:
  PanellingDevice(std::unique_ptr<Device> memory, std::unique_ptr<Device> worker)
      : MeteredDevice(std::move(memory), std::make_shared<Meter>()),
        worker_(std::move(worker)),
        queue_(require(worker_->create_queue())) {}

  Status call(QueueId queue, const Descriptor& routine, const Argument* arguments) override {
    if (routine.trivial(arguments)) return MeteredDevice::call(queue, routine, arguments);
    OB_RETURN_IF_ERROR(synchronize(queue).status);
    Argument here[kMaxArguments];
    std::copy_n(arguments, routine.kinds.size(), here);
    for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
      if (!is_memory(routine.kinds[i])) continue;
      const DeviceOperand& operand = arguments[i].device;
      here[i].host = {host_view(operand.buffer) + operand.offset_bytes, operand.ld};
    }
    const auto shape = algorithms::panel_shape(routine, here);
    if (!shape) return {Code::unsupported, "not in panels"};
    parts_ = parts_ % 7 + 1;
    strips_ = strips_ != (parts_ == 1);
    const bool strips = strips_ && shape->form == algorithms::PanelShape::Form::one_side;
    ++(strips ? g_in_strips : g_in_panels);
    algorithms::CallTimings timings;
    return algorithms::offload_panels(
        {*worker_, queue_, routine, here, timings},
        strips ? schedule_strips(*shape, parts_) : schedule_panels(*shape, parts_));
  }

 private:
  std::unique_ptr<Device> worker_;
  QueueId queue_;
  unsigned parts_ = 0;
  bool strips_ = false;
};

Result<std::shared_ptr<Device>> panelling(std::uint64_t memory_bytes) {
  return std::shared_ptr<Device>(
      std::make_shared<PanellingDevice>(cpu_device(memory_bytes), cpu_device(memory_bytes)));
}

class PanelOracleTest : public RoutineTest {};

TEST_P(PanelOracleTest, EveryRoutineIsRight) {
  int routines = 0;
  for (const Oracle& oracle : level3_oracles()) {
    if (oracle.base.substr(0, 4) == "gemm") continue;
    for (const Descriptor* routine : routines_named(oracle.base)) {
      g_in_panels = g_in_strips = 0;
      try {
        oracle.check(*this, *routine);
      } catch (const Abandoned&) {  // the failure is recorded; the other routines still run
      }
      EXPECT_GT(g_in_panels, 0) << routine->name;
      const bool one_side = routine->base.substr(2) == "mm" || routine->base == "trsm";
      EXPECT_EQ(g_in_strips > 0, one_side) << routine->name;
      ++routines;
    }
  }
  EXPECT_EQ(routines, 4 * 5 + 2 * 3);  // symm trmm trsm syrk syr2k; hemm herk her2k
}

INSTANTIATE_TEST_SUITE_P(in, PanelOracleTest,
                         testing::Values(DeviceFactory{"panels", true, panelling}),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace ob::test
