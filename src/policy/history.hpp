#pragma once
// The choice between local and remote for the calls of one routine, shape by shape.
// docs/decision.md has the states and events as a table.

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "policy/loss_budget.hpp"
#include "policy/model.hpp"

namespace ob::policy {

/// The place where a call runs.
enum class Target : std::uint8_t { local, remote };

/// The reason for the place.
enum class State : std::uint8_t {
  unknown,  ///< one of the times is unknown; the call runs locally
  model,    ///< predicted times decide
  trial,    ///< local, and also on the accelerator, to measure it; the local results count
  settled,  ///< nothing moves the calls of this shape any more
};
/// "unknown", "model", "trial", "settled"
std::string_view name_of(State state) noexcept;

/// The latest times of one quantity.   Units: seconds
class Samples {
 public:
  void add(double seconds) noexcept;
  /// The number of records that are kept.
  unsigned count() const noexcept { return count_; }
  /// Returns the median; of an even number the smaller of the middle two. 0 if there is none.
  double median() const noexcept;

 private:
  static constexpr unsigned kKept = 7;
  std::array<float, kKept> seconds_{};
  unsigned count_ = 0;
  unsigned next_ = 0;  // the place of the next record
};

/// The prediction for the next call. A time of 0 is unknown. An error is the factor by which a time
/// may be wrong in either direction, nine times of ten.   Units: seconds
struct Estimate {
  std::uint64_t shape = 0;     ///< names the call among those of its routine; not 0
  OperandMemories operands{};  ///< as in Work
  double local_s = 0;
  double local_error = 1;
  /// No local call is faster, whatever its error says: the peak of the processor. 0: unknown
  double local_least_s = 0;
  double remote_s = 0;
  double remote_warm_s = 0;  ///< the same, in memory that was used before; 0: as remote_s
  /// The same, once the operands that come again are on the device; remote_warm_s where none stays.
  double remote_again_s = 0;
  double remote_error = 1;
  bool brings = false;   ///< operands are known not to be on the device
  double waiting_s = 0;  ///< part of remote_s: the wait for other clients' work
};

/// Work beside the calls of a shape that makes its remote calls faster.
enum class Preparation : std::uint8_t {
  none,
  memory,    ///< use memory for the call on both sides, so that it is not new any more
  operands,  ///< bring the operands to the device
};

/// The decision where a call runs, with the expected times behind it.   Units: seconds
struct Decision {
  Target target = Target::local;
  State state = State::unknown;
  double local_s = 0;  ///< expected; 0: unknown
  double remote_s = 0;
  double local_error = 1;  ///< as in Estimate
  double local_least_s = 0;
  double remote_error = 1;
  bool local_seen = false;  ///< measured for this shape
  bool remote_seen = false;
  /// The calls would gain after this, and the next call cannot pay for it.
  Preparation preparation = Preparation::none;
};

/// The outcome of a call.
struct Observation {
  bool first = false;         ///< remote after a local one: brings operands, touches memory
  bool judged = false;        ///< both sides had been predicted
  bool mispredicted = false;  ///< took kMispredicted times the other side's time
  bool changed = false;       ///< the first call of this shape on its new side
  double lost_s = 0;          ///< remote: time above the expected local time
};
inline constexpr double kMispredicted = 1.25;

/// Decides by predictions and by measured times, so that
///  - a call leaves only if it gains beyond the error of the prediction, and if a mistake of twice
///    that error fits into the budget, or if a long loop pays the price of bringing its operands
///    back soon (docs/decisions/0048-prices-and-repeated-operands.md),
///  - a shape changes sides at most once. A second change only leads back from an accelerator that
///    was measured to be slower,
///  - calls that take less than kShortS stay on the side of the first decision, unless they lose
///    there. So they leave only if they gain even where twice the error is against them.
/// Threads: any   Memory: kSets * kWays shapes; of a full set, the least recently used one is
///         dropped
class History {
 public:
  static constexpr std::size_t kSets = 64;
  static constexpr std::size_t kWays = 8;
  static constexpr double kShortS = 5e-3;

