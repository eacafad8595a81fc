#pragma once
// A loop that is being executed, or that a look-ahead goes through.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sial/exchange/chunk.hpp"
#include "sial/worker/pardo_times.hpp"

namespace ob::sial {

/// The way in which the iterations of a pardo are divided over the workers.
enum class Schedule : std::uint8_t {
  fixed,     ///< iteration n of all to worker n mod W
  balanced,  ///< the same, counting only iterations that survive the where clauses
  guided,    ///< chunks of iterations, on demand
  measured,  ///< by the times of earlier iterations; guided where these say too little
};

/// Raw numbers of iterations, first in, first out. It keeps its memory when it is empty, because
/// most loops are short and begin often.
class IterationQueue {
 public:
  bool empty() const noexcept { return taken_ == numbers_.size(); }
  std::size_t size() const noexcept { return numbers_.size() - taken_; }
  std::uint64_t operator[](std::size_t i) const noexcept { return numbers_[taken_ + i]; }
  void push_back(std::uint64_t number) { numbers_.push_back(number); }
  std::uint64_t take_front() {
    const std::uint64_t number = numbers_[taken_++];
    if (empty()) {
      clear();
    } else if (taken_ == kMostTaken) {
      numbers_.erase(numbers_.begin(), numbers_.begin() + kMostTaken);
      taken_ = 0;
    }
    return number;
  }
  void clear() noexcept {
    numbers_.clear();
    taken_ = 0;
  }

 private:
  static constexpr std::size_t kMostTaken = 256;

  std::vector<std::uint64_t> numbers_;
  std::size_t taken_ = 0;
};

/// The iterations of a guided pardo that this worker has.
struct ChunkedShare {
  Chunk present;              ///< `coming` gets its iterations from here
  std::optional<Chunk> next;  ///< the chunk behind it
  LoopPlace counted;          ///< up to here somebody knows how many tuples survive
  /// Tuples to count with the next request: few at first, so that the pardo begins at once, and
  /// all of those of most pardos.
  std::uint64_t window = 1 << 13;
  std::uint64_t owned = 0;    ///< iterations in all chunks up to now
  std::uint64_t newest = 0;   ///< iterations in the last of them
  std::uint64_t request = 0;  ///< that is not answered; 0: none
  bool ended = false;         ///< no chunk follows
  std::int64_t asked_ns = 0, first_ns = 0;
};

/// One execution of a loop. Its iterations are found in order, and may be found long before they
/// begin: the interpreter takes the first of `coming`, the look-ahead reads on in it.
struct ActiveLoop {
  std::uint32_t loop = 0;
  std::uint64_t execution = 0;             ///< differs from that of every other execution
  std::vector<std::int64_t> lower, upper;  ///< of each index
  std::uint64_t candidate = 0;             ///< raw number of the next tuple to look at
  std::uint64_t total = 0;                 ///< raw tuples
  std::uint64_t survivors = 0;             ///< tuples below `candidate` that the where clauses pass
  IterationQueue coming;                   ///< raw numbers of the iterations that follow
  std::uint64_t begun = 0;                 ///< iterations that have begun
  Schedule schedule = Schedule::fixed;     ///< of a pardo
  ChunkedShare share;                      ///< of a guided pardo
  std::vector<ClassShare> classes;         ///< of a measured pardo: this worker's, and
  std::vector<std::uint64_t> found;        ///< the iterations of each class below `candidate`
  /// True if all raw numbers are iterations of this worker, and set one index, `index`.
  bool plain = false;
  std::uint32_t index = 0;  ///< of a plain loop
  std::uint32_t body = 0;   ///< its first instruction behind the where clauses

  /// Forgets the execution, and keeps the memory.
  void begin_again() noexcept {
    lower.clear();
    upper.clear();
    coming.clear();
    candidate = survivors = begun = 0;
    share = {};
    classes.clear();
    found.clear();
  }
};

}  // namespace ob::sial
