#pragma once
// A plan of single messages between regions: moves and halos.

#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "overlap/plan.hpp"
#include "overlap/region_checks.hpp"

namespace ob::overlap {

/// Threads: the program's, one at a time.
class MovePlan final : public Plan {
 public:
  MovePlan(std::string name, Communicator comm, int world_rank);

  /// The messages, before commit().
  std::vector<Message>& described() noexcept { return described_; }
  /// The cells that can be updated during a run, and the others. Halo plans only.
  struct Cells {
    Box interior;
    std::vector<Box> boundary;
  };
  std::optional<Cells> cells;

  /// Compares both ends of each message and makes the requests. Collective.
  Status commit(bool check, std::vector<Mode> candidates, Trace* trace) override;

  // --- one run ---
  /// Errors: the failure of an earlier run.
  Status prepare(Mode mode, bool hold_sends);
  /// Releases each held send whose cells are all in the boxes that were declared ready.
  Status ready(const Box& box);
  void release_all() override;
  bool under_way() const noexcept { return under_way_; }
  /// Ends a run that is over. Returns its failure.
  Status finish();
  Status finish_all() override { return under_way_ ? finish() : Status(); }

  Run& run() const noexcept { return *runs().front(); }
  const Exchange& exchange() const noexcept { return *exchange_; }
  void add_wait(const Run& run, double seconds) override;
  std::string summary() const override;
  LongestWait longest_wait() const override;

 private:
  std::vector<Message> described_;
  std::unique_ptr<Exchange> exchange_;
  std::unique_ptr<RegionChecks> checks_;
  std::vector<std::vector<Box>> not_ready_;  ///< of each message, the cells that hold it
  bool under_way_ = false;
  std::vector<double> waited_for_;  ///< seconds in wait(), by the message that came last
};

}  // namespace ob::overlap
