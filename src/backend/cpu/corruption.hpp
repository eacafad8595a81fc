#pragma once
// Wrong results on purpose, for tests of those who check them.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "routines/argument.hpp"
#include "routines/descriptor.hpp"
#include "routines/fft.hpp"

namespace ob::cpu {

/// Makes one element of every so-many-th result wrong.   Threads: any
class Corruption {
 public:
  /// 0: of none.
  void every(unsigned n) noexcept { every_ = n; }

  /// After a call: an element of the last matrix that it wrote, if it wrote any.
  void after(const Descriptor& routine, const Argument* arguments) noexcept;
  /// After a transform, packed.
  void after(const FftPlan& plan, std::byte* output) noexcept;

 private:
  bool due() noexcept;

  unsigned every_ = 0;
  std::atomic<unsigned> results_{0};
};

}  // namespace ob::cpu
