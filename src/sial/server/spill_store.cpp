#include "sial/server/spill_store.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>

#include "base/checksum.hpp"

namespace ob::sial {
namespace {

std::span<std::byte> elements_of(Block& block) noexcept {
  return std::as_writable_bytes(
      std::span(block.data(), static_cast<std::size_t>(block.elements())));
}

std::string block_text(std::uint64_t number) { return "block number " + std::to_string(number); }

}  // namespace

std::uint32_t SpillStore::Array::shape_number(const Shape& shape) {
  std::array<std::int64_t, kMaxRank> key{};
  std::copy_n(shape.extents.begin(), shape.rank, key.begin());
  const auto [found, added] =
      shape_numbers_.emplace(key, static_cast<std::uint32_t>(shapes_.size()));
  if (added) shapes_.push_back(shape);
  return found->second;
}

SpillStore::SpillStore(Options options)
    : options_(std::move(options)),
      pool_(options_.memory_bytes),
      lent_bytes_(std::make_shared<std::atomic<std::uint64_t>>(0)) {}

SpillStore::~SpillStore() {
  // The files have no names, so the folder is empty unless it has another use.
  if (made_folder_) ::rmdir(options_.folder.c_str());
}

Result<ConstBlockPtr> SpillStore::lend(Array& array, Entry& entry, std::uint64_t number) {
  OB_RETURN_IF_ERROR(load(array, entry, number));
  const BlockPtr& block = entry.resident_->block;
  if (options_.memory_bytes == 0) return ConstBlockPtr(block);
  *lent_bytes_ += block->bytes();
  return ConstBlockPtr(block.get(), [kept = block, lent = lent_bytes_](const Block* shown) mutable {
    const std::uint64_t bytes = shown->bytes();
    kept.reset();
    *lent -= bytes;
  });
}

Result<ConstBlockPtr> SpillStore::peek(const Array& array, const Entry& entry,
                                       std::uint64_t number) {
  if (entry.in_memory_) return ConstBlockPtr(entry.resident_->block);
  OB_ASSIGN_OR_RETURN(ConstBlockPtr block, read_from_disk(array, entry, number));
  return block;
}

Result<Block*> SpillStore::modify(Array& array, Entry& entry, std::uint64_t number) {
  OB_RETURN_IF_ERROR(load(array, entry, number));
  BlockPtr& block = entry.resident_->block;
  if (block.use_count() > 1) {
    const BlockPtr lent = block;  // the only holder here must not evict it
    OB_RETURN_IF_ERROR(make_room(lent->bytes()));
  }
  OB_RETURN_IF_ERROR(pool_.make_writable(block));
  entry.on_disk_ = false;
  return block.get();
}

Result<Block*> SpillStore::replace(Array& array, Entry& entry, std::uint64_t number,
                                   const Shape& shape) {
  const bool same = entry.present() && array.shapes_[entry.shape_] == shape;
  if (same && entry.in_memory_ && entry.resident_->block.use_count() == 1) {
    return modify(array, entry, number);
  }
  touch(array);
  // The old block stays until the new one is there.
  OB_ASSIGN_OR_RETURN(BlockPtr block, allocate(shape));
  if (!same) forget(array, entry);
  if (entry.in_memory_) array.residents_.erase(entry.resident_);
  insert(array, entry, number, std::move(block));
  entry.on_disk_ = false;
  return entry.resident_->block.get();
}

Result<BlockPtr> SpillStore::allocate(const Shape& shape) {
  OB_RETURN_IF_ERROR(make_room(static_cast<std::uint64_t>(shape.elements()) * sizeof(double)));
  return pool_.allocate(shape);
}

void SpillStore::adopt(Array& array, Entry& entry, std::uint64_t number, BlockPtr block) {
  touch(array);
  forget(array, entry);
  insert(array, entry, number, std::move(block));
}

void SpillStore::read_ahead(const Array& array, const Entry& entry) const noexcept {
  if (entry.in_memory_ || !entry.on_disk_) return;
  array.file_->read_ahead(entry.offset_, array.bytes_of(entry));
}

void SpillStore::clear(Array& array) noexcept {
  array.residents_.clear();
  array.file_.reset();
  array.shapes_.clear();
  array.shape_numbers_.clear();
}

std::uint64_t SpillStore::bytes_to_load(const Array& array, const Entry& entry) const noexcept {
  if (!entry.present()) return 0;
  const bool free = entry.in_memory_ && entry.resident_->block.use_count() == 1;
  return free ? 0 : array.bytes_of(entry);
}

bool SpillStore::has_room(std::uint64_t bytes) const noexcept {
  const std::uint64_t lent = lent_bytes_->load();
  return options_.memory_bytes == 0 || lent == 0 || lent + bytes <= options_.memory_bytes;
}

// Makes the array the one that was touched last.
void SpillStore::touch(Array& array) {
  if (array.place_) {
    order_.splice(order_.end(), order_, *array.place_);
    return;
  }
  array.place_ = order_.insert(order_.end(), &array);
}

// Makes the block, which is in memory, the one that was used last.
void SpillStore::touch(Array& array, Entry& entry) {
  touch(array);
  array.residents_.splice(array.residents_.end(), array.residents_, entry.resident_);
}

// Moves blocks to disk until a new block of this size fits, or nothing more can leave.
Status SpillStore::make_room(std::uint64_t bytes) {
  if (options_.memory_bytes == 0 || options_.folder.empty()) return {};
  while (pool_.used_bytes() + bytes > options_.memory_bytes) {
    OB_ASSIGN_OR_RETURN(const bool freed, evict_one());
    if (!freed) break;
  }
  return {};
}

// Removes one block from memory: here an order by the next use would have its place. Returns false
// if none can leave.
Result<bool> SpillStore::evict_one() {
  for (Array* array : order_) {
    for (auto at = array->residents_.begin(); at != array->residents_.end(); ++at) {
      if (at->block.use_count() > 1) continue;  // somebody else keeps its memory
      if (!at->entry->on_disk_) OB_RETURN_IF_ERROR(write_to_disk(*array, *at));
      at->entry->in_memory_ = false;
      array->residents_.erase(at);
      return true;
    }
  }
  return false;
}

Status SpillStore::write_to_disk(Array& array, const Resident& resident) {
  if (!array.file_) OB_RETURN_IF_ERROR(open_file(array));
  Entry& entry = *resident.entry;
  const std::span<const std::byte> bytes = elements_of(*resident.block);
  if (!entry.has_slot_) {
    entry.offset_ = array.file_->take_slot(bytes.size());
    entry.has_slot_ = true;
  }
  const Status written = array.file_->write(entry.offset_, bytes);
  if (!written.ok()) {
    return {written.code(), written.message() + " for " + block_text(resident.number) +
                                "; free disk space, or name another folder with --spill, "
                                "or raise --server-memory"};
  }
  entry.checksum_ = checksum(bytes);
  entry.on_disk_ = true;
  traffic_.written_bytes += bytes.size();
  return {};
}

Status SpillStore::open_file(Array& array) {
  const std::string stem = options_.name + "-array" + std::to_string(array.number_);
  Result<SpillFile> made = SpillFile::create(options_.folder, stem);
  // A server that ends removes the folder, and may do so between these two steps.
  for (int attempt = 0; attempt < 3 && !made.ok(); ++attempt) {
    std::error_code error;
    made_folder_ = std::filesystem::create_directories(options_.folder, error) || made_folder_;
    if (error) {
      return {Code::unavailable, options_.folder.string() + ": cannot make the folder (" +
                                     error.message() + "); name another one with --spill"};
    }
    made = SpillFile::create(options_.folder, stem);
  }
  if (!made.ok()) return made.status();
  array.file_.emplace(std::move(*made));
  return {};
}

Result<BlockPtr> SpillStore::read_from_disk(const Array& array, const Entry& entry,
                                            std::uint64_t number) {
  OB_ASSIGN_OR_RETURN(BlockPtr block, allocate(array.shapes_[entry.shape_]));
  const Status got = array.file_->read(entry.offset_, elements_of(*block), entry.checksum_);
  if (!got.ok()) return Status(got.code(), got.message() + " in " + block_text(number));
  traffic_.read_bytes += block->bytes();
  return block;
}

// Brings a present block into memory, and notes its use.
Status SpillStore::load(Array& array, Entry& entry, std::uint64_t number) {
  if (!entry.in_memory_) {
    OB_ASSIGN_OR_RETURN(BlockPtr block, read_from_disk(array, entry, number));
    insert(array, entry, number, std::move(block));
  }
  touch(array, entry);
  return {};
}

void SpillStore::insert(Array& array, Entry& entry, std::uint64_t number, BlockPtr block) {
  entry.shape_ = array.shape_number(block->shape());
  entry.resident_ =
      array.residents_.insert(array.residents_.end(), Resident{std::move(block), &entry, number});
  entry.in_memory_ = true;
}

void SpillStore::forget(Array& array, Entry& entry) noexcept {
  if (entry.in_memory_) array.residents_.erase(entry.resident_);
  if (entry.has_slot_) array.file_->free_slot(entry.offset_, array.bytes_of(entry));
  entry = Entry();
}

}  // namespace ob::sial
