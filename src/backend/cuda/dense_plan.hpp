#pragma once
// Complex and half-complex transforms of any rank.

#include <memory>
#include <vector>

#include "backend/cuda/fft_pass.hpp"
#include "backend/cuda/fft_plan.hpp"

namespace ob::cuda {

/// One plan of cuFFT transforms the last three dimensions. The others are transformed one by one
/// with strides. Dimensions of length 1 are left out.
class DensePlan final : public CudaFftPlan {
 public:
  /// Makes the plan.   Errors: as make_fft_plan
  /// @pre plan.kind != FftKind::r2r
  static Result<std::unique_ptr<CudaFftPlan>> create(const FftTable& table, const FftPlan& plan);

  Status execute(StreamContext& context, const std::byte* input, std::byte* output) override;

 private:
  /// Transforms along one dimension. The transforms of one `run` lie side by side.
  struct Strided {
    FftPass pass;
    std::uint64_t runs;
    std::uint64_t step_bytes;
  };

  explicit DensePlan(const FftPlan& plan);
  Status add_inner(const FftTable& table, std::vector<std::uint64_t> n);
  Status add_strided(const FftTable& table, const std::vector<std::uint64_t>& n);
  std::uint64_t work_bytes() const;
  Status transform(StreamContext& context, std::byte* input, std::byte* output) const;
  Status run_strided(StreamContext& context, std::byte* data, void* work) const;
  Status move_real_parts(StreamContext& context, const std::byte* input, std::byte* output) const;
  Status copy(StreamContext& context, std::byte* to, const std::byte* from,
              std::uint64_t bytes) const;

  const FftPlan plan_;
  const std::uint64_t complex_bytes_;
  bool pointwise_ = false;      ///< the real last dimension has length 1 and is its own spectrum
  std::vector<FftPass> inner_;  // at most one
  std::vector<Strided> strided_;
};

}  // namespace ob::cuda
