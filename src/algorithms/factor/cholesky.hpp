#pragma once
// A = L L^H or U^H U over several devices.

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

/// Factors one triangle of A, n x n in host memory, which stays as it is until commit().
/// Columns of a lower triangle are distributed, and rows of an upper one, so that both do the same
/// on mirrored blocks.
/// Memory:  on each device its part of A, or of a slab of A, and two panels; in host memory n x n
///          for the results
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
  void release_devices() override { memory_.clear(); }

  /// The factor, without gaps between columns.   @pre run() returned without error
  std::byte* factor() const { return results_.data(); }
  std::int64_t info() const;
  /// Replaces A by its factor and returns LAPACK's info. If info is positive, A has the factor of
  /// the leading blocks, the block that failed is as its device left it, and the other blocks are
  /// unchanged.
  /// @pre run() returned without error
  std::int64_t commit();

 private:
  struct Memory {  // on one device
    explicit Memory(Device& device)
        : own(device), infos(device), slots{DeviceBuffer(device), DeviceBuffer(device)} {}
    DeviceBuffer own;
    DeviceBuffer infos;
    DeviceBuffer slots[kPanelSlots];
  };
  Status allocate(Rank rank) override;
  Status send_block(Rank rank, BlockIndex block) override;
  Status fetch_block(Rank rank, BlockIndex block) override;
  Status factor(Rank rank, BlockIndex panel) override;
  PanelMessage message(Rank rank, BlockIndex panel) const override;
  PanelMessage receive_buffer(Rank rank, BlockIndex panel, std::size_t slot) const override;
  std::vector<Layout> host_panel(Rank rank, BlockIndex panel) override;
  Status update(Rank rank, BlockIndex panel, BlockIndex first, BlockIndex end) override;
  Status factor_diagonal(Rank rank, BlockIndex panel);
  Status solve_panel(Rank rank, BlockIndex panel);
  Status update_diagonal(Rank rank, BlockIndex panel, BlockIndex block);
  Status update_below(Rank rank, BlockIndex panel, BlockIndex block);

  std::uint64_t element() const { return element_bytes(problem_.precision); }
  char uplo() const { return problem_.lower ? 'L' : 'U'; }
  /// The op that transposes: of complex matrices the conjugate transposition.
  char transposed() const { return complex_ ? 'C' : 'T'; }
  GlobalIndex end() const { return GlobalIndex(problem_.n); }
  /// The first row of the slab; rows before it are not on a device.
  GlobalIndex base(Rank rank) const { return blocks().first(slab(rank).first); }
  /// The first row of a panel behind its block of the diagonal that is on a device.
  GlobalIndex behind(Rank rank, BlockIndex panel) const {
    return std::max(blocks().end(panel), base(rank));
  }
  Region region(std::uint64_t offset_bytes, std::uint64_t length, std::uint64_t width,
                std::uint64_t ld) const;
  Region in_own(Rank rank, BlockIndex block, GlobalIndex from, std::uint64_t length) const;
  Region in_matrix(BlockIndex block, GlobalIndex from, std::uint64_t length,
                   std::uint64_t ld) const;
  DeviceOperand own_part(Rank rank, BlockIndex block, GlobalIndex from) const;
  DeviceOperand panel_part(Rank rank, BlockIndex panel, GlobalIndex from) const;

  const Problem problem_;
  const bool complex_;
  const Descriptor* const potrf_;
  const Descriptor* const trsm_;
  const Descriptor* const herk_;
  const Descriptor* const gemm_;
  HostScratch results_;
  std::vector<std::int64_t> infos_;
  std::vector<std::unique_ptr<Memory>> memory_;
};

}  // namespace ob::algorithms
