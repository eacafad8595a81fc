#pragma once
// Wrong results on purpose, for tests of code that checks results.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "routines/argument.hpp"
#include "routines/descriptor.hpp"
#include "routines/fft.hpp"

namespace ob::cpu {

/// Makes one element of every n-th result wrong.   Threads: any
class Corruption {
 public:
  /// 0: no result is wrong.
  void every(unsigned n) noexcept { every_ = n; }

  /// Changes an element of the last matrix that a call has written, if there is one.
  void after(const Descriptor& routine, const Argument* arguments) noexcept;
  /// Changes an element of a transform's packed output.
  void after(const FftPlan& plan, std::byte* output) noexcept;

 private:
  bool due() noexcept;

  unsigned every_ = 0;
  std::atomic<unsigned> results_{0};
};

}  // namespace ob::cpu
