#pragma once
// The places of an operand's elements, on the host and on a device, and the order in which they
// travel.
//
// On the wire an operand is always packed: its referenced elements and nothing else, column by
// column (a matrix) or first dimension slowest (an FFT array). A Layout lists those elements as
// contiguous pieces of memory in that order. Two Layouts of one operand (the caller's array, the
// device buffer) list the same bytes, usually cut into different pieces.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ob {

/// The referenced elements of a matrix. `*_strict` leaves out the diagonal (diag = 'U').
enum class Triangle : std::uint8_t {
  full = 0,
  upper = 1,
  lower = 2,
  upper_strict = 3,
  lower_strict = 4
};

/// A matrix inside a device buffer, column-major. A vector has cols = 1; plain bytes have
/// element_bytes = 1 and cols = 1. A receiver of the other byte order reverses the bytes of every
/// word. An element is one word, or two if it is complex; word_bytes = 1 means plain bytes.
/// Shapes: rows x cols, ld >= max(1, rows)   Units: offset in bytes, rows, cols and ld in elements
struct Region {
  std::uint64_t offset_bytes = 0;
  std::uint32_t element_bytes = 1;
  Triangle triangle = Triangle::full;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::uint64_t ld = 0;
  std::uint8_t word_bytes = 0;  ///< 1, 2, 4, 8; 0: unknown, refused between different byte orders

  friend bool operator==(const Region&, const Region&) noexcept = default;
};

/// Returns the referenced bytes of `region`: those that travel. Saturates at UINT64_MAX.
std::uint64_t packed_bytes(const Region& region) noexcept;

/// Returns the bytes from offset_bytes to the end of element (rows - 1, cols - 1), or 0 without
/// elements. Unreferenced elements count, because libraries may touch the part that a triangle
/// leaves out. Saturates at UINT64_MAX, so that a hostile region never looks small.
std::uint64_t extent_bytes(const Region& region) noexcept;

/// True if rows, cols, ld and element_bytes are consistent and the region lies inside a buffer of
/// buffer_bytes.
bool fits(const Region& region, std::uint64_t buffer_bytes) noexcept;

/// The pieces of an operand in host-visible memory. The operand is a (possibly triangular)
/// column-major matrix, or an array of up to kMaxDimensions strided dimensions, first dimension
/// slowest.
/// Memory: does not own; base must outlive every use.   Threads: any
class Layout {
 public:
  static constexpr int kMaxDimensions = 8;
  struct Dimension {
    std::uint64_t count = 0;
    std::int64_t stride_bytes = 0;
  };

  Layout() = default;

  /// Describes contiguous bytes.
  static Layout bytes(void* base, std::uint64_t size_bytes) noexcept;
  /// Describes the matrix `region` at offset region.offset_bytes from base.
  static Layout matrix(void* base, const Region& region) noexcept;
  /// Describes a strided array; dimensions[0] is the slowest. Neighbouring dimensions that are
  /// contiguous in memory are merged.
  /// @pre dimensions.size() <= kMaxDimensions
  static Layout strided(void* base, std::uint32_t element_bytes,
                        std::span<const Dimension> dimensions) noexcept;

  std::uint64_t total_bytes() const noexcept { return total_bytes_; }
  /// Returns the bytes of the longest contiguous piece. Transfers copy small pieces and
  /// scatter/gather large ones.
  std::uint64_t piece_bytes() const noexcept;
  /// True if all bytes are one contiguous piece.
  bool contiguous() const noexcept { return piece_bytes() >= total_bytes_; }

  /// Walks the pieces in order. A copy continues from the place where it was made.
  class Cursor {
   public:
    explicit Cursor(const Layout& layout) noexcept;
    explicit Cursor(const Layout&&) = delete;  // a temporary would dangle
    /// Returns the unread rest of the current piece; empty at the end.
    std::span<std::byte> piece() const noexcept { return {at_, left_}; }
    bool done() const noexcept { return left_ == 0; }
    /// Skips bytes of the current piece; moves to the next piece at its end.
    /// @pre count_bytes <= piece().size()
    void advance(std::uint64_t count_bytes) noexcept;

   private:
    void load() noexcept;
    const Layout* layout_;
    std::byte* at_ = nullptr;
    std::uint64_t left_ = 0;
    std::uint64_t column_ = 0;                           // matrices
    std::array<std::uint64_t, kMaxDimensions> index_{};  // strided arrays
    bool end_ = false;
  };

 private:
  std::byte* base_ = nullptr;
  std::uint64_t total_bytes_ = 0;
  bool is_matrix_ = false;
  Region region_;
  int rank_ = 0;  // outer dimensions; the inner run is run_bytes_
  std::uint64_t run_bytes_ = 0;
  std::array<Dimension, kMaxDimensions> dimensions_{};
};

/// Copies all bytes of `source` to `destination`, piece by piece.
/// @pre source.total_bytes() == destination.total_bytes()
void copy(const Layout& destination, const Layout& source) noexcept;

/// Copies from the cursor into `destination` until either ends; returns the bytes copied.
std::uint64_t gather(Layout::Cursor& source, std::span<std::byte> destination) noexcept;

/// Copies from `source` to the cursor's pieces until either ends; returns the bytes copied.
std::uint64_t scatter(std::span<const std::byte> source, Layout::Cursor& destination) noexcept;

}  // namespace ob
