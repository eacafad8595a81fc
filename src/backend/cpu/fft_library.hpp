#pragma once
// FFTW in one precision, opened at run time. Its interface is declared here, so that building needs
// no FFTW.

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "backend/cpu/shared_object.hpp"

namespace ob::cpu {

/// FFTW's functions; arrays of either precision are void*, since the ABI is the same.
/// Threads: execute_* any; everything else only under planner()
/// Source:  FFTW 3.3 manual, 4.5.3 (guru 64-bit interface), 4.6 (new-array execution), 5.4 (thread
/// safety)
class FftLibrary {
 public:
  /// Opens the library.   Errors: unsupported without it; the message names the package to install
  static Result<std::shared_ptr<const FftLibrary>> open(bool single);

  struct Dimension {  // fftw_iodim64
    std::ptrdiff_t n;
    std::ptrdiff_t input_stride;
    std::ptrdiff_t output_stride;
  };
  using Plan = void*;
  static constexpr unsigned kDestroyInput = 1U << 0;
  static constexpr unsigned kUnaligned = 1U << 1;
  static constexpr unsigned kPreserveInput = 1U << 4;
  static constexpr unsigned kEstimate = 1U << 6;

  Plan (*plan_dft)(int rank, const Dimension* dims, int batch_rank, const Dimension* batch_dims,
                   void* in, void* out, int sign, unsigned flags) = nullptr;
  Plan (*plan_real)(int rank, const Dimension* dims, int batch_rank, const Dimension* batch_dims,
                    void* in, void* out, unsigned flags) = nullptr;  ///< r2c
  Plan (*plan_back)(int rank, const Dimension* dims, int batch_rank, const Dimension* batch_dims,
                    void* in, void* out, unsigned flags) = nullptr;  ///< c2r
  Plan (*plan_r2r)(int rank, const Dimension* dims, int batch_rank, const Dimension* batch_dims,
                   void* in, void* out, const int* kinds,
                   unsigned flags) = nullptr;  ///< absent without has_r2r()
  void (*execute_dft)(Plan plan, void* in, void* out) = nullptr;
  void (*execute_real)(Plan plan, void* in, void* out) = nullptr;
  void (*execute_back)(Plan plan, void* in, void* out) = nullptr;
  void (*execute_r2r)(Plan plan, void* in, void* out) = nullptr;  ///< absent without has_r2r()
  void (*destroy_plan)(Plan plan) = nullptr;
  int (*alignment_of)(void* array) = nullptr;

  /// False for libraries with FFTW's interface that lack real-to-real transforms.
  bool has_r2r() const noexcept { return plan_r2r != nullptr && execute_r2r != nullptr; }
  /// Sets the number of threads of later plans. The caller holds planner().
  void plan_with_threads(unsigned threads) const;
  /// Must be called after each new plan: FFTW remembers how it made every plan, about 300 bytes for
  /// a small transform, forever. A caller that keeps its plans does not need this record.
  /// @pre planner() is held
  void note_plan() const;
  /// Returns the lock of FFTW's planner, which the whole process shares.
  static std::mutex& planner();
  /// Describes the library to people, e.g. "fftw-3.3.10-sse2-avx".
  const std::string& description() const noexcept { return description_; }

 private:
  FftLibrary() = default;
  bool load(const SharedObject& object, const std::string& prefix);

  std::optional<SharedObject> object_;
  std::optional<SharedObject> threads_object_;
  void (*set_threads_)(int threads) = nullptr;
  void (*forget_wisdom_)() = nullptr;
  mutable unsigned plans_remembered_ = 0;
  std::string description_;
};

}  // namespace ob::cpu
