#pragma once
// Temporary copies of a call's operands.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "device/column_copy.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob {

/// Packed copies of some operands of one call, in host or in other device memory.
/// Threads: one at a time
class OperandCopies {
 public:
  /// @param arguments those of the call; they receive the addresses of the copies
  OperandCopies(const Descriptor& routine, Argument* arguments)
      : routine_(routine), arguments_(arguments) {}

  /// Adds an operand. One without elements becomes null.
  void add(const Operand& operand);
  bool empty() const noexcept { return copies_.empty(); }
  /// Returns the total size of the copies.
  std::uint64_t size_bytes() const noexcept { return size_bytes_; }

  /// Copies the operands into `memory`. Operands that are only written are copied, too, because a
  /// failed call must leave them unchanged.   Errors: those of `move`
  Status bring(std::byte* memory, const CopyColumns& move);
  /// Copies the results back to the operands.   Errors: those of `move`
  Status take_back(const CopyColumns& move) const;

 private:
  struct Copy {
    std::size_t argument;
    bool written;
    std::byte* original;
    std::uint64_t pitch_bytes;  // pitch of the original
    std::uint64_t width_bytes;  // width of a column; the copy has no gaps
    std::uint64_t columns;
    std::uint64_t offset_bytes;
    std::byte* copy;
  };

  const Descriptor& routine_;
  Argument* const arguments_;
  std::vector<Copy> copies_;
  std::uint64_t size_bytes_ = 0;
};

}  // namespace ob
