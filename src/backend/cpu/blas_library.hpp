#pragma once
// The BLAS and LAPACK that the cpu backend computes with.

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
/// Where that cannot be had (not OpenBLAS, loader refuses), the devices share the first instance
/// and do take turns.
/// Threads: any; calls into a shared instance wait for each other
class BlasLibrary {
 public:
  struct Config {
    bool own_instance = false;
    unsigned threads = 1;
  };
  /// Errors: unavailable if there is no library; says what to install.
  static Result<std::unique_ptr<BlasLibrary>> open(const Config& config);

  using Routine = LibraryRoutine;
  /// nullptr if the library lacks it.
  const Routine* find(std::uint32_t descriptor_id) const noexcept;
  /// False if there is no memory for workspace.   @pre as Thunk's
  bool run(const Routine& routine, const Argument* arguments) const;

  /// The rate of one dgemm of 512 x 512, the best of three, in GFLOP/s; 0 if there is no dgemm.
  double measure_gflops() const;

  /// For people, e.g. "OpenBLAS 0.3.21 ... SkylakeX, 2 threads".
  const std::string& description() const noexcept { return description_; }
  /// Empty, or why this library will be slow.
  const std::string& warning() const noexcept { return warning_; }

 private:
  BlasLibrary() = default;
  void* symbol(const char* name) const noexcept;
  void bind();
  void configure(unsigned threads);
  void describe(const std::string& name, unsigned threads);

  std::vector<SharedObject> objects_;
  std::unordered_map<std::uint32_t, Routine> routines_;
  std::mutex* turn_ = nullptr;  // of a shared instance
  std::string description_;
  std::string warning_;
};

}  // namespace ob::cpu
