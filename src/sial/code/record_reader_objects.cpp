// Records of indices, arrays, selectors, loops and accesses.

#include <algorithm>
#include <array>
#include <string_view>

#include "sial/code/byte_fields.hpp"
#include "sial/code/record_reader.hpp"

namespace ob::sial {
namespace {

constexpr std::uint32_t kStar = 0xfffffffe;
constexpr std::uint32_t kCast = 0x80000000;
constexpr std::array<std::string_view, 4> kSchedules{"static", "balanced", "guided", "measured"};

enum ArrayFlag : std::uint8_t { kPredefined = 1, kContiguous = 2, kSparse = 4 };
enum AccessFlag : std::uint32_t { kGuarded = 1, kPredictable = 2, kInOpenLoop = 4 };

}  // namespace

Status RecordReader::read_index_bounds(Bytes record, Index& index) {
  index.lower = {u8_at(record, 5) == 1, i64_at(record, 16)};
  index.upper = {u8_at(record, 6) == 1, i64_at(record, 24)};
  if (u8_at(record, 5) > 1 || u8_at(record, 6) > 1)
    return refuse("a bound has an unknown kind", "0 and 1 are the only ones");
  for (const Bound& bound : {index.lower, index.upper}) {
    if (index.kind == IndexKind::subindex && (bound.variable || bound.value != 0))
      return refuse("a subindex has bounds", "its parent's segments determine them");
    if (!bound.variable) continue;
    const auto number = static_cast<std::uint64_t>(bound.value);
    if (number >= program_.ints.size() || !program_.ints[number].predefined) {
      return refuse("int " + std::to_string(bound.value) + " is no bound",
                    "a bound is an int that exists and is predefined");
    }
  }
  return {};
}

Status RecordReader::read_index(Bytes record) {
  Index index;
  OB_RETURN_IF_ERROR(name_at(u32_at(record, 0), index.name));
  if (u8_at(record, 4) > static_cast<std::uint8_t>(IndexKind::subindex))
    return refuse("an index has kind " + std::to_string(u8_at(record, 4)), "2 is the highest");
  index.kind = static_cast<IndexKind>(u8_at(record, 4));
  if (u8_at(record, 7) != 0 || u64_at(record, 32) != 0)
    return refuse("reserved bytes are set", "they must be zero");
  if (index.kind == IndexKind::segmented) {
    OB_RETURN_IF_ERROR(name_at(u32_at(record, 8), index.table));
  } else if (u32_at(record, 8) != kNone) {
    return refuse("an index has a segment table", "only segmented ones have one");
  }
  index.parent = u32_at(record, 12);
  const bool has_parent = index.parent < program_.indices.size() &&
                          program_.indices[index.parent].kind == IndexKind::segmented;
  if (index.kind == IndexKind::subindex ? !has_parent : index.parent != kNone) {
    return refuse("an index has a wrong parent",
                  "a subindex, and nothing else, has a segmented index before it as parent");
  }
  OB_RETURN_IF_ERROR(read_index_bounds(record, index));
  program_.indices.push_back(std::move(index));
  return {};
}

Status RecordReader::read_array(Bytes record) {
  Array array;
  OB_RETURN_IF_ERROR(name_at(u32_at(record, 0), array.name));
  if (u8_at(record, 4) > static_cast<std::uint8_t>(Storage::served))
    return refuse("an array has storage " + std::to_string(u8_at(record, 4)), "4 is the highest");
  array.storage = static_cast<Storage>(u8_at(record, 4));
  const std::uint8_t flags = u8_at(record, 5);
  const std::uint8_t rank = u8_at(record, 6);
  if (u8_at(record, 7) != 0) return refuse("reserved bytes are set", "they must be zero");
  if (flags > (kPredefined | kContiguous | kSparse))
    return refuse("flags have unknown bits", "1, 2 and 4 are known");
  array.predefined = (flags & kPredefined) != 0;
  array.contiguous = (flags & kContiguous) != 0;
  if (array.predefined && array.storage != Storage::static_)
    return refuse("an array is predefined", "only a static can be");
  if (array.contiguous && array.storage != Storage::local)
    return refuse("an array is contiguous", "only a local can be");
  if (rank == 0 || rank > kMaxRank)
    return refuse("an array has rank " + std::to_string(rank), "1 to 8 are possible");
  OB_RETURN_IF_ERROR(list_at(record.subspan(8), rank, array.indices));
  const bool may_have_subindices =
      array.storage == Storage::temp || (array.storage == Storage::local && !array.contiguous);
  for (const std::uint32_t index : array.indices) {
    if (index >= program_.indices.size())
      return refuse("index " + std::to_string(index) + " is missing", "the file has fewer");
    if (program_.indices[index].kind == IndexKind::subindex && !may_have_subindices) {
      return refuse("an array has a subindex",
                    "only temp and local arrays that are not contiguous can have one");
    }
  }
  program_.arrays.push_back(std::move(array));
  return {};
}

Status RecordReader::read_selector(Bytes record) {
  Selector selector;
  selector.array = u32_at(record, 0);
  if (selector.array >= program_.arrays.size())
    return refuse("array " + std::to_string(selector.array) + " is missing", "the file has fewer");
  if (u32_at(record, 4) != 0) return refuse("reserved bytes are set", "they must be zero");
  std::vector<std::uint32_t> places;
  const std::size_t rank = program_.arrays[selector.array].indices.size();
  OB_RETURN_IF_ERROR(list_at(record.subspan(8), static_cast<std::uint32_t>(rank), places));
  for (const std::uint32_t place : places) {
    if (place == kStar) {
      selector.dimensions.push_back({});
      continue;
    }
    const Selected selected{place & ~kCast, (place & kCast) != 0};
    if (selected.index >= program_.indices.size())
      return refuse("index " + std::to_string(selected.index) + " is missing",
                    "the file has fewer");
    selector.dimensions.push_back(selected);
  }
  program_.selectors.push_back(std::move(selector));
  return {};
}

Status RecordReader::read_loop(Bytes record) {
  Loop loop;
  if (u8_at(record, 0) > static_cast<std::uint8_t>(LoopKind::pardo))
    return refuse("a loop has kind " + std::to_string(u8_at(record, 0)), "2 is the highest");
  loop.kind = static_cast<LoopKind>(u8_at(record, 0));
  const bool pardo = loop.kind == LoopKind::pardo;
  const std::uint8_t count = u8_at(record, 1);
  if (u16_at(record, 2) != 0 || u64_at(record, 88) != 0)
    return refuse("reserved bytes are set", "they must be zero");
  if (count == 0 || count > (pardo ? kMaxLoopIndices : 1u))
    return refuse("a loop has " + std::to_string(count) + " indices",
                  "a do has 1, a pardo 1 to 16");
  if (u32_at(record, 4) != kNone) {
    OB_RETURN_IF_ERROR(name_at(u32_at(record, 4), loop.schedule));
    if (!pardo ||
        std::find(kSchedules.begin(), kSchedules.end(), loop.schedule) == kSchedules.end())
      return refuse("a loop has a wrong schedule",
                    "a pardo can have static, balanced, guided or measured");
  }
  loop.begin = u32_at(record, 8);
  loop.body = u32_at(record, 12);
  loop.end = u32_at(record, 16);
  loop.section = u32_at(record, 20);
  if (!pardo && loop.section != kNone) return refuse("a do has a section", "only a pardo can");
  OB_RETURN_IF_ERROR(list_at(record.subspan(24, 4 * kMaxLoopIndices), count, loop.indices));
  for (const std::uint32_t index : loop.indices) {
    if (index >= program_.indices.size())
      return refuse("index " + std::to_string(index) + " is missing", "the file has fewer");
    const bool sub = program_.indices[index].kind == IndexKind::subindex;
    if (sub != (loop.kind == LoopKind::do_in))
      return refuse("a loop has an index of a wrong kind",
                    "`do ii in i` runs over a subindex, no other loop does");
    if (std::count(loop.indices.begin(), loop.indices.end(), index) > 1)
      return refuse("a pardo has an index twice", "its indices are different");
  }
  program_.loops.push_back(std::move(loop));
  return {};
}

Status RecordReader::read_access(Bytes record) {
  Access access;
  access.instruction = u32_at(record, 0);
  access.selector = u32_at(record, 4);
  const std::uint32_t flags = u32_at(record, 8);
  const std::uint32_t count = u32_at(record, 12);
  if (flags > (kGuarded | kPredictable | kInOpenLoop))
    return refuse("flags have unknown bits", "1, 2 and 4 are known");
  if (count > kMaxLoopIndices)
    return refuse("an access has " + std::to_string(count) + " loops", "16 are the most");
  access.guarded = (flags & kGuarded) != 0;
  access.predictable = (flags & kPredictable) != 0;
  access.in_open_loop = (flags & kInOpenLoop) != 0;
  OB_RETURN_IF_ERROR(list_at(record.subspan(16), count, access.loops));
  program_.accesses.push_back(std::move(access));
  return {};
}

}  // namespace ob::sial
