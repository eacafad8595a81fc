#pragma once
// A block server: it stores the blocks of distributed arrays and watches for races.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sial/exchange/message.hpp"
#include "sial/exchange/put_credit.hpp"
#include "sial/operations/scratch.hpp"
#include "sial/server/block_index.hpp"
#include "sial/server/chunk_coordinator.hpp"
#include "sial/server/epoch_accesses.hpp"
#include "sial/server/message_queue.hpp"
#include "sial/server/partial_sums.hpp"
#include "sial/server/put_grants.hpp"
#include "sial/server/races.hpp"
#include "sial/server/spill_store.hpp"

namespace ob::sial {

/// The most memory of one server.   Units: bytes
struct ServerPeaks {
  std::uint64_t stored = 0;  ///< of its blocks
  std::uint64_t queued = 0;  ///< of blocks in messages that it has not handled
};

/// Stores blocks, and answers each message.
/// Threads: owner only
class BlockServer final : public MessageReadiness {
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
  bool ready_for(const Message& message) const override;
  bool waits_for_disk(const Message& message) const override;
  void announce(const Message& message) const override;

  const SpillStore& store() const noexcept { return store_; }

 private:
  // All that belongs to one array. A block costs a record and its place in the index, and an entry
  // of the accesses while it is touched in the present epoch: at most 100 bytes beside its
  // elements.
  struct StoredArray {
    StoredArray(SpillStore& store, std::uint32_t number)
        : blocks(store, number), index(blocks), accesses(blocks), sums(store, number) {}
    SpillStore::Array blocks;
    BlockIndex index;
    EpochAccesses accesses;
    PartialSums sums;  // of the present epoch, or of a block that nobody has read since
    std::uint32_t generation = 0;
    Rank deleted_by = 0;  // the worker that began this generation
    std::uint32_t delete_instruction = 0;
  };

  void handle(StoredArray& array, const Message& message);
  void grant_puts();
  const StoredArray* array_to_read(const Message& message, RecordId& block) const;
  // Brings the array to the generation of the message. Returns false after a race, which it
  // reports.
  bool enter_generation(StoredArray& array, const Message& message);
  // Notes the access. Returns false after a race, which it reports.
  bool enter_access(StoredArray& array, RecordId block, BlockAccess access, const Message& message);
  // Adds up the sums of the workers. Returns false after an error, which it reports.
  bool settle(StoredArray& array, RecordId block, const Message& message);
  Status settle_block(StoredArray& array, RecordId block);
  void get(StoredArray& array, const Message& message);
  void prefetch(StoredArray& array, const Message& message);
  void write(StoredArray& array, const Message& message);
  Status apply(StoredArray& array, RecordId block, const Message& message);
  Result<View> target_of(StoredArray& array, RecordId block, const Message& message);
  Result<View> made_of_zeros(StoredArray& array, RecordId block, const Shape& shape);
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
  const PutCredit credit_;
  PutGrants grants_;
};

}  // namespace ob::sial
