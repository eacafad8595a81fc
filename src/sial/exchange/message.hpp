#pragma once
// Messages between the ranks of a job.

#include <cstdint>
#include <string>
#include <vector>

#include "sial/blocks/block.hpp"

namespace ob::sial {

/// The number of a process of the job: workers come first, then servers.
using Rank = std::uint32_t;

enum class MessageKind : std::uint8_t {
  // from a worker to a server
  get,           ///< asks for a block; the answer is data, absent or failure
  prefetch,      ///< the same ahead of time: no access yet; `touch` follows if it is used
  touch,         ///< notes a get of a block that the sender holds already
  put,           ///< replaces a block; the answer is done or failure
  accumulate,    ///< adds `factor` x the block
  fill,          ///< sets every element of the block to `factor`
  add,           ///< adds `factor` to every element
  scale,         ///< multiplies every element with `factor`
  delete_array,  ///< the sender has executed `delete`; `generation` is the new one
  save,          ///< writes the blocks of an array to the file `text`
  restore,       ///< reads the blocks of server words[0] of words[1] from the files in `text`
  next_chunk,    ///< to the first server: asks for iterations of a guided pardo; see ChunkRequest
  ask_credit,    ///< asks for the credit to put a block of words[0] bytes; the answer is credit
  // from a server to a worker
  data,
  absent,
  done,
  chunk,    ///< see Chunk
  credit,   ///< the sender of ask_credit may put its block now
  failure,  ///< `text` says which error, `words` what belongs to it
  // between workers
  contribution,  ///< to worker 0: the part of the sender in a collective statement
  result,        ///< from worker 0: all parts together
  // between all ranks
  end_program,  ///< a worker has finished a program; a server answers when all have
  failed,       ///< the job ends; the sender reports the reason, and `number` is its Code
  end,          ///< the sender sends nothing more
};

/// Returns the name of a kind, as a trace shows it.
const char* message_name(MessageKind kind) noexcept;

/// The way in which a collective statement joins the parts of the workers.
enum class Contribution : std::uint8_t {
  barrier,  ///< `words` are combined by or, the first `number` numbers by sum, the others by max
  sum,      ///< `numbers` and `words` (two's complement) are added in the order of the ranks
  first,    ///< the part of worker `number` is the result
  meeting,  ///< nothing is joined: all workers have come to this point
};

/// One message. Members that a kind does not use keep their initial values.
struct Message {
  MessageKind kind = MessageKind::done;
  Contribution contribution = Contribution::barrier;
  Rank from = 0;
  Rank to = 0;
  std::uint64_t request = 0;  ///< chosen by the one who asks; the answer repeats it
  std::uint32_t array = 0;
  std::uint32_t generation = 0;  ///< deletes of the array that the sender has executed
  std::uint64_t number = 0;      ///< of the block in its array
  std::uint64_t epoch = 0;       ///< barriers that the sender has passed
  std::uint32_t instruction = 0;
  std::uint64_t iteration = 0;  ///< of the pardo, for races by iteration
  double factor = 1;
  bool ahead = false;           ///< the answer to a prefetch: others may overtake it; not sent
  std::int64_t arrived_ns = 0;  ///< steady clock of the receiver; 0: not known; not sent
  Shape shape;                  ///< of the block that fill, add and scale mean
  ConstBlockPtr block;
  std::string text;
  std::vector<double> numbers;
  std::vector<std::uint64_t> words;
};

/// Sends the messages of one rank.
/// Threads: the one that runs the rank
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// Messages from one rank to another arrive in the order in which they were sent.
  virtual void send(Message message) = 0;
};

}  // namespace ob::sial
