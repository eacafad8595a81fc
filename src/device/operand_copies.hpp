#pragma once
// Operands of a call somewhere else for as long as it runs.

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
  /// @param arguments of the call: they get the places of the copies
  OperandCopies(const Descriptor& routine, Argument* arguments)
      : routine_(routine), arguments_(arguments) {}

  /// An operand to be copied. One without elements gets no place at all.
  void add(const Operand& operand);
  bool empty() const noexcept { return copies_.empty(); }
  /// What the copies take.
  std::uint64_t size_bytes() const noexcept { return size_bytes_; }

  /// Copies all of them into `memory`. Those that are only written are copied, too: a call that
  /// fails leaves them as they were.   Errors: those of `move`
  Status bring(std::byte* memory, const CopyColumns& move);
  /// Copies the results to where they belong.   Errors: those of `move`
  Status take_back(const CopyColumns& move) const;

 private:
  struct Copy {
    std::size_t argument;
    bool written;
    std::byte* original;
    std::uint64_t pitch_bytes;  // of the original
    std::uint64_t width_bytes;  // of a column; packed, they follow each other
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
