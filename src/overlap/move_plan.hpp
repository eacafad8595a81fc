#pragma once
// A plan of single messages between regions: moves and halos.

#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "overlap/plan.hpp"
#include "overlap/region_checks.hpp"

namespace ob::overlap {

/// Its messages are in as many parts as there are proxies, dealt out by neighbour. Each part has a
/// run.
/// Threads: the program's, one at a time.
class MovePlan final : public Plan {
 public:
  MovePlan(std::string name, std::vector<Communicator> comms, int world_rank);

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
  /// Ends the runs, which are over. Returns their first failure.
  Status finish();
  Status finish_all() override { return under_way_ ? finish() : Status(); }

  /// Returns true if sends wait for ready().
  bool any_held() const noexcept;
  void add_wait(const Run& run, double seconds) override;
  std::string summary() const override;
  LongestWait longest_wait() const override;

 private:
  std::vector<Message> described_;
  /// The messages of a proxy. Vectors have an element for each.
  struct Part {
    std::unique_ptr<Exchange> exchange;
    std::unique_ptr<RegionChecks> checks;     ///< null if accesses are not checked
    std::vector<std::vector<Box>> not_ready;  ///< the cells that hold the message
    std::vector<double> waited_for;           ///< seconds in wait(), if it came last
  };

  Status make_parts(bool check, Trace* trace);
  Status failure() const;

  std::vector<Part> parts_;  ///< as many as runs()
  bool under_way_ = false;
};

}  // namespace ob::overlap
