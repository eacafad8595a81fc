#include "sial/worker/inventory.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace ob::sial {
namespace {

// The self-check looks at the first blocks of huge arrays only.
constexpr std::uint64_t kMostChecked = 1 << 20;

std::string bounds_text(const std::vector<std::int64_t>& bounds) {
  std::string text = "[";
  for (std::size_t d = 0; d + 1 < bounds.size(); d += 2) {
    if (d != 0) text += ",";
    text += std::to_string(bounds[d]);
    text += ":";
    text += std::to_string(bounds[d + 1]);
  }
  text += "]";
  return text;
}

}  // namespace

// A subindex has two numbers, that of its parent's segment and its own: "[2.1,3]".
std::string WorkerInventory::segments_text(std::uint32_t array, std::uint64_t number) const {
  const auto positions = geometry_.segments(array, number);
  std::string text = "[";
  for (unsigned d = 0; d < geometry_.whole(array).rank; ++d) {
    const std::int64_t parts = geometry_.subsegments(array, d);
    const std::int64_t lowest = geometry_.lowest(array, d);
    const std::int64_t position = positions[d] - lowest;
    if (d != 0) text += ",";
    text += std::to_string(lowest + position / parts);
    if (!geometry_.has_subsegments(array, d)) continue;
    text += ".";
    text += std::to_string(position % parts + 1);
  }
  text += "]";
  return text;
}

std::vector<InventoryBlock> WorkerInventory::held() const {
  std::vector<std::vector<InventoryBlock>> arrays(program_.arrays.size());
  const auto add = [&](std::uint32_t array, const char* kind, std::string segments,
                       std::uint64_t bytes) -> InventoryBlock& {
    arrays[array].push_back(
        {program_.arrays[array].name, kind, std::move(segments), false, 0, bytes});
    return arrays[array].back();
  };
  const auto add_block = [&](std::uint32_t array, std::uint64_t number, const char* kind,
                             const Block& block) {
    InventoryBlock& one = add(array, kind, segments_text(array, number), block.bytes());
    one.numbered = true;
    one.number = number;
  };
  for (std::uint32_t array = 0; array < program_.arrays.size(); ++array) {
    if (const BlockPtr& whole = store_.whole_static(array); whole != nullptr) {
      add(array, "static", "", whole->bytes());
    }
    for (const LocalRegion& region : store_.regions(array)) {
      add(array, "region", bounds_text(region.bounds), region.block->bytes());
    }
  }
  store_.for_each([&](std::uint32_t array, std::uint64_t number, const Block& block) {
    const bool temp = program_.arrays[array].storage == Storage::temp;
    add_block(array, number, temp ? "temp" : "local", block);
  });
  fetched_.for_each([&](std::uint32_t array, std::uint64_t number, const FetchedBlock& fetched) {
    if (fetched.block != nullptr) add_block(array, number, "fetched", *fetched.block);
  });
  std::vector<InventoryBlock> all;
  for (auto& blocks : arrays) {
    std::ranges::sort(blocks, {}, &InventoryBlock::number);
    std::ranges::move(blocks, std::back_inserter(all));
  }
  return all;
}

std::uint64_t WorkerInventory::misnumbered() const {
  std::uint64_t wrong = 0;
  for (std::uint32_t array = 0; array < program_.arrays.size(); ++array) {
    wrong += misnumbered_of(array);
  }
  return wrong;
}

// Goes through the blocks as nested loops do, the last dimension fastest.
std::uint64_t WorkerInventory::misnumbered_of(std::uint32_t array) const {
  const unsigned rank = geometry_.whole(array).rank;
  std::array<std::int64_t, kMaxRank> at{};
  std::array<std::int64_t, kMaxRank> end{};
  for (unsigned d = 0; d < rank; ++d) {
    at[d] = geometry_.lowest(array, d);
    const std::int64_t segments = geometry_.highest(array, d) - at[d] + 1;
    end[d] = at[d] + segments * geometry_.subsegments(array, d);
    if (segments == 0) return 0;
  }
  std::uint64_t wrong = 0;
  for (std::uint64_t number = 0; number < kMostChecked; ++number) {
    const auto segments = geometry_.segments(array, number);
    if (!std::equal(segments.begin(), segments.begin() + rank, at.begin())) ++wrong;
    unsigned d = rank;
    while (d > 0 && ++at[d - 1] == end[d - 1]) {
      --d;
      at[d] = geometry_.lowest(array, d);
    }
    if (d == 0) break;
  }
  return wrong;
}

}  // namespace ob::sial
