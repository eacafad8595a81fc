#pragma once
// The BLAS and LAPACK library of the cpu backend.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/cpu/shared_object.hpp"
#include "backend/cpu/substitutes.hpp"
#include "backend/cpu/thunk.hpp"

namespace ob::cpu {

/// OpenBLAS, or another LP64 library (OUTBOARD_BLAS names it), opened at run time. One OpenBLAS
/// has one pool of threads and one lock: devices that shared it would take turns, each with all
/// threads. So every device but the first gets an instance of its own, with its part of the cores.
/// If that fails (another library, or the loader refuses), the devices share the first instance and
/// take turns.
/// Threads: any; calls into a shared instance wait for each other
class BlasLibrary {
 public:
  struct Config {
    bool own_instance = false;
    unsigned threads = 1;
  };
  /// Opens a library.   Errors: unavailable without one; the message names the package to install
  static Result<std::unique_ptr<BlasLibrary>> open(const Config& config);

  using Routine = LibraryRoutine;
  /// Finds a routine; nullptr if the library lacks it.
  const Routine* find(std::uint32_t descriptor_id) const noexcept;
  /// Calls a routine; false without memory for its workspace.   @param arguments as those of a
  /// Thunk
  bool run(const Routine& routine, const Argument* arguments) const;

  /// Finds a function of the library by its symbol; nullptr if absent. Calls of it do not wait for
  /// other calls into a shared instance.
  void* symbol(const char* name) const noexcept;

  /// Lets the library start its threads, which inherit the cores of the calling thread.
  void start_threads() const;
  /// Measures the rate of dgemm of order 512, the best of three [GFLOP/s]; 0 without dgemm.
  double measure_gflops() const;

  /// Describes the library to people, e.g. "OpenBLAS 0.3.21 ... SkylakeX, 2 threads".
  const std::string& description() const noexcept { return description_; }
  /// Returns the reason why this library will be slow; empty if it is not.
  const std::string& warning() const noexcept { return warning_; }

 private:
  BlasLibrary() = default;
  std::uint64_t multiply(int n) const;
  void bind();
  void configure(unsigned threads);
  void describe(const std::string& name, unsigned threads);

  std::vector<SharedObject> objects_;
  std::unordered_map<std::uint32_t, Routine> routines_;
  std::mutex* turn_ = nullptr;  // lock of a shared instance
  std::string description_;
  std::string warning_;
};

}  // namespace ob::cpu
