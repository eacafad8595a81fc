// Parameters: what the report says about them, and that every argument arrives as it is.

#include "conformance/kernels/setting.hpp"
#include "support/portable_kernels.hpp"

namespace ob::test {
namespace {

class KernelParameterTest : public KernelTest {};

TEST_P(KernelParameterTest, EveryTypeArrivesAsItIs) {
  const ModuleId module = load(kAllTypes);
  const Bytes random_ones = random_bytes(64);
  const auto* const bytes = random_ones.data();
  std::int8_t a;
  std::uint8_t b;
  std::int16_t c;
  std::uint16_t d;
  std::int32_t e;
  std::uint32_t f;
  std::int64_t g;
  std::uint64_t h;
  const auto take = [&](auto& value, std::size_t at) {
    std::memcpy(&value, bytes + at, sizeof value);
  };
  take(a, 0), take(b, 1), take(c, 2), take(d, 4), take(e, 8), take(f, 12), take(g, 16), take(h, 24);
  const auto i = static_cast<float>(uniform(-1, 1));
  const double j = uniform(-1, 1);
  const std::array<float, 4> k{i, 2 * i, 3 * i, 4 * i};
  const std::array<std::int32_t, 2> l{e, -e / 2};
  const BufferId out = allocate(Bytes(128, kPoison));
  const Status status =
      run(module, "keep", {1, 1, 1}, {1, 1, 1},
          {number(a), number(b), number(c), number(d), number(e), number(f), number(g), number(h),
           number(i), number(j), number(k), number(l), memory(out)});
  ASSERT_TRUE(status.ok()) << status.message();
  const std::vector<std::int64_t> whole{a, b, c, d, e, f, g, static_cast<std::int64_t>(h)};
  EXPECT_EQ(contents<std::int64_t>(out, 8), whole);
  const std::vector<double> real{
      i, j, k[0], k[1], k[2], k[3], static_cast<double>(l[0]), static_cast<double>(l[1])};
  EXPECT_EQ(contents<double>(out, 8, 64), real);
}

TEST_P(KernelParameterTest, TheReportHasThem) {
  const ModuleReport report = report_of(
      "#define real float\n"
      "__kernel void one(__global const real* x, OB_LOCAL_ARG(real, tile), COUNT n) {\n"
      "  __local real fixed[10];\n"
      "  OB_LOCAL_BIND(real, tile);\n"
      "  fixed[get_local_id(0) % 10] = x[n]; tile[0] = fixed[0];\n"
      "}\n"
      "__kernel void two() {}\n",
      "-D COUNT=uint");
  ASSERT_TRUE(report.status.ok()) << report.status.message() << report.log;
  ASSERT_EQ(report.kernels.size(), 2u);
  const KernelFacts& one = report.kernels[0];
  EXPECT_EQ(one.signature.name, "one");
  const std::vector<KernelParameter> expected{{ParameterKind::buffer, true, 4, "float*", "x"},
                                              {ParameterKind::local, false, 4, "float*", "tile"},
                                              {ParameterKind::scalar, false, 4, "uint", "n"}};
  EXPECT_EQ(one.signature.parameters, expected);
  EXPECT_GE(one.largest_group, 1u);
  // The stand-in for CUDA does not count.
  if (GetParam().name != "cuda") {
    EXPECT_GE(one.static_local_bytes, 40u);
  }
  EXPECT_GE(one.largest_local_bytes, one.static_local_bytes);
  EXPECT_TRUE(report.kernels[1].signature.parameters.empty());
}

TEST_P(KernelParameterTest, OptionsDefineMacros) {
  const std::string source =
      "#ifndef OFFSET\n#define OFFSET 5\n#endif\n"
      "__kernel void f(__global int* out) { out[0] = OFFSET; }";
  for (const auto& [options, expected] :
       {std::pair<const char*, int>{"", 5}, {"-DOFFSET=-7", -7}}) {
    const BufferId out = allocate(Bytes(4, kPoison));
    const Status status = run(load(source, options), "f", {1, 1, 1}, {1, 1, 1}, {memory(out)});
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(contents<std::int32_t>(out, 1)[0], expected) << options;
  }
}

TEST_P(KernelParameterTest, AVariantThatTheDeviceTakesIsChosen) {
  const std::string right = "__kernel void f(__global int* out) { out[0] = 1; }";
  ModuleId module;
  const ModuleReport report =
      report_of({{{SourceKind::cubin, "no machine code", "sm_90"},
                  {SourceKind::cuda, "extern \"C\" __global__ void f(int* out) { *out = 2; }", ""},
                  {SourceKind::portable, right, ""}},
                 ""},
                &module);
  ASSERT_TRUE(report.status.ok()) << report.status.message();
  const BufferId out = allocate(Bytes(4, kPoison));
  ASSERT_TRUE(run(module, "f", {1, 1, 1}, {1, 1, 1}, {memory(out)}).ok());
  EXPECT_EQ(contents<std::int32_t>(out, 1)[0], 1);
  const ModuleReport none = report_of({{{SourceKind::ptx, ".version 8.0", ""}}, ""});
  expect_failure(none.status, Code::unsupported, "PTX");
}

OB_OVER_KERNEL_DEVICES(KernelParameterTest);

}  // namespace
}  // namespace ob::test
