#include "algorithms/fft/traffic.hpp"

#include <limits>

#include "algorithms/fft/cut.hpp"
#include "algorithms/fft/large.hpp"
#include "algorithms/fft/passes.hpp"
#include "algorithms/fft/task.hpp"
#include "device/real_transform.hpp"

namespace ob::algorithms {
namespace {

// Counts the passes of FftSplit with the same cuts. A task has `batch` transforms and runs `times`
// times. The two are separate because a convolution transforms its filter once per task.
class Passes {
 public:
  explicit Passes(std::uint64_t largest_bytes) : largest_bytes_(largest_bytes) {}

  const FftTraffic& traffic() const noexcept { return traffic_; }

  void add(const FftPlan& plan, double batch, double times) noexcept {
    if (transform_bytes(plan) <= largest_bytes_) return pass(plan, batch * times);
    if (plan.rank > 1) return dimensions(plan, batch, times);
    const std::uint64_t n = plan.n[0];
    switch (plan.kind) {
      case FftKind::c2c: return line(plan, batch, times);
      case FftKind::r2c:
      case FftKind::c2r: return add(complex_of(plan, n % 2 == 0 ? n / 2 : n), 1, batch * times);
      case FftKind::r2r: return add(embedding(plan.real[0], n, plan.precision), 1, batch * times);
    }
  }

 private:
  static FftPlan complex_of(FftPlan plan, std::uint64_t n) noexcept {
    plan.kind = FftKind::c2c;
    plan.n[0] = n;
    return plan;
  }

  void pass(FftPlan plan, double count) noexcept {
    plan.batch = 1;
    traffic_.bytes_to += count * static_cast<double>(input_bytes(plan));
    traffic_.bytes_from += count * static_cast<double>(output_bytes(plan));
  }

  void dimensions(const FftPlan& plan, double batch, double times) noexcept {
    const std::size_t cut = cut_of(plan, largest_bytes_);
    const FftPlan fast = part_of(plan, cut, plan.rank);
    FftPlan slow = part_of(plan, 0, cut);
    auto between = static_cast<double>(points(fast));
    if (plan.kind == FftKind::r2c || plan.kind == FftKind::c2r) {
      const std::uint64_t last = fast.n[fast.rank - 1u];
      between = between / static_cast<double>(last) * static_cast<double>(last / 2 + 1);
      slow.kind = FftKind::c2c;
    }
    if (plan.kind == FftKind::c2r) {  // each transform of the batch is a separate task
      times *= batch;
      batch = 1;
    }
    add(fast, batch * static_cast<double>(points(slow)), times);
    add(slow, batch * between, times);
  }

  void line(const FftPlan& plan, double batch, double times) noexcept {
    const std::uint64_t n = plan.n[0];
    const std::uint64_t largest = largest_bytes_ / element_bytes(plan, true);
    if (largest < 2) {
      traffic_.bytes_to = std::numeric_limits<double>::infinity();
      return;
    }
    const std::uint64_t first = divisor_of(n, largest);
    if (first > 1) {
      pass(plan, batch * times);
      return add(complex_of(plan, n / first), static_cast<double>(first), batch * times);
    }
    add(complex_of(plan, convolution_points(n)), 1, (2 * batch + 1) * times);
  }

  std::uint64_t largest_bytes_;
  FftTraffic traffic_;
};

}  // namespace

FftTraffic bytes_moved(const FftPlan& plan, std::uint64_t device_memory_bytes) noexcept {
  if (fits(device_memory_bytes, plan)) {
    return {static_cast<double>(input_bytes(plan)), static_cast<double>(output_bytes(plan))};
  }
  Passes passes(FftPasses::largest_bytes(device_memory_bytes));
  passes.add(plan, static_cast<double>(plan.batch), 1);
  return passes.traffic();
}

}  // namespace ob::algorithms
