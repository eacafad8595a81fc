#include "routines/operand_data.hpp"

#include <algorithm>
#include <numeric>

namespace ob::test {
namespace {

using Value = std::complex<double>;
using Order = std::vector<std::uint64_t>;

double unit(std::mt19937_64& random) { return std::uniform_real_distribution(-1.0, 1.0)(random); }
bool coin(std::mt19937_64& random) { return uniform(random, 0, 1) == 1; }

bool one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

enum class Exchange { none, rows, symmetric };

// The places and values of the large elements of a matrix.
struct Structure {
  Exchange exchange = Exchange::none;
  bool same = false;     // all large elements are equal: B of A x = w B x
  bool turning = false;  // eigenvalues of a general matrix may be complex
  bool scaled = false;   // an expert driver equilibrates rows and columns
};

bool is_triangular_solve(const Problem& p) {
  return one_of(p.routine->base, {"trsm", "trsv", "tbsv", "tpsv"});
}

bool is_uniform(const Problem& p, const Operand& o) {
  const std::string_view name = p.name_of(o);
  if (p.routine->library == Library::blas)
    return !(is_triangular_solve(p) && (name == "a" || name == "ap"));
  return name == "c" || (name == "b" && p.has("nrhs"));
}

Structure structure_of(const Problem& p, const Operand& o, std::mt19937_64& random) {
  const std::string_view base = p.routine->base;
  const bool two = p.has("a") && p.has("b") && !p.has("nrhs");
  Structure s;
  if (one_of(base, {"gesv", "getrf", "gesvx"})) s.exchange = Exchange::rows;
  if (one_of(base, {"sytrf", "hetrf", "sysv", "hesv", "sysvx", "hesvx"}))
    s.exchange = Exchange::symmetric;
  s.same = two && p.name_of(o) == "b" && p.routine->library == Library::lapack;
  s.turning = !s.same && one_of(base, {"geev", "geevx", "gees", "geesx", "ggev"});
  s.scaled = p.flag("fact") == 'E' && coin(random);
  return s;
}

Value small(const Problem& p, double scale, std::mt19937_64& random) {
  const auto part = [&] {
    const double magnitude = std::uniform_real_distribution(0.5, 1.0)(random) * scale;
    return coin(random) ? magnitude : -magnitude;
  };
  const double re = part();
  return {re, is_complex(p.routine->precision) ? part() : 0.0};
}

Order random_order(std::uint64_t n, std::mt19937_64& random) {
  Order order(n);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

// Returns partners: partner[i] is i, or another element whose partner is i.
Order random_partners(std::uint64_t n, std::mt19937_64& random) {
  Order partner(n);
  std::iota(partner.begin(), partner.end(), 0);
  const Order order = random_order(n, random);
  for (std::uint64_t i = 0; i + 1 < n; i += 2) {
    if (coin(random)) std::swap(partner[order[i]], partner[order[i + 1]]);
  }
  return partner;
}

class MatrixData {
 public:
  MatrixData(Problem& p, const Operand& o, std::mt19937_64& random)
      : p_(p), o_(o), random_(random), structure_(structure_of(p, o, random)) {
    size_ = std::max(o.rows, o.cols);
    const std::uint64_t count = std::min(o.rows, o.cols);
    heights_ = random_order(count, random);
    if (structure_.exchange == Exchange::rows) place_ = random_order(o.rows, random);
    if (structure_.exchange == Exchange::symmetric) place_ = random_partners(count, random);
    for (std::uint64_t i = 0; i < size_; ++i)
      scales_.push_back(structure_.scaled && coin(random) ? 128 : 1);
  }

  void fill() {
    for (std::uint64_t j = 0; j < o_.cols; ++j) {
      for (std::uint64_t i = 0; i < o_.rows; ++i) {
        if (referenced(o_.triangle, i, j))
          p_.set(o_, i, j, small(p_, 0.25 / static_cast<double>(size_), random_) * scale(i, j));
      }
    }
    for (std::uint64_t j = 0; j < heights_.size(); ++j) put(place(j), j, large(j));
    if (structure_.turning) turn();
  }

 private:
  double scale(std::uint64_t i, std::uint64_t j) const { return scales_[i] * scales_[j]; }
  std::uint64_t place(std::uint64_t j) const { return place_.empty() ? j : place_[j]; }
  void put(std::uint64_t i, std::uint64_t j, Value v) {
    if (referenced(o_.triangle, i, j)) p_.set(o_, i, j, v * scale(i, j));
  }

  // Partners have the same element in both triangles.
  Value large(std::uint64_t j) {
    const std::uint64_t at = structure_.exchange == Exchange::symmetric ? std::min(j, place(j)) : j;
    const double height = static_cast<double>(heights_[at]) / static_cast<double>(size_);
    return structure_.same ? 2 : 1 + height;
  }

  // Turns eigenvalues into d e^(i phi), or into pairs d +- i/sqrt(2) for real matrices. The two
  // off-diagonal elements differ so that no eigenvector has two largest components.
  void turn() {
    for (std::uint64_t i = 0; i < heights_.size(); ++i) {
      if (is_complex(p_.routine->precision)) put(i, i, large(i) * std::polar(1.0, unit(random_)));
    }
    if (is_complex(p_.routine->precision)) return;
    for (std::uint64_t i = 0; i + 1 < heights_.size(); i += 2) {
      if (!coin(random_)) continue;
      put(i + 1, i + 1, large(i));
      put(i, i + 1, 1);
      put(i + 1, i, -0.5);
    }
  }

  Problem& p_;
  const Operand& o_;
  std::mt19937_64& random_;
  Structure structure_;
  std::uint64_t size_ = 0;
  Order heights_;
  Order place_;  // row of the large element of each column; empty: the diagonal
  std::vector<double> scales_;
};

void fill_uniform(Problem& p, const Operand& o, std::mt19937_64& random) {
  const bool hermitian = p.routine->base[0] == 'h';
  for (std::uint64_t j = 0; j < o.cols; ++j) {
    for (std::uint64_t i = 0; i < o.rows; ++i) {
      if (!referenced(o.triangle, i, j)) continue;
      const double re = unit(random);
      const bool real = hermitian && i == j && o.triangle != Triangle::full;
      p.set(o, i, j, {re, is_complex(p.routine->precision) && !real ? unit(random) : 0});
    }
  }
}

// Fills the band or packed matrix of a triangular system: small elements, a large diagonal.
// Row-major memory holds the transposed matrix, which has the other triangle.
void fill_compact_triangle(Problem& p, const Operand& o, std::mt19937_64& random) {
  const double scale = 0.25 / static_cast<double>(p.size());
  for (std::uint64_t j = 0; j < o.cols; ++j) {
    for (std::uint64_t i = 0; i < o.rows; ++i) p.set(o, i, j, small(p, scale, random));
  }
  const bool upper = (p.flag("uplo") == 'U') != p.row_major;
  const auto n = static_cast<std::uint64_t>(p.dim("n"));
  for (std::uint64_t j = 0; j < n; ++j) {
    const double large = 1 + static_cast<double>(j) / static_cast<double>(n);
    if (p.is_band(o))
      p.set(o, upper ? o.rows - 1 : 0, j, large);
    else
      p.set(o, upper ? j * (j + 3) / 2 : j * n - j * (j + 1) / 2 + j, 0, large);
  }
}

// Fills pivots like sytrf: positive numbers exchange one row, equal negative neighbours two.
void fill_signed_pivots(Problem& p, const Operand& o, std::mt19937_64& random) {
  const auto n = static_cast<std::int64_t>(o.rows);
  const bool upper = p.flag("uplo") == 'U';
  const auto put = [&](std::int64_t step, std::int64_t v) {  // upper factors: from the end
    p.set(o, static_cast<std::uint64_t>(upper ? n - 1 - step : step), 0, static_cast<double>(v));
  };
  // Returns a row in steps: the remaining rows start with this one.
  const auto any_row = [&](std::int64_t step) {
    const std::int64_t other = uniform(random, step, n - 1);
    return upper ? n - other : other + 1;
  };
  for (std::int64_t step = 0; step < n; ++step) {
    if (step + 1 < n && coin(random)) {
      const std::int64_t row = any_row(step + 1);
      put(step++, -row);
      put(step, -row);
    } else {
      put(step, any_row(step));
    }
  }
}

void fill_indices(Problem& p, const Operand& o, std::mt19937_64& random) {
  const std::string_view values = p.routine->values[o.argument];
  if (values == "signed") return fill_signed_pivots(p, o, random);
  for (std::uint64_t i = 0; i < o.rows; ++i) {
    std::uint64_t v = uniform(random, i + 1, o.rows);  // exchanges i with itself or a later row
    if (values == "any") v = coin(random) ? 0 : uniform<std::uint64_t>(random, 1, 1 << 20);
    p.set(o, i, 0, static_cast<double>(v));
  }
}

void fill_vector(Problem& p, const Operand& o, std::mt19937_64& random) {
  if (is_triangular_solve(p)) return fill_compact_triangle(p, o, random);
  fill_uniform(p, o, random);
  for (std::uint64_t i = 0; i < o.rows && p.name_of(o) == "tau"; ++i)
    p.set(o, i, 0,
          {1.5 + unit(random) / 4, is_complex(p.routine->precision) ? unit(random) / 4 : 0});
  if (p.routine->base == "rotm") p.set(o, 0, 0, static_cast<double>(uniform(random, -2, 1)));
}

}  // namespace

void fill_operand(Problem& p, const Operand& o, std::mt19937_64& random) {
  if (!o.read) return;
  switch (p.kind_of(o)) {
    case Kind::index_vector: return fill_indices(p, o, random);
    case Kind::vector: return fill_vector(p, o, random);
    case Kind::matrix: break;
    default: return fill_uniform(p, o, random);
  }
  if (is_uniform(p, o)) return fill_uniform(p, o, random);
  if (p.is_band(o)) return fill_compact_triangle(p, o, random);
  MatrixData(p, o, random).fill();
}

}  // namespace ob::test
