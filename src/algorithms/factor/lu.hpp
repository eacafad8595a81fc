#pragma once
// P A = L U over devices.

#include "algorithms/factor/general_factorization.hpp"

namespace ob::algorithms {

/// Row exchanges are done by each device on its columns behind the panel, and here on what has
/// gone home before.
class LuFactorization final : public GeneralFactorization {
 public:
  LuFactorization(PanelExchange& exchange, const Problem& problem,
                  const ColumnDistribution& distribution);

  /// Makes what came home the factors, without gaps between columns, and returns LAPACK's info:
  /// the first column without a pivot, or 0.
  /// @pre run() returned without error; once
  std::int64_t complete();
  /// What complete() made: the factors and min(m, n) pivots, from 1.
  std::byte* factors() const { return results(); }
  std::int64_t* pivots() { return pivots_.data(); }
  /// Puts the factors in A's place.   @pre complete() was called
  void commit();

 private:
  Status factor(std::size_t at, std::size_t panel) override;
  Status before_completion(std::size_t at, std::size_t panel) override;
  Status update(std::size_t at, std::size_t panel, std::size_t first, std::size_t end) override;
  Status exchange_rows(std::size_t at, std::size_t panel, std::size_t first, std::uint64_t cols);

  const Descriptor* const getrf_;
  const Descriptor* const swap_;
  const Descriptor* const trsm_;
  const Descriptor* const gemm_;
  // Of the rows of A, from 1. Written by a panel's owner before it is delivered.
  std::vector<std::int64_t> pivots_;
};

}  // namespace ob::algorithms
