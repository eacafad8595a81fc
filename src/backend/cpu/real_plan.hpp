#pragma once
// Real-to-real transforms by libraries that have none.

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/cpu/dense_plan.hpp"
#include "device/real_transform.hpp"

namespace ob::cpu {

/// The plan of a real-to-real transform. It computes dimension by dimension, a block of lines at a
/// time, by real or complex transforms (device/real_transform.hpp).
/// Memory:  two blocks of at most kBlockBytes or one line each, from the first execute() on
/// Threads: one at a time
class CpuRealPlan {
 public:
  /// The size of a block before or after its transforms; both fit into a second-level cache.
  static constexpr std::uint64_t kBlockBytes = std::uint64_t{256} << 10;

  /// Makes the plan.   Errors: those of CpuDensePlan
  /// @pre plan.kind == FftKind::r2r && plan.rank > 0
  static Result<std::unique_ptr<CpuRealPlan>> create(const FftPlan& plan,
                                                     std::shared_ptr<const FftLibrary> library,
                                                     unsigned threads);
  /// Transforms arrays of the sizes and places that were planned.
  /// Errors: out_of_memory, those of CpuDensePlan
  Status execute(std::byte* input, std::byte* output);

 private:
  // Lines of one dimension.
  struct Pass {
    RealFolds folds;
    std::uint64_t lines = 0;
    std::uint64_t points = 0;  // of a line
    std::uint64_t inner = 0;   // elements between neighbours of a line
    std::unique_ptr<CpuDensePlan> block;
    std::unique_ptr<CpuDensePlan> rest;  // of the lines after the last whole block; may be absent
  };

  explicit CpuRealPlan(const FftPlan& plan) : plan_(plan) {}
  Status add_pass(std::size_t dimension, const std::shared_ptr<const FftLibrary>& library,
                  unsigned threads);
  Status allocate();
  template <class Real>
  Status run(const Pass& pass, std::byte* input, std::byte* output);

  const FftPlan plan_;
  std::vector<Pass> passes_;
  std::shared_ptr<std::byte> before_;
  std::shared_ptr<std::byte> after_;
};

}  // namespace ob::cpu
