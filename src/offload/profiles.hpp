#pragma once
// Between profiles and what a process knows of routines.

#include <string_view>

#include "offload/state.hpp"

namespace ob::offload {

/// Takes over what profiles say of the routine: of the library that holds `original`, of `server`.
/// nullptr: not known. Nothing is done twice.
/// Threads: any
void acquaint(State& state, RoutineRecord& record, std::string_view name, const void* original,
              const ServerFacts* server) noexcept;

/// Writes what this process measured into the profiles, if it is to learn.
void save_profiles(State& state) noexcept;

}  // namespace ob::offload
