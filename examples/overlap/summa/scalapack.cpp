#include "scalapack.hpp"

#ifdef SUMMA_SCALAPACK

#include <algorithm>

extern "C" {
int Csys2blacs_handle(MPI_Comm comm);
void Cfree_blacs_system_handle(int handle);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridexit(int context);
void descinit_(int* desc, const int* m, const int* n, const int* mb, const int* nb,
               const int* irsrc, const int* icsrc, const int* ictxt, const int* lld, int* info);
void pdgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
             const double* alpha, const double* a, const int* ia, const int* ja, const int* desca,
             const double* b, const int* ib, const int* jb, const int* descb, const double* beta,
             double* c, const int* ic, const int* jc, const int* descc);
}

namespace summa {
namespace {

/// Returns the indices of `extent` that process `at` of `count` has: blocks of `nb` in turn.
std::vector<std::int64_t> cyclic(std::int64_t extent, std::int64_t nb, int at, int count) {
  std::vector<std::int64_t> indices;
  for (std::int64_t begin = at * nb; begin < extent; begin += nb * count)
    for (std::int64_t i = begin; i < std::min(begin + nb, extent); ++i) indices.push_back(i);
  return indices;
}

Block filled(const Elements& elements, const std::vector<std::int64_t>& rows,
             const std::vector<std::int64_t>& columns) {
  Block block(std::int64_t(rows.size()), std::int64_t(columns.size()));
  for (std::size_t j = 0; j < columns.size(); ++j)
    for (std::size_t i = 0; i < rows.size(); ++i)
      block.at(std::int64_t(i), std::int64_t(j)) = elements(rows[i], columns[j]);
  return block;
}

struct Descriptor {
  Descriptor(std::int64_t m, std::int64_t n, std::int64_t nb, int context, const Block& block) {
    const int rows = int(m), columns = int(n), width = int(nb), zero = 0, ld = int(block.ld);
    int info = 0;
    descinit_(values, &rows, &columns, &width, &width, &zero, &zero, &context, &ld, &info);
  }
  int values[9] = {};
};

}  // namespace

bool ScalapackProduct::available() { return true; }

ScalapackProduct::ScalapackProduct(const Arguments& arguments, const Mesh& mesh, const Elements& a,
                                   const Elements& b)
    : arguments_(arguments),
      mesh_(mesh),
      a_(filled(a, rows(), cyclic(arguments.k, arguments.panel, mesh.column, mesh.columns))),
      b_(filled(b, cyclic(arguments.k, arguments.panel, mesh.row, mesh.rows), columns())),
      c_(std::int64_t(rows().size()), std::int64_t(columns().size())) {
  const int handle = Csys2blacs_handle(mesh.all);
  context_ = handle;
  Cblacs_gridinit(&context_, "Row", mesh.rows, mesh.columns);
  Cfree_blacs_system_handle(handle);
}

ScalapackProduct::~ScalapackProduct() { Cblacs_gridexit(context_); }

std::vector<std::int64_t> ScalapackProduct::rows() const {
  return cyclic(arguments_.m, arguments_.panel, mesh_.row, mesh_.rows);
}

std::vector<std::int64_t> ScalapackProduct::columns() const {
  return cyclic(arguments_.n, arguments_.panel, mesh_.column, mesh_.columns);
}

void ScalapackProduct::run() {
  const int m = int(arguments_.m), n = int(arguments_.n), k = int(arguments_.k), first = 1;
  const double one = 1, zero = 0;
  const Descriptor a(m, k, arguments_.panel, context_, a_);
  const Descriptor b(k, n, arguments_.panel, context_, b_);
  const Descriptor c(m, n, arguments_.panel, context_, c_);
  pdgemm_("N", "N", &m, &n, &k, &one, a_.data.data(), &first, &first, a.values, b_.data.data(),
          &first, &first, b.values, &zero, c_.data.data(), &first, &first, c.values);
}

}  // namespace summa

#else

namespace summa {

bool ScalapackProduct::available() { return false; }
ScalapackProduct::ScalapackProduct(const Arguments& arguments, const Mesh& mesh, const Elements&,
                                   const Elements&)
    : arguments_(arguments), mesh_(mesh), a_(0, 0), b_(0, 0), c_(0, 0) {}
ScalapackProduct::~ScalapackProduct() = default;
std::vector<std::int64_t> ScalapackProduct::rows() const { return {}; }
std::vector<std::int64_t> ScalapackProduct::columns() const { return {}; }
void ScalapackProduct::run() {}

}  // namespace summa

#endif
