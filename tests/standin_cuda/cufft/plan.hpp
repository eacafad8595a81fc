#pragma once
// The object behind a cufftHandle, and its transforms by FFTW.

#include <cufft.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/access.hpp"

namespace standin::fft {

/// The layout of one side: steps of each dimension and of the batch, in elements.
struct Side {
  std::vector<std::int64_t> steps;
  std::int64_t dist = 0;
  std::int64_t extent = 0;  ///< elements from the first to behind the last
};

/// One plan of the device that is current when it is made.   Threads: one at a time
class Plan {
 public:
  /// Sizes and layout of cufftMakePlanMany64. nullptr for `inembed` or `onembed` means packed.
  struct Layout {
    std::vector<std::int64_t> n, inembed, onembed;
    std::int64_t istride = 1, idist = 0, ostride = 1, odist = 0, batch = 1;
    cufftType type = CUFFT_C2C;
  };

  explicit Plan(int device) : device_(device) {}
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  cufftResult make(Layout layout);
  bool made() const noexcept { return !layout_.n.empty(); }
  int device() const noexcept { return device_; }
  cufftType type() const noexcept { return layout_.type; }
  std::size_t work_bytes() const noexcept { return work_bytes_; }

  /// @param sign -1 or 1; it must suit the plan's type
  cufftResult execute(const char* call, void* input, void* output, int sign);

  cudaStream_t stream = nullptr;
  bool automatic = true;      ///< allocates its own work area
  void* work_area = nullptr;  ///< the caller's work area

 private:
  static Side side(const Layout& layout, const std::vector<std::int64_t>& embed,
                   std::int64_t stride, std::int64_t dist, std::int64_t last, bool padded);
  Side input_side(bool in_place) const;
  Side output_side(bool in_place) const;

  const int device_;
  Layout layout_;
  std::size_t work_bytes_ = 0;
  void* own_area_ = nullptr;
};

}  // namespace standin::fft
