// Compares the operations and bytes of calls with counts by hand.

#include "routines/cost.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace ob::test {
namespace {

using Flags = std::map<std::string, char>;
using Dims = std::map<std::string, std::int64_t>;

// Returns the cost of a call with these flags and dimensions; scalars are 1 unless `zero` names
// them.
Cost cost(const char* name, const Flags& flags, const Dims& dims, const std::string& zero = "") {
  const Descriptor& routine = *routines::find(name);
  Argument arguments[kMaxArguments];
  std::int64_t lds[kMaxArguments];
  std::fill_n(lds, kMaxArguments, std::int64_t{1} << 40);
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    const std::string argument(routine.argument_names[i]);
    if (routine.kinds[i] == Kind::flag) arguments[i].flag = flags.at(argument);
    if (routine.kinds[i] == Kind::dim) arguments[i].dim = dims.at(argument);
    if (routine.kinds[i] == Kind::scalar || routine.kinds[i] == Kind::real_scalar)
      arguments[i].scalar = {argument == zero ? 0.0 : 1.0, 0.0};
  }
  EXPECT_TRUE(routine.legal(arguments, lds)) << name;
  return cost_of(routine, arguments);
}

void expect(const Cost& got, double flop, double elements_to, double elements_from, double bytes) {
  EXPECT_DOUBLE_EQ(got.flop, flop);
  EXPECT_EQ(got.bytes_to, elements_to * bytes);
  EXPECT_EQ(got.bytes_from, elements_from * bytes);
}

TEST(Cost, ProductsSendCOnlyIfItCounts) {
  const Flags flags{{"transa", 'N'}, {"transb", 'T'}};
  const Dims dims{{"m", 5}, {"n", 7}, {"k", 11}};
  expect(cost("dgemm", flags, dims), 2 * 5 * 7 * 11, 5 * 11 + 7 * 11 + 5 * 7, 5 * 7, 8);
  expect(cost("dgemm", flags, dims, "beta"), 2 * 5 * 7 * 11, 5 * 11 + 7 * 11, 5 * 7, 8);
  // A complex product takes four real products.
  expect(cost("cgemm", flags, dims, "beta"), 8 * 5 * 7 * 11, 5 * 11 + 7 * 11, 5 * 7, 8);
}

TEST(Cost, TrianglesTravelOnce) {
  expect(cost("dsyrk", {{"uplo", 'U'}, {"trans", 'N'}}, {{"n", 10}, {"k", 3}}), 10 * 11 * 3,
         30 + 55, 55, 8);
  // A unit diagonal is not referenced.
  const Dims dims{{"m", 4}, {"n", 6}};
  Flags flags{{"side", 'R'}, {"uplo", 'L'}, {"transa", 'N'}, {"diag", 'U'}};
  expect(cost("strsm", flags, dims), 4 * 6 * 6, 15 + 24, 24, 4);
  flags["diag"] = 'N';
  expect(cost("strsm", flags, dims), 4 * 6 * 6, 21 + 24, 24, 4);
}

TEST(Cost, EigenvectorsComeBackOnlyIfTheyAreWanted) {
  const Dims dims{{"n", 20}};
  const Cost values = cost("dsyev", {{"jobz", 'N'}, {"uplo", 'L'}}, dims);
  const Cost vectors = cost("dsyev", {{"jobz", 'V'}, {"uplo", 'L'}}, dims);
  EXPECT_EQ(values.bytes_to, 210 * 8);
  EXPECT_EQ(vectors.bytes_to, 210 * 8);
  EXPECT_EQ(values.bytes_from, 20 * 8 + 8);  // w and info
  EXPECT_EQ(vectors.bytes_from, 400 * 8 + 20 * 8 + 8);
  EXPECT_GT(vectors.flop, 2 * values.flop);  // LAPACK Users' Guide, table 3.13: 9 n^3 and 4/3 n^3
}

TEST(Cost, SingularVectorsFollowTheirJobs) {
  const Dims dims{{"m", 30}, {"n", 10}};
  const auto from = [&](char jobu, char jobvt) {
    return cost("dgesvd", {{"jobu", jobu}, {"jobvt", jobvt}}, dims).bytes_from;
  };
  const double values = 10 * 8 + 8;
  EXPECT_EQ(from('N', 'N'), values);
  EXPECT_EQ(from('S', 'N'), values + 300 * 8);
  EXPECT_EQ(from('A', 'S'), values + 900 * 8 + 100 * 8);
  EXPECT_EQ(from('O', 'N'), values + 300 * 8);  // in A
  EXPECT_EQ(cost("dgesvd", {{"jobu", 'N'}, {"jobvt", 'N'}}, dims).bytes_to, 300 * 8);
}

TEST(Cost, FactorsAreReadAndIntegersHave64Bits) {
  const Cost inverse = cost("zgetri", {}, {{"n", 6}});
  EXPECT_DOUBLE_EQ(inverse.flop, 4 * (4.0 / 3 * 216));
  EXPECT_EQ(inverse.bytes_to, 36 * 16 + 6 * 8);
  EXPECT_EQ(inverse.bytes_from, 36 * 16 + 8);
}

}  // namespace
}  // namespace ob::test
