#include "routines/agreement.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ob::test {
namespace {

using Value = std::complex<double>;

enum class Meaning {
  values,
  columns,     // each column is a vector up to a factor
  rows,        // the same, stored in rows
  magnitudes,  // elements agree up to phases
  estimates,
  bounds,
  reduction,  // a condensed form by similarity or equivalence
};

struct Treatment {
  Meaning meaning = Meaning::values;
  // Elements beyond these are not results.
  std::uint64_t rows = UINT64_MAX;
  std::uint64_t cols = UINT64_MAX;
};

bool one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The contents of the matrix A after an eigenvalue or singular value routine.
Treatment overwritten_matrix(const Problem& p, const Operand& o) {
  const std::string_view base = p.routine->base;
  const std::uint64_t least = std::min(o.rows, o.cols);
  if (one_of(base, {"syev", "syevd", "heev", "heevd", "sygv", "sygvd", "hegv", "hegvd"}))
    return {Meaning::columns};
  if (one_of(base, {"gees", "geesx", "geevx"})) return {Meaning::magnitudes};
  if (base == "gesvd" && p.flag("jobu") == 'O') return {Meaning::columns, UINT64_MAX, least};
  if (base == "gesvd") return {Meaning::rows, least};
  if (base == "gesdd") return {o.rows >= o.cols ? Meaning::columns : Meaning::rows};
  // If n is much larger than m, the reference leaves another matrix here, since it solves with L of
  // A = L Q (ILAENV: from n = 1.6 m on).
  if (base == "gelss") return {Meaning::rows, o.cols < 16 * o.rows / 10 ? least : 0};
  return {};
}

// Takes the flags from `p`, the given problem.
Treatment treatment_of(const Problem& p, const Problem& expected, const Operand& o) {
  const std::string_view name = p.name_of(o);
  if (one_of(p.routine->base, {"gebrd", "sytrd", "hetrd"})) return {Meaning::reduction};
  // The routine found m of n eigenvalues; workspace lies beyond them.
  const auto found = p.has("range")
                         ? static_cast<std::uint64_t>(expected.index(expected.operand("m"), 0))
                         : UINT64_MAX;
  if (name == "w" || name == "ifail") return {Meaning::values, found};
  if (name == "isuppz") return {Meaning::values, found == UINT64_MAX ? found : 2 * found};
  if (name == "z") return {Meaning::columns, UINT64_MAX, found};
  if (one_of(name, {"vl", "vr", "vs", "u"})) return {Meaning::columns};
  if (name == "vt") return {Meaning::rows};
  if (one_of(name, {"rcond", "rconde", "rcondv"})) return {Meaning::estimates};
  if (one_of(name, {"ferr", "berr"})) return {Meaning::bounds};
  if (name == "a" && p.routine->library == Library::lapack) return overwritten_matrix(p, o);
  return {};
}

class Comparison {
 public:
  Comparison(const Problem& given, const Problem& expected, const Problem& actual,
             const Operand& operand)
      : given_(given),
        expected_(expected),
        actual_(actual),
        o_(operand),
        treatment_(treatment_of(given, expected, operand)),
        compared_(given.memory[operand.argument].size(), false) {
    const double n = static_cast<double>(given.size());
    allowed_ = 50 * (2 * n + 10) * epsilon(given.routine->precision);
    for_vectors_ = allowed_ * std::max(1.0, n);
    for_reductions_ = for_vectors_ * std::max(1.0, n);
  }

  /// Returns the difference, or an empty text.
  std::string run() {
    const std::string wrong = results();
    return wrong.empty() ? surroundings() : wrong;
  }

  /// Returns a change outside of results and consumed elements, or an empty text.
  std::string surroundings() {
    if (o_.written) mark(o_.written_triangle);
    if (o_.consumed) mark(o_.triangle);
    const auto& before = given_.memory[o_.argument];
    const auto& library = expected_.memory[o_.argument];
    const auto& now = actual_.memory[o_.argument];
    for (std::size_t k = 0; k < now.size(); ++k) {
      if (!compared_[k] && now[k] != before[k] && now[k] != library[k])
        return " was changed outside, at byte " + std::to_string(k);
    }
    return {};
  }

 private:
  void mark(std::uint64_t i, std::uint64_t j) {
    const auto* first = given_.memory[o_.argument].data();
    std::fill_n(compared_.begin() + (given_.at(o_, i, j) - first), o_.element_bytes, true);
  }

  void mark(Triangle triangle) {
    for (std::uint64_t j = 0; j < o_.cols; ++j) {
      for (std::uint64_t i = 0; i < o_.rows; ++i) {
        if (referenced(triangle, i, j)) mark(i, j);
      }
    }
  }

  bool same_bytes(std::uint64_t i, std::uint64_t j) const {
    return std::memcmp(expected_.at(o_, i, j), actual_.at(o_, i, j), o_.element_bytes) == 0;
  }

  std::string results() {
    if (!o_.written) return {};
    switch (treatment_.meaning) {
      case Meaning::columns: return lines(o_.cols, o_.rows, false);
      case Meaning::rows: return lines(o_.rows, o_.cols, true);
      default: return elements();
    }
  }

  double largest() const {
    double result = 1;
    for (std::uint64_t j = 0; j < o_.cols; ++j) {
      for (std::uint64_t i = 0; i < o_.rows; ++i) {
        const double size =
            referenced(o_.written_triangle, i, j) ? std::abs(expected_.value(o_, i, j)) : 0;
        if (std::isfinite(size)) result = std::max(result, size);
      }
    }
    return result;
  }

