#include "multiply.hpp"

#include <algorithm>

#include "blas.hpp"

namespace summa {
namespace {

namespace overlap = outboard::overlap;
using Field = overlap::Field<double, 2>;

/// Returns the part that has index `at`.
int part_of(const Cuts& cuts, std::int64_t at) {
  return int(std::upper_bound(cuts.begin(), cuts.end(), at) - cuts.begin()) - 1;
}

}  // namespace

Product::Product(const Arguments& arguments, const Mesh& mesh, overlap::Runtime& runtime, Block& a,
                 Block& b)
    : arguments_(arguments),
      mesh_(mesh),
      runtime_(runtime),
      a_panels_(
          runtime, mesh.along_row,
          {.look_ahead = arguments.look_ahead, .broadcast = arguments.broadcast, .name = "A"}),
      b_panels_(
          runtime, mesh.along_column,
          {.look_ahead = arguments.look_ahead, .broadcast = arguments.broadcast, .name = "B"}) {
  // A panel ends where a part of A or of B ends, so that it has one owner in each row and column.
  std::vector<std::int64_t> ends = mesh.k_of_a;
  ends.insert(ends.end(), mesh.k_of_b.begin(), mesh.k_of_b.end());
  std::sort(ends.begin(), ends.end());
  for (std::size_t i = 0; i + 1 < ends.size(); ++i)
    for (std::int64_t at = ends[i]; at < ends[i + 1]; at += arguments.panel)
      panels_.push_back({at, std::min(at + arguments.panel, ends[i + 1])});
  describe(a, b);
  a_panels_.commit();
  b_panels_.commit();
}

void Product::describe(Block& a, Block& b) {
  for (const Panel& p : panels_) {
    const std::int64_t width = p.end - p.begin;
    const int a_owner = part_of(mesh_.k_of_a, p.begin);
    const int b_owner = part_of(mesh_.k_of_b, p.begin);
    const std::int64_t a_at = p.begin - mesh_.k_of_a[std::size_t(a_owner)];
    const std::int64_t b_at = p.begin - mesh_.k_of_b[std::size_t(b_owner)];
    // Elsewhere the panels are packed: their leading dimension is their number of rows.
    a_panels_.add(a_owner, a_owner == mesh_.column
                               ? Field(a.data.data() + a_at * a.ld, {a.rows, width}, {1, a.ld})
                               : Field(nullptr, {a.rows, width}, {1, a.ld}));
    b_panels_.add(b_owner, b_owner == mesh_.row
                               ? Field(b.data.data() + b_at, {width, b.columns}, {1, b.ld})
                               : Field(nullptr, {width, b.columns}, {1, width}));
  }
}

void Product::start(std::int64_t panel) {
  if (panel >= std::int64_t(panels_.size())) return;
  a_panels_.start(panel);
  b_panels_.start(panel);
}

void Product::run(Block& c) {
  std::fill(c.data.begin(), c.data.end(), 0);
  for (int ahead = 0; ahead < arguments_.look_ahead; ++ahead) start(ahead);
  for (std::int64_t k = 0; k < std::int64_t(panels_.size()); ++k) {
    start(k + arguments_.look_ahead);
    a_panels_.wait(k);
    b_panels_.wait(k);
    multiply(k, c);
  }
}

void Product::multiply(std::int64_t panel, Block& c) {
  const Panel& p = panels_[std::size_t(panel)];
  const double* const a = a_panels_[panel];
  const double* const b = b_panels_[panel];
  const int m = int(c.rows), k = int(p.end - p.begin), ldc = int(c.ld);
  const int lda = std::max(1, m);
  const double one = 1;
  if (m == 0) return;
  // The tiles are the same in all modes, so that the results have the same bits.
  for (std::int64_t j = 0; j < c.columns; j += arguments_.tile) {
    const int n = int(std::min(arguments_.tile, c.columns - j));
    dgemm_("N", "N", &m, &n, &k, &one, a, &lda, b + j * k, &k, &one, &c.at(0, j), &ldc);
    runtime_.tick();
  }
}

}  // namespace summa
