// Compares every row of the table, in every precision, on every computing device, with its oracle.

#include <algorithm>

#include "conformance/device/blas_expected.hpp"
#include "conformance/device/oracle.hpp"

namespace ob::test {

std::vector<Oracle> all_oracles() {
  std::vector<Oracle> all;
  for (const Oracles family :
       {level1_oracles(), rotation_oracles(), level2_oracles(), level3_oracles(), solve_oracles(),
        indefinite_oracles(), expert_solve_oracles(), orthogonal_oracles(), least_squares_oracles(),
        reduction_oracles(), hermitian_eigen_oracles(), general_eigen_oracles(), pencil_oracles(),
        schur_oracles(), singular_value_oracles()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

namespace {

template <class Names>
bool contains(const Names& names, std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// A row without an oracle, and the reason.
struct Exception {
  std::string_view base;
  std::string_view reason;
};
constexpr std::span<const Exception> kWithoutOracle;

TEST(OracleList, EveryRowHasOneOracleAndEveryOracleARow) {
  const std::vector<Oracle> all = all_oracles();
  for (const Descriptor& routine : routines::all()) {
    const auto of_row = [&](const auto& entry) { return entry.base == routine.base; };
    const auto count = std::count_if(all.begin(), all.end(), of_row) +
                       std::count_if(kWithoutOracle.begin(), kWithoutOracle.end(), of_row);
    EXPECT_NE(count, 0) << routine.name << ": write an oracle in oracle_*.cpp";
    EXPECT_LE(count, 1) << routine.name << " has more than one oracle";
  }
  for (const Oracle& oracle : all) {
    EXPECT_FALSE(routines_named(oracle.base).empty()) << oracle.base << ": no such row";
  }
}

class OracleTest : public RoutineTest {
 protected:
  void check(Oracles oracles) {
    for (const Oracle& oracle : oracles) {
      for (const Descriptor* routine : routines_named(oracle.base)) check(oracle, *routine);
    }
  }

 private:
  void check(const Oracle& oracle, const Descriptor& routine) {
    if (contains(GetParam().lacks, oracle.base)) {
      const RoutineOutput out = run(routine, flag_combinations(routine).front());
      EXPECT_EQ(out.status.code(), Code::unsupported) << routine.name << " is listed as lacking";
      return;
    }
    try {
      oracle.check(*this, routine);
    } catch (const Abandoned&) {  // the failure is recorded; the other routines still run
    }
  }
};

TEST_P(OracleTest, Level1) { check(level1_oracles()); }
TEST_P(OracleTest, Rotations) { check(rotation_oracles()); }
TEST_P(OracleTest, Level2) { check(level2_oracles()); }
TEST_P(OracleTest, Level3) { check(level3_oracles()); }
TEST_P(OracleTest, Solve) { check(solve_oracles()); }
TEST_P(OracleTest, Indefinite) { check(indefinite_oracles()); }
TEST_P(OracleTest, ExpertSolve) { check(expert_solve_oracles()); }
TEST_P(OracleTest, Orthogonal) { check(orthogonal_oracles()); }
TEST_P(OracleTest, LeastSquares) { check(least_squares_oracles()); }
TEST_P(OracleTest, Reductions) { check(reduction_oracles()); }
TEST_P(OracleTest, HermitianEigenvalues) { check(hermitian_eigen_oracles()); }
TEST_P(OracleTest, GeneralEigenvalues) { check(general_eigen_oracles()); }
TEST_P(OracleTest, Pencils) { check(pencil_oracles()); }
TEST_P(OracleTest, SchurForms) { check(schur_oracles()); }
TEST_P(OracleTest, SingularValues) { check(singular_value_oracles()); }

// Fills operands of any call with valid contents; the test does not check the results.
RoutineInput filled(RoutineTest& test, const Descriptor& routine, RoutineInput in) {
  constexpr std::uint64_t kMost = 40;  // elements of a small call in any direction
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    const std::string name(routine.argument_names[i]);
    const Kind kind = routine.kinds[i];
    if (kind == Kind::matrix || kind == Kind::vector || kind == Kind::strided) {
      in.matrices[name] = test.random_matrix(routine.precision, kMost, kMost);
    } else if (kind == Kind::index_vector) {
      in.indices[name] = std::vector<std::int64_t>(kMost, 1);
    }
  }
  return in;
}

// Without right-hand sides the reference's gelss still writes one, and its gelsd calls a routine
// that refuses them: these rows must refuse such calls.
constexpr std::string_view kNeedColumns[] = {"gelss", "gelsd"};

bool is_legal(const Descriptor& routine, const RoutineInput& in) {
  Argument arguments[kMaxArguments];
  std::int64_t lds[kMaxArguments];
  std::fill(lds, lds + kMaxArguments, 1000);
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (routine.kinds[i] == Kind::flag) arguments[i].flag = in.flag(routine.argument_names[i]);
    if (routine.kinds[i] == Kind::dim) {
      arguments[i].dim = in.dims.at(std::string(routine.argument_names[i]));
    }
  }
  return routine.legal(arguments, lds);
}

TEST_P(OracleTest, EmptyDimensionsAreQuickReturns) {
  for (const Descriptor& routine : routines::all()) {
    if (contains(GetParam().lacks, routine.base)) continue;
    for (const RoutineInput& flags : flag_combinations(routine)) {
      for (const auto& [empty, unused] : flags.dims) {
        RoutineInput in = filled(*this, routine, flags);
        for (auto& [name, value] : in.dims) value = name == empty ? 0 : some_size(4) % 4;
        const bool refused = contains(kNeedColumns, routine.base) && in.dim("nrhs") == 0;
        if (refused) {
          EXPECT_FALSE(is_legal(routine, in)) << routine.name << " " << in.describe();
        }
        if (!is_legal(routine, in)) continue;
        const RoutineOutput out = run(routine, in);
        EXPECT_TRUE(out.status.ok()) << out.what << out.status.message();
        EXPECT_EQ(out.damage, "") << out.what;
      }
    }
  }
}

TEST_P(OracleTest, ALargeProductIsRight) {
  const Descriptor* dgemm = routines::find("dgemm");
  ASSERT_NE(dgemm, nullptr);
  RoutineInput in;
  in.flags = {{"transa", 'T'}, {"transb", 'N'}};
  in.dims = {{"m", 321}, {"n", 257}, {"k", 300}};
  set_scalars(*this, *dgemm, in, 3, 3);
  in.matrices["a"] = random_matrix(Precision::d, 300, 321);
  in.matrices["b"] = random_matrix(Precision::d, 300, 257);
  in.matrices["c"] = random_matrix(Precision::d, 321, 257);
  const RoutineOutput out = call(*dgemm, in);
  expect(
      *this, *dgemm,
      product(in, out.matrix("c"), op('T', in.matrices["a"]), in.matrices["b"], in.matrices["c"]));
}

// Other routines return at once for a negative increment, so their rows must refuse it.
TEST_P(OracleTest, NegativeIncrementsAreRefusedOnlyByRoutinesThatKnowNone) {
  constexpr std::string_view kOnlyPositive[] = {"scal", "real_scal", "nrm2", "asum", "iamax"};
  for (const Descriptor& routine : routines::all()) {
    for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
      if (routine.kinds[i] != Kind::strided) continue;
      RoutineInput in = filled(*this, routine, flag_combinations(routine).front());
      in.increments[std::string(routine.argument_names[i])] = -1;
      const bool refused = contains(kOnlyPositive, routine.base);
      const RoutineOutput out = run(routine, in);
      EXPECT_EQ(out.status.code(), refused ? Code::invalid_argument : Code::ok)
          << out.what << out.status.message();
    }
  }
}

OB_OVER_ALL_DEVICES(OracleTest);

}  // namespace
}  // namespace ob::test
