#pragma once
// The mesh of ranks, and the cuts of the matrices along it.

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "arguments.hpp"

namespace summa {

/// Part i of a dimension has the indices [cuts[i], cuts[i + 1]), which may be none.
using Cuts = std::vector<std::int64_t>;

/// Cuts `extent` into equal parts, or at random.
Cuts cut(std::int64_t extent, int parts, std::optional<std::uint64_t> seed);

/// The communicators are the mesh's own.
struct Mesh {
  /// Throws std::invalid_argument if the mesh does not have as many ranks as there are. Collective.
  explicit Mesh(const Arguments& arguments);
  ~Mesh();
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  int rows = 1, columns = 1;
  int row = 0, column = 0;  ///< of this rank
  MPI_Comm all = MPI_COMM_NULL;
  MPI_Comm along_row = MPI_COMM_NULL;     ///< rank c is column c
  MPI_Comm along_column = MPI_COMM_NULL;  ///< rank r is row r
  Cuts m, n;                              ///< of C: rows along rows, columns along columns
  Cuts k_of_a, k_of_b;                    ///< A's columns along columns, B's rows along rows

  std::int64_t local_m() const { return m[std::size_t(row) + 1] - m[std::size_t(row)]; }
  std::int64_t local_n() const { return n[std::size_t(column) + 1] - n[std::size_t(column)]; }
};

}  // namespace summa
