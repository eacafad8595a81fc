#include "device/kernels/signatures.hpp"

#include <gtest/gtest.h>

#include <string>

namespace ob::kernels {
namespace {

using Definitions = std::vector<Definition>;

std::vector<KernelSignature> parsed(const std::string& source, const Definitions& definitions = {},
                                    Dialect dialect = Dialect::portable) {
  auto signatures = parse_signatures(source, dialect, definitions);
  EXPECT_TRUE(signatures.ok()) << signatures.status().message();
  return signatures.ok() ? std::move(signatures).value() : std::vector<KernelSignature>();
}

KernelParameter scalar(std::uint32_t bytes, const char* type, const char* name) {
  return {ParameterKind::scalar, false, bytes, type, name};
}
KernelParameter buffer(std::uint32_t bytes, const char* type, const char* name,
                       bool read_only = false) {
  return {ParameterKind::buffer, read_only, bytes, type, name};
}
KernelParameter local(std::uint32_t bytes, const char* type, const char* name) {
  return {ParameterKind::local, false, bytes, type, name};
}

TEST(Signatures, OfAxpy) {
  const auto kernels = parsed(
      "__kernel void axpy(double a, __global const double* x, __global double *restrict y, ulong n)"
      "{ y[0] = a; }");
  ASSERT_EQ(kernels.size(), 1u);
  const KernelSignature expected{"axpy",
                                 {scalar(8, "double", "a"), buffer(8, "double*", "x", true),
                                  buffer(8, "double*", "y"), scalar(8, "ulong", "n")}};
  EXPECT_EQ(kernels[0], expected);
}

TEST(Signatures, EveryScalarHasItsSize) {
  const auto kernels = parsed(
      "__kernel void f(char a, uchar b, unsigned char c, signed char d, short e, unsigned short f, "
      "int g, unsigned h, unsigned int i, uint j, long k, unsigned long int l, ulong m, float n, "
      "const double o, float4 p, uint2 q, short int r, __private int s, signed t) {}");
  ASSERT_EQ(kernels.size(), 1u);
  const std::vector<KernelParameter> expected{
      scalar(1, "char", "a"),    scalar(1, "uchar", "b"), scalar(1, "uchar", "c"),
      scalar(1, "char", "d"),    scalar(2, "short", "e"), scalar(2, "ushort", "f"),
      scalar(4, "int", "g"),     scalar(4, "uint", "h"),  scalar(4, "uint", "i"),
      scalar(4, "uint", "j"),    scalar(8, "long", "k"),  scalar(8, "ulong", "l"),
      scalar(8, "ulong", "m"),   scalar(4, "float", "n"), scalar(8, "double", "o"),
      scalar(16, "float4", "p"), scalar(8, "uint2", "q"), scalar(2, "short", "r"),
      scalar(4, "int", "s"),     scalar(4, "int", "t")};
  ASSERT_EQ(kernels[0].parameters.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(kernels[0].parameters[i], expected[i]) << i;
  }
}

TEST(Signatures, PointersSayTheirMemory) {
  const auto kernels = parsed(
      "struct cell { int n; };\n"
      "__kernel void f(__global struct cell* c, global float4 volatile* v, __constant int* k,\n"
      "                __local double* t, OB_LOCAL_ARG(float, tile), __global const int* const p,\n"
      "                int * __global q, OB_LOCAL_ARG(unsigned int, more)) {}",
      {}, Dialect::opencl);
  ASSERT_EQ(kernels.size(), 1u);
  const std::vector<KernelParameter> expected{
      buffer(0, "struct cell*", "c"), buffer(16, "float4*", "v"), buffer(4, "int*", "k", true),
      local(8, "double*", "t"),       local(4, "float*", "tile"), buffer(4, "int*", "p", true),
      buffer(4, "int*", "q"),         local(4, "uint*", "more")};
  EXPECT_EQ(kernels[0].parameters, expected);
}

TEST(Signatures, CommentsStringsAndBodiesAreNoKernels) {
  const auto kernels = parsed(
      "// __kernel void a() {}\n"
      "/* __kernel void b() {} */\n"
      "__constant char text[] = \"__kernel void c() {} \\\" {\"; // {\n"
      "static int helper(int kernels) { if (kernels) { return '{'; } return 0; }\n"
      "__kernel /* here */ void d(void) { { } }\n"
      "__kern\\\nel void e() { }\n");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "d");
  EXPECT_TRUE(kernels[0].parameters.empty());
  EXPECT_EQ(kernels[1].name, "e");
}

TEST(Signatures, MacrosTypedefsAndConditionsCount) {
  const std::string source =
      "#define G __global\n"
      "#if defined(SINGLE) && SINGLE + 1 == 2\n"
      "typedef float real;\n"
      "#elif defined WIDE\n"
      "#  define real double4\n"
      "#else\n"
      "#define real double\n"
      "#endif\n"
      "#ifndef NEVER\n"
      "__kernel void f(G const real* x, real a, COUNT n) {}\n"
      "#else\n"
      "__kernel void g(image2d_t broken) {}\n"
      "#endif\n"
      "#undef G\n";
  const auto check = [&](const Definitions& definitions, const char* type, std::uint32_t bytes) {
    const auto kernels = parsed(source, definitions);
    ASSERT_EQ(kernels.size(), 1u);
    const std::vector<KernelParameter> expected{
        buffer(bytes, (std::string(type) + "*").c_str(), "x", true), scalar(bytes, type, "a"),
        scalar(4, "uint", "n")};
    EXPECT_EQ(kernels[0].parameters, expected);
  };
  check({{"COUNT", "uint"}, {"SINGLE", "1"}}, "float", 4);
  check({{"COUNT", "uint"}, {"SINGLE", "2"}}, "double", 8);
  check({{"COUNT", "uint"}, {"WIDE", "1"}}, "double4", 32);
}

TEST(Signatures, GroupSizesMayBeDemanded) {
  const auto kernels = parsed(
      "__kernel __attribute__((reqd_work_group_size(8, 4, 1))) void f(int a) {}\n"
      "__attribute__((unused)) __kernel void __attribute__((noinline)) g() {}");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].required_group, (std::array<std::uint32_t, 3>{8, 4, 1}));
  EXPECT_EQ(kernels[1].required_group, (std::array<std::uint32_t, 3>{}));
}

