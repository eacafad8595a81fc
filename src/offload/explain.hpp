#pragma once
// The figures behind a decision, in a text that a program can read.

#include <string>

#include "client/connection_cache.hpp"
#include "offload/asked_call.hpp"
#include "offload/decide.hpp"
#include "offload/journal.hpp"
#include "offload/tuning.hpp"

namespace ob::offload {

/// The engine's parts that know the figures.   Memory: owns none of them
struct ExplainSources {
  const client::ConnectionCache& connections;
  Tuning& tuning;
  Journal& journal;
  Connector& connector;
  Decider& decider;
};

/// Explains where the call would run in mode auto, and why: lines "key value", which
/// docs/decision.md lists. Connects to the server, if there is no connection.
/// @param library any function of the library that would compute locally; nullptr: not known
/// Errors: throws without memory   @pre call.wrong.empty()
std::string explain(const ExplainSources& sources, const AskedCall& call, const void* library);

}  // namespace ob::offload