  explicit History(LossBudget& budget) noexcept : budget_(budget) {}

  /// Returns the part of the operands that the previous call of the shape has read, too: 0 to 1.
  double repeated_part(std::uint64_t shape, const OperandMemories& operands) const noexcept;
  /// Returns the decision for a call of a shape that stays here for good, without a new estimate,
  /// and counts the call. Returns nothing for other shapes, and at one call in some, so that
  /// decide() gets a new estimate. Never throws.
  std::optional<Decision> staying(std::uint64_t shape) noexcept;
  /// Never throws. Without memory for a history, the estimate decides.
  Decision decide(const Estimate& estimate) noexcept;
  /// Returns what decide() would return now, without trials. Changes nothing.
  Decision expect(const Estimate& estimate) const noexcept;
  /// Records the time of a call; `waited_s` of it was waiting for other clients' work. Charges the
  /// budget.
  Observation observe(std::uint64_t shape, Target where, double seconds, double waited_s) noexcept;
  /// Records the time of a trial's remote run, before its local run ends. Charges the budget.
  void observe_trial(std::uint64_t shape, double seconds, double waited_s) noexcept;

 private:
  struct Shape {
    std::uint64_t key = 0;
    std::uint64_t used = 0;  // the number of the call that used it last
    OperandMemories operands{};
    // Without the first call of a row: a first remote call brings operands and touches memory, a
    // first local one wakes threads.
    Samples local;
    Samples remote;
    bool was_remote = false;  // the previous run was remote
    bool repeats = false;     // most operands are those of the previous call
    bool brings = false;      // a remote run brings operands that later runs will find
    double brought_s = 0;     // the latest remote run that did; 0: none
    bool decided = false;
    Target side = Target::local;
    unsigned calls = 0;    // since the first decision
    unsigned changes = 0;  // of the side
    unsigned trials = 0;
    unsigned prepared = 0;  // operands
    unsigned warmed = 0;    // memory
    unsigned slow = 0;      // remote calls in a row that were slower than local ones
    double at_risk_s = 0;   // lost by remote calls if the library is as fast as its error allows
    double unpaid_s = 0;    // of the price of bringing operands
    unsigned doubted = 0;   // local calls in a row that were too slow to be believed
    bool fresh = false;     // no call has ended on the present side
    Decision last;

    /// Finds out whether the operands of the next call are known.
    void meet(const Estimate& estimate) noexcept;
  };
  // Times and errors of both sides.
  struct Times;

  static std::size_t set_of(std::uint64_t key) noexcept { return key % kSets * kWays; }
  const Shape* find(std::uint64_t key) const noexcept;
  Shape* find_or_make(std::uint64_t key) noexcept;
  static Times times_of(const Shape& shape, const Estimate& estimate) noexcept;
  bool is_affordable(const Times& times) const noexcept;
  bool gains(const Times& times) const noexcept;
  bool surely_gains(const Times& times) const noexcept;
  bool pays_back(const Shape& shape, const Times& times) const noexcept;
  bool may_try(const Shape& shape, const Times& times) const noexcept;
  static bool needs_memory(const Shape& shape, const Times& times) noexcept;
  static bool needs_operands(const Shape& shape, const Times& times) noexcept;
  static void add_local(Shape& shape, double seconds) noexcept;
  static bool is_measured(const Shape& shape, const Times& times) noexcept;
  bool loses(const Shape& shape, const Times& times) const noexcept;
  Decision choose(Shape& shape, const Times& times) const noexcept;
  void move(Shape& shape, Target side) const noexcept;
  void pay(Shape& shape, double price_s, double gained_s) noexcept;

  LossBudget& budget_;
  mutable std::mutex mutex_;  // guards all below
  std::unique_ptr<std::array<Shape, kSets * kWays>> shapes_;
  std::uint64_t calls_ = 0;
  // The sum of Shape::at_risk_s since the last local call that was as expected.
  double at_risk_s_ = 0;
  double unpaid_s_ = 0;  // the sum of Shape::unpaid_s; of dropped shapes, too
};

}  // namespace ob::policy
