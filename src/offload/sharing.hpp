#pragma once
// Decides whether an accelerator and the caller's library compute one product together.
// Source: RCPU, chapter 6

#include "offload/config.hpp"
#include "offload/routine_records.hpp"
#include "policy/history.hpp"
#include "policy/model.hpp"

namespace ob::offload {

/// Chooses the part of a product that the accelerator is to compute while the library computes the
/// rest. 0 unless both are known to be about as fast, and sharing is expected or known to gain.
double choose_share(const Config& config, RoutineRecord& record, const policy::Work& work,
                    const policy::Decision& alone) noexcept;

/// Records the time of a product that both computed, or one of them. This has no effect if
/// choose_share() was not called for the product.
void observe_share(RoutineRecord& record, const policy::Work& work, bool shared,
                   double seconds) noexcept;

}  // namespace ob::offload
