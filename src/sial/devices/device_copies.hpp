#pragma once
// Copies of blocks on a device.   Source: SIA 5.2 and 5.3
//
// All copies of a block are its latest version: a write anywhere ends the others. Host memory alone
// may hold an older one. The device may die at any time, so a block whose latest version is there
// keeps the operations that made it, with their operands, until it has been read back.

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "device/device.hpp"
#include "sial/blocks/block.hpp"
#include "sial/operations/gemm.hpp"
#include "sial/operations/scratch.hpp"

namespace ob::sial {

/// The distance of neighbours in each dimension of a block [elements].
using Strides = std::array<std::int64_t, kMaxRank>;

/// Returns the strides of a column-major block.
Strides dense_strides(const Shape& shape) noexcept;

/// True if both lay out the elements of a block in one way.
bool same_order(const Shape& shape, const Strides& one, const Strides& other) noexcept;

/// A block with the indices that a statement gives it.
struct LabelledBlock {
  ConstBlockPtr block;
  std::array<std::uint32_t, kMaxRank> labels{};
  std::uint32_t simple = 0;  ///< bit d: dimension d belongs to a simple index
};

/// Returns the view of a labelled block whose elements lie at `data` with these strides.
ConstView view_of(const LabelledBlock& labelled, const Strides& strides,
                  const double* data) noexcept;

/// D = B1 B2, D += B1 B2 or D -= B1 B2, of which D is known elsewhere.
struct PastContraction {
  std::array<std::uint32_t, kMaxRank> labels{};  ///< of D
  std::uint32_t simple = 0;
  LabelledBlock b1, b2;
  Assign how = Assign::set;
};

class DeviceMemory;

/// The copies of one block on one device. The block owns them.
class DeviceCopies final : public BlockCopies {
 public:
  DeviceCopies(const Block& block, std::shared_ptr<DeviceMemory> memory);
  ~DeviceCopies() override;
  DeviceCopies(const DeviceCopies&) = delete;
  DeviceCopies& operator=(const DeviceCopies&) = delete;

  void to_host() noexcept override;
  void forget() noexcept override;

  bool host_is_latest() const noexcept { return host_latest_.load(std::memory_order_acquire); }
  bool any() const noexcept { return !copies_.empty(); }
  /// Returns the strides of the copy that was made first. @pre any()
  const Strides& strides() const noexcept { return copies_.front().strides; }

  /// The seconds that a copy would have saved so far (device_place.hpp).
  double missed_s = 0;

 private:
  friend class DeviceMemory;
  struct Copy {
    BufferId buffer;
    Strides strides{};
  };

  const Block& block_;
  const std::shared_ptr<DeviceMemory> memory_;
  std::atomic<bool> host_latest_{true};
  std::vector<Copy> copies_;
  std::vector<PastContraction> past_;  // since host memory was the latest
  unsigned depth_ = 0;                 // of contractions that wait for each other in `past_`
  bool pinned_ = false;                // the present statement uses the copies
  std::list<DeviceCopies*>::iterator listed_;
};

/// Units: bytes, counts
struct DeviceTraffic {
  std::uint64_t to_device_bytes = 0;
  std::uint64_t to_host_bytes = 0;
  std::uint64_t evicted = 0;   ///< blocks whose copies had to make room
  std::uint64_t permuted = 0;  ///< copies that the device made from others
};

/// The memory of a device that a process uses for blocks, and its queues. Uploads have a queue of
/// their own, so that they travel while the device computes.
/// Threads: that of the workers, but blocks end on any
class DeviceMemory : public std::enable_shared_from_this<DeviceMemory> {
 public:
  /// @param limit_bytes of the copies; 0: as much as the device has
  /// @param held_bytes of operands that are kept in host memory for the case that the device dies
  /// @param permutes the device makes copies of other orders; otherwise, the host does
  /// @param host computes if the device dies
  static Result<std::shared_ptr<DeviceMemory>> open(std::shared_ptr<Device> device,
                                                    std::uint64_t limit_bytes,
                                                    std::uint64_t held_bytes, bool permutes,
                                                    Gemm& host);
  ~DeviceMemory();
  /// Ends the queues. No elements go to or from the device any more.
  void close() noexcept;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  Device& device() noexcept { return *device_; }
  QueueId compute_queue() const noexcept { return compute_; }
  /// Returns ok while the device works; else the reason why it does not.
  const Status& lost() const noexcept { return lost_; }
  /// Returns ok, or the reason why the elements of a block are not known any more.
  const Status& broken() const noexcept { return broken_; }
  /// True if the device makes copies of other orders.
  bool permutes() const noexcept { return permutes_; }
  /// Returns the traffic since the last call.
  DeviceTraffic take_traffic() noexcept { return std::exchange(traffic_, {}); }

