#pragma once
// The families of routines of which a device measures one.

#include <span>
#include <string_view>

#include "base/routine_rate.hpp"
#include "routines/descriptor.hpp"
#include "routines/fft.hpp"

namespace ob {

/// Returns the family of a routine; none if no routine like it is measured.
RateFamily rate_family(const Descriptor& routine) noexcept;
/// Returns the family of a kind of transform.
RateFamily rate_family(FftKind kind) noexcept;

/// The routine that is measured for a family of LAPACK.
struct MeasuredRoutine {
  RateFamily family;
  std::string_view name;
  std::string_view flags;  ///< the values of its flags, in their order
};
std::span<const MeasuredRoutine> measured_routines() noexcept;

}  // namespace ob
