#pragma once
// A loop that is being executed, or that a look-ahead goes through.

#include <cstdint>
#include <deque>
#include <vector>

namespace ob::sial {

/// One execution of a loop. Its iterations are found in order, and may be found long before they
/// begin: the interpreter takes the first of `coming`, the look-ahead reads on in it.
struct ActiveLoop {
  std::uint32_t loop = 0;
  std::uint64_t execution = 0;             ///< differs from that of every other execution
  std::vector<std::int64_t> lower, upper;  ///< of each index
  std::uint64_t candidate = 0;             ///< raw number of the next tuple to look at
  std::uint64_t total = 0;                 ///< raw tuples
  std::uint64_t survivors = 0;             ///< tuples below `candidate` that the where clauses pass
  std::deque<std::uint64_t> coming;        ///< raw numbers of the iterations that follow
  std::uint64_t begun = 0;                 ///< iterations that have begun
};

}  // namespace ob::sial
