#pragma once
// One routine call on a device, with every byte that it must not touch under watch.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/device/dense.hpp"
#include "conformance/device/fixture.hpp"
#include "routines/descriptor.hpp"

namespace ob::test {

using Real = long double;

/// Values of a routine's arguments by name, its operands as dense matrices; vectors are columns, in
/// the order of their elements whatever their increments. An operand that is read and not given
/// here is poison.
struct RoutineInput {
  std::map<std::string, char, std::less<>> flags;
  std::map<std::string, std::int64_t, std::less<>> dims;
  std::map<std::string, Complex, std::less<>> scalars;
  std::map<std::string, Dense, std::less<>> matrices;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> indices;
  std::map<std::string, std::int64_t, std::less<>> increments;  ///< drawn if not given

  std::uint64_t dim(std::string_view name) const {
    return static_cast<std::uint64_t>(dims.find(name)->second);
  }
  char flag(std::string_view name) const { return flags.find(name)->second; }
  std::string describe() const;
};

struct RoutineOutput {
  Status status;
  /// All operands that are numbers. Unreferenced elements are as they lie in memory.
  std::map<std::string, Dense, std::less<>> matrices;
  /// Index vectors, and results that are integers.
  std::map<std::string, std::vector<std::int64_t>, std::less<>> indices;
  std::map<std::string, char, std::less<>> characters;
  std::int64_t info = 0;
  std::string damage;  ///< which byte changed that must not; empty if none
  std::string what;    ///< the call, for people

  const Dense& matrix(std::string_view name) const { return matrices.find(name)->second; }
  const std::vector<std::int64_t>& integers(std::string_view name) const {
    return indices.find(name)->second;
  }
  /// An operand of one number.
  Real real(std::string_view name) const { return matrix(name)(0, 0).real(); }
  std::vector<Real> reals(std::string_view name) const;
};

/// Thrown when a failure was recorded and the rest of a routine's checks would say no more.
struct Abandoned {};

class RoutineTest : public DeviceTest {
 public:
  using DeviceTest::random;
  using DeviceTest::uniform;

  /// Puts each operand into a poisoned buffer, at a random offset, with random padding in its
  /// columns or a random increment; writes only the elements the descriptor says are read; calls;
  /// compares every other byte with what lay there.
  RoutineOutput run(const Descriptor& routine, const RoutineInput& input);
  /// The same of a call that must work, leave the rest alone, and give this info.
  RoutineOutput call(const Descriptor& routine, const RoutineInput& input, std::int64_t info = 0);

  /// Records a failure of the latest call and throws Abandoned unless value <= limit (a NaN is
  /// not).
  void at_most(Real value, Real limit, const std::string& what) const;
  void require(bool holds, const std::string& what) const;

  /// All values of the routine's flags that it allows.
  static std::vector<RoutineInput> flag_combinations(const Descriptor& routine);

  /// A matrix of random numbers between -1 and 1, exact in the routine's precision.
  Dense random_matrix(Precision precision, std::uint64_t rows, std::uint64_t cols);
  /// 0, 1, -1 or random.
  Complex random_scalar(Precision precision, std::uint64_t choice);
  /// 1 to 4 in one of three cases, otherwise 5 to `largest`.
  std::int64_t some_size(std::uint64_t largest = 30);

 protected:
  void SetUp() override;

 private:
  struct Placed;
  Placed place(const Descriptor& routine, const Operand& operand, const RoutineInput& input,
               Argument* arguments);
  void draw_strides(const Descriptor& routine, const RoutineInput& input, Argument* arguments,
                    std::string& what);
  void collect(const Placed& placed, RoutineOutput& output);

  std::string latest_;
};

/// All routines named `base` in all their precisions.
std::vector<const Descriptor*> routines_named(std::string_view base);

}  // namespace ob::test
