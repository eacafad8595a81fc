#pragma once
// Decides whether a call leaves the process (mode auto).

#include <atomic>
#include <cstdint>

#include "base/accuracy.hpp"
#include "client/connection_cache.hpp"
#include "offload/config.hpp"
#include "offload/connector.hpp"
#include "offload/journal.hpp"
#include "offload/pool_demand.hpp"
#include "offload/residents.hpp"
#include "offload/routine_records.hpp"
#include "offload/tuning.hpp"
#include "policy/estimate.hpp"
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
  Accuracy accuracy = Accuracy::standard;
  /// Set for a library call, whose operands may be on the device already; nullptr for others.
  const Descriptor* routine = nullptr;
  const Argument* arguments = nullptr;
  bool happens = true;  ///< the call follows; otherwise the caller only wants to know
};

/// Threads: any
class Decider {
 public:
  Decider(const Config& config, client::ConnectionCache& connections, Tuning& tuning,
          Connector& connector, Journal& journal, const Residents& residents,
          policy::LossBudget& budget) noexcept
      : config_(config),
        connections_(connections),
        tuning_(tuning),
        connector_(connector),
        journal_(journal),
        residents_(residents),
        budget_(budget) {}

  /// Decides where the call goes. Until the server is reached and its link is measured, calls are
  /// local. This begins once local runs are long enough for it to matter. Never throws.
  policy::Decision decide(const CallQuery& call) noexcept;
  /// The times of a call to the server of `facts`.   @pre facts.link is known
  policy::CallEstimate estimate(const CallQuery& call, std::size_t server,
                                const ServerFacts& facts) noexcept;
  /// True if the device computes on the client's own cores, and the library of this routine is as
  /// good as the device's: then no call of it gains, whatever was measured.
  /// @param facts nullptr: not connected yet
  bool cannot_gain(const RoutineRecord& record, const ServerFacts* facts) const noexcept;
  /// Adds the time of a call that ran locally.
  void add_local_run(std::uint64_t ns) noexcept;

 private:
  bool is_worth_connecting(const RoutineRecord& record, double local_s) const noexcept;
  policy::Decision never_gains(RoutineRecord& record) noexcept;
  policy::Decision decide_freely(const CallQuery& call) noexcept;

  const Config& config_;
  client::ConnectionCache& connections_;
  Tuning& tuning_;
  Connector& connector_;
  Journal& journal_;
  const Residents& residents_;
  policy::LossBudget& budget_;
  /// The time of all local runs that are not short.
  std::atomic<std::uint64_t> long_runs_ns_{0};
  PoolDemand demand_;
};

}  // namespace ob::offload
