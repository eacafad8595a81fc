#pragma once
// The list of a worker's blocks.

#include <cstdint>
#include <string>
#include <vector>

#include "sial/plugin/block_inventory.hpp"
#include "sial/worker/block_store.hpp"
#include "sial/worker/fetched_blocks.hpp"
#include "sial/worker/geometry.hpp"

namespace ob::sial {

/// Memory: refers to the parts of one worker, which must live longer
class WorkerInventory final : public BlockInventory {
 public:
  WorkerInventory(const Program& program, const Geometry& geometry, const BlockStore& store,
                  const FetchedBlocks& fetched)
      : program_(program), geometry_(geometry), store_(store), fetched_(fetched) {}

  std::vector<InventoryBlock> held() const override;
  std::uint64_t misnumbered() const override;

 private:
  std::string segments_text(std::uint32_t array, std::uint64_t number) const;
  std::uint64_t misnumbered_of(std::uint32_t array) const;

  const Program& program_;
  const Geometry& geometry_;
  const BlockStore& store_;
  const FetchedBlocks& fetched_;
};

}  // namespace ob::sial
