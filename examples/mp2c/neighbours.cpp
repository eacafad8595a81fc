#include "neighbours.hpp"

#include <mpi.h>

#include <climits>
#include <stdexcept>

namespace mp2c {

Neighbours::Neighbours() {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
}

std::vector<double> Neighbours::exchange(const std::vector<double>& down,
                                         const std::vector<double>& up) {
  std::vector<double> in;
  const int below = (rank_ + ranks_ - 1) % ranks_, above = (rank_ + 1) % ranks_;
  shift(up, above, below, in);
  shift(down, below, above, in);
  return in;
}

void Neighbours::shift(const std::vector<double>& out, int to, int from, std::vector<double>& in) {
  if (out.size() > INT_MAX) {
    throw std::runtime_error(
        "a message between ranks has over 2^31 numbers (too many particles "
        "change their domain); use more ranks");
  }
  const int sent = static_cast<int>(out.size());
  int received = 0;
  MPI_Sendrecv(&sent, 1, MPI_INT, to, 0, &received, 1, MPI_INT, from, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  const std::size_t before = in.size();
  in.resize(before + static_cast<std::size_t>(received));
  MPI_Sendrecv(out.data(), sent, MPI_DOUBLE, to, 1, in.data() + before, received, MPI_DOUBLE, from,
               1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  sent_bytes_ += out.size() * sizeof(double);
}

}  // namespace mp2c
