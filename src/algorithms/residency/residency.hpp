#pragma once
// Caches operands on the device after the call that sent them. Data that the device already holds
// are not sent again.
//
// The cache assumes nothing about the program's memory. A copy on the device is used only if
// digests of the operand, taken now, are equal to digests that the device took of its copy, chunk
// by chunk. So a reuse is correct after any write, free or mapping in between. The address of an
// operand only selects the copy to compare with. docs/decisions/0007-residency.md has the argument.
// If the user enables page tracking, the cache relies on the kernel to tell that pages of the
// operand, and so their digests, have not changed (0010-kernel-page-tracking.md).

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "algorithms/residency/operand_digests.hpp"
#include "base/digest.hpp"
#include "base/layout.hpp"
#include "base/status.hpp"
#include "device/device.hpp"

namespace ob::algorithms {

/// An operand of a call, in host memory and on the device.
struct PlacedOperand {
  std::byte* data = nullptr;  ///< host memory; the offsets of regions count from it
  Region home;                ///< the elements that the call reads, in host memory
  Region there;               ///< the same elements in the device buffer, from offset 0
  bool read = false;
  bool written = false;
  bool consumed = false;  ///< is read, and is undefined afterwards
  Triangle written_triangle = Triangle::full;
};

/// The copies that one connection has on one device.
/// Threads: owner only   Memory: buffers live until they are evicted or the connection closes
class Residency {
 public:
  struct Config {
    std::uint64_t capacity_bytes = 0;      ///< device memory for copies; 0: nothing is cached
    std::uint64_t least_bytes = 64 << 10;  ///< smaller operands are sent without a comparison
    std::uint64_t chunk_bytes = 1 << 20;   ///< the unit of comparing and of sending again
    double link_bytes_per_s = 0;           ///< rate of the link to the device; 0: unknown
    PageTracking tracking{};
  };

  /// A buffer with the operand, and the cost of placing it there.
  struct Placement {
    BufferId buffer;
    std::uint64_t sent_bytes = 0;
    std::uint64_t kept_bytes = 0;    ///< bytes to be read that the device already had
    std::uint64_t unread_bytes = 0;  ///< part of kept_bytes: unwritten according to the kernel
    /// Time that the queue computed, and waited for its turn, while place() waited for digests. The
    /// next report of the queue does not include these times.
    std::uint64_t compute_ns = 0;
    std::uint64_t waited_ns = 0;
  };

  /// The copies that one call uses. Unless succeeded() is called, all of them are forgotten.
  class Call {
   public:
    explicit Call(Residency& residency) : residency_(residency) {}
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    /// Finds or makes a copy and brings it up to date. The result is empty if the caller must place
    /// the operand for this call only: the operand is too small or too large, or another operand of
    /// the call uses its copy.
    /// Errors: those of the device   Cost: a digest of the operand if there is a copy
    Result<std::optional<Placement>> place(QueueId queue, const PlacedOperand& operand);
    /// Reports that the call is complete and its results are valid.
    void succeeded();

   private:
    friend class Residency;
    struct Use;
    Residency& residency_;
    std::vector<Use> uses_;
  };

  Residency(Device& device, const Config& config)
      : device_(device), config_(config), capacity_bytes_(config.capacity_bytes) {}
  Residency(const Residency&) = delete;
  Residency& operator=(const Residency&) = delete;

  /// Sends the next chunk of an operand that no call uses now, so that later calls find a copy, and
  /// waits for it. Afterwards the operand's memory may change or disappear: later calls compare it
  /// with the copy as always. True if there is nothing more to send: the copy is complete, or the
  /// operand is one that is not cached.
  /// Errors: invalid_argument if the memory cannot be read; those of the device
  Result<bool> bring(QueueId queue, const PlacedOperand& operand);

  /// Limits the copies to `bytes` from now on, or to the capacity if that is less.
  /// Errors: those of the device
  Status keep_at_most(std::uint64_t bytes);
  /// Frees all copies that no call uses.   Errors: those of the device
  Status release();
  /// Frees copies until `needed_bytes` of the device's memory are available for other use.
  Status make_room(std::uint64_t needed_bytes);
  /// Returns the bytes of the copies of operands that begin in [begin, end), if the last comparison
  /// of the copy found equal chunks or no comparison was made yet. This estimates the bytes that
  /// will not be sent. The function itself compares nothing.
  std::uint64_t expected_bytes(const std::byte* begin, const std::byte* end) const noexcept;
  /// True if operands of some size stay.
  bool keeps_operands() const noexcept {
    return can_look_ && config_.link_bytes_per_s < kFastestLink;
  }
  std::uint64_t resident_bytes() const noexcept { return resident_bytes_; }
  std::size_t copies() const noexcept { return copies_.size(); }

 private:
  // Operands are cached only over links slower than this. One core digests about 10 GB/s from main
  // memory (XXH3). A link that is measured at up to twice this rate is shared memory, measured with
  // data in the caches; its copies of large operands are slower than digests.
  static constexpr double kFastestLink = 20e9;

  struct Copy {
    std::byte* data = nullptr;
    Region home;   // with the triangle set to full
    Region there;  // with the triangle set to full
    BufferId buffer;
    std::uint64_t bytes = 0;
    bool defined = false;  // the `valid` elements hold the data or the results of a call
    Triangle valid = Triangle::full;
    std::uint64_t brought = 0;           // chunks that bring() has sent; 0 after other writes
    std::vector<Digest> labels;          // digests of chunks by the device; empty: not taken yet
    Triangle labelled = Triangle::full;  // the region of these digests
    OperandDigests host;                 // digests of the same chunks by the client
    bool stale_labels = true;            // at least one chunk was written since the digests
    unsigned mismatches = 0;             // consecutive comparisons that found no equal chunk
    unsigned looks_to_skip = 0;          // the next comparisons that are not made
    bool used = false;                   // the current call uses the copy
    bool changes = false;                // the current call changes the copy
    Triangle current = Triangle::full;   // while used: the elements that are equal to the operand's
  };
  using Copies = std::list<Copy>;
  using Place = Copies::iterator;

  Place find(const PlacedOperand& operand);
  Result<std::optional<Place>> make(const PlacedOperand& operand);
  bool is_cached(const PlacedOperand& operand) const noexcept;
  Status update(QueueId queue, const PlacedOperand& operand, Copy& copy, Placement& placement);
  Status send_all(QueueId queue, const PlacedOperand& operand, Copy& copy, Placement& placement);
  Status send_chunk(QueueId queue, const PlacedOperand& operand, Copy& copy);
  QueueReport label(QueueId queue, const PlacedOperand& operand, Copy& copy, bool reads_home);
  Status send_differing(QueueId queue, const PlacedOperand& operand, Copy& copy,
                        Placement& placement);
  Status evict(std::uint64_t down_to_bytes, std::size_t down_to_copies);
  Status forget(Place place);

  Device& device_;
  const Config config_;
  std::uint64_t capacity_bytes_;  // at most that of config_
  Copies copies_;                 // most recently used first
  std::uint64_t resident_bytes_ = 0;
  bool can_look_ = true;  // the device can take digests
};

struct Residency::Call::Use {
  Residency::Place copy;
  bool written;
  bool consumed;
  Triangle written_triangle;
};

}  // namespace ob::algorithms
