// A program of one command of each kind. Each of them fails in turn, because its memory could not
// be had: those before it have run, the report names it, and the program runs again.

#include <array>
#include <cmath>
#include <complex>
#include <functional>
#include <numbers>

#include "api/kernel_fixture.hpp"
#include "support/random.hpp"

namespace ob::test {
namespace {

using Vector = std::vector<double>;

constexpr std::size_t kCount = 64;
constexpr std::uint64_t kBytes = kCount * sizeof(double);
constexpr double kBefore = -1;  // in all buffers before the program
constexpr const char* kAdd =
    "__kernel void add(double a, __global double* y) { y[get_global_id(0)] += a; }";
constexpr std::uint32_t kGroup[3] = {kCount, 1, 1};
// 8 rows of 8 numbers; those of the host stand apart.
constexpr std::uint64_t kRow = 8 * sizeof(double), kHostPitch = 11 * sizeof(double);
constexpr ob_rect kRect{kRow, 8, kRow, kHostPitch, 8, 0};
constexpr ob_rect kInside{kRow, 8, kRow, kRow, 8, 0};

// The forward transform of 32 complex numbers.
Vector transformed(const Vector& x) {
  Vector y(x.size());
  const std::size_t points = x.size() / 2;
  for (std::size_t k = 0; k < points; ++k) {
    std::complex<double> sum = 0;
    for (std::size_t j = 0; j < points; ++j) {
      const double turns = static_cast<double>(j * k % points) / static_cast<double>(points);
      sum += std::complex(x[2 * j], x[2 * j + 1]) * std::polar(1.0, -2 * std::numbers::pi * turns);
    }
    y[2 * k] = sum.real();
    y[2 * k + 1] = sum.imag();
  }
  return y;
}

// Writes to a buffer of its own or, if it reads, to an array of the host.
struct Command {
  const char* name;
  std::function<ob_status(ob_place)> run;  // on the memory that it writes, or reads to the host
  std::function<Vector()> expected;
  bool reads = false;
};

class EveryCommandTest : public ApiKernelTest {
 protected:
  bool needs_kernels() const override { return false; }

  void SetUp() override {
    ApiKernelTest::SetUp();
    if (IsSkipped()) return;
    for (double& each : x_) each = uniform(random_, -9, 9);
    for (std::size_t i = 0; i < apart_.size(); ++i) apart_[i] = 100 + static_cast<double>(i);
    source_ = buffer_of(x_);
    add_copies();
    add_computations();
    if (daemon != nullptr) add_grants();
    for (std::size_t i = 0; i < commands_.size(); ++i) {
      results_.push_back(buffer_of(Vector(kCount, kBefore)));
      arrays_.emplace_back();
    }
  }

  void add_copies() {
    const auto rows_together = [this] {
      Vector all;
      for (std::size_t i = 0; i < kCount; ++i) all.push_back(apart_[i / 8 * 11 + i % 8]);
      return all;
    };
    const auto x = [this] { return x_; };
    commands_ = {
        {"write", [this](ob_place to) { return ob_write(tested_, to, x_.data(), kBytes, 0); }, x},
        {"write_2d",
         [this](ob_place to) { return ob_write_2d(tested_, to, apart_.data(), &kRect); },
         rows_together},
        {"fill", [this](ob_place to) { return ob_fill(tested_, to, &kValue, 8, kCount); },
         [] { return Vector(kCount, kValue); }},
        {"copy",
         [this](ob_place to) {
           return ob_copy(tested_, to, {source_, 0}, kBytes);
         },
         x},
        {"copy_2d",
         [this](ob_place to) {
           return ob_copy_2d(tested_, to, {source_, 0}, &kInside);
         },
         x},
    };
    // The place of a read is its source.
    commands_.push_back(
        {"read",
         [this](ob_place from) { return ob_read(tested_, arrays_.at(5).data(), from, kBytes, 0); },
         [] { return Vector(kCount, kBefore); }, true});
    commands_.push_back({"read_2d",
                         [this](ob_place from) {
                           return ob_read_2d(tested_, arrays_.at(6).data(), from, &kInside);
                         },
                         [] { return Vector(kCount, kBefore); }, true});
  }

  void add_computations() {
    commands_.push_back(
        {"daxpy",
         [this](ob_place to) {
           const std::array operands{number(kCount), real(2), at(source_, 1), at(to.buffer, 1)};
           return ob_call(tested_, "daxpy", operands.data(), operands.size());
         },
         [this] {
           Vector y(kCount, kBefore);
           for (std::size_t i = 0; i < kCount; ++i) y[i] += 2 * x_[i];
           return y;
         }});
    ob_fft fft{};
    fft.struct_bytes = sizeof fft;
    fft.kind = OB_FFT_C2C;
    fft.precision = OB_DOUBLE;
    fft.sign = -1;
    fft.rank = 1;
    fft.n[0] = kCount / 2;
    fft.batch = 1;
    EXPECT_TRUE(succeeds(ob_plan_create(device, &fft, &plan_)));
    commands_.push_back({"plan_execute",
                         [this](ob_place to) {
                           return ob_plan_execute(plan_, tested_, {source_, 0}, to);
                         },
                         [this] { return transformed(x_); }});
    if (!runs_kernels) return;
    const ob_module module = load(kAdd);
    commands_.push_back({"kernel_run",
                         [this, module](ob_place to) {
                           const double a = kValue;
                           const ob_kernel kernel =
                               make_kernel(module, "add", {number_of(a), buffer_at(to.buffer)});
                           return ob_kernel_run(kernel, tested_, kOne, kGroup);
                         },
                         [] { return Vector(kCount, kBefore + kValue); }});
  }

