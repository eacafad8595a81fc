#include "mesh.hpp"

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>

namespace summa {

Cuts cut(std::int64_t extent, int parts, std::optional<std::uint64_t> seed) {
  Cuts cuts(std::size_t(parts) + 1);
  for (int i = 0; i <= parts; ++i) cuts[std::size_t(i)] = extent * i / parts;
  if (!seed) return cuts;
  std::mt19937_64 random(*seed);
  for (int i = 1; i < parts; ++i) cuts[std::size_t(i)] = std::int64_t(random() % (extent + 1));
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

Mesh::Mesh(const Arguments& a) {
  int ranks = 1;
  int rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int sizes[2] = {a.mesh[0], a.mesh[1]};
  if (sizes[0] == 0) MPI_Dims_create(ranks, 2, sizes);
  rows = sizes[0];
  columns = sizes[1];
  if (std::int64_t(rows) * columns != ranks)
    throw std::invalid_argument("--mesh " + std::to_string(rows) + "x" + std::to_string(columns) +
                                " has not the " + std::to_string(ranks) + " rank(s) of the job");
  row = rank / columns;
  column = rank % columns;
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  MPI_Comm_split(all, row, column, &along_row);
  MPI_Comm_split(all, column, row, &along_column);
  const auto seed = [&](std::uint64_t which) {
    return a.uneven ? std::optional<std::uint64_t>(*a.uneven * 4 + which) : std::nullopt;
  };
  m = cut(a.m, rows, seed(0));
  n = cut(a.n, columns, seed(1));
  k_of_a = cut(a.k, columns, seed(2));
  k_of_b = cut(a.k, rows, seed(3));
}

Mesh::~Mesh() {
  for (MPI_Comm* comm : {&along_column, &along_row, &all})
    if (*comm != MPI_COMM_NULL) MPI_Comm_free(comm);
}

}  // namespace summa
