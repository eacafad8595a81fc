#include "algorithms/tiles/call.hpp"

namespace ob::algorithms {

// --- results -------------------------------------------------------------------------------------

DeviceOperand in_tile(BufferId tile, const Block& tile_block, const Block& block,
                      std::uint32_t element_bytes) {
  const std::uint64_t col = block.col - tile_block.col;
  const std::uint64_t row = block.row - tile_block.row;
  return {tile, (col * tile_block.rows + row) * element_bytes,
          static_cast<std::int64_t>(tile_block.rows)};
}

Status TileLandings::fetch(Pipeline& pipeline, BufferId tile, const Block& tile_block,
                           const Block& block, Triangle triangle) {
  if (block.rows == 0 || block.cols == 0) return {};
  const PlacedOperand part = part_of(c_, block, triangle);
  Landed& landed =
      landed_.emplace_back(Landed{ResultLanding(part.data, part.home), triangle != Triangle::full});
  if (c_.read) OB_RETURN_IF_ERROR(landed.landing.wait());
  Region there = part.there;
  const DeviceOperand at = in_tile(tile, tile_block, block, there.element_bytes);
  there.offset_bytes = at.offset_bytes;
  there.ld = tile_block.rows;
  return pipeline.fetch(tile, there,
                        landed.landing.landing({0, 0, block.rows, block.cols}, triangle));
}

void TileLandings::commit() {
  if (!c_.read) return;
  const std::string_view base = call_.routine.base;
  const bool hermitian = base == "herk" || base == "her2k";
  for (Landed& one : landed_) {
    one.landing.add(call_.routine.precision, call_.argument("beta").scalar,
                    hermitian && one.on_diagonal);
  }
}

// --- panels --------------------------------------------------------------------------------------

Status TileSlots::allocate(Pipeline& pipeline, std::uint64_t largest_bytes) {
  for (Pipeline::Part& slot : slots_) {
    OB_RETURN_IF_ERROR(pipeline.allocate(largest_bytes, slot));
  }
  return {};
}

Status TileSlots::send(Pipeline& pipeline, const OpMatrix& matrix, const Block& block) {
  next_ = 1 - next_;
  block_ = block;
  return pipeline.send(matrix.placed(block), slots_[next_].buffer);
}

DeviceOperand TileSlots::last(const OpMatrix& matrix, std::uint64_t row) const {
  return {slots_[next_].buffer, matrix.offset_bytes(block_, row - block_.row), matrix.ld(block_)};
}

}  // namespace ob::algorithms
