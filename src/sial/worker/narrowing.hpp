#pragma once
// Bounds of loops that follow from their where clauses, so that only survivors are visited.

#include <cstdint>
#include <vector>

#include "sial/code/program.hpp"
#include "sial/job/layout.hpp"
#include "sial/worker/active_loop.hpp"
#include "sial/worker/geometry.hpp"

namespace ob::sial {

/// The where clauses of a program that compare sums of indices, ints and numbers: `i < j`,
/// `i + 1 <= 2 * j`, `k == n`. A sum of which a part may overflow is not among them, nor is what
/// stands behind a clause that may fail, so no error is lost. Programs of level 0 have none.
/// Threads: any, once made
class Narrowing {
 public:
  Narrowing(const Program& program, const Layout& layout);

  /// Returns the first raw number from `loop.candidate` on that the clauses do not exclude, or
  /// `loop.total`. Numbers between were excluded.
  /// @param values of the indices; those of the loop itself are not read
  std::uint64_t next(const ActiveLoop& loop, const IndexValues& values,
                     const std::vector<std::int64_t>& ints) const;
  /// Says whether these are all the clauses of a loop: what they do not exclude survives.
  bool complete(std::uint32_t loop) const noexcept { return loops_[loop].complete; }

 private:
  friend class ClauseReader;
  friend class TupleSearch;

  struct Term {
    std::int64_t factor = 0;
    std::uint32_t number = 0;
  };
  // The sum of all is at most zero.
  struct Clause {
    std::vector<std::int64_t> own;  // a factor per index of the loop
    std::vector<Term> outer;        // other indices
    std::vector<Term> ints;
    std::int64_t constant = 0;
  };
  struct LoopClauses {
    std::vector<Clause> clauses;
    bool complete = true;
  };

  std::vector<LoopClauses> loops_;
};

}  // namespace ob::sial
