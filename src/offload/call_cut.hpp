#pragma once
// Decides which calls of BLAS level 3 are cut into panels, and adapts the model to that.

#include <optional>

#include "algorithms/panels/gemm_schedule.hpp"
#include "algorithms/panels/schedule.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::offload {

/// The fraction of its dgemm rate that a device reaches with the routine, until a rate was
/// observed.
double device_share(const Descriptor& routine) noexcept;

/// The shape of a gemm that is large enough to be cut; empty for other calls.
std::optional<algorithms::ProductShape> product_to_cut(const Descriptor& routine,
                                                       const Argument* arguments);
/// The shape of any other call of level 3 that is large enough to be cut; empty for other calls.
std::optional<algorithms::PanelShape> panels_to_cut(const Descriptor& routine,
                                                    const Argument* arguments);

/// The bytes to the device of a call that is large enough to be cut. Sending, computing and
/// returning overlap for such a call, and C stays on the host. Empty: the call is sent as a whole.
std::optional<double> bytes_in_panels(const Descriptor& routine,
                                      const Argument* arguments) noexcept;

}  // namespace ob::offload
