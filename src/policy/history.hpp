#pragma once
// Local or remote: what calls of one routine took on either side, and so where the next one goes.

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>

namespace ob::policy {

/// The place where a call runs. learn_local: it runs locally, because no local run is known yet.
enum class Target : std::uint8_t { local, remote, learn_local };

/// The last few times of something.   Units: seconds
class Samples {
 public:
  void add(double seconds) noexcept;
  /// The number of records that are kept.
  unsigned count() const noexcept { return count_; }
  /// The middle one; of an even number the smaller of the two. 0 if there is none.
  double median() const noexcept;

 private:
  static constexpr unsigned kKept = 7;
  std::array<float, kKept> seconds_{};
  unsigned count_ = 0;
  unsigned next_ = 0;  // the place of the next one
};

/// The model's prediction for a call about to be made. 0: unknown.   Units: seconds
struct Estimate {
  std::uint64_t shape = 0;     ///< names the call among those of its routine; not 0
  std::uint64_t operands = 0;  ///< names the memory of its operands
  double local_s = 0;
  double remote_s = 0;
  /// The same, once the operands are on the device; remote_s where they do not stay.
  double remote_again_s = 0;
  double waiting_s = 0;  ///< part of remote_s: waiting for other clients' work
  double margin = 1;     ///< remote must be so many times faster, until a remote call was seen
  bool guessed = false;  ///< remote_s: nothing like it was seen on this device
};

/// The decision where a call runs, with the expected times behind it.   Units: seconds
struct Decision {
  Target target = Target::local;
  bool tried = false;  ///< against the expectation, to see how long it takes
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
  bool mispredicted = false;  ///< took kMispredicted times what the other side was expected to take
  double lost_s = 0;          ///< of such a call: over the other side's expectation
};
inline constexpr double kMispredicted = 1.25;

/// Decides by the model until calls of a shape were seen on either side, and then by what was seen.
/// Now and then it tries the side that is not in use. The cost of such trials, over what the other
/// side would have taken, stays below kTrialShare of all the time that calls of this shape took
/// (kFirstTrialShare until there was a first trial; kGuessTrialShare if all that is known of the
/// device is its own figure). Shapes that never come back share one budget, so that a model which
/// is wrong about all of them is noticed, too.
/// Threads: any   Memory: kShapes shapes, the least recently used gives way
class History {
 public:
  static constexpr double kTrialShare = 0.02;
  static constexpr double kFirstTrialShare = 0.1;
  static constexpr double kGuessTrialShare = 0.5;  ///< of a first trial, if remote_s is a guess
  static constexpr std::size_t kShapes = 64;
  /// Usual calls between two trials: each trial that changes nothing doubles them.
  static constexpr unsigned kLeastBetween = 8;
  static constexpr unsigned kMostBetween = 512;

  /// Never throws; without memory for a history the estimate decides.
  Decision decide(const Estimate& estimate) noexcept;
  /// Says what decide() would say now. Changes nothing.
  Decision expect(const Estimate& estimate) const noexcept;
  /// A call took so long; `waited_s` of it was waiting for other clients' work.
  /// @pre where is local or remote
  Observation observe(std::uint64_t shape, Target where, double seconds, double waited_s) noexcept;

 private:
  // The time that trials may cost.
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
    std::uint64_t used = 0;  // when, in calls
    std::uint64_t operands = 0;
    // The first call of those in a row is not among them: a first remote call brings operands and
    // touches memory, a first local one wakes threads.
    Samples local;
    Samples remote;
    double remote_first_s = 0;
    bool was_remote = false;  // the call before
    Budget budget;
    double expected_saving_s = 0;  // by the calls so far, had their operands been on the device
    double lost_before_s = 0;      // when the present trial began
    unsigned failed_trials = 0;    // in a row; the reason may be a short disturbance
    double trial_lost_s = 0;       // in the present trial
    bool predicted_gain = false;   // by the model, when the trial began
    bool learns_remote = false;    // the present remote calls are to tell how long they take
    unsigned trial = 0;            // calls that are still to be made in the present one
    Target trial_side = Target::local;
    bool repeats = false;  // operands lie where those of the call before lay
    Target settled = Target::local;
    Decision last;
  };
  // A call that ended, beside what was expected of it.
  struct Ended {
    bool remote = false;
    bool slow = false;   // remote, and far slower than local
    double seconds = 0;  // as the caller saw it
    double own_s = 0;    // without waiting for others
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

  mutable std::mutex mutex_;  // of all below
  std::unique_ptr<std::array<Shape, kShapes>> shapes_;
  std::uint64_t calls_ = 0;
  Budget first_calls_;  // of shapes that were not seen before
};

}  // namespace ob::policy
