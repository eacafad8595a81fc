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
#include "sial/server/spill_file.hpp"

namespace ob::sial {

/// Keeps blocks within a limit of memory. When room is needed, blocks of the array that was touched
/// least recently leave memory, the least recently used one first. A block that has changed since
/// it was last written is written to disk then.
///
/// The owner keeps an Array per array and an Entry per block, both at fixed addresses.
/// Memory:  of a block on disk: its Entry. Blocks in memory never exceed the limit; those that are
///          lent count.
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
  class Entry;
  /// Bytes of blocks that were written to disk and read back.
  struct Traffic {
    std::uint64_t written_bytes = 0, read_bytes = 0;
  };

  explicit SpillStore(Options options);
  ~SpillStore();
  SpillStore(const SpillStore&) = delete;
  SpillStore& operator=(const SpillStore&) = delete;

  /// Returns a block for a message. It counts as memory in use until the last holder releases it.
  /// @pre entry.present()
  Result<ConstBlockPtr> lend(Array& array, Entry& entry, std::uint64_t number);
  /// Returns a block for a short time, without a place in memory afterwards if it is on disk.
  /// @pre entry.present()
  Result<ConstBlockPtr> peek(const Array& array, const Entry& entry, std::uint64_t number);
  /// Returns a present block to change it. The pointer is valid until the next call of this store.
  /// @pre entry.present()
  Result<Block*> modify(Array& array, Entry& entry, std::uint64_t number);
  /// Makes the entry an uninitialised block of this shape, whatever it was.
  Result<Block*> replace(Array& array, Entry& entry, std::uint64_t number, const Shape& shape);

  /// Allocates a block that adopt() can take.
  Result<BlockPtr> allocate(const Shape& shape);
  /// Makes the entry a block that allocate() made, whatever it was.
  void adopt(Array& array, Entry& entry, std::uint64_t number, BlockPtr block);

  /// Makes the entry no block.
  void forget(Array& array, Entry& entry) noexcept;

  /// Begins to read a block that will be needed soon, if it is on disk. Does not wait for the disk,
  /// and takes none of this store's memory.
  void read_ahead(const Array& array, const Entry& entry) const noexcept;

  /// Forgets all blocks of an array. The caller drops their entries.
  void clear(Array& array) noexcept;

  /// Returns the bytes that modify(), lend() or peek() add to the memory in use.
  std::uint64_t bytes_to_load(const Array& array, const Entry& entry) const noexcept;
  /// True if so many bytes fit beside the lent blocks, or if nothing is lent.
  bool has_room(std::uint64_t bytes) const noexcept;

  std::uint64_t peak_bytes() const { return pool_.peak_bytes(); }
  const Traffic& traffic() const noexcept { return traffic_; }

 private:
  struct Resident;
  using Residents = std::list<Resident>;  // the least recently used first

  void touch(Array& array);
  void touch(Array& array, Entry& entry);
  Status make_room(std::uint64_t bytes);
  Result<bool> evict_one();
  Status write_to_disk(Array& array, const Resident& resident);
  Status open_file(Array& array);
  Result<BlockPtr> read_from_disk(const Array& array, const Entry& entry, std::uint64_t number);
  Status load(Array& array, Entry& entry, std::uint64_t number);
  void insert(Array& array, Entry& entry, std::uint64_t number, BlockPtr block);

  const Options options_;
  BlockPool pool_;
  std::shared_ptr<std::atomic<std::uint64_t>> lent_bytes_;
  std::list<Array*> order_;  // the least recently touched first
  bool made_folder_ = false;
  Traffic traffic_;
};

struct SpillStore::Resident {
  BlockPtr block;
  Entry* entry = nullptr;
  std::uint64_t number = 0;
};

/// The place of one block. A new entry is no block.
class SpillStore::Entry {
 public:
  bool present() const noexcept { return in_memory_ || on_disk_; }

 private:
  friend class SpillStore;
  Residents::iterator resident_;  // if in_memory_
  std::uint64_t offset_ = 0;      // of its slot, if has_slot_
  std::uint64_t checksum_ = 0;    // of the block in the slot, if on_disk_
  std::uint32_t shape_ = 0;       // number of its shape in the array
  bool in_memory_ : 1 = false;
  bool has_slot_ : 1 = false;
  bool on_disk_ : 1 = false;  // the slot holds the present block
};

/// The blocks of one array.
class SpillStore::Array {
 public:
  /// @param number of the array, in the names of files
  explicit Array(std::uint32_t number) : number_(number) {}

 private:
  friend class SpillStore;
  std::uint32_t shape_number(const Shape& shape);
  std::uint64_t bytes_of(const Entry& entry) const noexcept {
    return static_cast<std::uint64_t>(shapes_[entry.shape_].elements()) * sizeof(double);
  }

  Residents residents_;
  std::optional<SpillFile> file_;
  std::vector<Shape> shapes_;  // entries have numbers, because a shape is larger than an entry
  std::map<std::array<std::int64_t, kMaxRank>, std::uint32_t> shape_numbers_;
  std::optional<std::list<Array*>::iterator> place_;  // in the order of arrays
  std::uint32_t number_;
};

}  // namespace ob::sial
