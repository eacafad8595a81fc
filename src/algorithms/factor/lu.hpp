#pragma once
// P A = L U over several devices.

#include "algorithms/factor/general_factorization.hpp"

namespace ob::algorithms {

/// Each device exchanges rows of its columns behind the panel. complete() exchanges those of
/// columns that were fetched before.
class LuFactorization final : public GeneralFactorization {
 public:
  LuFactorization(PanelExchange& exchange, const Problem& problem,
                  const ColumnDistribution& distribution);

  /// Turns the fetched columns into the factors, without gaps between columns, and returns LAPACK's
  /// info: the first column without a pivot, or 0.
  /// @pre run() returned without error; once
  std::int64_t complete();
  /// The factors and min(m, n) pivots, from 1.   @pre complete() was called
  std::byte* factors() const { return results(); }
  std::int64_t* pivots() { return pivots_.data(); }
  /// Replaces A by the factors.   @pre complete() was called
  void commit();

 private:
  Status factor(Rank rank, BlockIndex panel) override;
  Status before_completion(Rank rank, BlockIndex panel) override;
  Status update(Rank rank, BlockIndex panel, BlockIndex first, BlockIndex end) override;
  Status exchange_rows(Rank rank, BlockIndex panel, BlockIndex first, std::uint64_t cols);
  Status solve(Rank rank, BlockIndex panel, BlockIndex first, std::uint64_t cols);
  Status update_below(Rank rank, BlockIndex panel, BlockIndex first, std::uint64_t cols);
  GlobalIndex pivot(GlobalIndex row) const {
    return GlobalIndex(static_cast<std::uint64_t>(pivots_[row.value()] - 1));
  }

  const Descriptor* const getrf_;
  const Descriptor* const swap_;
  const Descriptor* const trsm_;
  const Descriptor* const gemm_;
  // Rows of A, from 1. The owner of a panel writes its pivots before it completes the broadcast.
  std::vector<std::int64_t> pivots_;
};

}  // namespace ob::algorithms
