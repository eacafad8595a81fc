#pragma once
// Runs one routine call on a device, and checks every byte that it must not change.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/device/dense.hpp"
#include "conformance/device/fixture.hpp"
#include "routines/descriptor.hpp"

namespace ob::test {

using Real = long double;

/// The values of a routine's arguments by name. Operands are dense matrices. Vectors are columns in
/// the order of their elements, for any increment. An input operand that is not given is poison.
struct RoutineInput {
  std::map<std::string, char, std::less<>> flags;
  std::map<std::string, std::int64_t, std::less<>> dims;
  std::map<std::string, Complex, std::less<>> scalars;
  std::map<std::string, Dense, std::less<>> matrices;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> indices;
  std::map<std::string, std::int64_t, std::less<>> increments;  ///< random if not given

  std::uint64_t dim(std::string_view name) const {
    return static_cast<std::uint64_t>(dims.find(name)->second);
  }
  char flag(std::string_view name) const { return flags.find(name)->second; }
  std::string describe() const;
};

struct RoutineOutput {
  Status status;
  /// All operands of numbers. Unreferenced elements have their values in memory.
  std::map<std::string, Dense, std::less<>> matrices;
  /// Index vectors, and integer results.
  std::map<std::string, std::vector<std::int64_t>, std::less<>> indices;
  std::map<std::string, char, std::less<>> characters;
  std::int64_t info = 0;
  std::string damage;  ///< the changed byte that must not change; empty if none
  std::string what;    ///< describes the call in messages

  const Dense& matrix(std::string_view name) const { return matrices.find(name)->second; }
  const std::vector<std::int64_t>& integers(std::string_view name) const {
    return indices.find(name)->second;
  }
  /// Returns an operand of one number.
  Real real(std::string_view name) const { return matrix(name)(0, 0).real(); }
  std::vector<Real> reals(std::string_view name) const;
};

/// Thrown after a recorded failure, if the other checks of the routine have no further use.
struct Abandoned {};

class RoutineTest : public DeviceTest {
 public:
  using DeviceTest::random;
  using DeviceTest::uniform;

  /// Puts each operand into a poisoned buffer, at a random offset, with random padding in its
  /// columns or a random increment. Writes only the elements that the descriptor marks as read.
  /// Calls the routine, and compares every other byte with its previous value.
  RoutineOutput run(const Descriptor& routine, const RoutineInput& input);
  /// Does the same, and requires success, this info, and no change of other bytes.
  RoutineOutput call(const Descriptor& routine, const RoutineInput& input, std::int64_t info = 0);
  /// Requires that of the output of run().
  void require_success(const RoutineOutput& output, std::int64_t info = 0) const;

  /// Records a failure of the latest call and throws Abandoned unless value <= limit. A NaN fails.
  void at_most(Real value, Real limit, const std::string& what) const;
  void require(bool holds, const std::string& what) const;

  /// Returns all combinations of legal values of the routine's flags, or at least one of them if
  /// draws_flags().
  std::vector<RoutineInput> flag_combinations(const Descriptor& routine);
  /// Returns true if this device gets a random part of the combinations: the devices in this
  /// process get all of them, and the remote ones of a backend together about as many.
  static bool draws_flags();

  /// Returns a matrix of random numbers between -1 and 1, exact in the routine's precision.
  Dense random_matrix(Precision precision, std::uint64_t rows, std::uint64_t cols);
  /// Returns 0, 1, -1 or a random number.
  Complex random_scalar(Precision precision, std::uint64_t choice);
  /// Returns 1 to 4 in one of three cases, otherwise 5 to `largest`.
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

/// Returns the routines named `base` in all their precisions.
std::vector<const Descriptor*> routines_named(std::string_view base);

}  // namespace ob::test
