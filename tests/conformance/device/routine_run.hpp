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

/// Values of a routine's arguments by name, its operands as dense matrices.
struct RoutineInput {
  std::map<std::string, char, std::less<>> flags;
  std::map<std::string, std::int64_t, std::less<>> dims;
  std::map<std::string, Complex, std::less<>> scalars;
  std::map<std::string, Dense, std::less<>> matrices;  ///< of operands that are read
  std::map<std::string, std::vector<std::int64_t>, std::less<>>
      indices;  ///< of index vectors that are read

  std::string describe() const;
};

struct RoutineOutput {
  Status status;
  std::map<std::string, Dense, std::less<>>
      matrices;  ///< of all matrix operands, unreferenced elements as they lay
  std::map<std::string, std::vector<std::int64_t>, std::less<>> indices;
  std::int64_t info = 0;
  std::string damage;  ///< which byte changed that must not; empty if none
};

class RoutineTest : public DeviceTest {
 protected:
  void SetUp() override;

  /// Puts each operand into a poisoned buffer, at a random offset and with random padding in its
  /// columns; writes only the elements the descriptor says are read; calls; compares every other
  /// byte with what lay there.
  RoutineOutput run(const Descriptor& routine, const RoutineInput& input);

  /// All values of the routine's flags that it allows.
  static std::vector<RoutineInput> flag_combinations(const Descriptor& routine);

  /// A matrix of random numbers between -1 and 1, exact in the routine's precision.
  Dense random_matrix(Precision precision, std::uint64_t rows, std::uint64_t cols);
  /// 0, 1, -1 or random.
  Complex random_scalar(Precision precision, std::uint64_t choice);

 private:
  struct Placed;
  Placed place(const Descriptor& routine, const Operand& operand, const RoutineInput& input,
               Argument* arguments);
  void collect(const Descriptor& routine, const Placed& placed, RoutineOutput& output);
};

/// All routines named `base` in all their precisions.
std::vector<const Descriptor*> routines_named(std::string_view base);

}  // namespace ob::test
