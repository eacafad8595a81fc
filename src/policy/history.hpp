#pragma once
// The choice between local and remote, by the times of earlier calls of one routine on both sides.

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>

namespace ob::policy {

/// The place where a call runs. learn_local: it runs locally, because no local run is known yet.
enum class Target : std::uint8_t { local, remote, learn_local };

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

/// The model's prediction for the next call. 0: unknown.   Units: seconds
struct Estimate {
  std::uint64_t shape = 0;     ///< names the call among those of its routine; not 0
  std::uint64_t operands = 0;  ///< names the memory of its operands
  double local_s = 0;
  double remote_s = 0;
  /// The same, once the operands are on the device; remote_s where they do not stay.
  double remote_again_s = 0;
  double waiting_s = 0;  ///< part of remote_s: the wait for other clients' work
  double margin = 1;     ///< remote must be faster by this factor, until a remote call was measured
  bool guessed = false;  ///< remote_s: nothing similar was measured on this device
};

/// The decision where a call runs, with the expected times behind it.   Units: seconds
struct Decision {
  Target target = Target::local;
  bool tried = false;  ///< against the expectation, to measure the time
  bool local_seen = false;
  bool remote_seen = false;
  double local_s = 0;  ///< expected; 0: unknown
  double remote_s = 0;
};

/// The outcome of a call.
struct Observation {
  bool first = false;         ///< remote after a local one: brings operands, touches memory
  bool judged = false;        ///< both sides had been predicted
  bool tried = false;         ///< the call was a trial
  bool mispredicted = false;  ///< took kMispredicted times the other side's time
  double lost_s = 0;          ///< of a mispredicted call: time above the other side's
};
inline constexpr double kMispredicted = 1.25;

/// Decides by the model until calls of a shape were measured on both sides, and then by these
/// measurements. From time to time it tries the other side. The extra cost of such trials stays
/// below kTrialShare of the time of all calls of this shape (kFirstTrialShare before the first
/// trial; kGuessTrialShare if only the device's own figure is known). Shapes that never come back
/// share one budget, so that a model which is wrong about all of them is noticed, too.
/// Threads: any   Memory: kShapes shapes; the least recently used one is dropped
class History {
 public:
  static constexpr double kTrialShare = 0.02;
  static constexpr double kFirstTrialShare = 0.1;
  static constexpr double kGuessTrialShare = 0.5;  ///< of a first trial, if remote_s is a guess
  static constexpr std::size_t kShapes = 64;
  /// The calls between two trials. A trial that changes nothing doubles them.
  static constexpr unsigned kLeastBetween = 8;
  static constexpr unsigned kMostBetween = 512;

  /// Never throws. Without memory for a history, the estimate decides.
  Decision decide(const Estimate& estimate) noexcept;
  /// Returns what decide() would return now. Changes nothing.
  Decision expect(const Estimate& estimate) const noexcept;
  /// Records the time of a call; `waited_s` of it was waiting for other clients' work.
  /// @pre where is local or remote
  Observation observe(std::uint64_t shape, Target where, double seconds, double waited_s) noexcept;

 private:
  // The budget of trials.
  struct Budget {
    double spent_s = 0;                // by all calls
    double lost_s = 0;                 // by trials
    unsigned usual = 0;                // calls since the last trial
    unsigned between = kLeastBetween;  // calls before the next trial

    void charge(double seconds, bool tried, double over_s) noexcept {
      spent_s += seconds;
      lost_s += over_s;
      usual = tried ? 0 : usual + 1;
    }
  };
  struct Shape {
    std::uint64_t key = 0;
    std::uint64_t used = 0;  // the number of the call that used it last
    std::uint64_t operands = 0;
    // Without the first call of a row: a first remote call brings operands and touches memory, a
    // first local one wakes threads.
    Samples local;
    Samples remote;
    double remote_first_s = 0;
    bool was_remote = false;  // the previous call was remote
    Budget budget;
    double expected_saving_s = 0;  // by the calls so far, if their operands were on the device
    double lost_before_s = 0;      // at the start of the present trial
    unsigned failed_trials = 0;    // in a row; the reason may be a short disturbance
    double trial_lost_s = 0;       // in the present trial
    bool predicted_gain = false;   // by the model, when the trial began
    bool learns_remote = false;    // the present remote calls measure the remote time
    unsigned trial = 0;            // remaining calls of the present trial
    Target trial_side = Target::local;
    bool repeats = false;  // the operands are those of the previous call
    Target settled = Target::local;
    Decision last;
  };
  // A call that ended, without the expectations of it.
  struct Ended {
    bool remote = false;
    bool slow = false;   // remote, and far slower than local
    double seconds = 0;  // as the caller saw it
    double own_s = 0;    // without the wait for others
  };

  // The state of a trial of the other side.
  enum class Finding : unsigned char { goes_on, ended, failed };

  const Shape* find(std::uint64_t key) const noexcept;
  Shape* find_or_make(std::uint64_t key) noexcept;
  static Decision compare(const Shape& shape, const Estimate& estimate) noexcept;
  static double next_remote_s(const Shape& shape, const Estimate& estimate,
                              const Decision& expected, bool other_seen) noexcept;
  static double trial_cost(const Shape& shape, const Estimate& estimate, const Decision& expected,
                           bool other_seen) noexcept;
  static void plan_trial(Shape& shape, const Decision& decision, const Estimate& estimate) noexcept;
  static void begin_trial(Shape& shape, Decision& decision, const Estimate& estimate) noexcept;
  static void notice_slowdown(Shape& shape, const Decision& decision,
                              const Estimate& estimate) noexcept;
  static void settle(Shape& shape, const Decision& decision, const Estimate& estimate) noexcept;
  static void add_sample(Shape& shape, const Ended& call) noexcept;
  static Finding judge_trial(Shape& shape, const Ended& call) noexcept;
  static Observation judge(const Shape& shape, const Ended& call) noexcept;
  static void end_trial(Shape& shape, Finding finding, bool remote) noexcept;
  double trial_allowance(const Shape& shape, const Estimate& estimate, const Decision& expected,
                         bool first) const noexcept;
  bool is_worth_a_trial(const Shape& shape, const Estimate& estimate,
                        const Decision& expected) const noexcept;
  void charge(Shape& shape, const Ended& call, const Observation& observation) noexcept;

  mutable std::mutex mutex_;  // guards all below
  std::unique_ptr<std::array<Shape, kShapes>> shapes_;
  std::uint64_t calls_ = 0;
  Budget first_calls_;  // for shapes that were not seen before
};

}  // namespace ob::policy
