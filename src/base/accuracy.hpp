#pragma once
// The accuracy modes of library calls.

#include <cstdint>

namespace ob {

/// The liberties that a device may take to be faster. A device without the means of a mode computes
/// as in `standard`, which every mode allows.
enum class Accuracy : std::uint8_t {
  standard,  ///< the arithmetic of the operands' precision; sums in any order
  strict,    ///< as standard, and the same call gives the same bits again
  fast,      ///< lower precision inside (TF32), iterative refinement
  emulated,  ///< lower precisions emulate that of the operands, with error bounds like its own
};

inline constexpr unsigned kAccuracies = 4;  ///< the number of modes

}  // namespace ob
