#pragma once
// Whether a call is to leave (mode auto).

#include <cstddef>
#include <string_view>

#include "offload/state.hpp"
#include "policy/decision.hpp"
#include "policy/history.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::offload {

/// Who asks, and what about.
struct Question {
  RoutineRecord& record;
  std::string_view name;
  const policy::Work& work;
  const void* original;  ///< what would run here
  /// of a library call, whose operands may be on the device already; nullptr for others
  const Descriptor* routine = nullptr;
  const Argument* arguments = nullptr;
  bool happens = true;  ///< the call follows; otherwise one merely wants to know
};

/// Where the call goes. Connects, which measures the link, once local runs are long enough to care.
/// Threads: any; never throws
policy::Verdict choose(State& state, const Question& question) noexcept;

/// The part of a product that the accelerator is to compute while the library computes the rest; 0
/// unless both are known to be about as fast, and sharing is expected or known to gain.
double choose_share(State& state, const Question& question, const policy::Verdict& alone) noexcept;
/// A product took so long, by both or by one of them. Ignored if choose_share() was not asked.
void learn_share(RoutineRecord& record, const policy::Work& work, bool shared,
                 double seconds) noexcept;

/// What is known about a call to `facts`'s server.
struct Outlook {
  policy::Forecast forecast;
  policy::Prediction now;    ///< with what is expected to be there
  policy::Prediction again;  ///< once all operands are there
  double correction = 1;
};
Outlook outlook_of(State& state, const Question& question, std::size_t server,
                   const ServerFacts& facts) noexcept;

/// The rate of the device: observed, else its own figure scaled.   Units: flop/s
double device_rate(const RoutineRecord& record, const policy::Work& work,
                   const ServerFacts& facts) noexcept;

/// Makes a connection, if there is none, and so the server's acquaintance; nullptr if nobody
/// answers, or the link cannot be measured.
const ServerFacts* meet(State& state, std::size_t server) noexcept;

}  // namespace ob::offload
