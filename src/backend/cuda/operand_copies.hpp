#pragma once
// Operands of a call somewhere else for as long as it runs.

#include <cstdint>
#include <vector>

#include "backend/cuda/stream_context.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::cuda {

/// Packed copies of some operands of one call, in pinned or in other device memory.
/// Threads: the one that submits
class OperandCopies {
 public:
  /// @param arguments of the call: they get the places of the copies
  OperandCopies(StreamContext& context, const Descriptor& routine, Argument* arguments)
      : context_(context), routine_(routine), arguments_(arguments) {}

  /// An operand to be copied. One without elements gets no place at all.
  void add(const Operand& operand);
  bool empty() const noexcept { return copies_.empty(); }
  /// What the copies take.
  std::uint64_t size_bytes() const noexcept { return size_bytes_; }

  /// Submits copies of all of them into `memory`. Those that are only written are copied, too:
  /// a call that fails leaves them as they were.   Errors: device_error
  Status bring(std::byte* memory, cudaMemcpyKind kind);
  /// Submits copies of the results to where they belong.   Errors: device_error
  Status take_back(cudaMemcpyKind kind);

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
  Status move(const Copy& copy, bool back, cudaMemcpyKind kind) const;

  StreamContext& context_;
  const Descriptor& routine_;
  Argument* const arguments_;
  std::vector<Copy> copies_;
  std::uint64_t size_bytes_ = 0;
};

}  // namespace ob::cuda
