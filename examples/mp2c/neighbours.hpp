// Messages between the ranks above and below. One of three files that use MPI (with main.cpp and
// measure.cpp).
#pragma once

#include <cstdint>
#include <vector>

namespace mp2c {

class Neighbours {
 public:
  Neighbours();

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  std::uint64_t sent_bytes() const { return sent_bytes_; }

  /// Sends numbers to the rank below and to the one above, and returns what came from below and
  /// then what came from above.
  std::vector<double> exchange(const std::vector<double>& down, const std::vector<double>& up);

 private:
  void shift(const std::vector<double>& out, int to, int from, std::vector<double>& in);

  int rank_ = 0, ranks_ = 1;
  std::uint64_t sent_bytes_ = 0;
};

}  // namespace mp2c
