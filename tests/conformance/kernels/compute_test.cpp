// Results of kernels, against loops on the host.

#include <algorithm>
#include <cmath>

#include "conformance/kernels/setting.hpp"

namespace ob::test {
namespace {

class KernelComputeTest : public KernelTest {};

std::uint32_t groups_for(std::size_t items, std::uint32_t group) {
  return static_cast<std::uint32_t>((items + group - 1) / group);
}

constexpr const char* kAxpy = R"(
__kernel void axpy(double a, __global const double* x, __global double* y, ulong n) {
  const ulong i = get_global_id(0);
  if (i < n) y[i] = a * x[i] + y[i];
}
)";

// No contraction of a * x + y is allowed, so the results are the host's, bit for bit.
double separately(double a, double x, double y) {
  const volatile double product = a * x;
  return product + y;
}

TEST_P(KernelComputeTest, OddSizesLeaveNeighboursAlone) {
  const ModuleId module = load(kAxpy);
  constexpr std::uint64_t kBefore = 4096;  // a multiple of every device's alignment of sub-buffers
  for (const std::uint64_t n : {std::uint64_t{1}, std::uint64_t{63}, std::uint64_t{65},
                                random(2, 3000), random(50000, 60000)}) {
    const std::uint64_t whole = kBefore + n * sizeof(double) + 256;
    const std::vector<double> x = doubles(n);
    const std::vector<double> y = doubles(n);
    const double a = uniform(-3, 3);
    const BufferId on_x = buffer_of(x);
    const BufferId on_y = allocate(Bytes(whole, kPoison));
    upload(on_y, std::as_bytes(std::span(y)), kBefore);
    const Status status =
        run(module, "axpy", {groups_for(n, 64), 1, 1}, {64, 1, 1},
            {number(a), memory(on_x), memory(on_y, kBefore, n * sizeof(double)), number(n)});
    ASSERT_TRUE(status.ok()) << status.message();
    const auto result = contents<double>(on_y, n, kBefore);
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(result[i], separately(a, x[i], y[i])) << "element " << i << " of " << n;
    }
    EXPECT_EQ(download(on_y, kBefore), Bytes(kBefore, kPoison));
    EXPECT_EQ(download(on_y, 256, whole - 256), Bytes(256, kPoison));
    EXPECT_EQ(contents<double>(on_x, n), x);
  }
}

// Local memory both of the source's and of the launch's size, and barriers.
constexpr const char* kProduct = R"(
#define T 8
__kernel __attribute__((reqd_work_group_size(T, T, 1)))
void product(int n, __global const double* a, __global const double* b, __global double* c,
             OB_LOCAL_ARG(double, of_b)) {
  OB_LOCAL_BIND(double, of_b);
  __local double of_a[T * T];
  const int i = get_global_id(0), j = get_global_id(1);
  const int r = get_local_id(0), s = get_local_id(1);
  double sum = 0;
  for (int k = 0; k < n; k += T) {
    of_a[r + T * s] = i < n && k + s < n ? a[i + n * (k + s)] : 0;
    of_b[r + T * s] = k + r < n && j < n ? b[k + r + n * j] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int l = 0; l < T && k + l < n; ++l) sum += of_a[r + T * l] * of_b[l + T * s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i < n && j < n) c[i + n * j] = sum;
}
)";

TEST_P(KernelComputeTest, TiledProductsAreThoseOfTheHost) {
  const ModuleId module = load(kProduct);
  for (const int n : {1, 7, 8, static_cast<int>(random(9, 70))}) {
    const auto size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    const std::vector<double> a = doubles(size);
    const std::vector<double> b = doubles(size);
    const BufferId c = allocate(Bytes(size * sizeof(double), kPoison));
    const std::uint32_t groups = groups_for(static_cast<std::size_t>(n), 8);
    const Status status =
        run(module, "product", {groups, groups, 1}, {8, 8, 1},
            {number(n), memory(buffer_of(a)), memory(buffer_of(b)), memory(c), local(8 * 8 * 8)});
    ASSERT_TRUE(status.ok()) << status.message();
    const auto result = contents<double>(c, size);
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) {
        double sum = 0;
        for (int k = 0; k < n; ++k) {
          sum = separately(a[static_cast<std::size_t>(i + n * k)],
                           b[static_cast<std::size_t>(k + n * j)], sum);
        }
        ASSERT_EQ(result[static_cast<std::size_t>(i + n * j)], sum)
            << i << ", " << j << " of " << n;
      }
    }
  }
}

