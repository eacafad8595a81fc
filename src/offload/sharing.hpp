#pragma once
// Whether one product is computed by an accelerator and the caller's library at the same time.
// Source: RCPU, chapter 6

#include "offload/config.hpp"
#include "offload/routine_records.hpp"
#include "policy/history.hpp"
#include "policy/model.hpp"

namespace ob::offload {

/// The part of a product that the accelerator is to compute while the library computes the rest; 0
/// unless both are known to be about as fast, and sharing is expected or known to gain.
double choose_share(const Config& config, RoutineRecord& record, const policy::Work& work,
                    const policy::Decision& alone) noexcept;

/// A product took so long, by both or by one of them. Ignored if choose_share() was not asked.
void observe_share(RoutineRecord& record, const policy::Work& work, bool shared,
                   double seconds) noexcept;

}  // namespace ob::offload
