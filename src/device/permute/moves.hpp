#pragma once
// The inner loops of copies, chosen for this processor.

#include <cstdint>

namespace ob {

enum class Store : int { copy = 0, scale = 1, add = 2 };

/// One set of loops per instruction set. Operands do not overlap.   Threads: any
struct Moves {
  /// d[i + j ldd] := b[j + i ldb] for i < rows, j < columns; times alpha (scale), or added (add).
  void (*transpose)(double* d, std::int64_t ldd, const double* b, std::int64_t ldb,
                    std::int64_t rows, std::int64_t columns, double alpha, int store);
  /// d[i + j ldd] := b[i + j ldb], the same otherwise. D and B may be the same elements.
  void (*runs)(double* d, std::int64_t ldd, const double* b, std::int64_t ldb, std::int64_t rows,
               std::int64_t columns, double alpha, int store);
  /// d[i] := b[i] for i < count. Whole cache lines of D are written past the caches, which saves
  /// that their old contents are read first.
  void (*stream)(double* d, const double* b, std::int64_t count);
  /// Orders what stream() has written before all later writes of this thread.
  void (*drain)();
};

/// The fastest loops that this processor can run.
const Moves& moves() noexcept;
/// The loops for every processor.
const Moves& baseline_moves() noexcept;

}  // namespace ob
