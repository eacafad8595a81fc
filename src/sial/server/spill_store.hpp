#pragma once
// The blocks of a server: in memory as long as there is room, else on disk.

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sial/blocks/block.hpp"
#include "sial/operations/view.hpp"
#include "sial/server/chunked_vector.hpp"
#include "sial/server/spill_file.hpp"

namespace ob::sial {

/// The place of a block's record in its array.
enum class RecordId : std::uint32_t {};
inline constexpr RecordId kNoRecord{0};

/// Keeps blocks within a limit of memory. When room is needed, blocks of the array that was touched
/// least recently leave memory, the least recently used one first. A block that has changed since
/// it was last written is written to disk then.
///
/// Blocks may be many and small, so each is a record of 40 bytes and its elements. Only those that
/// are lent have a Block with a count of its holders, and only those on disk have a slot.
/// Memory:  of a block on disk: its record and its slot. Blocks in memory never exceed the limit;
///          those that are lent count.
/// Threads: owner only; lent blocks may be released on any thread
/// Errors:  of all functions: out_of_memory if a block is larger than the limit, or the system has
///          no memory; unavailable if the disk fails, naming the file and the block. The store and
///          the block are as before then.
class SpillStore {
 public:
  struct Options {
    std::uint64_t memory_bytes = 0;  ///< of blocks; 0: no limit
    std::filesystem::path folder;    ///< made when it is needed; empty: nothing goes to disk
    std::string name;                ///< of this server, in the names of files
  };
  class Array;
  /// Bytes of blocks that were written to disk and read back.
  struct Traffic {
    std::uint64_t written_bytes = 0, read_bytes = 0;
  };

  explicit SpillStore(Options options);
  ~SpillStore();
  SpillStore(const SpillStore&) = delete;
  SpillStore& operator=(const SpillStore&) = delete;

  /// Returns a block for a message. It counts as memory in use until the last holder releases it.
  /// @pre array.present(id)
  Result<ConstBlockPtr> lend(Array& array, RecordId id);
  /// Returns a block until the next call of this store, without a place in memory afterwards if it
  /// is on disk.
  /// @pre array.present(id)
  Result<ConstBlockPtr> peek(const Array& array, RecordId id);
  /// Returns a present block to change it. The view is valid until the next call of this store.
  /// @pre array.present(id)
  Result<View> modify(Array& array, RecordId id);
  /// Makes the record an uninitialised block of this shape, whatever it was.
  Result<View> replace(Array& array, RecordId id, const Shape& shape);

  /// Allocates a block that adopt() can take.
  Result<BlockPtr> allocate(const Shape& shape);
  /// Makes the record a block that allocate() made, whatever it was.
  /// @pre nobody else holds the block
  void adopt(Array& array, RecordId id, BlockPtr block);

  /// Makes the record no block.
  void forget(Array& array, RecordId id) noexcept;

  /// Begins to read a block that will be needed soon, if it is on disk. Does not wait for the disk,
  /// and takes none of this store's memory.
  void read_ahead(const Array& array, RecordId id) const noexcept;
  /// True if reading the block now would wait for the disk.
  bool waits_for_disk(const Array& array, RecordId id) const noexcept;

  /// Forgets all blocks of an array, and their records.
  void clear(Array& array) noexcept;

  /// Returns the bytes that modify(), lend() or peek() add to the memory in use.
  std::uint64_t bytes_to_load(const Array& array, RecordId id) const noexcept;
  /// True if so many bytes fit beside the lent blocks, or if nothing is lent.
  bool has_room(std::uint64_t bytes) const noexcept;

  std::uint64_t peak_bytes() const { return pool_.peak_bytes(); }
  const Traffic& traffic() const noexcept { return traffic_; }

 private:
  struct Record;
  struct Slot;
  // A block that messages hold, or held when somebody looked last.
  struct Loan {
    BlockPtr block;
    Array* array = nullptr;
    RecordId id = kNoRecord;
  };

