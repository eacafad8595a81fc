#pragma once
// A = Q R over devices.

#include "algorithms/factor/general_factorization.hpp"

namespace ob::algorithms {

/// Panels of reflectors in compact form; each device applies them to its columns.
class QrFactorization final : public GeneralFactorization {
 public:
  QrFactorization(PanelExchange& exchange, const Problem& problem,
                  const ColumnDistribution& distribution);

  /// Puts R and the reflectors in A's place, and their factors to `tau`, min(m, n) elements.
  /// @pre run() returned without error
  void commit(void* tau);

 private:
  Status factor(std::size_t at, std::size_t panel) override;
  Status update(std::size_t at, std::size_t panel, std::size_t first, std::size_t end) override;

  const Descriptor* const geqrf_;
  const Descriptor* const ormqr_;
};

}  // namespace ob::algorithms