TEST(Signatures, ADeclarationAndItsDefinitionAreOne) {
  const auto kernels = parsed("__kernel void f(int a);\n__kernel void f(int a) {}");
  EXPECT_EQ(kernels.size(), 1u);
  EXPECT_TRUE(parsed("").empty());
  EXPECT_TRUE(parsed("int x;").empty());
}

TEST(Signatures, OpenClMayHaveMoreVectors) {
  const auto kernels =
      parsed("kernel void f(float3 a, global double16* b) {}", {}, Dialect::opencl);
  ASSERT_EQ(kernels.size(), 1u);
  const std::vector<KernelParameter> expected{scalar(16, "float3", "a"),
                                              buffer(128, "double16*", "b")};
  EXPECT_EQ(kernels[0].parameters, expected);
}

struct Refused {
  const char* source;
  const char* words;
};

TEST(Signatures, WhatCannotBePassedIsRefused) {
  const Refused cases[] = {
      {"__kernel void f(double* x) {}", "kernel f: parameter x is a pointer without __global"},
      {"__kernel void f(__global int** x) {}", "pointer to pointers"},
      {"__kernel void f(__global int x) {}", "no pointer"},
      {"__kernel void f(__local int* x) {}", "OB_LOCAL_ARG"},
      {"kernel void f() {}", "__kernel instead"},
      {"__kernel void f(global int* x) {}", "__global instead"},
      {"__kernel void f() { local int x[4]; }", "__local instead"},
      {"__kernel void f(size_t n) {}", "size differs"},
      {"__kernel void f(bool n) {}", "size differs"},
      {"__kernel void f(struct cell c) {}", "by value"},
      {"__kernel void f(image2d_t i) {}", "by value"},
      {"__kernel void f(float3 v) {}", "vectors of 2 or 4"},
      {"__kernel void f(__global double8* v) {}", "vectors of 2 or 4"},
      {"__kernel void f(int a[4]) {}", "\"[\""},
      {"__kernel void f(int) {}", "no type or no name"},
      {"__kernel void f(int a, ) {}", "no type or no name"},
      {"__kernel int f() {}", "__kernel void"},
      {"__kernel void", "no name"},
      {"__kernel void f", "no parameters"},
      {"__kernel void f(", "do not end"},
      {"__kernel void f(int a) int", "no body"},
      {"\n\n__kernel void f(int a, int b[]) {}", "line 3"},
      {"__kernel void f(OB_LOCAL_ARG(float tile)) {}", "OB_LOCAL_ARG(TYPE, NAME)"},
      {"__kernel void f(int a);__kernel void f(int a, int b) {}", "declared twice"},
      {"__attribute__ __kernel __attribute__((reqd_work_group_size(8, x, 1))) void f() {}",
       "three numbers"},
      {"#include \"other.h\"\n", "#include"},
      {"#if 1\n__kernel void f() {}", "no #endif"},
      {"#else\n", "without #if"},
      {"#if 1\n#else\n#else\n#endif", "after #else"},
      {"#if 1 /\n#endif", "not understood"},
      {"#if 1 / 0\n#endif", "not understood"},
      {"#define\n", "no name"},
      {"#ifdef\n#endif", "no name"},
  };
  for (const Refused& refused : cases) {
    const auto signatures = parse_signatures(refused.source, Dialect::portable, {});
    ASSERT_FALSE(signatures.ok()) << refused.source;
    EXPECT_EQ(signatures.status().code(), Code::build_failed) << refused.source;
    EXPECT_NE(signatures.status().message().find(refused.words), std::string::npos)
        << refused.source << ": " << signatures.status().message();
  }
}

TEST(Signatures, HostileSourcesEnd) {
  // 2^40 tokens if it were expanded
  std::string doubling = "#define a0 x\n";
  for (int i = 1; i <= 40; ++i) {
    const std::string before = "a" + std::to_string(i - 1);
    doubling += "#define a" + std::to_string(i) + " " + before + " " + before + "\n";
  }
  EXPECT_FALSE(parse_signatures(doubling + "a40", Dialect::portable, {}).ok());
  // the same of nothing
  std::string nothing = "#define a0\n" + doubling.substr(doubling.find('\n') + 1);
  EXPECT_FALSE(parse_signatures(nothing + "a40", Dialect::portable, {}).ok());
  EXPECT_TRUE(parse_signatures("#define a b\n#define b a\na", Dialect::portable, {}).ok());
  const std::string parentheses(1 << 19, '(');
  EXPECT_FALSE(parse_signatures("#if " + parentheses + "\n#endif", Dialect::portable, {}).ok());
  EXPECT_FALSE(parse_signatures("__kernel void f(" + parentheses, Dialect::portable, {}).ok());
  std::string nested;
  for (int i = 0; i < 100000; ++i) nested += "#if 1\n";
  EXPECT_FALSE(parse_signatures(nested, Dialect::portable, {}).ok());
  std::string many = "__kernel void f(int a0";
  for (int i = 1; i <= 64; ++i) many += ", int a" + std::to_string(i);
  EXPECT_FALSE(parse_signatures(many + ") {}", Dialect::portable, {}).ok());
}

}  // namespace
}  // namespace ob::kernels
