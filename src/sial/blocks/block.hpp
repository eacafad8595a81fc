#pragma once
// A block of doubles in host memory, and the pool that its memory comes from.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/status.hpp"
#include "sial/blocks/shape.hpp"
#include "sial/operations/view.hpp"

namespace ob::sial {

class BlockPool;

/// The elements of a block at other places than host memory.
class BlockCopies {
 public:
  virtual ~BlockCopies() = default;
  /// Makes the elements in host memory the latest, if they are not; the copies stay. A failure
  /// stays with the place.   Threads: that of the place; any, if they are the latest already
  virtual void to_host() noexcept = 0;
  /// Ends the copies: the elements in host memory are going to change.
  virtual void forget() noexcept = 0;
};

/// A dense, column-major block.
/// Memory: aligned to 64 bytes from 4 KiB on, else to 16; returns to the pool with the last pointer
///         to the block
class Block {
 public:
  Block(const Shape& shape, double* data) noexcept : shape_(shape), data_(data) {}
  ~Block() { delete copies(); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  const Shape& shape() const noexcept { return shape_; }
  /// Returns the elements, to be changed. Copies at other places end.
  double* data() noexcept {
    if (BlockCopies* const others = copies(); others != nullptr) {
      others->to_host();
      others->forget();
    }
    value_.reset();
    return data_;
  }
  /// Returns the elements, to be read.
  const double* data() const noexcept {
    if (BlockCopies* const others = copies(); others != nullptr) others->to_host();
    return data_;
  }
  /// Forgets the elements, all of which are going to be overwritten.
  void discard() noexcept {
    if (BlockCopies* const others = copies(); others != nullptr) others->forget();
    value_.reset();
  }
  /// Returns the host memory, whatever it holds.
  double* memory() const noexcept { return data_; }

  /// The copies at other places; nullptr if there never was one.   Threads: any
  BlockCopies* copies() const noexcept { return copies_.load(std::memory_order_acquire); }
  /// @pre there were none
  void set_copies(std::unique_ptr<BlockCopies> copies) const noexcept {
    copies_.store(copies.release(), std::memory_order_release);
  }

  /// The value of every element, if it is known.
  std::optional<double> value() const noexcept { return value_; }
  /// @pre every element has this value
  void set_value(double value) noexcept { value_ = value; }
  void forget_value() noexcept { value_.reset(); }

  std::int64_t elements() const noexcept { return shape_.elements(); }
  std::uint64_t bytes() const noexcept {
    return static_cast<std::uint64_t>(elements()) * sizeof(double);
  }

 private:
  Shape shape_;
  double* data_;
  std::optional<double> value_;
  mutable std::atomic<BlockCopies*> copies_{nullptr};  // owned; readers of the block add copies
};

/// Returns the view of a whole block. Its labels are 0, 1, ..., so two views of equal rank match
/// position by position.
View view_of(Block& block) noexcept;
ConstView view_of(const Block& block) noexcept;
View view_of(const Shape& shape, double* elements) noexcept;

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

  // For those who keep so many blocks that the object and its count of holders would take more
  // memory than the elements.
  /// Allocates uninitialised elements, which the caller frees.   Errors: out_of_memory
  Result<double*> take(std::uint64_t bytes);
  /// Frees the elements that take() or detach() returned.
  void free(double* elements, std::uint64_t bytes) noexcept;
  /// Makes a block of such elements. Its last holder frees them.
  BlockPtr attach(const Shape& shape, double* elements);
  /// Takes the elements out of a block of this pool. Returns nullptr, and leaves them to the other
  /// holders, if there are some.
  double* detach(BlockPtr block) noexcept;

  /// Returns the bytes of the blocks that are in use.
  std::uint64_t used_bytes() const;
  /// Returns the highest number of bytes that were in use. Idle memory never adds to it.
  std::uint64_t peak_bytes() const;

 private:
  struct State;
  struct Release;
  std::shared_ptr<State> state_;  // blocks keep it alive
};

}  // namespace ob::sial