  bool agree(Value x, Value y, double scale) const {
    const Number number = given_.number_of(o_);
    if (number == Number::integer || number == Number::character) return x == y;
    switch (treatment_.meaning) {
      case Meaning::magnitudes: return std::abs(std::abs(x) - std::abs(y)) <= for_vectors_ * scale;
      case Meaning::estimates:
        return std::abs(x - y) <= allowed_ + 0.5 * std::max(std::abs(x), std::abs(y));
      case Meaning::bounds:
        return std::abs(x - y) <= allowed_ + 0.9 * std::max(std::abs(x), std::abs(y));
      case Meaning::reduction: return std::abs(x - y) <= for_reductions_ * scale;
      default: return std::abs(x - y) <= allowed_ * scale;
    }
  }

  std::string elements() {
    const double scale = largest();
    for (std::uint64_t j = 0; j < std::min(o_.cols, treatment_.cols); ++j) {
      for (std::uint64_t i = 0; i < std::min(o_.rows, treatment_.rows); ++i) {
        if (!referenced(o_.written_triangle, i, j) || same_bytes(i, j)) continue;
        const Value x = expected_.value(o_, i, j);
        const Value y = actual_.value(o_, i, j);
        if (agree(x, y, scale)) continue;
        return " differs at " + std::to_string(i) + "," + std::to_string(j) + ": " +
               std::to_string(x.real()) + " and " + std::to_string(y.real());
      }
    }
    return {};
  }

  // Real matrices have complex eigenvectors in two columns.
  bool is_pair(std::uint64_t line) const {
    for (const std::string_view name : {"wi", "alphai"}) {
      if (given_.has(name) && !one_of(given_.name_of(o_), {"vs"}))
        return expected_.value(expected_.operand(name), line, 0).real() > 0;
    }
    return false;
  }

  std::string lines(std::uint64_t count, std::uint64_t length, bool in_rows) {
    count = std::min(count, in_rows ? treatment_.rows : treatment_.cols);
    for (std::uint64_t line = 0; line < count; ++line) {
      const bool pair = is_pair(line);
      if (!parallel(line, length, in_rows, pair))
        return " differs in vector " + std::to_string(line);
      line += pair ? 1 : 0;
    }
    return {};
  }

  Value component(const Problem& p, std::uint64_t line, std::uint64_t k, bool in_rows,
                  bool pair) const {
    const auto at = [&](std::uint64_t l) {
      return in_rows ? p.value(o_, l, k) : p.value(o_, k, l);
    };
    return pair ? at(line) + Value(0, 1) * at(line + 1) : at(line);
  }

  // Returns true if y = f x with a factor f near 1, or not too far from it: eigenvectors of pencils
  // have largest components with |Re| + |Im| = 1, which depends on their phase.
  bool parallel(std::uint64_t line, std::uint64_t length, bool in_rows, bool pair) const {
    bool same = true;  // unchanged bytes of a failed call are not numbers
    for (std::uint64_t k = 0; k < length; ++k)
      same = same && (in_rows ? same_bytes(line, k) : same_bytes(k, line));
    if (same && !pair) return true;
    Value product = 0;
    double square = 0;
    for (std::uint64_t k = 0; k < length; ++k) {
      const Value x = component(expected_, line, k, in_rows, pair);
      product += std::conj(x) * component(actual_, line, k, in_rows, pair);
      square += std::norm(x);
    }
    const Value factor = product / square;
    const double loose = given_.routine->base == "ggev" ? 1.0 : for_vectors_;
    if (!(std::abs(std::abs(factor) - 1) <= loose)) return false;
    for (std::uint64_t k = 0; k < length; ++k) {
      const Value x = component(expected_, line, k, in_rows, pair);
      const Value y = component(actual_, line, k, in_rows, pair);
      if (!(std::abs(y - factor * x) <= for_vectors_ * std::max(1.0, std::sqrt(square))))
        return false;
    }
    return true;
  }

  const Problem& given_;
  const Problem& expected_;
  const Problem& actual_;
  const Operand& o_;
  Treatment treatment_;
  std::vector<bool> compared_;
  double allowed_ = 0;
  double for_reductions_ = 0;
  double for_vectors_ = 0;
};

}  // namespace

std::string difference(const Problem& given, const Problem& expected, const Problem& actual) {
  for (const Operand& o : given.operands.span()) {
    const std::string wrong = Comparison(given, expected, actual, o).run();
    if (!wrong.empty()) return given.text() + ": " + std::string(given.name_of(o)) + wrong;
  }
  return {};
}

std::string intrusion(const Problem& given, const Problem& actual) {
  for (const Operand& o : given.operands.span()) {
    const std::string wrong = Comparison(given, given, actual, o).surroundings();
    if (!wrong.empty()) return given.text() + ": " + std::string(given.name_of(o)) + wrong;
  }
  return {};
}

Problem nudged(const Problem& given, std::mt19937_64& random) {
  std::uniform_real_distribution<double> part(-4, 4);
  const double eps = epsilon(given.routine->precision);
  Problem result = given;
  for (const Operand& o : given.operands.span()) {
    const Number number = given.number_of(o);
    const bool is_number = number != Number::integer && number != Number::character;
    if (!is_number || !o.read || !o.written) continue;
    for (std::uint64_t j = 0; j < o.cols; ++j) {
      for (std::uint64_t i = 0; i < o.rows; ++i) {
        if (!referenced(o.triangle, i, j) || !referenced(o.written_triangle, i, j)) continue;
        result.set(o, i, j, given.value(o, i, j) * (1 + eps * part(random)));
      }
    }
  }
  return result;
}

}  // namespace ob::test
