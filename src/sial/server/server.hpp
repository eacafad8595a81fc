#pragma once
// A block server: it stores the blocks of distributed arrays and watches for races.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "sial/exchange/message.hpp"
#include "sial/operations/scratch.hpp"
#include "sial/server/chunk_coordinator.hpp"
#include "sial/server/partial_sums.hpp"
#include "sial/server/races.hpp"
#include "sial/server/spill_store.hpp"

namespace ob::sial {

/// Stores blocks, and answers each message.
/// Threads: owner only
class BlockServer {
 public:
  struct Options {
    Rank rank = 0;
    std::uint64_t memory_bytes = 0;  ///< of blocks; 0: no limit
    bool races_by_iteration = false;
    /// For blocks beyond `memory_bytes`. Empty: more blocks are an error.
    std::filesystem::path spill_folder{};
    Rank workers = 1;
    /// Sums have the same bits whatever the order in which messages arrive.
    bool deterministic = false;
    /// Returns the number of the server that has a block of an array. Empty: the number of the
    /// block modulo the servers.
    std::function<Rank(std::uint32_t, std::uint64_t)> server_of{};
  };

  BlockServer(const Options& options, Exchange& exchange);

  /// Handles a message and sends the answer.
  void receive(const Message& message);
  /// True if the message can be handled now. Else blocks of earlier answers fill the memory, and it
  /// has to wait until some of them have left.
  bool ready_for(const Message& message) const;
  /// Begins to read the block of a message that receive() will get later, so that messages wait
  /// for the disk together and not one after another.
  void announce(const Message& message) const;

  const SpillStore& store() const noexcept { return store_; }

 private:
  struct Stored {
    // The state lies in its padding: each block of huge arrays costs a Stored, on disk as well.
    [[no_unique_address]] SpillStore::Entry entry;
    AccessState state = AccessState::untouched;
    std::uint32_t instruction = 0;  // of the access that set `state` first
    Rank worker = 0;                // of that access
    std::uint64_t iteration = 0;    // of that access
    std::uint64_t epoch = 0;
  };
  // With its key, its link and its bucket that is less than 100 bytes.
  static_assert(sizeof(Stored) <= 56);
  struct StoredArray {
    explicit StoredArray(std::uint32_t number) : stored(number), sums(number) {}
    SpillStore::Array stored;
    PartialSums sums;  // of the present epoch, or of a block that nobody has read since
    std::uint32_t generation = 0;
    Rank deleted_by = 0;  // the worker that began this generation
    std::uint32_t delete_instruction = 0;
    std::unordered_map<std::uint64_t, Stored> blocks;
  };

  // Brings the array to the generation of the message. Returns false after a race, which it
  // reports.
  bool enter_generation(StoredArray& array, const Message& message);
  // Notes the access. Returns false after a race, which it reports.
  bool enter_access(StoredArray& array, Stored& stored, BlockAccess access, const Message& message);
  // Adds up the sums of the workers. Returns false after an error, which it reports.
  bool settle(StoredArray& array, Stored& stored, const Message& message);
  Status settle_block(StoredArray& array, Stored& stored, std::uint64_t number);
  void get(StoredArray& array, const Message& message);
  void prefetch(StoredArray& array, const Message& message);
  void write(StoredArray& array, const Message& message);
  Status apply(StoredArray& array, Stored& stored, const Message& message);
  Result<Block*> target_of(StoredArray& array, Stored& stored, const Message& message);
  Result<Block*> made_of_zeros(StoredArray& array, Stored& stored, std::uint64_t number,
                               const Shape& shape);
  void forget_blocks(StoredArray& array);
  void next_chunk(const Message& message);
  void save(StoredArray& array, const Message& message);
  void restore(StoredArray& array, const Message& message);
  Message answer_to(const Message& message, MessageKind kind) const;
  void refuse(const Message& message, std::string text, std::vector<std::uint64_t> words = {});
  void answer(const Message& message, MessageKind kind);
  void report_race(const Message& message, std::uint32_t instruction, Rank worker);

  const Options options_;
  Exchange& exchange_;
  SpillStore store_;
  Scratch scratch_;
  std::map<std::uint32_t, StoredArray> arrays_;
  ChunkCoordinator chunks_;
};

}  // namespace ob::sial
