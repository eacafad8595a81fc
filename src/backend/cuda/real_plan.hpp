#pragma once
// Real-to-real transforms, which cuFFT lacks.

#include <memory>
#include <vector>

#include "backend/cuda/fft_pass.hpp"
#include "backend/cuda/fft_plan.hpp"

namespace ob::cuda {

/// Dimensions are transformed one after another. A real or complex transform of cuFFT between two
/// kernels (device/real_transform.hpp) transforms a block of lines at a time.
class RealPlan final : public CudaFftPlan {
 public:
  /// Makes the plan.   Errors: as make_fft_plan
  /// @pre plan.kind == FftKind::r2r
  static Result<std::unique_ptr<CudaFftPlan>> create(const FftTable& table, const FftPlan& plan);

  Status execute(StreamContext& context, const std::byte* input, std::byte* output) override;

 private:
  /// All lines of one dimension.
  struct Dimension {
    RealTransform real;
    std::uint64_t points;
    std::uint64_t lines;
    std::uint64_t inner;  // elements between those of a line
    FftPlan through;      // the transform that does the work of one line
    FftPass block;
    std::vector<FftPass> rest;  // for the lines that do not fill a block; at most one
  };

  explicit RealPlan(const FftPlan& plan) : plan_(plan) {}
  Status add(const FftTable& table, std::size_t dimension);
  Status run(StreamContext& context, const Dimension& dimension, const std::byte* input,
             std::byte* output) const;

  const FftPlan plan_;
  std::vector<Dimension> dimensions_;  // in the order in which they are transformed
};

}  // namespace ob::cuda
