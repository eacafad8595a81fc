#include "backend/null/backend.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/kernels/launch.hpp"

namespace ob {
namespace {

TEST(NullBackendTest, DescribesItself) {
  const auto device = null::create({.memory_bytes = 1 << 20, .rate_gflops = 500});
  ASSERT_TRUE(device.ok());
  const DeviceInfo& info = device.value()->info();
  EXPECT_EQ(info.backend, "null");
  EXPECT_EQ(info.memory_bytes, 1u << 20);
  EXPECT_EQ(info.gflops_double, 500);
  EXPECT_TRUE(info.host_visible);
}

TEST(NullBackendTest, RefusesSenselessConfigurations) {
  EXPECT_EQ(null::create({.index = 1, .devices = 1}).status().code(), Code::invalid_argument);
  EXPECT_EQ(null::create({.devices = 0}).status().code(), Code::invalid_argument);
  EXPECT_EQ(null::create({.rate_gflops = -1}).status().code(), Code::invalid_argument);
  EXPECT_EQ(null::create({.rate_gflops = std::nan("")}).status().code(), Code::invalid_argument);
}

TEST(NullBackendTest, KeepsTimeAndComputesNothing) {
  auto made = null::create({.memory_bytes = 1 << 20, .rate_gflops = 0.001});
  ASSERT_TRUE(made.ok());
  Device& device = **made;
  const QueueId queue = device.create_queue().value();
  const BufferId buffer = device.allocate(2 * 8 * 100).value();
  Argument arguments[kMaxArguments];
  arguments[0].flag = arguments[1].flag = 'N';
  for (const int i : {2, 3, 4}) arguments[i].dim = 10;
  arguments[5].scalar = {1, 0};
  arguments[8].scalar = {0, 0};
  for (const int i : {6, 7}) arguments[i].device = {buffer, 0, 10};
  arguments[9].device = {buffer, 8 * 100, 10};
  const Descriptor* dgemm = routines::find("dgemm");
  ASSERT_NE(dgemm, nullptr);
  auto* numbers = reinterpret_cast<double*>(device.host_view(buffer));
  for (int i = 0; i < 200; ++i) numbers[i] = i;
  ASSERT_TRUE(device.call(queue, *dgemm, arguments).ok());
  const QueueReport report = device.synchronize(queue);
  EXPECT_TRUE(report.status.ok());
  // 2000 flops at 1 MFLOP/s take at least 2 ms.
  EXPECT_GE(report.compute_ns, 1990000u);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(numbers[i], i);
}

TEST(NullBackendTest, SetsInfoAndPivotsSoThatProgramsContinue) {
  auto made = null::create({.memory_bytes = 1 << 20});
  ASSERT_TRUE(made.ok());
  Device& device = **made;
  const QueueId queue = device.create_queue().value();
  constexpr int kN = 5;
  const BufferId matrix = device.allocate(8 * kN * kN).value();
  const BufferId integers = device.allocate(8 * (kN + 1)).value();
  Argument arguments[kMaxArguments];
  arguments[0].dim = arguments[1].dim = kN;
  arguments[2].device = {matrix, 0, kN};
  arguments[3].device = {integers, 0, 0};
  arguments[4].device = {integers, 8 * kN, 0};
  const Descriptor* dgetrf = routines::find("dgetrf");
  ASSERT_NE(dgetrf, nullptr);
  auto* numbers = reinterpret_cast<double*>(device.host_view(matrix));
  auto* found = reinterpret_cast<std::int64_t*>(device.host_view(integers));
  std::fill(numbers, numbers + kN * kN, 7);
  std::fill(found, found + kN + 1, -77);
  ASSERT_TRUE(device.call(queue, *dgetrf, arguments).ok());
  EXPECT_TRUE(device.synchronize(queue).status.ok());
  for (int i = 0; i < kN; ++i) EXPECT_EQ(found[i], i + 1);
  EXPECT_EQ(found[kN], 0);
  for (int i = 0; i < kN * kN; ++i) EXPECT_EQ(numbers[i], 7);
}

TEST(NullBackendTest, ChecksWhatARealOneChecks) {
  auto made = null::create({.memory_bytes = 1 << 20});
  ASSERT_TRUE(made.ok());
  Device& device = **made;
  const QueueId queue = device.create_queue().value();
  FftPlan plan{.rank = 1};
  plan.n = {8};
  const PlanId id = device.make_plan(plan).value();
  const BufferId small = device.allocate(64).value();
  ASSERT_TRUE(device.execute(queue, id, {small}, {small}).ok());
  EXPECT_EQ(device.synchronize(queue).status.code(), Code::invalid_argument);
  EXPECT_TRUE(device.destroy_plan(id).ok());
  EXPECT_EQ(device.destroy_plan(id).code(), Code::invalid_argument);
}

// Without a compiler, launches are checked and change nothing.
TEST(NullBackendTest, ChecksKernelsAndRunsNothing) {
  auto made = null::create({.memory_bytes = 1 << 20});
  ASSERT_TRUE(made.ok());
  Device& device = **made;
  EXPECT_TRUE(device.runs_kernels().ok());
  const QueueId queue = device.create_queue().value();
  const BufferId buffer = device.allocate(64).value();
  std::fill_n(device.host_view(buffer), 64, std::byte{7});
  const auto load = [&](const char* text) {
    return device.load_module({{{SourceKind::portable, text, ""}}, ""}, {}).value();
  };
  const ModuleId module =
      load("__kernel void fill(__global int* x, int value) { x[get_global_id(0)] = value; }");
  const int value = 3;
  const KernelArgument place{ParameterKind::buffer, 0, nullptr, {buffer, 0}, 0};
  const KernelArgument number{ParameterKind::scalar, sizeof value, &value, {}, 0};
  const auto run = [&](ModuleId of, const char* kernel, std::vector<KernelArgument> arguments) {
    EXPECT_TRUE(device.launch(queue, {of, kernel, {4, 1, 1}, {1, 1, 1}, arguments}).ok());
    return device.synchronize(queue).status.code();
  };
  EXPECT_EQ(run(module, "fill", {place, number}), Code::ok);
  EXPECT_EQ(run(module, "fill", {place}), Code::invalid_argument);
  EXPECT_EQ(run(module, "fill", {number, place}), Code::invalid_argument);
  EXPECT_EQ(run(module, "other", {place, number}), Code::invalid_argument);
  EXPECT_EQ(run(load("__kernel void f(size_t n) {}"), "f", {number}), Code::build_failed);
  EXPECT_EQ(run(module, "fill", {place, number}), Code::ok);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(device.host_view(buffer)[i], std::byte{7});
}

}  // namespace
}  // namespace ob
