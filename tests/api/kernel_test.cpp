// Kernels of a program, on the devices of its own process.

#include <cstring>

#include "api/kernel_fixture.hpp"
#include "support/random.hpp"

namespace ob::test {
namespace {

constexpr const char* kAxpy = R"(
__kernel void axpy(double a, __global const double* x, __global double* y, ulong n) {
  const ulong i = get_global_id(0);
  if (i < n) y[i] = a * x[i] + y[i];
}
)";

TEST_P(ApiKernelTest, RunsManyTimesWithTheArgumentsItHas) {
  std::mt19937_64 random = fresh_random();
  const auto n = uniform<std::uint64_t>(random, 1, 5000);
  std::vector<double> x(n);
  std::vector<double> y(n);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = static_cast<double>(uniform<int>(random, -1000, 1000));
    y[i] = static_cast<double>(uniform<int>(random, -1000, 1000));
  }
  const ob_buffer on_x = buffer_of(x);
  const ob_buffer on_y = buffer_of(y);
  const ob_module module = load(kAxpy);
  double a = 2;
  const ob_kernel axpy =
      make_kernel(module, "axpy", {number_of(a), buffer_at(on_x), buffer_at(on_y), number_of(n)});
  a = 100;  // the kernel has a copy
  const std::uint32_t groups[3] = {static_cast<std::uint32_t>((n + 63) / 64), 1, 1};
  const std::uint32_t size[3] = {64, 1, 1};
  ASSERT_TRUE(succeeds(ob_kernel_run(axpy, queue, groups, size)));
  const double three = 3;
  const ob_argument again = number_of(three);
  ASSERT_TRUE(succeeds(ob_kernel_set(axpy, 0, &again)));
  ASSERT_TRUE(succeeds(ob_kernel_run(axpy, queue, groups, size)));
  ASSERT_TRUE(succeeds(ob_kernel_destroy(axpy)));
  ASSERT_TRUE(succeeds(ob_module_unload(module)));
  for (std::size_t i = 0; i < n; ++i) y[i] += 5 * x[i];
  EXPECT_EQ(contents<double>(on_y, n), y);
  EXPECT_TRUE(synchronized());
}

TEST_P(ApiKernelTest, TheReportCountsKernels) {
  const ob_buffer out = buffer_of(std::vector<int>(1));
  const ob_kernel spin = make_kernel(load("__kernel void spin(__global int* out, int n) {\n"
                                          "  for (int i = 0; i < n; ++i) out[0] = out[0] * 3 + i;\n"
                                          "}"),
                                     "spin", {buffer_at(out), number_of(1000000)});
  ASSERT_TRUE(succeeds(ob_kernel_run(spin, queue, kOne, kOne)));
  ob_report report{};
  report.struct_bytes = sizeof report;
  ASSERT_TRUE(succeeds(ob_queue_synchronize(queue, OB_FOREVER, &report)));
  EXPECT_GT(report.compute_ns, 0u);
}

TEST_P(ApiKernelTest, ModulesCompileWhileTheProgramGoesOn) {
  const ob_module module = load(kAxpy);
  const ob_status now = ob_module_wait(module, 0);
  EXPECT_TRUE(now == OB_OK || now == OB_DEADLINE_EXCEEDED);
  ASSERT_TRUE(succeeds(ob_module_wait(module, OB_FOREVER)));
  (void)log_of(module);
  // Options define macros, and several modules stand side by side.
  const ob_module other =
      load("__kernel void f(__global T* out) { out[0] = V; }", "-DT=short -DV=-9");
  const ob_buffer out = buffer_of(std::vector<std::int16_t>{1, 2});
  ASSERT_TRUE(
      succeeds(ob_kernel_run(make_kernel(other, "f", {buffer_at(out)}), queue, kOne, kOne)));
  EXPECT_EQ(contents<std::int16_t>(out, 2), (std::vector<std::int16_t>{-9, 2}));
}

TEST_P(ApiKernelTest, AModuleThatDoesNotCompileSaysWhy) {
  const ob_module module = load("__kernel void f(__global int* out) {\n  out[0] = nowhere;\n}\n");
  const ob_buffer out = buffer_of(std::vector<int>{5});
  // Perhaps before the compiler has finished: then the failure is the queue's.
  ob_kernel f = nullptr;
  ASSERT_TRUE(succeeds(ob_kernel_create(module, "f", &f)));
  EXPECT_TRUE(fails(ob_module_wait(module, OB_FOREVER), OB_BUILD_FAILED, "nowhere"));
  EXPECT_EQ(last_error().origin, OB_FROM_COMPILER);
  const std::string log = log_of(module);
  EXPECT_TRUE(log.find(":2:") != std::string::npos || log.find("(2)") != std::string::npos) << log;
  char first[8];
  std::memset(first, 'x', sizeof first);
  std::size_t bytes = 4;
  ASSERT_TRUE(succeeds(ob_module_log(module, first, &bytes)));
  EXPECT_EQ(std::string(first), log.substr(0, 3));
  EXPECT_EQ(first[4], 'x');
  EXPECT_EQ(bytes, log.size() + 1);
  const ob_argument argument = buffer_at(out);
  EXPECT_TRUE(fails(ob_kernel_set(f, 0, &argument), OB_BUILD_FAILED, "kernel f"));
  EXPECT_STREQ(last_error().name, "f");
  EXPECT_EQ(contents<int>(out, 1), std::vector<int>{5});
}

TEST_P(ApiKernelTest, ALaunchThatFailsLaterIsNamed) {
  // The launch is handed over before the module is compiled, or found out at once.
  std::string source = "__kernel void wide(__global int* out, double value) { out[0] = value; }\n";
  for (int i = 0; i < 200; ++i) {
    source += "__kernel void k" + std::to_string(i) + "(__global int* out) { out[0] = 1; }\n";
  }
  const ob_module module = load(source.c_str());
  const ob_buffer out = buffer_of(std::vector<int>{5});
  ob_kernel wide = nullptr;
  ASSERT_TRUE(succeeds(ob_kernel_create(module, "wide", &wide)));
  const int narrow = 1;  // not a double
  const ob_argument arguments[] = {buffer_at(out), number_of(narrow)};
  ob_status status = ob_kernel_set(wide, 0, &arguments[0]);
  if (status == OB_OK) status = ob_kernel_set(wide, 1, &arguments[1]);
  if (status == OB_OK) status = ob_kernel_run(wide, queue, kOne, kOne);
  if (status == OB_OK) status = ob_queue_synchronize(queue, OB_FOREVER, nullptr);
  EXPECT_TRUE(fails(status, OB_INVALID_ARGUMENT, "has 8 bytes, not 4"));
  EXPECT_STREQ(last_error().name, "wide");
  EXPECT_EQ(contents<int>(out, 1), std::vector<int>{5});
}

INSTANTIATE_TEST_SUITE_P(on, ApiKernelTest, testing::ValuesIn(kKernelPlaces), kernel_place_name);

}  // namespace
}  // namespace ob::test
