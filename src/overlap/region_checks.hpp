#pragma once
// Finds programs that touch regions between start and wait that belong to the messages.

#include <vector>

#include "base/digest.hpp"
#include "base/status.hpp"
#include "overlap/exchange.hpp"

namespace ob::overlap {

/// Fills the cells with signalling NaN.
void fill_with_nan(const Region& region);

/// Digests sent regions, and fills regions that are received with signalling NaN, so that a value
/// that is read too early spoils the result. Threads: the program's, one at a time.
class RegionChecks {
 public:
  explicit RegionChecks(const Exchange& exchange);

  /// Fills the regions that are received.
  void begin();
  /// Notes what message `message` sends; call before its release.
  void sent(std::size_t message);
  /// Looks for changes, after the exchange is complete and before what arrived is unpacked.
  /// Errors: invalid_argument with rank, region and neighbour.
  Status finish(int rank);

 private:
  Digest contents(const Message& message);
  Status changed(int rank, const Message& message) const;

  const Exchange& exchange_;
  std::vector<Digest> digests_;
  std::vector<std::byte> packed_;
};

}  // namespace ob::overlap
