#pragma once
// How exact the arithmetic of library calls is to be.

#include <cstdint>

namespace ob {

/// What a device may do to be faster. A device that cannot do what a mode allows does what
/// standard says, which every mode allows.
enum class Accuracy : std::uint8_t {
  standard,  ///< the arithmetic of the operands' precision; sums in any order
  strict,    ///< as standard, and the same call gives the same bits again
  fast,      ///< lower precision inside (TF32), iterative refinement
  emulated,  ///< the operands' precision put together from lower ones, with error bounds like it
};

inline constexpr unsigned kAccuracies = 4;  ///< modes that there are

}  // namespace ob
