#pragma once
// Random programs in random worlds, for the decision. Only the world knows the true times; the
// decision sees noisy ones, as on a real machine.

#include <cstdint>
#include <random>
#include <vector>

#include "base/link.hpp"
#include "policy/estimate.hpp"
#include "policy/history.hpp"
#include "policy/loss_budget.hpp"

namespace ob::policy {

using Numbers = std::mt19937_64;

/// The sum of what a program spent, in one mode.   Units: seconds, without noise and hiccups
struct Bill {
  double native_s = 0;  ///< all calls here
  double ideal_s = 0;   ///< each call on its better side
  double spent_s = 0;   ///< as decided, with everything that the decision costs
  double lost_s = 0;    ///< by trials, and by remote calls that would have been faster here
  double budget_s = 0;  ///< LossBudget::spent_s() at the end
  unsigned calls = 0;
  unsigned remote = 0;
  unsigned trials = 0;
  unsigned most_changes = 0;  ///< of the side of one shape
};

/// One random program: its calls, the machine, the accelerator, and the way to it.
class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed);
  Bill run();

 private:
  struct Routine {
    Rate shipped_here;
    double half_flop = 0;        // where the local library reaches half of its rate
    double here = 1;             // true rate over shipped rate
    double most_flop_per_s = 0;  // 0: unknown to the decision
    Rate shipped_there;
    double there = 1;
    bool started = false;
  };
  struct Shape {
    std::size_t routine = 0;
    Work work;
    double unpaid_s = 0;  // of the price of bringing operands
    unsigned changes = 0;
    int last = -1;
  };

  double uniform(double low, double high);
  double log_uniform(double low, double high);
  double factor(double error);
  bool chance(double part) { return uniform(0, 1) < part; }
  void make_machine();
  void make_calls();
  std::size_t add_shape(std::size_t routine, double order, double other);
  double local_s(const Shape& shape) const;
  double remote_s(const Shape& shape, bool there) const;
  Rate shipped_here(const Shape& shape) const;
  double fresh_bytes(const Work& work) const;
  double disturbed(double seconds);
  static void charge(Bill& bill, Shape& shape, double more_s, bool is_price);
  void prepare(Preparation wanted, std::size_t shape);

  Numbers numbers_;
  Link link_;  // as measured
  Link true_link_;
  double link_error_ = 1;
  double used_bytes_ = 0;  // of memory on both sides, by the largest call so far
  double drift_ = 1;       // of the accelerator, up to now
  double drift_step_ = 1;  // per call
  double noise_ = 0;
  double hiccups_ = 0;  // per call
  bool keeps_operands_ = false;
  std::size_t resident_ = SIZE_MAX;  // the shape whose operands are there
  std::size_t prepared_ = 0;         // the shape whose calls are being prepared
  Preparation preparation_ = Preparation::none;
  unsigned prepared_after_ = 0;  // calls; 0: none is being prepared
  std::vector<Routine> routines_;
  std::vector<Shape> shapes_;
  std::vector<std::size_t> calls_;
};

}  // namespace ob::policy
