#pragma once
// Moves knowledge about routines between profiles and an engine.

#include "offload/journal.hpp"
#include "offload/routine_records.hpp"
#include "offload/tuning.hpp"

namespace ob::offload {

/// Loads the data of the profiles about the record's routine, once for the library and once for the
/// server.
/// @param library any function of the library that computes locally; nullptr: not known
/// @param server nullptr: not known
/// Threads: any
void load_profile(Tuning& tuning, Journal& journal, RoutineRecord& record, const void* library,
                  const ServerFacts* server) noexcept;

/// Writes the measurements of this engine into the profiles, if Config::learn is set.
void save_profiles(const Tuning& tuning, Journal& journal, RoutineRecords& records) noexcept;

}  // namespace ob::offload
