#pragma once
// Decides whether a call leaves the process (mode auto).

#include <atomic>
#include <cstdint>

#include "client/connection_cache.hpp"
#include "offload/config.hpp"
#include "offload/journal.hpp"
#include "offload/residents.hpp"
#include "offload/routine_records.hpp"
#include "offload/tuning.hpp"
#include "policy/history.hpp"
#include "policy/model.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::offload {

/// A call to be decided about.   Memory: owns nothing
struct CallQuery {
  RoutineRecord& record;
  const policy::Work& work;
  const void* library = nullptr;  ///< any function of the library that would compute locally
  /// Set for a library call, whose operands may be on the device already; nullptr for others.
  const Descriptor* routine = nullptr;
  const Argument* arguments = nullptr;
  bool happens = true;  ///< the call follows; otherwise the caller only wants to know
};

/// The predicted times of a call to one server.
struct CallEstimate {
  policy::Estimate estimate;
  policy::PredictedTime now;    ///< with the operands that are expected to be on the device
  policy::PredictedTime again;  ///< once all operands are on the device
  double correction = 1;        ///< factor for the model, from the times of calls
};

/// The server that was reached, and the facts about it.
struct ProbedServer {
  std::size_t server = 0;
  const ServerFacts* facts = nullptr;  ///< nullptr: none was reached, or its link not measured
};

/// Threads: any
class Decider {
 public:
  Decider(const Config& config, client::ConnectionCache& connections, Tuning& tuning,
          Journal& journal, const Residents& residents) noexcept
      : config_(config),
        connections_(connections),
        tuning_(tuning),
        journal_(journal),
        residents_(residents) {}

  /// Decides where the call goes. Connects, which measures the link, once local runs are long
  /// enough for that to matter. Never throws.
  policy::Decision decide(const CallQuery& call) noexcept;
  /// The times of a call to the server of `facts`.
  CallEstimate estimate(const CallQuery& call, std::size_t server,
                        const ServerFacts& facts) noexcept;
  /// Connects to the server, if there is no connection, and measures the link. If this server does
  /// not answer, the result may be another one.
  ProbedServer probe(std::size_t server) noexcept;
  /// Adds the time of a call that ran locally.
  void add_local_run(std::uint64_t ns) noexcept {
    local_runs_ns_.fetch_add(ns, std::memory_order_relaxed);
  }

 private:
  ProbedServer known_or_probed(std::size_t server, double local_s) noexcept;

  const Config& config_;
  client::ConnectionCache& connections_;
  Tuning& tuning_;
  Journal& journal_;
  const Residents& residents_;
  /// The time of all local runs. A single run may be too short to justify a first connection.
  std::atomic<std::uint64_t> local_runs_ns_{0};
};

/// The rate of the device: observed, otherwise its own figure scaled.   Units: flop/s
double device_rate(const RoutineRecord& record, const policy::Work& work,
                   const ServerFacts& facts) noexcept;

}  // namespace ob::offload
