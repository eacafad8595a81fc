#pragma once
// The updates of a rank: by its threads, or in kept time.

#include <barrier>
#include <chrono>
#include <thread>
#include <vector>

#include "grid.hpp"

namespace redblack3d {

/// Updates boxes of a grid and adds up the time. Threads: one at a time calls it.
class Relaxation {
 public:
  /// @param relax_ms of an iteration in kept time: an update sleeps for its part of it and computes
  /// nothing, so that one core stands for a node with more; 0: the updates are computed
  Relaxation(Grid& grid, int threads, double relax_ms);
  ~Relaxation();
  Relaxation(const Relaxation&) = delete;
  Relaxation& operator=(const Relaxation&) = delete;

  /// Updates the cells of one colour. The threads divide the box along y.
  void operator()(int colour, const Box& box);
  /// Returns the time in updates [s].
  double seconds() const noexcept { return seconds_; }

 private:
  using Clock = std::chrono::steady_clock;

  void work(int thread);
  void relax_part(int thread);
  void sleep(const Box& box);

  Grid& grid_;
  const int threads_;
  const double sleep_s_per_cell_;  ///< 0: no kept time
  double overslept_s_ = 0;         ///< what the next sleep is shorter
  double seconds_ = 0;
  int colour_ = 0;
  Box box_;
  bool over_ = false;
  std::barrier<> step_;  ///< the begin and the end of an update
  std::vector<std::thread> others_;
};

}  // namespace redblack3d