constexpr const char* kHistogram = R"(
static uint bin(uint value, uint bins) { return value % bins; }
__kernel void histogram(__global const uint* values, uint n, __global uint* counts, uint bins,
                        __global uint* highest) {
  for (uint i = get_global_id(0); i < n; i += get_global_size(0)) {
    atomic_add(&counts[bin(values[i], bins)], 1u);
    atomic_max(highest, values[i]);
  }
}
)";

TEST_P(KernelComputeTest, AtomicsLoseNothing) {
  const ModuleId module = load(kHistogram);
  const auto n = static_cast<std::uint32_t>(random(10000, 30000));
  const auto bins = static_cast<std::uint32_t>(random(1, 9));
  std::vector<std::uint32_t> values(n);
  std::vector<std::uint32_t> expected(bins);
  for (std::uint32_t& value : values) value = static_cast<std::uint32_t>(random(0, UINT32_MAX));
  for (const std::uint32_t value : values) ++expected[value % bins];
  const BufferId counts = buffer_of(std::vector<std::uint32_t>(bins));
  const BufferId highest = buffer_of(std::vector<std::uint32_t>(1));
  const Status status =
      run(module, "histogram", {17, 1, 1}, {32, 1, 1},
          {memory(buffer_of(values)), number(n), memory(counts), number(bins), memory(highest)});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(contents<std::uint32_t>(counts, bins), expected);
  EXPECT_EQ(contents<std::uint32_t>(highest, 1)[0],
            *std::max_element(values.begin(), values.end()));
}

constexpr const char* kPlaces = R"(
__kernel void places(__global uint* out) {
  const uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  const uint at = x + get_global_size(0) * (y + get_global_size(1) * z);
  uint code = 0;
  for (uint d = 0; d < 3; ++d) {
    code = code * 7 + get_local_id(d);
    code = code * 11 + get_group_id(d);
    code = code * 7 + get_local_size(d);
    code = code * 11 + get_num_groups(d);
  }
  out[at] = code + get_work_dim();
}
)";

TEST_P(KernelComputeTest, WorkItemsKnowTheirPlaces) {
  const ModuleId module = load(kPlaces);
  const Extents groups{static_cast<std::uint32_t>(random(1, 5)), 3, 2};
  const Extents size{4, static_cast<std::uint32_t>(random(1, 5)), 2};
  const Extents all{groups[0] * size[0], groups[1] * size[1], groups[2] * size[2]};
  const std::size_t count = std::size_t{all[0]} * all[1] * all[2];
  const BufferId out = allocate(Bytes(count * 4, kPoison));
  const Status status = run(module, "places", groups, size, {memory(out)});
  ASSERT_TRUE(status.ok()) << status.message();
  const auto result = contents<std::uint32_t>(out, count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t place[3] = {i % all[0], i / all[0] % all[1], i / all[0] / all[1]};
    std::uint32_t code = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      code = code * 7 + static_cast<std::uint32_t>(place[d] % size[d]);
      code = code * 11 + static_cast<std::uint32_t>(place[d] / size[d]);
      code = code * 7 + size[d];
      code = code * 11 + groups[d];
    }
    ASSERT_EQ(result[i], code + 3) << i;
  }
}

constexpr const char* kVectors = R"(
__kernel void turn(__global float4* v, __global const double2* w, __global double* out, uint n) {
  const uint i = get_global_id(0);
  if (i >= n) return;
  const float4 old = v[i];
  v[i] = make_float4(old.w, old.x, old.y, old.z);
  const double2 sum = w[i] + make_double2(1.0, 2.0);
  out[i] = sum.x * sum.y;
}
)";

TEST_P(KernelComputeTest, VectorsHaveTheirParts) {
  const ModuleId module = load(kVectors);
  const auto n = static_cast<std::uint32_t>(random(1, 100));
  std::vector<float> v(n * 4);
  for (float& x : v) x = static_cast<float>(uniform(-1, 1));
  const std::vector<double> w = doubles(n * 2);
  const BufferId on_v = buffer_of(v);
  const BufferId out = allocate(Bytes(n * 8, kPoison));
  const Status status = run(module, "turn", {groups_for(n, 16), 1, 1}, {16, 1, 1},
                            {memory(on_v), memory(buffer_of(w)), memory(out), number(n)});
  ASSERT_TRUE(status.ok()) << status.message();
  const auto turned = contents<float>(on_v, n * 4);
  const auto products = contents<double>(out, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(turned[4 * i + k], v[4 * i + (k + 3) % 4]);
    EXPECT_EQ(products[i], (w[2 * i] + 1.0) * (w[2 * i + 1] + 2.0));
  }
}

OB_OVER_KERNEL_DEVICES(KernelComputeTest);

}  // namespace
}  // namespace ob::test
