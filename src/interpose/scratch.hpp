#pragma once
// Temporary memory and the copies through it.

#include <cstdint>
#include <cstdlib>

#include "routines/descriptor.hpp"

namespace ob::interpose {

/// Memory of malloc(). An object may have none.
class Scratch {
 public:
  Scratch() noexcept = default;
  ~Scratch() { release(); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// Allocates memory. False if there is not enough of it, or if count * element_bytes overflows.
  bool allocate(std::uint64_t count, std::uint64_t element_bytes) noexcept;
  void release() noexcept {
    std::free(data_);
    data_ = nullptr;
  }
  void* data() const noexcept { return data_; }

 private:
  void* data_ = nullptr;
};

/// Copies with destination(i, j) = source(i, j), where one of the two is row-major. The copy to
/// column-major takes the elements that are read, the copy to row-major those that are written.
/// Shapes: operand.rows x operand.cols; (i, j) at i + j * ld or, row-major, at i * ld + j
void copy_to_column_major(const Operand& operand, void* destination, std::int64_t ld,
                          const void* source, std::int64_t row_major_ld) noexcept;
void copy_to_row_major(const Operand& operand, void* destination, std::int64_t row_major_ld,
                       const void* source, std::int64_t ld) noexcept;

/// True if a column-major matrix or a vector has a NaN in an element that is read.
bool has_nan(const Operand& operand, Precision precision, const void* data,
             std::int64_t ld) noexcept;

void widen(std::int64_t* destination, const std::int32_t* source, std::uint64_t count) noexcept;
void narrow(std::int32_t* destination, const std::int64_t* source, std::uint64_t count) noexcept;

}  // namespace ob::interpose
