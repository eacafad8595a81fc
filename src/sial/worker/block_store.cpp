#include "sial/worker/block_store.hpp"

#include <algorithm>

namespace ob::sial {

BlockStore::BlockStore(const Program& program, const Geometry& geometry, BlockPool& pool)
    : program_(program),
      geometry_(geometry),
      pool_(pool),
      statics_(program.arrays.size()),
      blocks_(program.arrays.size()),
      regions_(program.arrays.size()) {}

Status BlockStore::allocate_statics() {
  for (std::uint32_t array = 0; array < statics_.size(); ++array) {
    if (program_.arrays[array].storage != Storage::static_) continue;
    auto made = pool_.allocate(geometry_.whole(array));
    if (!made.ok()) return made.status().in("static " + program_.arrays[array].name);
    statics_[array] = std::move(*made);
    hold(statics_[array]->bytes());
    std::fill_n(statics_[array]->data(), statics_[array]->elements(), 0.0);
  }
  return {};
}

BlockPtr* BlockStore::find(std::uint32_t array, std::uint64_t number) noexcept {
  const auto found = blocks_[array].find(number);
  return found == blocks_[array].end() ? nullptr : &found->second;
}

Result<BlockPtr*> BlockStore::add(const BlockPlace& place, std::size_t depth) {
  OB_ASSIGN_OR_RETURN(BlockPtr made, pool_.allocate(place.shape));
  BlockPtr& block = blocks_[place.array][place.number];
  block = std::move(made);
  hold(block->bytes());
  if (program_.arrays[place.array].storage == Storage::temp && depth > 0) {
    if (ending_.size() < depth) ending_.resize(depth);
    ending_[depth - 1].emplace_back(place.array, place.number);
  }
  return &block;
}

void BlockStore::remove(std::uint32_t array, std::uint64_t number) noexcept {
  const auto found = blocks_[array].find(number);
  if (found == blocks_[array].end()) return;
  bytes_ -= found->second->bytes();
  blocks_[array].erase(found);
}

void BlockStore::remove_all(std::uint32_t array) noexcept {
  for (const auto& [number, block] : blocks_[array]) bytes_ -= block->bytes();
  for (const LocalRegion& region : regions_[array]) bytes_ -= region.block->bytes();
  blocks_[array].clear();
  regions_[array].clear();
}

void BlockStore::end_iteration(std::size_t depth) noexcept {
  if (!ends_with(depth)) return;
  for (const auto& [array, number] : ending_[depth - 1]) remove(array, number);
  ending_[depth - 1].clear();
}

std::vector<BlockStore::Ending> BlockStore::ending() const {
  std::vector<Ending> all;
  for (std::size_t depth = 0; depth < ending_.size(); ++depth) {
    for (const auto& [array, number] : ending_[depth]) all.push_back({depth, number, array});
  }
  return all;
}

void BlockStore::set_ending(const std::vector<Ending>& ending) {
  for (const Ending& one : ending) {
    if (ending_.size() <= one.depth) ending_.resize(static_cast<std::size_t>(one.depth) + 1);
    ending_[one.depth].emplace_back(one.array, one.number);
  }
}

void BlockStore::hold(std::uint64_t bytes) noexcept {
  bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, bytes_);
}

void BlockStore::add_region(std::uint32_t array, LocalRegion region) {
  hold(region.block->bytes());
  regions_[array].push_back(std::move(region));
}

void BlockStore::remove_region(std::uint32_t array, std::vector<LocalRegion>::iterator region) {
  bytes_ -= region->block->bytes();
  regions_[array].erase(region);
}

LocalRegion* BlockStore::region_around(std::uint32_t array, const std::int64_t* bounds) noexcept {
  const std::size_t rank = program_.arrays[array].indices.size();
  const auto contains = [&](const LocalRegion& region) {
    for (std::size_t d = 0; d < rank; ++d) {
      if (bounds[2 * d] < region.bounds[2 * d]) return false;
      if (bounds[2 * d + 1] > region.bounds[2 * d + 1]) return false;
    }
    return true;
  };
  const auto found = std::ranges::find_if(regions_[array], contains);
  return found == regions_[array].end() ? nullptr : &*found;
}

View BlockStore::region_view(std::uint32_t array, LocalRegion& region,
                             const std::int64_t* bounds) const noexcept {
  View view;
  view.rank = region.block->shape().rank;
  view.data = region.block->data();
  std::int64_t stride = 1;
  for (unsigned d = 0; d < view.rank; ++d) {
    const std::int64_t from = bounds[2 * d];
    view.extents[d] = geometry_.elements_between(array, d, from, bounds[2 * d + 1] + 1);
    view.strides[d] = stride;
    view.data += geometry_.elements_between(array, d, region.bounds[2 * d], from) * stride;
    stride *= region.block->shape().extents[d];
    view.labels[d] = d;
    const Index& index = program_.indices[program_.arrays[array].indices[d]];
    if (index.kind == IndexKind::simple && view.extents[d] == 1) view.simple |= 1U << d;
  }
  return view;
}

}  // namespace ob::sial
