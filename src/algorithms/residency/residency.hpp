#pragma once
// Operands that stay on the device after the call that brought them: what is there already does not
// travel again.
//
// Nothing is believed of the program's memory. A copy on the device is used only if digests of the
// operand as it is now equal digests that the device took of its copy, chunk by chunk; so a reuse
// is right whatever was written, freed or mapped anew in between, by whom and how. Where an operand
// lies merely says which copy is worth comparing. docs/decisions/0007-residency.md has the
// argument. Only where the program's user asked for it is the kernel believed that pages of the
// operand, and so their digests, are as they were (0010-kernel-page-tracking.md).

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

/// An operand of a call, on both sides.
struct PlacedOperand {
  std::byte* data = nullptr;  ///< of the host; regions' offsets count from it
  Region home;                ///< what the call reads, in the program's memory
  Region there;               ///< the same in the device's buffer, from offset 0
  bool read = false;
  bool written = false;
  bool consumed = false;  ///< read, and undefined afterwards
  Triangle written_triangle = Triangle::full;
};

/// The copies on one device, of one connection.
/// Threads: owner only.   Memory: buffers go with the device's connection, or when evicted
class Residency {
 public:
  struct Config {
    std::uint64_t capacity_bytes = 0;      ///< of device memory; 0: nothing stays
    std::uint64_t least_bytes = 64 << 10;  ///< smaller operands are sent without a look
    std::uint64_t chunk_bytes = 1 << 20;   ///< what is compared, and sent again, as one
    double link_bytes_per_s = 0;           ///< to the device; 0: unknown
    PageTracking tracking{};
  };

  /// A buffer with the operand, and what it took.
  struct Placement {
    BufferId buffer;
    std::uint64_t sent_bytes = 0;
    std::uint64_t kept_bytes = 0;    ///< of those to be read: were there already
    std::uint64_t unread_bytes = 0;  ///< of those kept: the kernel said that nobody wrote them
    /// what the queue computed, and waited for its turn, while labels were waited for; its next
    /// report lacks it
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

    /// Finds or makes a copy and brings it up to date.
    /// Empty if the operand is better placed by the caller for this call only: too small, too
    /// large, or its copy is taken by another operand of the call.
    /// Errors: those of the device. Cost: a digest of the operand where there is a copy
    Result<std::optional<Placement>> place(QueueId queue, const PlacedOperand& operand);
    /// The call is done and its results are good.
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

  /// Keeps to so many bytes from now on: the capacity, or less.   Errors: those of the device
  Status keep_at_most(std::uint64_t bytes);
  /// Frees all copies that no call uses.   Errors: those of the device
  Status release();
  /// Frees copies until they leave `needed_bytes` of the device's memory to others.
  Status make_room(std::uint64_t needed_bytes);
  /// Bytes of copies of what lies in [begin, end) whose last look found them as they were, or which
  /// were not looked at yet: a guess at what will not travel. Looks at nothing itself.
  std::uint64_t expected_bytes(const std::byte* begin, const std::byte* end) const noexcept;
  std::uint64_t resident_bytes() const noexcept { return resident_bytes_; }
  std::size_t copies() const noexcept { return copies_.size(); }

 private:
  struct Copy {
    std::byte* data = nullptr;
    Region home;   // without triangle
    Region there;  // without triangle
    BufferId buffer;
    std::uint64_t bytes = 0;
    bool defined = false;  // `valid` elements are what some call left there
    Triangle valid = Triangle::full;
    std::vector<Digest> labels;          // of chunks, by the device; empty: not asked yet
    Triangle labelled = Triangle::full;  // the region that the labels are of
    OperandDigests host;                 // of the same chunks, by the client
    bool stale_labels = true;            // at least one chunk was written since
    unsigned mismatches = 0;             // looks in a row that found nothing
    unsigned looks_to_skip = 0;
    bool used = false;                  // by the call under way
    bool changes = false;               // that call changes it
    Triangle current = Triangle::full;  // while used: elements that are as the operand's
  };
  using Copies = std::list<Copy>;
  using Place = Copies::iterator;

  Place find(const PlacedOperand& operand);
  Result<std::optional<Place>> make(const PlacedOperand& operand);
  Status update(QueueId queue, const PlacedOperand& operand, Copy& copy, Placement& placement);
  Status send_all(QueueId queue, const PlacedOperand& operand, Copy& copy, Placement& placement);
  Status label(QueueId queue, const PlacedOperand& operand, Copy& copy, Placement& placement);
  Status send_differing(QueueId queue, const PlacedOperand& operand, Copy& copy,
                        Placement& placement);
  Status evict(std::uint64_t down_to_bytes, std::size_t down_to_copies);
  Status forget(Place place);

  Device& device_;
  const Config config_;
  std::uint64_t capacity_bytes_;  // of config_, or less
  Copies copies_;                 // most recently used first
  std::uint64_t resident_bytes_ = 0;
  bool can_look_ = true;  // the device takes digests
};

struct Residency::Call::Use {
  Residency::Place copy;
  bool written;
  bool consumed;
  Triangle written_triangle;
};

}  // namespace ob::algorithms
