#include "sial/server/spill_store.hpp"

#include <unistd.h>

#include <cstring>
#include <span>
#include <system_error>
#include <utility>

#include "base/checksum.hpp"

namespace ob::sial {
namespace {

std::span<std::byte> bytes_at(double* elements, std::uint64_t bytes) noexcept {
  return {reinterpret_cast<std::byte*>(elements), static_cast<std::size_t>(bytes)};
}

std::string block_text(std::uint64_t number) { return "block number " + std::to_string(number); }

}  // namespace

SpillStore::SpillStore(Options options)
    : options_(std::move(options)),
      pool_(options_.memory_bytes),
      lent_bytes_(std::make_shared<std::atomic<std::uint64_t>>(0)) {}

SpillStore::~SpillStore() {
  // The files have no names, so the folder is empty unless it has another use.
  if (made_folder_) ::rmdir(options_.folder.c_str());
}

Result<ConstBlockPtr> SpillStore::lend(Array& array, RecordId id) {
  OB_RETURN_IF_ERROR(load(array, id));
  Record& record = array[id];
  if (record.loan == 0) {
    end_returned_loans();
    loans_.push_back({pool_.attach(array.shape_of(record), record.elements), &array, id});
    record.loan = static_cast<std::uint32_t>(loans_.size());
  }
  const BlockPtr& block = loans_[record.loan - 1].block;
  if (options_.memory_bytes == 0) return ConstBlockPtr(block);
  *lent_bytes_ += block->bytes();
  return ConstBlockPtr(block.get(), [kept = block, lent = lent_bytes_](const Block* shown) mutable {
    const std::uint64_t bytes = shown->bytes();
    kept.reset();
    *lent -= bytes;
  });
}

Result<ConstBlockPtr> SpillStore::peek(const Array& array, RecordId id) {
  const Record& record = array[id];
  const Shape& shape = array.shape_of(record);
  if (record.elements != nullptr) {
    return ConstBlockPtr(std::make_shared<const Block>(shape, record.elements));
  }
  OB_ASSIGN_OR_RETURN(BlockPtr block, allocate(shape));
  OB_RETURN_IF_ERROR(read_from_disk(array, record, block->data()));
  return ConstBlockPtr(std::move(block));
}

Result<View> SpillStore::modify(Array& array, RecordId id) {
  OB_RETURN_IF_ERROR(load(array, id));
  Record& record = array[id];
  if (is_lent(record)) {
    // Those who have the block keep it as it is. A second holder here prevents its eviction.
    const BlockPtr lent = loans_[record.loan - 1].block;
    OB_ASSIGN_OR_RETURN(double* const elements, take_memory(lent->bytes()));
    std::memcpy(elements, lent->data(), lent->bytes());
    free_memory(array, id);
    insert(array, id, lent->shape(), elements);
  } else if (record.loan != 0) {
    end_loan(record.loan - 1);  // the returned block may have copies of these elements on a device
  }
  record.on_disk = 0;
  return view_of(array.shape_of(record), record.elements);
}

Result<View> SpillStore::replace(Array& array, RecordId id, const Shape& shape) {
  Record& record = array[id];
  const bool same = array.present(id) && array.shape_of(record) == shape;
  if (same && record.elements != nullptr && !is_lent(record)) return modify(array, id);
  touch(array);
  // The old block stays until the new one is there.
  OB_ASSIGN_OR_RETURN(double* const elements,
                      take_memory(static_cast<std::uint64_t>(shape.elements()) * sizeof(double)));
  if (!same) forget(array, id);
  free_memory(array, id);
  insert(array, id, shape, elements);
  record.on_disk = 0;
  return view_of(shape, elements);
}

Result<BlockPtr> SpillStore::allocate(const Shape& shape) {
  OB_RETURN_IF_ERROR(make_room(static_cast<std::uint64_t>(shape.elements()) * sizeof(double)));
  return pool_.allocate(shape);
}

void SpillStore::adopt(Array& array, RecordId id, BlockPtr block) {
  touch(array);
  forget(array, id);
  const Shape shape = block->shape();
  insert(array, id, shape, pool_.detach(std::move(block)));
}

void SpillStore::forget(Array& array, RecordId id) noexcept {
  free_memory(array, id);
  if (array[id].slot != 0) array.free_slot(array[id]);
}

void SpillStore::read_ahead(const Array& array, RecordId id) const noexcept {
  const Record& record = array[id];
  if (record.elements != nullptr || record.on_disk == 0) return;
  array.file_->read_ahead(array.slot_of(record).offset, array.bytes_of(record));
}

bool SpillStore::waits_for_disk(const Array& array, RecordId id) const noexcept {
  const Record& record = array[id];
  if (record.elements != nullptr || record.on_disk == 0) return false;
  return array.file_->waits_for_disk(array.slot_of(record).offset, array.bytes_of(record));
}

void SpillStore::clear(Array& array) noexcept {
  for (RecordId id = array.oldest_; id != kNoRecord; id = array[id].newer) free_memory(array, id);
  array.records_.clear();
  array.oldest_ = array.newest_ = kNoRecord;
  array.free_records_.clear();
  array.slots_.clear();
  array.free_slots_.clear();
  array.file_.reset();
  array.shapes_.clear();
  array.shape_numbers_.clear();
}

std::uint64_t SpillStore::bytes_to_load(const Array& array, RecordId id) const noexcept {
  if (!array.present(id)) return 0;
  const Record& record = array[id];
  return record.elements != nullptr && !is_lent(record) ? 0 : array.bytes_of(record);
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
    for (RecordId id = array->oldest_; id != kNoRecord; id = (*array)[id].newer) {
      if (is_lent((*array)[id])) continue;  // somebody else keeps its memory
      if ((*array)[id].on_disk == 0) OB_RETURN_IF_ERROR(write_to_disk(*array, id));
      free_memory(*array, id);
      return true;
    }
  }
  return false;
}

