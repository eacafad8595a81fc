#pragma once
// The parts that LU and QR over several devices share: the columns of a general matrix, and a
// vector (pivots, or factors of reflectors) with one part for each panel.

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

/// Factors A, m x n in host memory, which stays as it is until commit() of the derived class.
/// Memory: on each device its columns, or those of a slab, and two panels; in host memory m x n for
///         the results
class GeneralFactorization : public BlockedFactorization {
 public:
  struct Problem {
    Precision precision;
    std::uint64_t m;
    std::uint64_t n;
    HostOperand a;
  };
  void release_devices() override { memory_.clear(); }

 protected:
  struct Memory {  // on one device
    explicit Memory(Device& device)
        : own(device), infos(device), slots{DeviceBuffer(device), DeviceBuffer(device)} {}
    DeviceBuffer own;  // columns, then the vector
    DeviceBuffer infos;
    DeviceBuffer slots[kPanelSlots];  // a panel without gaps, then its part of the vector
  };
  /// @param entry_bytes of the vector, one for each column of a panel: tau or pivots
  GeneralFactorization(PanelExchange& exchange, const Problem& problem,
                       const ColumnDistribution& distribution, std::uint32_t entry_bytes,
                       std::uint8_t entry_word_bytes);

  Status allocate(Rank rank) override;
  Status send_block(Rank rank, BlockIndex block) override;
  /// Fetches the block and, of a panel, its part of the vector and its info.
  Status fetch_block(Rank rank, BlockIndex block) override;
  PanelMessage message(Rank rank, BlockIndex panel) const override;
  PanelMessage receive_buffer(Rank rank, BlockIndex panel, std::size_t slot) const override;
  std::vector<Layout> host_panel(Rank rank, BlockIndex panel) override;

  const Problem& problem() const { return problem_; }
  std::uint64_t element() const { return element_bytes(problem_.precision); }
  std::uint64_t order() const { return std::min(problem_.m, problem_.n); }
  /// The rows of a panel, from the diagonal down.
  std::uint64_t height(BlockIndex panel) const {
    return GlobalIndex(problem_.m) - blocks().first(panel);
  }
  /// The columns of a panel that are factored.
  std::uint64_t depth(BlockIndex panel) const {
    return std::min(blocks().count(panel), height(panel));
  }
  /// The number of columns of the own blocks in [first, end), which lie side by side.
  /// @pre blocks().owner(first) == rank
  std::uint64_t columns(Rank rank, BlockIndex first, BlockIndex end) const;

  Memory& memory(Rank rank) { return *memory_[rank.value()]; }
  Region matrix(std::uint64_t offset_bytes, std::uint64_t rows, std::uint64_t cols,
                std::uint64_t ld) const;
  DeviceOperand own_part(Rank rank, BlockIndex block, GlobalIndex row) const;
  /// The panel and its part of the vector, whether the device owns them or not.
  DeviceOperand panel_part(Rank rank, BlockIndex panel, GlobalIndex row) const;
  DeviceOperand entries(Rank rank, BlockIndex panel) const;
  DeviceOperand info(Rank rank, BlockIndex panel) const;

  /// The results.   @pre run() has returned
  std::byte* results() const { return results_.data(); }
  std::byte* vector_results() { return vector_.data(); }
  std::int64_t info_result() const;
  /// Replaces A by the results.
  void copy_to_host() const;

 private:
  // Vectors lie behind matrices, aligned to the widest loads of libraries.
  static std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 63) / 64 * 64; }
  std::uint64_t own_vector_bytes(Rank rank) const {
    std::uint64_t most = 0;
    for (SlabIndex slab; slab < blocks().end_slab(); ++slab) {
      most = std::max(most, blocks().local_count(rank, slab));
    }
    return aligned(problem_.m * most * element());
  }
  std::uint64_t slot_vector_bytes() const {
    return aligned(problem_.m * blocks().width() * element());
  }
  Region vector_part(std::uint64_t offset_bytes, std::uint64_t count) const;

  const Problem problem_;
  const std::uint32_t entry_bytes_;
  const std::uint8_t entry_word_bytes_;
  HostScratch results_;
  std::vector<std::byte> vector_;
  std::vector<std::int64_t> infos_;
  std::vector<std::unique_ptr<Memory>> memory_;
};

}  // namespace ob::algorithms
