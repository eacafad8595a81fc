#pragma once
// A = Q R over several devices.

#include "algorithms/factor/general_factorization.hpp"

namespace ob::algorithms {

/// A panel is reflectors in compact form, which each device applies to its columns.
class QrFactorization final : public GeneralFactorization {
 public:
  QrFactorization(PanelExchange& exchange, const Problem& problem,
                  const ColumnDistribution& distribution);

  /// Replaces A by R and the reflectors, and writes their factors to `tau`, min(m, n) elements.
  /// @pre run() returned without error
  void commit(void* tau);

 private:
  Status factor(Rank rank, BlockIndex panel) override;
  Status update(Rank rank, BlockIndex panel, BlockIndex first, BlockIndex end) override;

  const Descriptor* const geqrf_;
  const Descriptor* const ormqr_;
};

}  // namespace ob::algorithms
