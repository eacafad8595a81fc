#pragma once
// The device of a rank of a SIAL job.

#include <memory>

#include "base/status.hpp"
#include "sial/devices/device_place.hpp"
#include "sial/operations/gemm.hpp"
#include "sial_options.hpp"
#include "sial_ranks.hpp"

namespace ob::apps {

/// Opens the device of this process and measures it, if the options name one and workers run here.
/// Worker n takes device n modulo the number of devices.
/// @param host computes what the device does not
/// Errors: invalid_argument for a form of address that is unknown; those of opening a device
Result<std::unique_ptr<sial::DevicePlace>> open_sial_device(const SialOptions& options,
                                                            const Ranks& ranks, sial::Gemm& host);

}  // namespace ob::apps
