// Compares long transforms, with several passes and work space, with sums in long double.

#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <vector>

#include "backend/opencl/device_plan.hpp"
#include "backend/opencl/queue.hpp"
#include "backend/opencl/tested.hpp"
#include "support/random.hpp"

namespace ob::opencl {
namespace {

using Wide = std::complex<long double>;

class FftAccuracyTest : public OnDevice {
 protected:
  /// Returns the largest error of `places` of the transform's numbers, divided by sqrt(n). The size
  /// of these numbers is about sqrt(n) for input between -1 and 1.
  template <class Real>
  long double error(std::uint64_t n, int places) {
    using Number = std::complex<Real>;
    std::uniform_real_distribution<Real> uniform(-1, 1);
    std::vector<Number> data(n);
    for (Number& x : data) x = {uniform(engine_), uniform(engine_)};
    const std::vector<Number> input = data;
    transform(data, sizeof(Real) == 4 ? Precision::c : Precision::z);
    long double worst = 0;
    for (int i = 0; i < places; ++i) {
      const std::uint64_t k = std::uniform_int_distribution<std::uint64_t>(0, n - 1)(engine_);
      Wide sum = 0;
      for (std::uint64_t j = 0; j < n; ++j) {
        const long double angle = -2 * std::numbers::pi_v<long double> *
                                  static_cast<long double>(j * k % n) / static_cast<long double>(n);
        sum += Wide(input[j]) * Wide(std::cos(angle), std::sin(angle));
      }
      worst = std::max(worst, std::abs(Wide(data[k]) - sum));
    }
    return worst / std::sqrt(static_cast<long double>(n));
  }

 private:
  template <class Number>
  void transform(std::vector<Number>& data, Precision precision) {
    FftPlan plan{.precision = precision, .rank = 1};
    plan.n[0] = data.size();
    ASSERT_TRUE(DevicePlan::takes(accelerator(), plan));
    auto source = ClMemory::create(cl(), accelerator());
    ASSERT_TRUE(source.ok());
    const ClMemory& addresses = **source;
    DeviceMemory memory(std::move(*source), std::uint64_t{1} << 30);
    auto made = DevicePlan::create(accelerator(), memory, plan);
    ASSERT_TRUE(made.ok()) << made.status().message();
    const Libraries libraries(cl(), accelerator());
    auto queue = ClQueue::create({cl(), accelerator(), addresses, memory, libraries, nullptr},
                                 "ob-test", {});
    ASSERT_TRUE(queue.ok());
    const std::uint64_t size = data.size() * sizeof(Number);
    const auto buffer = memory.allocate(size);
    ASSERT_TRUE(buffer.ok());
    const HeldMemory held = memory.held(*buffer);
    (*queue)->submit_work(false, [&](ClQueue& on, QueueReport&) -> Status {
      const Layout host = Layout::bytes(data.data(), size);
      const Layout device = Layout::bytes(held.data, size);
      OB_RETURN_IF_ERROR(on.copies().upload(device, host));
      OB_RETURN_IF_ERROR((*made)->execute(on.context(), held.data, held.data));
      OB_RETURN_IF_ERROR(on.context().synchronize());
      return on.copies().download(host, device);
    });
    const QueueReport report = (*queue)->synchronize();
    ASSERT_TRUE(report.status.ok()) << report.status.message();
  }

  std::mt19937_64 engine_ = test::fresh_random();
};

// The largest of a few errors is below this multiple of log2(n) eps: their root mean square is at
// most log2(n) eps / 2.
constexpr long double kTolerance = 2;

TEST_F(FftAccuracyTest, PowersOfTwoInSinglePrecision) {
  const std::uint64_t n = std::uint64_t{1} << 20;
  EXPECT_LE(error<float>(n, 20), kTolerance * 20 * 0x1p-24L);
}

TEST_F(FftAccuracyTest, PowersOfTwoInDoublePrecision) {
  if (!accelerator().has_fp64) GTEST_SKIP() << "no double precision here";
  const std::uint64_t n = std::uint64_t{1} << 20;
  EXPECT_LE(error<double>(n, 20), kTolerance * 20 * 0x1p-53L);
}

TEST_F(FftAccuracyTest, ALargePrimeInDoublePrecision) {
  if (!accelerator().has_fp64) GTEST_SKIP() << "no double precision here";
  EXPECT_LE(error<double>(100003, 20), 4 * kTolerance * 17 * 0x1p-53L);  // two longer transforms
}

}  // namespace
}  // namespace ob::opencl
