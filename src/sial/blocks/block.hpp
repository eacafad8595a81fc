#pragma once
// A block of doubles in host memory, and the pool that its memory comes from.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "sial/blocks/shape.hpp"
#include "sial/operations/view.hpp"

namespace ob::sial {

class BlockPool;

/// A dense, column-major block.
/// Memory: aligned to 64 bytes; returns to the pool with the last pointer to the block
class Block {
 public:
  Block(const Shape& shape, double* data) noexcept : shape_(shape), data_(data) {}

  const Shape& shape() const noexcept { return shape_; }
  double* data() noexcept { return data_; }
  const double* data() const noexcept { return data_; }
  std::int64_t elements() const noexcept { return shape_.elements(); }
  std::uint64_t bytes() const noexcept {
    return static_cast<std::uint64_t>(elements()) * sizeof(double);
  }

 private:
  Shape shape_;
  double* data_;
};

/// Returns the view of a whole block. Its labels are 0, 1, ..., so two views of equal rank match
/// position by position.
View view_of(Block& block) noexcept;
ConstView view_of(const Block& block) noexcept;

/// Several holders of one block only read it. A holder that wants to write asks
/// BlockPool::make_writable(), which copies the block if there are others.
using BlockPtr = std::shared_ptr<Block>;
using ConstBlockPtr = std::shared_ptr<const Block>;

/// The memory of the blocks of one rank. It keeps the memory of released blocks for new ones of the
/// same size, because new pages of the system cost more than most operations on a small block.
/// Threads: any
class BlockPool {
 public:
  /// @param limit_bytes of blocks that are in use; 0: no limit
  explicit BlockPool(std::uint64_t limit_bytes = 0);

  /// Allocates an uninitialised block.   Errors: out_of_memory
  Result<BlockPtr> allocate(const Shape& shape);
  /// Allocates a copy of a block.   Errors: out_of_memory
  Result<BlockPtr> copy(const Block& block);
  /// Replaces `block` with a copy of its own if it has other holders.   Errors: out_of_memory
  Status make_writable(BlockPtr& block);

  /// Returns the bytes of the blocks that are in use.
  std::uint64_t used_bytes() const;
  /// Returns the highest number of bytes that were in use. Idle memory never adds to it.
  std::uint64_t peak_bytes() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // blocks keep it alive
};

}  // namespace ob::sial
