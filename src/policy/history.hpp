#pragma once
// Here or there: what calls of one routine took, and so where the next one goes.

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>

namespace ob::policy {

enum class Choice : std::uint8_t { local, remote, learn_local };

/// The last few times that something took.   Units: seconds
class Samples {
 public:
  void add(double seconds) noexcept;
  /// How many are kept.
  unsigned count() const noexcept { return count_; }
  /// The middle one; of an even number the smaller of the two. 0 if there is none.
  double median() const noexcept;

 private:
  static constexpr unsigned kKept = 7;
  std::array<float, kKept> seconds_{};
  unsigned count_ = 0;
  unsigned next_ = 0;  // the place of the next one
};

/// What the model says of a call about to be made. 0: unknown.   Units: seconds
struct Forecast {
  std::uint64_t shape = 0;     ///< names the call among those of its routine; not 0
  std::uint64_t operands = 0;  ///< names where its operands lie
  double here_s = 0;
  double there_s = 0;
  /// the same, once its operands are on the device; there_s where they do not stay
  double there_again_s = 0;
  double waiting_s = 0;  ///< of there_s: behind other people's work
  double margin = 1;     ///< there must be so many times faster, until it was seen
  bool guessed = false;  ///< there_s: nothing like it was seen on this device
};

/// Where a call goes.
struct Verdict {
  Choice choice = Choice::local;
  bool tried = false;  ///< against what is expected, to see what it takes
  bool here_seen = false;
  bool there_seen = false;
  double here_s = 0;  ///< expected; 0: unknown
  double there_s = 0;
};

/// How a call went.
struct Outcome {
  bool first = false;         ///< over there, after one here: brings operands, touches memory
  bool judged = false;        ///< both sides had been predicted
  bool tried = false;         ///< was one that was made to see
  bool mispredicted = false;  ///< took kMispredicted times what the other side was expected to take
  double lost_s = 0;          ///< of such a call: over the other side's expectation
};
inline constexpr double kMispredicted = 1.25;

/// Decides by the model until a shape of call was seen on either side, and then by what was seen.
/// The side that is not in use is tried now and then; what such trials cost, over what the other
/// side would have taken, stays below kTrialShare of all the time that calls of this shape took
/// (kFirstTrialShare until there was a first trial; kGuessTrialShare if what is known of the device
/// are its own words). Shapes that never come back share a budget of
/// their own, so that a model which is wrong about all of them is noticed, too.
/// Threads: any   Memory: kShapes shapes, the least recently used gives way
class History {
 public:
  static constexpr double kTrialShare = 0.02;
  static constexpr double kFirstTrialShare = 0.1;
  static constexpr double kGuessTrialShare = 0.5;  ///< of a first trial, if there_s is a guess
  static constexpr std::size_t kShapes = 64;
  /// Usual calls between two trials: each one that changes nothing doubles them.
  static constexpr unsigned kLeastBetween = 8;
  static constexpr unsigned kMostBetween = 512;

  /// Never throws; without memory for a history the forecast decides.
  Verdict decide(const Forecast& forecast) noexcept;
  /// What decide() would say now. Changes nothing.
  Verdict expect(const Forecast& forecast) const noexcept;
  /// A call took so long; `waited_s` of it behind other people's work.
  /// @pre choice is local or remote
  Outcome ran(std::uint64_t shape, Choice where, double seconds, double waited_s) noexcept;

 private:
  // What trials may cost.
  struct Budget {
    double spent_s = 0;                // by all calls
    double lost_s = 0;                 // by trials
    unsigned usual = 0;                // calls since the last one
    unsigned between = kLeastBetween;  // calls before the next one

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
    // But for the first call of those in a row: there it brings operands and touches memory, here
    // it wakes threads.
    Samples here;
    Samples there;
    double there_first_s = 0;
    bool was_remote = false;  // the call before
    Budget budget;
    double hoped_s = 0;         // what calls would have saved with their operands there already
    double lost_before_s = 0;   // when the present trial began
    unsigned doubts = 0;        // trials that ended without hope, in a row: perhaps a hiccup
    double trial_lost_s = 0;    // in the present trial
    bool promised = false;      // when the trial began the model said that the device gains
    bool learns_there = false;  // the present calls over there are to tell what it takes
    unsigned trial = 0;         // calls that are still to be made in the present one
    Choice trial_side = Choice::local;
    bool repeats = false;  // operands lie where those of the call before lay
    Choice settled = Choice::local;
    Verdict last;
  };

  // What a trial of the other side has come to.
  enum class Finding : unsigned char { goes_on, ended, hopeless };

  const Shape* find(std::uint64_t key) const noexcept;
  Shape* find_or_make(std::uint64_t key) noexcept;
  static Verdict compare(const Shape& shape, const Forecast& forecast) noexcept;
  static void begin_trial(Shape& shape, const Verdict& verdict, const Forecast& forecast) noexcept;
  static Finding look_at(Shape& shape, double own_s, double here_s, bool slow) noexcept;
  bool is_worth_a_trial(const Shape& shape, const Forecast& forecast,
                        const Verdict& expected) const noexcept;

  mutable std::mutex mutex_;  // of all below
  std::unique_ptr<std::array<Shape, kShapes>> shapes_;
  std::uint64_t calls_ = 0;
  Budget first_calls_;  // of shapes that were not seen before
};

}  // namespace ob::policy