Status SpillStore::write_to_disk(Array& array, RecordId id) {
  if (!array.file_) OB_RETURN_IF_ERROR(open_file(array));
  Record& record = array[id];
  const std::span<const std::byte> bytes = bytes_at(record.elements, array.bytes_of(record));
  if (record.slot == 0) array.take_slot(record);
  Slot& slot = array.slot_of(record);
  const Status written = array.file_->write(slot.offset, bytes);
  if (!written.ok()) {
    return {written.code(), written.message() + " for " + block_text(record.number) +
                                "; free disk space, or name another folder with --spill, "
                                "or raise --server-memory"};
  }
  slot.checksum = checksum(bytes);
  record.on_disk = 1;
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

Result<double*> SpillStore::take_memory(std::uint64_t bytes) {
  OB_RETURN_IF_ERROR(make_room(bytes));
  return pool_.take(bytes);
}

Status SpillStore::read_from_disk(const Array& array, const Record& record, double* elements) {
  const Slot& slot = array.slot_of(record);
  const std::uint64_t bytes = array.bytes_of(record);
  const Status got = array.file_->read(slot.offset, bytes_at(elements, bytes), slot.checksum);
  if (!got.ok()) return {got.code(), got.message() + " in " + block_text(record.number)};
  traffic_.read_bytes += bytes;
  return {};
}

// Brings a present block into memory, and notes its use.
Status SpillStore::load(Array& array, RecordId id) {
  const Record& record = array[id];
  touch(array);
  if (record.elements != nullptr) {
    array.unlink(id);
    array.link_last(id);
    return {};
  }
  const std::uint64_t bytes = array.bytes_of(record);
  OB_ASSIGN_OR_RETURN(double* const elements, take_memory(bytes));
  const Status got = read_from_disk(array, record, elements);
  if (got.ok()) {
    insert(array, id, array.shape_of(record), elements);
  } else {
    pool_.free(elements, bytes);
  }
  return got;
}

// Gives a record without elements some.
void SpillStore::insert(Array& array, RecordId id, const Shape& shape, double* elements) {
  array[id].shape = array.shape_number(shape) & 0x7fffffff;
  array[id].elements = elements;
  array.link_last(id);
}

// Removes the elements of a record, if it has some. Those who have the block keep them.
void SpillStore::free_memory(Array& array, RecordId id) noexcept {
  Record& record = array[id];
  if (record.elements == nullptr) return;
  double* elements = record.elements;
  if (record.loan != 0) elements = end_loan(record.loan - 1);
  if (elements != nullptr) pool_.free(elements, array.bytes_of(record));
  record.elements = nullptr;
  array.unlink(id);
}

bool SpillStore::is_lent(const Record& record) const noexcept {
  return record.loan != 0 && loans_[record.loan - 1].block.use_count() > 1;
}

// Forgets a loan. Returns the elements, if nobody has the block any more.
double* SpillStore::end_loan(std::uint32_t loan) noexcept {
  Loan ended = std::move(loans_[loan]);
  (*ended.array)[ended.id].loan = 0;
  if (loan + 1 != loans_.size()) {
    loans_[loan] = std::move(loans_.back());
    (*loans_[loan].array)[loans_[loan].id].loan = loan + 1;
  }
  loans_.pop_back();
  return pool_.detach(std::move(ended.block));
}

// Looks at two loans for each new one, so that there are at most about twice as many as blocks that
// somebody has.
void SpillStore::end_returned_loans() noexcept {
  for (int looks = 0; looks < 2 && !loans_.empty(); ++looks) {
    if (next_loan_ >= loans_.size()) next_loan_ = 0;
    if (loans_[next_loan_].block.use_count() > 1) {
      ++next_loan_;
    } else {
      end_loan(static_cast<std::uint32_t>(next_loan_));
    }
  }
}

}  // namespace ob::sial
