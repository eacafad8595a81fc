#pragma once
// Where the elements of an operand lie, on the host and on a device, and the order in which they
// travel.
//
// On the wire an operand is always packed: its referenced elements and nothing else, column by
// column (a matrix) or first dimension slowest (an FFT array). A Layout lists those elements as
// contiguous pieces of memory in that order; two Layouts of one operand (the caller's array, the
// device buffer) list the same bytes, usually cut into different pieces.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ob {

/// Which elements of a matrix are referenced. `*_strict` leaves out the diagonal (diag = 'U').
enum class Triangle : std::uint8_t {
  full = 0,
  upper = 1,
  lower = 2,
  upper_strict = 3,
  lower_strict = 4
};

/// A matrix inside a device buffer, column-major.
/// Shapes: rows x cols, ld >= max(1, rows)   Units: offset in bytes, rows, cols and ld in elements
/// A vector is a matrix with cols = 1; bytes without structure are element_bytes = 1, cols = 1.
/// Receivers of the other byte order reverse the bytes of every word: an element is one or two of
/// them (a complex number: its parts), and word_bytes divides element_bytes. 1: plain bytes.
struct Region {
  std::uint64_t offset_bytes = 0;
  std::uint32_t element_bytes = 1;
  Triangle triangle = Triangle::full;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::uint64_t ld = 0;
  std::uint8_t word_bytes = 0;  ///< 1, 2, 4, 8; 0 not said: refused between different byte orders
};

/// Bytes of `region` that are referenced, i.e. that travel. Saturates at UINT64_MAX.
std::uint64_t packed_bytes(const Region& region) noexcept;

/// Bytes from offset_bytes to the end of element (rows - 1, cols - 1), referenced or not: libraries
/// may touch what a triangle leaves out. 0 without elements.
/// Saturates at UINT64_MAX, so that a hostile region never looks small.
std::uint64_t extent_bytes(const Region& region) noexcept;

/// True if rows, cols, ld and element_bytes make sense and the region lies in a buffer of
/// buffer_bytes.
bool fits(const Region& region, std::uint64_t buffer_bytes) noexcept;

/// The pieces of an operand in host-visible memory. Either a (possibly triangular) column-major
/// matrix, or an array of up to kMaxDimensions strided dimensions, first dimension slowest.
/// Memory: does not own; base must outlive every use.   Threads: any
class Layout {
 public:
  static constexpr int kMaxDimensions = 8;
  struct Dimension {
    std::uint64_t count = 0;
    std::int64_t stride_bytes = 0;
  };

  Layout() = default;

  /// Contiguous bytes.
  static Layout bytes(void* base, std::uint64_t size_bytes) noexcept;
  /// The matrix `region` describes, with region.offset_bytes taken from base.
  static Layout matrix(void* base, const Region& region) noexcept;
  /// dimensions[0] slowest. Neighbouring dimensions that are contiguous in memory are merged.
  /// @pre dimensions.size() <= kMaxDimensions
  static Layout strided(void* base, std::uint32_t element_bytes,
                        std::span<const Dimension> dimensions) noexcept;

  std::uint64_t total_bytes() const noexcept { return total_bytes_; }
  /// Bytes of the longest contiguous piece; tells small-piece (copy) from large-piece
  /// (scatter/gather) transfers.
  std::uint64_t piece_bytes() const noexcept;
  /// True if all bytes are one contiguous piece.
  bool contiguous() const noexcept { return piece_bytes() >= total_bytes_; }

  /// Walks the pieces in order. Copyable; resuming from a copy repeats from there.
  class Cursor {
   public:
    explicit Cursor(const Layout& layout) noexcept;
    explicit Cursor(const Layout&&) = delete;  // of a temporary: it would dangle
    /// The unread rest of the current piece; empty at the end.
    std::span<std::byte> piece() const noexcept { return {at_, left_}; }
    bool done() const noexcept { return left_ == 0; }
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

/// Copies `source` to the cursor's places until either ends; returns the bytes copied.
std::uint64_t scatter(std::span<const std::byte> source, Layout::Cursor& destination) noexcept;

}  // namespace ob
