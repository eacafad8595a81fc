#pragma once
// A = L L^H or U^H U over devices.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "algorithms/device_buffer.hpp"
#include "algorithms/factor/blocked_factorization.hpp"
#include "base/host_scratch.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::algorithms {

/// One triangle of A n x n in host memory, which stays as it is until commit().
/// Lower: columns are distributed out; upper: rows, so that both do the same on mirrored blocks.
/// Memory:  on each device its part of A, or of a slab of A, and two panels; here one n x n for the
/// results
class CholeskyFactorization final : public BlockedFactorization {
 public:
  struct Problem {
    Precision precision;
    bool lower;
    std::uint64_t n;
    HostOperand a;
  };
  CholeskyFactorization(PanelExchange& exchange, const Problem& problem,
                        const ColumnDistribution& distribution);
  void release_devices() override { rooms_.clear(); }

  /// The factor, without gaps between columns.   @pre run() returned without error
  std::byte* factor() const { return results_.data(); }
  std::int64_t info() const;
  /// Puts the factor in A's place and returns LAPACK's info. If it is positive, A has the factor
  /// of the leading blocks; the block that failed is as its device left it, all others as they
  /// were.
  /// @pre run() returned without error
  std::int64_t commit();

 private:
  struct Room {  // on one device
    explicit Room(Device& device)
        : own(device), infos(device), slots{DeviceBuffer(device), DeviceBuffer(device)} {}
    DeviceBuffer own;
    DeviceBuffer infos;
    DeviceBuffer slots[kSlots];
  };
  Status allocate(std::size_t at) override;
  Status send_block(std::size_t at, std::size_t block) override;
  Status fetch_block(std::size_t at, std::size_t block) override;
  Status factor(std::size_t at, std::size_t panel) override;
  PanelMessage message(std::size_t at, std::size_t panel) const override;
  PanelMessage receive_buffer(std::size_t at, std::size_t panel, std::size_t slot) const override;
  std::vector<Layout> host_panel(std::size_t at, std::size_t panel) override;
  Status update(std::size_t at, std::size_t panel, std::size_t first, std::size_t end) override;
  Status update_block(std::size_t at, std::size_t panel, std::size_t block);

  std::uint64_t element() const { return element_bytes(problem_.precision); }
  /// Where a slab begins; nothing before that is on a device.
  std::uint64_t base(std::size_t at) const { return blocks().first(slab(at).first); }
  /// What of a panel lies behind its block of the diagonal, and behind that.
  std::uint64_t behind(std::size_t at, std::size_t panel) const {
    return std::max(blocks().end(panel), base(at));
  }
  Region region(std::uint64_t offset_bytes, std::uint64_t length, std::uint64_t width,
                std::uint64_t ld) const;
  Region in_own(std::size_t at, std::size_t block, std::uint64_t from, std::uint64_t length) const;
  Region in_matrix(std::size_t block, std::uint64_t from, std::uint64_t length,
                   std::uint64_t ld) const;
  DeviceOperand own_part(std::size_t at, std::size_t block, std::uint64_t from) const;
  DeviceOperand panel_part(std::size_t at, std::size_t panel, std::uint64_t from) const;

  const Problem problem_;
  const bool complex_;
  const Descriptor* const potrf_;
  const Descriptor* const trsm_;
  const Descriptor* const herk_;
  const Descriptor* const gemm_;
  HostScratch results_;
  std::vector<std::int64_t> infos_;
  std::vector<std::unique_ptr<Room>> rooms_;
};

}  // namespace ob::algorithms
