#pragma once
// A block server: it stores the blocks of distributed arrays and watches for races.

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "sial/exchange/message.hpp"
#include "sial/server/races.hpp"

namespace ob::sial {

/// What a server has done since its creation.
struct ServerCounters {
  std::uint64_t requests = 0;
  std::uint64_t blocks = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t sent_bytes = 0;
};

/// Threads: owner only
class BlockServer {
 public:
  struct Options {
    Rank rank = 0;
    std::uint64_t memory_bytes = 0;  ///< of blocks; 0: no limit
    bool races_by_iteration = false;
  };

  BlockServer(const Options& options, Exchange& exchange);

  /// Handles a message and sends the answer.
  void receive(Message message);

  const ServerCounters& counters() const noexcept { return counters_; }

 private:
  struct Stored {
    BlockPtr block;  // nullptr: absent
    std::uint64_t epoch = 0;
    std::uint64_t iteration = 0;    // of the access that set `state` first
    std::uint32_t instruction = 0;  // of that access
    Rank worker = 0;                // of that access
    AccessState state = AccessState::untouched;
  };
  struct StoredArray {
    std::uint32_t generation = 0;
    std::uint64_t deleted_epoch = 0;
    Rank deleted_by = 0;
    std::uint32_t delete_instruction = 0;
    std::unordered_map<std::uint64_t, Stored> blocks;
  };

  // Brings the array to the generation of the message. Returns false after a race, which it
  // reports.
  bool enter_generation(StoredArray& array, const Message& message);
  // Notes the access. Returns false after a race, which it reports.
  bool enter_access(Stored& stored, BlockAccess access, const Message& message);
  void get(StoredArray& array, const Message& message);
  void write(StoredArray& array, Message& message);
  Status apply(Stored& stored, Message& message);
  Status store(Stored& stored, const Message& message);
  void save(const StoredArray& array, Message& message);
  void restore(StoredArray& array, Message& message);
  void answer(const Message& message, MessageKind kind);
  void report_race(const Message& message, std::uint32_t instruction, Rank worker);

  const Options options_;
  Exchange& exchange_;
  BlockPool pool_;
  std::map<std::uint32_t, StoredArray> arrays_;
  ServerCounters counters_;
};

}  // namespace ob::sial
