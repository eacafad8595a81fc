#pragma once
// What LU and QR over devices share: the columns of a general matrix and a vector that
// belongs to each panel.

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

/// A m x n in host memory, which stays as it is until the derived class's commit().
/// Memory: on each device its columns, or those of a slab, and two panels; here one m x n for the
/// results
class GeneralFactorization : public BlockedFactorization {
 public:
  struct Problem {
    Precision precision;
    std::uint64_t m;
    std::uint64_t n;
    HostOperand a;
  };
  void release_devices() override { rooms_.clear(); }

 protected:
  struct Room {  // on one device
    explicit Room(Device& device)
        : own(device), infos(device), slots{DeviceBuffer(device), DeviceBuffer(device)} {}
    DeviceBuffer own;  // columns, then the vector
    DeviceBuffer infos;
    DeviceBuffer slots[kSlots];  // a panel without gaps, then its part of the vector
  };
  /// @param entry_bytes of the vector, one for each column of a panel: tau or pivots
  GeneralFactorization(PanelExchange& exchange, const Problem& problem,
                       const ColumnDistribution& distribution, std::uint32_t entry_bytes,
                       std::uint8_t entry_word_bytes);

  Status allocate(std::size_t at) override;
  Status send_block(std::size_t at, std::size_t block) override;
  /// The block and, of a panel, its part of the vector and its info.
  Status fetch_block(std::size_t at, std::size_t block) override;
  PanelMessage message(std::size_t at, std::size_t panel) const override;
  PanelMessage receive_buffer(std::size_t at, std::size_t panel, std::size_t slot) const override;
  std::vector<Layout> host_panel(std::size_t at, std::size_t panel) override;

  const Problem& problem() const { return problem_; }
  std::uint64_t element() const { return element_bytes(problem_.precision); }
  std::uint64_t order() const { return std::min(problem_.m, problem_.n); }
  /// Of a panel: its rows, from the diagonal down, and the columns that are factored.
  std::uint64_t height(std::size_t panel) const { return problem_.m - blocks().first(panel); }
  std::uint64_t depth(std::size_t panel) const {
    return std::min(blocks().count(panel), height(panel));
  }
  /// Columns of the own blocks in [first, end): they lie side by side. @pre first is one of them
  std::uint64_t columns(std::size_t at, std::size_t first, std::size_t end) const;

  Room& room(std::size_t at) { return *rooms_[at]; }
  Region matrix(std::uint64_t offset_bytes, std::uint64_t rows, std::uint64_t cols,
                std::uint64_t ld) const;
  DeviceOperand own_part(std::size_t at, std::size_t block, std::uint64_t row) const;
  /// The panel and its part of the vector, wherever they are.
  DeviceOperand panel_part(std::size_t at, std::size_t panel, std::uint64_t row) const;
  DeviceOperand entries(std::size_t at, std::size_t panel) const;
  DeviceOperand info(std::size_t at, std::size_t panel) const;

  /// Results, when run() has returned.
  std::byte* results() const { return results_.data(); }
  std::byte* vector_results() { return vector_.data(); }
  std::int64_t info_result() const;
  /// Puts the results in A's place.
  void copy_to_host() const;

 private:
  // Vectors lie behind matrices, at multiples of what libraries load.
  static std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 63) / 64 * 64; }
  std::uint64_t own_vector_bytes(std::size_t at) const {
    std::uint64_t most = 0;
    for (std::size_t number = 0; number < blocks().slabs(); ++number) {
      most = std::max(most, blocks().local_count(at, number));
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
  std::vector<std::unique_ptr<Room>> rooms_;
};

}  // namespace ob::algorithms