  /// Returns the copies of a block, after making the place for them.
  DeviceCopies& copies_of(const Block& block);
  /// Returns a copy with these strides, which the statement may read.
  /// Errors: out_of_memory; those of a lost device
  Result<BufferId> read(const ConstBlockPtr& block, const Strides& strides);
  /// Returns memory for D with these strides; with the elements of D if it `updates` them.
  /// Errors: out_of_memory, with the copies of D unchanged; those of a lost device
  Result<BufferId> write(Block& d, const Strides& strides, bool updates);
  /// Lets the compute queue wait for the uploads so far.
  Status await_uploads();
  /// Notes that D has been written: its copy with these strides is the only latest one.
  void wrote(Block& d, BufferId buffer, const Strides& strides, PastContraction past);
  /// Ends the statement: its copies may be evicted.
  void unpin() noexcept;
  /// Notes that the device does not work any more.
  void lose(const Status& status);
  /// Waits until the compute queue has nothing left to do.
  void await_compute();

 private:
  friend class DeviceCopies;
  struct InFlight {
    std::uint64_t number = 0;
    ConstBlockPtr block;
  };

  // Memory of copies that have ended. Devices give out memory that they have cleared, which takes
  // them longer than to submit a contraction.
  struct Idle {
    BufferId buffer;
    std::uint64_t bytes = 0;
    bool quiet = false;  // no command uses it any more
  };
  // The queue whose command writes first to a buffer.
  enum class Writer : std::uint8_t { upload, compute };

  DeviceMemory(std::shared_ptr<Device> device, std::uint64_t limit_bytes, std::uint64_t held_bytes,
               bool permutes, Gemm& host);
  Status make_queues();
  Result<BufferId> allocate(std::uint64_t bytes, Writer writer);
  std::optional<BufferId> take_idle(std::uint64_t bytes, Writer writer);
  bool free_idle() noexcept;
  void note_quiet() noexcept;
  const DeviceCopies::Copy* find(const DeviceCopies& copies, const Strides& strides) const;
  Result<BufferId> make_copy(const Block& block, const Strides& strides, ConstBlockPtr holder);
  Result<BufferId> upload_copy(const Block& block, const Strides& strides, ConstBlockPtr holder);
  Result<BufferId> permute_copy(const Block& block, const Strides& strides);
  Status upload(BufferId buffer, const Block& block, const Strides& strides, ConstBlockPtr holder);
  void hold(ConstBlockPtr block);
  bool has_room(std::uint64_t bytes);
  bool evict();
  void pin(DeviceCopies& copies);
  Status download(DeviceCopies& copies);
  void bring_to_host(DeviceCopies& copies) noexcept;
  Status repeat(DeviceCopies& copies);
  void forget_past(DeviceCopies& copies);
  void free_copies(DeviceCopies& copies, const BufferId* but = nullptr) noexcept;

  const std::shared_ptr<Device> device_;
  const std::uint64_t limit_bytes_;
  const std::uint64_t held_limit_bytes_;
  const bool permutes_;
  Gemm& host_;
  Scratch scratch_;
  QueueId uploads_{}, compute_{};
  EventId uploaded_{};
  bool queues_made_ = false;
  bool uploading_ = false;          // since the last await_uploads()
  bool unchecked_uploads_ = false;  // since the last download
  Status lost_, broken_;
  DeviceTraffic traffic_;
  BlockPool staging_;
  std::vector<DeviceCopies*> pinned_;
  // Uploads that may still read host memory, and the number of the last one that does not.
  std::deque<InFlight> in_flight_;
  std::uint64_t sent_ = 0;
  std::uint64_t in_flight_bytes_ = 0;
  const std::shared_ptr<std::atomic<std::uint64_t>> arrived_;
  std::uint64_t held_bytes_ = 0;

  // Blocks end on any thread. Recursive: the end of one may end others.
  std::recursive_mutex mutex_;
  std::list<DeviceCopies*> used_last_;  // the one that was used last is at the end
  std::vector<Idle> idle_;
  bool keeps_idle_ = true;
  std::uint64_t used_bytes_ = 0;  // idle ones too
};

}  // namespace ob::sial
