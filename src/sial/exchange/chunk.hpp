#pragma once
// The messages between workers and the coordinator of guided pardos.   docs/sial/runtime.md,
// "Dividing a pardo"

#include <cstdint>

#include "sial/exchange/message.hpp"

namespace ob::sial {

/// The text of the failure where workers execute different pardos. Its words: the instruction that
/// begins the one of another worker, and that worker.
inline constexpr const char* kOtherPardo = "R09 pardo";

/// A place in the iterations of a loop, in their order.
struct LoopPlace {
  std::uint64_t raw = 0;        ///< tuples of index values in front of it
  std::uint64_t survivors = 0;  ///< of these, the ones that pass the where clauses
};

/// A worker asks for iterations of a pardo.
struct ChunkRequest {
  Rank worker = 0;
  std::uint64_t epoch = 0;
  std::uint64_t pardo = 0;        ///< number of the pardo in its epoch
  std::uint32_t instruction = 0;  ///< that begins it
  std::uint64_t total = 0;        ///< tuples of the pardo
  std::uint64_t least = 1;        ///< iterations that are worth a request
  LoopPlace counted;              ///< up to here the worker knows how many tuples survive
};

/// The iterations with the numbers from `begin` to `end - 1`, of those that survive the where
/// clauses. An empty chunk says that none are left.
struct Chunk {
  std::uint64_t begin = 0, end = 0;
  LoopPlace from;     ///< a place not behind `begin`, from which a worker can count
  LoopPlace counted;  ///< up to here somebody knows how many tuples survive

  bool empty() const noexcept { return begin == end; }
};

/// Returns the message without `to` and `request`.
Message message_of(const ChunkRequest& request);
/// @pre message.kind == MessageKind::next_chunk, from message_of()
ChunkRequest chunk_request_of(const Message& message);
/// Sets the words of an answer.
void put_chunk(const Chunk& chunk, Message& answer);
/// @pre message.kind == MessageKind::chunk, from put_chunk()
Chunk chunk_of(const Message& message);

}  // namespace ob::sial
