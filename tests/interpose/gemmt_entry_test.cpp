// Calls gemmt and gemmtr in every affix, calling convention and layout under a preloaded stand-in,
// and compares them with their definition. The library that all other rows are compared with lacks
// them.

#include <gtest/gtest.h>

#include "interpose/entry_names.hpp"

namespace ob::test {
namespace {

using Value = std::complex<double>;

Value element(const Problem& p, std::string_view name, std::uint64_t i, std::uint64_t j) {
  const char trans = p.flag(name == "a" ? "transa" : "transb");
  const Operand& o = p.operand(name);
  const Value v = trans == 'N' ? p.value(o, i, j) : p.value(o, j, i);
  return trans == 'C' ? std::conj(v) : v;
}

// Returns the result for `given`: alpha op(A) op(B) + beta C in one triangle.
Problem defined(const Problem& given) {
  Problem result = given;
  const Operand& c = given.operand("c");
  for (std::uint64_t j = 0; j < c.cols; ++j) {
    for (std::uint64_t i = 0; i < c.rows; ++i) {
      if (!referenced(c.triangle, i, j)) continue;
      Value sum = 0;
      for (std::int64_t k = 0; k < given.dim("k"); ++k) {
        const auto at = static_cast<std::uint64_t>(k);
        sum += element(given, "a", i, at) * element(given, "b", at, j);
      }
      sum *= given.scalar("alpha");
      if (c.read) sum += given.scalar("beta") * given.value(c, i, j);
      result.set(c, i, j, sum);
    }
  }
  return result;
}

struct Family {
  const char* pattern;
  std::size_t integers;  // the index into ForeignCalls
  bool cblas;
};
constexpr Family kFamilies[] = {
    {"%s_", 0, false},
    {"%s_64_", 1, false},
    {"scipy_%s_", 0, false},
    {"scipy_%s_64_", 1, false},
    {"%s", 0, false},
    {"%S", 0, false},
    {"%S_", 0, false},
    {"cblas_%s", 0, true},
    {"cblas_%s64_", 1, true},
    {"cblas_%s_64", 1, true},
    {"scipy_cblas_%s", 0, true},
    {"scipy_cblas_%s64_", 1, true},
};

TEST(GemmtEntry, EveryAffixAndLayoutComputesTheDefinition) {
  auto random = fresh_random();
  for (const Family& family : kFamilies) {
    for (const Descriptor& routine : routines::all()) {
      if (routine.base != "gemmt" && routine.base != "gemmtr") continue;
      const std::string name = applied(family.pattern, routine.name);
      void* entry = bound(name.c_str());
      ASSERT_NE(entry, nullptr) << name;
      for (int round = 0; round < 20; ++round) {
        // There may be no original for trivial calls, so the calls are not trivial.
        const Problem given = random_work(routine, random, 12, family.cblas && round % 2 == 1);
        Problem actual = given;
        ForeignCall call{entry, actual};
        const ForeignCalls& calls = foreign_calls(index_of(routine));
        const Counted counted(routine);
        (family.cblas ? calls.c : calls.fortran)[family.integers](call);
        const Problem expected = defined(given);
        counted.expect(given, expected);
        expect_only_results(given, actual);
        EXPECT_EQ(difference(given, expected, actual), "") << name;
      }
    }
  }
}

}  // namespace
}  // namespace ob::test
