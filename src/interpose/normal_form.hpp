#pragma once
// Converts the arguments of any ABI to the one normal form, and the results back.

#include <cstdint>

#include "interpose/entry.hpp"
#include "interpose/scratch.hpp"
#include "routines/descriptor.hpp"

namespace ob::interpose {

/// The arguments of one call in the normal form, with the scratch memory that the form needs:
/// column-major copies of row-major LAPACKE matrices, 64-bit copies of 32-bit index vectors.
/// Memory: the caller's arrays are used in place where their form allows; the others change only
/// in write_back()
class NormalForm {
 public:
  NormalForm(const Entry& entry, const Descriptor& routine, Integers integers) noexcept
      : entry_(entry), routine_(routine), integers_(integers) {}

  /// Reads everything but operands. False if the original must run the call: it has illegal or
  /// unknown arguments, or is a workspace query.
  /// @param value the place for the value of a function
  bool read(const Raw* raw, void* value) noexcept;
  /// Makes the operands ready. False if the original must run the call after all: there is no
  /// memory for scratch, or a NaN that LAPACKE would refuse.
  bool prepare() noexcept;

  const Argument* arguments() const noexcept { return arguments_; }

  /// Copies results that are not yet in the caller's memory to it, and returns info.
  std::int64_t write_back() noexcept;
  /// Frees scratch memory early.
  void release() noexcept;

  bool has_lengths() const noexcept { return length_count_ > 0; }
  /// Asks the original for its workspace size. The original answers into the caller's workspace.
  void query(void* function, const Raw* raw) const noexcept;

 private:
  struct Moved {  // an operand that lies in scratch
    void* callers;
    std::int64_t callers_ld;
    Operand operand;
    Scratch scratch;
  };

  bool read_fortran(const Raw* raw) noexcept;
  void read_fortran_value(std::size_t i, const void* pointer) noexcept;
  bool read_c(const Raw* raw) noexcept;
  void read_extra(std::int8_t slot, const Raw* first, const Raw*& raw) noexcept;
  void read_c_argument(std::size_t i, const Raw*& raw) noexcept;
  bool skips(std::int8_t slot) const noexcept;
  bool has_result_pointer() const noexcept;
  void to_column_major() noexcept;
  bool move_operands() noexcept;
  bool move(const Operand& operand) noexcept;
  bool has_nan() const noexcept;
  void return_value() noexcept;
  std::int64_t integer_at(const void* address) const noexcept;
  std::int64_t by_value(const Raw& raw) const noexcept;

  bool transposed(int argument) const noexcept {
    return row_major_ && (entry_.row.transpose_mask >> argument & 1U) != 0;
  }

  const Entry& entry_;
  const Descriptor& routine_;
  Integers integers_;
  bool row_major_ = false;
  Operands operands_;
  Argument arguments_[kMaxArguments];
  std::int64_t lds_[kMaxArguments] = {};
  std::int64_t lengths_[kMaxLengths] = {};
  std::uint8_t length_at_[kMaxLengths] = {};  // positions in the raw arguments
  int length_count_ = 0;
  std::int64_t info_ = 0;
  void* callers_info_ = nullptr;
  std::uint8_t info_at_ = 0;
  int raw_count_ = 0;
  alignas(16) char value_[16] = {};
  void* callers_value_ = nullptr;
  Moved moved_[kMaxOperands];
  int moved_count_ = 0;
};

}  // namespace ob::interpose
