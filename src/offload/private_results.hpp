#pragma once
// Copies of the operands that a call writes.

#include <optional>
#include <vector>

#include "base/host_scratch.hpp"
#include "offload/fft_transform.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::offload {

/// The arguments of a call whose results land in memory of their own, so that a run changes nothing
/// of the program's. Operands that are read as well as written begin with the program's data.
class PrivateResults {
 public:
  /// @param arguments those of a legal call, with Argument::host   Errors: throws without memory
  PrivateResults(const Descriptor& routine, const Argument* arguments);

  /// False if there is not enough memory, or an operand is not contiguous enough to be copied.
  bool known() const noexcept { return known_; }
  /// Memory: lives as long as this
  const Argument* arguments() const noexcept { return call_.items; }

 private:
  bool add(const Operand& operand, Kind kind);

  CallArguments call_;
  std::vector<HostScratch> memory_;
  bool known_ = true;
};

/// A transform whose output lands in memory of its own.
class PrivateOutput {
 public:
  /// @param arrays the program's   Errors: throws without memory
  PrivateOutput(const FftTransform& transform, const FftArrays& arrays);

  /// False if there is not enough memory.
  bool known() const noexcept { return memory_ && memory_->data() != nullptr; }
  const FftTransform& transform() const noexcept { return transform_; }
  /// Memory: the output lives as long as this   @pre known()
  FftArrays arrays() const noexcept { return {input_, memory_->data()}; }

 private:
  FftTransform transform_;
  void* const input_;
  std::optional<HostScratch> memory_;  // empty: the output is too large
};

}  // namespace ob::offload
