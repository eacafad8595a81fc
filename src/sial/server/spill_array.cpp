// The records, slots and shapes of the blocks of one array.

#include <algorithm>

#include "sial/server/spill_store.hpp"

namespace ob::sial {

SpillStore::Array::~Array() {
  store_.clear(*this);
  if (place_) store_.order_.erase(*place_);
}

RecordId SpillStore::Array::add(std::uint64_t number) {
  if (!free_records_.empty()) {
    const RecordId id = free_records_.back();
    free_records_.pop_back();
    (*this)[id] = Record{.number = number};
    return id;
  }
  records_.push_back(Record{.number = number});
  return RecordId{static_cast<std::uint32_t>(records_.size())};
}

void SpillStore::Array::remove(RecordId id) { free_records_.push_back(id); }

void SpillStore::Array::take_slot(Record& record) {
  const std::uint64_t offset = file_->take_slot(bytes_of(record));
  if (free_slots_.empty()) {
    slots_.push_back({offset, 0});
    record.slot = static_cast<std::uint32_t>(slots_.size());
    return;
  }
  record.slot = free_slots_.back();
  free_slots_.pop_back();
  slot_of(record) = {offset, 0};
}

void SpillStore::Array::free_slot(Record& record) {
  file_->free_slot(slot_of(record).offset, bytes_of(record));
  free_slots_.push_back(record.slot);
  record.slot = 0;
  record.on_disk = 0;
}

// Makes the block, which has come into memory, the one that was used last.
void SpillStore::Array::link_last(RecordId id) noexcept {
  Record& record = (*this)[id];
  record.older = newest_;
  record.newer = kNoRecord;
  (newest_ == kNoRecord ? oldest_ : (*this)[newest_].newer) = id;
  newest_ = id;
}

void SpillStore::Array::unlink(RecordId id) noexcept {
  const Record& record = (*this)[id];
  (record.older == kNoRecord ? oldest_ : (*this)[record.older].newer) = record.newer;
  (record.newer == kNoRecord ? newest_ : (*this)[record.newer].older) = record.older;
}

std::uint32_t SpillStore::Array::shape_number(const Shape& shape) {
  std::array<std::int64_t, kMaxRank> key{};
  std::copy_n(shape.extents.begin(), shape.rank, key.begin());
  const auto [found, added] =
      shape_numbers_.emplace(key, static_cast<std::uint32_t>(shapes_.size()));
  if (added) shapes_.push_back(shape);
  return found->second;
}

}  // namespace ob::sial
