#pragma once
// Panels that their owners send to all ranks of a group, several at a time.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "base/status.hpp"
#include "overlap/broadcast.hpp"
#include "overlap/plan.hpp"
#include "overlap/region.hpp"

namespace ob::overlap {

constexpr int kMostLookAhead = 62;

struct PanelOptions {
  int look_ahead = 1;  ///< panels under way beside the one in use, 0 to kMostLookAhead
  Broadcast broadcast = Broadcast::automatic;
};

/// Panel k travels from its owner into buffer s of look_ahead + 1 buffers of each rank, where s
/// goes round. The program starts panels in their order, and uses one from its wait until the start
/// of the panel that gets its buffer. The proxies take the buffers in turns.
/// Threads: the program's, one at a time.
class PanelPlan final : public Plan {
 public:
  PanelPlan(std::string name, std::vector<Communicator> comms, int world_rank,
            const PanelOptions& options);

  /// Adds the next panel. Elements are those of the owner; elsewhere its data is not used.
  Status add(int owner, const FieldView& panel);
  /// Compares the panels of all ranks, and makes buffers and requests. Collective.
  Status commit(bool check, std::vector<Mode> candidates, Trace* trace) override;

  // --- one panel ---
  /// Errors: invalid_argument if `panel` is neither the next one nor 0, or if the program has not
  /// waited for the one whose buffer it gets.
  Status check_start(std::int64_t panel) const;
  /// Returns the run of the buffer that the next panel gets.
  Run& next_run() const noexcept { return *runs()[next_buffer_]; }
  /// Errors: the failure of an earlier run; invalid_argument if the buffer was written.
  /// @pre check_start(panel).ok() && next_run().over()
  Status prepare(std::int64_t panel, Mode mode);
  /// Returns the run of a panel that has been started and not been waited for.
  Result<Run*> run_of(std::int64_t panel) const;
  /// Makes a panel that is done ready for use. Returns its failure.
  Status finish(std::int64_t panel);
  Status finish_all() override;
  /// Returns the elements of a panel that is in use, packed in the order of its strides.
  Result<const std::byte*> data(std::int64_t panel) const;

  void add_wait(const Run& run, double seconds) override;
  std::string summary() const override;
  LongestWait longest_wait() const override;

 private:
  struct Panel {
    int owner = 0;
    std::size_t bytes = 0;
    std::uint64_t signature = 0;
    std::optional<Region> source;  ///< on the owner
    std::size_t kind = 0;
  };
  /// Panels that travel alike: one set of requests for each buffer.
  struct Kind {
    int owner;
    std::size_t bytes;
    bool operator==(const Kind&) const = default;
  };
  enum class State { free, started, in_use };
  struct Buffer {
    std::byte* panel = nullptr;  ///< the program's
    std::byte* wire = nullptr;  ///< that of the messages; the same one, unless accesses are checked
    std::int64_t number = -1;   ///< of the panel in it
    State state = State::free;
    bool counted = true;  ///< the run is in the measurements
    Digest before{};      ///< of the source and of the buffer at the start, if accesses are checked
    std::vector<std::unique_ptr<Exchange>> exchanges;  ///< by kind
  };

  void find_kinds();
  Status compare() const;
  Status make_buffers(Trace* trace);
  std::vector<Message> messages_of(const Kind& kind, std::size_t buffer) const;
  Result<std::size_t> buffer_of(std::int64_t panel, State state) const;
  Digest contents(const Buffer& buffer) const;
  Status check_arrived(const Buffer& buffer) const;
  Status retire(std::size_t buffer);

  PanelOptions options_;
  bool check_ = false;
  std::vector<Panel> panels_;
  std::vector<Kind> kinds_;
  std::vector<Buffer> buffers_;
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::int64_t next_ = 0;  ///< the panel that is started next
  std::size_t next_buffer_ = 0;
  Status failure_;
  std::vector<double> waited_for_;  ///< seconds in wait(), by owner
};

}  // namespace ob::overlap