  // A session may use grants of its own.
  void add_grants() {
    ob_grant grant = nullptr;
    EXPECT_TRUE(succeeds(ob_grant_create(source_, 0, kBytes, OB_MAY_READ, nullptr, 600, 0,
                                         address_.data(), &grant)));
    commands_.push_back(
        {"get",
         [this](ob_place to) { return ob_get(tested_, address_.data(), 0, to, kBytes, nullptr); },
         [this] { return x_; }});
  }

  // Runs the program on a queue of its own. The memory of command `fails` is missing.
  void run(std::size_t fails, ob_buffer missing) {
    for (std::size_t i = 0; i < commands_.size(); ++i) {
      ASSERT_TRUE(succeeds(ob_fill(queue, {results_[i], 0}, &kBefore, 8, kCount)));
      arrays_[i].assign(kCount, 0);
    }
    ASSERT_TRUE(synchronized());
    if (tested_ != nullptr) {
      ASSERT_TRUE(succeeds(ob_queue_destroy(tested_)));
    }
    ASSERT_TRUE(succeeds(ob_queue_create(device, 0, &tested_)));
    for (std::size_t i = 0; i < commands_.size(); ++i) {
      const ob_place place{i == fails ? missing : results_[i], 0};
      ASSERT_TRUE(succeeds(commands_[i].run(place))) << commands_[i].name;
    }
  }
  // Compares what the first commands have written.
  void expect_results(std::size_t of_first) {
    for (std::size_t i = 0; i < of_first; ++i) {
      const Vector expected = commands_[i].expected();
      const Vector found = commands_[i].reads ? arrays_[i] : contents<double>(results_[i], kCount);
      for (std::size_t j = 0; j < kCount; ++j) {
        ASSERT_NEAR(found[j], expected[j], 1e-11) << commands_[i].name << ", element " << j;
      }
    }
  }

  static constexpr double kValue = 7;
  std::mt19937_64 random_{test_seed()};
  Vector x_ = Vector(kCount), apart_ = Vector(std::size_t{11} * 8);
  ob_buffer source_ = nullptr;
  ob_plan plan_ = nullptr;
  ob_queue tested_ = nullptr;
  std::array<char, OB_ADDRESS_BYTES> address_{};
  std::vector<Command> commands_;
  std::vector<ob_buffer> results_;
  std::vector<Vector> arrays_;
};

TEST_P(EveryCommandTest, FailsInItsTurnAndLeavesTheOthersAlone) {
  run(SIZE_MAX, nullptr);
  ASSERT_TRUE(succeeds(ob_queue_synchronize(tested_, OB_FOREVER, nullptr)));
  expect_results(commands_.size());
  for (std::size_t fails = 0; fails < commands_.size() && !HasFatalFailure(); ++fails) {
    SCOPED_TRACE(commands_[fails].name);
    ob_buffer missing = nullptr;
    const ob_status made = ob_buffer_create(device, std::uint64_t{1} << 50, 0, &missing);
    if (daemon == nullptr) {
      // Devices of this process know at once that there is no memory.
      EXPECT_EQ(made, OB_OUT_OF_MEMORY);
      return;
    }
    ASSERT_TRUE(succeeds(made));
    run(fails, missing);
    ob_report report{};
    report.struct_bytes = sizeof report;
    EXPECT_TRUE(
        test::fails(ob_queue_synchronize(tested_, OB_FOREVER, &report), OB_OUT_OF_MEMORY, ""));
    EXPECT_EQ(report.failed_command, fails + 1);
    EXPECT_EQ(report.error.code, OB_OUT_OF_MEMORY) << report.error.message;
    expect_results(fails);
    EXPECT_TRUE(succeeds(ob_queue_synchronize(tested_, OB_FOREVER, nullptr)));  // cleared
    EXPECT_TRUE(succeeds(ob_buffer_destroy(missing)));
    run(SIZE_MAX, nullptr);
    ASSERT_TRUE(succeeds(ob_queue_synchronize(tested_, OB_FOREVER, nullptr)));
    expect_results(commands_.size());
  }
}

INSTANTIATE_TEST_SUITE_P(on, EveryCommandTest, testing::ValuesIn(kKernelPlaces), kernel_place_name);

}  // namespace
}  // namespace ob::test
