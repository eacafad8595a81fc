#pragma once
// The state of the layer in one process of an unmodified program.

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "overlap/programs/call_sites.hpp"
#include "overlap/programs/call_trace.hpp"
#include "overlap/programs/driver.hpp"
#include "overlap/programs/gain_trial.hpp"
#include "overlap/programs/operations.hpp"

namespace ob::overlap {

/// Returns the level that MPI_Init gives: MPI_THREAD_SINGLE, unless a variable of the MPI says
/// otherwise.
int level_of_init();

/// Holds the layer's parts from the program's MPI_Init to its MPI_Finalize. There is one for each
/// process, and it is never destroyed: threads of the program may use it until the end.
class Layer {
 public:
  static Layer& instance();

  /// Initialises MPI as MPI_Init does.
  int initialise(int* argc, char*** argv);
  /// Initialises MPI. `required` is the level that the program asks for. Sets `provided` to the
  /// level that the program gets to see, which is the one that it would see without the layer.
  int initialise(int* argc, char*** argv, int required, int& provided);
  /// Returns the level for the program in place of the level that MPI has.
  int visible_level(int level) const noexcept;
  /// Tells the layer that MPI is initialised, from a function of Fortran.
  void initialised(int required, int provided);
  /// Returns the level to ask MPI for.
  int wanted_level(int required) const noexcept;
  /// Ends the driver. Must run before MPI ends.
  void end() noexcept;
  /// Writes the report, after MPI has ended: a rank that comes late to MPI_Finalize can make
  /// MPICH over TCP hang.
  void report() noexcept;

  /// Notes an operation that the program has started, of which it sets the time. Returns false if
  /// it is not noted, because the layer is not active.
  bool started(Operation operation) noexcept;
  /// Notes a call of the program that completed operations.
  void completed(std::uintptr_t place, const CallSite& call, std::int64_t now) noexcept;
  /// Makes progress in a call of the program that makes none itself, if there is no thread for it.
  void tick() noexcept;

  Operations& operations() noexcept { return operations_; }
  Driver& driver() noexcept { return driver_; }
  CallTrace& trace() noexcept { return trace_; }
  bool active() const noexcept { return active_.load(std::memory_order_relaxed); }

 private:
  enum class Mode { automatic, on, count };
  Layer();
  void start_driver(int required, int provided);
  void say(const std::string& sentence) const;

  Mode mode_ = Mode::automatic;
  std::atomic<bool> active_{false};
  std::atomic<bool> has_ended_{false};
  int required_ = MPI_THREAD_SINGLE;
  int provided_ = MPI_THREAD_SINGLE;
  int rank_ = 0;
  int ranks_ = 1;
  std::string note_;  ///< a sentence that names the part that makes progress, and the reason
  Operations operations_;
  Driver driver_{operations_};
  CallSites sites_;
  CallTrace trace_;
  std::mutex trial_lock_;
  GainTrial trial_;
  std::atomic<bool> driving_{true};
  std::atomic<std::int64_t> last_tick_ns_{0};
};

}  // namespace ob::overlap