  void touch(Array& array);
  Status make_room(std::uint64_t bytes);
  Result<bool> evict_one();
  Status write_to_disk(Array& array, RecordId id);
  Status open_file(Array& array);
  Result<double*> take_memory(std::uint64_t bytes);
  Status read_from_disk(const Array& array, const Record& record, double* elements);
  Status load(Array& array, RecordId id);
  void insert(Array& array, RecordId id, const Shape& shape, double* elements);
  void free_memory(Array& array, RecordId id) noexcept;
  bool is_lent(const Record& record) const noexcept;
  double* end_loan(std::uint32_t loan) noexcept;
  void end_returned_loans() noexcept;

  const Options options_;
  BlockPool pool_;
  std::shared_ptr<std::atomic<std::uint64_t>> lent_bytes_;
  std::list<Array*> order_;    // the least recently touched first
  std::vector<Loan> loans_;    // records have their places + 1
  std::size_t next_loan_ = 0;  // the one to look at next
  bool made_folder_ = false;
  Traffic traffic_;
};

// A record is no block if there are neither elements nor a slot that holds them.
struct SpillStore::Record {
  std::uint64_t number = 0;    // of the block in its array
  double* elements = nullptr;  // nullptr: not in memory
  RecordId older = kNoRecord;  // in the order of use, of blocks in memory
  RecordId newer = kNoRecord;
  std::uint32_t shape : 31 = 0;   // number of its shape in the array
  std::uint32_t on_disk : 1 = 0;  // the slot holds the present block
  std::uint32_t slot = 0;         // its place + 1; 0: none
  std::uint32_t loan = 0;         // its place + 1; 0: none
  std::uint32_t note = 0;         // of the array's owner
};

struct SpillStore::Slot {
  std::uint64_t offset = 0;
  std::uint64_t checksum = 0;  // of the block in it
};

/// The blocks of one array. They end with it.
class SpillStore::Array {
 public:
  /// @param store outlives the array
  /// @param number of the array, in the names of files
  Array(SpillStore& store, std::uint32_t number) : store_(store), number_(number) {}
  ~Array();
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  /// Adds a record that is no block yet. It stays until clear() or remove().
  /// @param number of the block
  RecordId add(std::uint64_t number);
  /// Removes a record that is no block.
  void remove(RecordId id);

  bool present(RecordId id) const noexcept {
    const Record& record = (*this)[id];
    return record.elements != nullptr || record.on_disk != 0;
  }
  std::uint64_t number(RecordId id) const noexcept { return (*this)[id].number; }
  /// A number that the owner keeps with the block; 0 at first.
  std::uint32_t note(RecordId id) const noexcept { return (*this)[id].note; }
  std::uint32_t& note(RecordId id) noexcept { return (*this)[id].note; }
  /// Calls `use` with the records of all blocks.
  template <class Use>
  void for_each_present(Use use) const {
    for (std::uint32_t at = 1; at <= records_.size(); ++at) {
      if (present(RecordId{at})) use(RecordId{at});
    }
  }

 private:
  friend class SpillStore;
  Record& operator[](RecordId id) noexcept { return records_[static_cast<std::uint32_t>(id) - 1]; }
  const Record& operator[](RecordId id) const noexcept {
    return records_[static_cast<std::uint32_t>(id) - 1];
  }
  Slot& slot_of(const Record& record) noexcept { return slots_[record.slot - 1]; }
  const Slot& slot_of(const Record& record) const noexcept { return slots_[record.slot - 1]; }
  void take_slot(Record& record);
  void free_slot(Record& record);
  void link_last(RecordId id) noexcept;
  void unlink(RecordId id) noexcept;
  std::uint32_t shape_number(const Shape& shape);
  const Shape& shape_of(const Record& record) const noexcept { return shapes_[record.shape]; }
  std::uint64_t bytes_of(const Record& record) const noexcept {
    return static_cast<std::uint64_t>(shape_of(record).elements()) * sizeof(double);
  }

  SpillStore& store_;
  ChunkedVector<Record> records_;
  RecordId oldest_ = kNoRecord, newest_ = kNoRecord;  // of those in memory, by their last use
  std::vector<RecordId> free_records_;
  ChunkedVector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::optional<SpillFile> file_;
  std::vector<Shape> shapes_;  // records have numbers, because a shape is larger than a record
  std::map<std::array<std::int64_t, kMaxRank>, std::uint32_t> shape_numbers_;
  std::optional<std::list<Array*>::iterator> place_;  // in the order of arrays
  std::uint32_t number_;
};

}  // namespace ob::sial
