#pragma once
// Random legal calls of any routine of the table, with everything that is not referenced poisoned.

#include <complex>
#include <cstring>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "base/layout.hpp"
#include "routines/descriptor.hpp"
#include "support/random.hpp"

namespace ob::test {

/// Reads and writes elements of any precision as complex<double>.
inline std::complex<double> load(Precision p, const void* at) {
  const auto* f = static_cast<const float*>(at);
  const auto* d = static_cast<const double*>(at);
  switch (p) {
    case Precision::s: return f[0];
    case Precision::d: return d[0];
    case Precision::c: return {f[0], f[1]};
    default: return {d[0], d[1]};
  }
}
inline void store(Precision p, void* at, std::complex<double> v) {
  const float f[2] = {static_cast<float>(v.real()), static_cast<float>(v.imag())};
  const double d[2] = {v.real(), v.imag()};
  const bool single = p == Precision::s || p == Precision::c;
  std::memcpy(at, single ? static_cast<const void*>(f) : d, element_bytes(p));
}
inline bool is_complex(Precision p) { return p == Precision::c || p == Precision::z; }
inline double epsilon(Precision p) {
  return p == Precision::s || p == Precision::c ? 1.2e-7 : 2.3e-16;
}

/// True if element (i, j) of an operand with this triangle is referenced.
inline bool referenced(Triangle t, std::uint64_t i, std::uint64_t j) {
  switch (t) {
    case Triangle::upper: return i <= j;
    case Triangle::lower: return i >= j;
    case Triangle::upper_strict: return i < j;
    case Triangle::lower_strict: return i > j;
    default: return true;
  }
}

/// One call with memory of its own. Copies share nothing.
struct Problem {
  const Descriptor* routine = nullptr;
  Argument arguments[kMaxArguments];
  std::int64_t lds[kMaxArguments] = {};
  std::vector<std::vector<unsigned char>> memory;  // by argument
  Operands operands;

  Problem() = default;
  Problem(const Problem& other) { *this = other; }
  Problem& operator=(const Problem& other) {
    routine = other.routine;
    std::copy_n(other.arguments, kMaxArguments, arguments);
    std::copy_n(other.lds, kMaxArguments, lds);
    memory = other.memory;
    operands = other.operands;
    point();
    return *this;
  }

  void point() {
    for (const Operand& o : operands.span())
      arguments[o.argument].host.data = memory[o.argument].data();
  }

  std::uint64_t ld(const Operand& o) const {
    return lds[o.argument] != 0 ? static_cast<std::uint64_t>(lds[o.argument])
                                : std::max<std::uint64_t>(1, o.rows);
  }
  unsigned char* at(const Operand& o, std::uint64_t i, std::uint64_t j) {
    return memory[o.argument].data() + (i + j * ld(o)) * o.element_bytes;
  }
  const unsigned char* at(const Operand& o, std::uint64_t i, std::uint64_t j) const {
    return const_cast<Problem*>(this)->at(o, i, j);
  }
  const Operand& operand(std::string_view name) const {
    for (const Operand& o : operands.span()) {
      if (routine->argument_names[o.argument] == name) return o;
    }
    std::abort();
  }
  std::complex<double> value(const Operand& o, std::uint64_t i, std::uint64_t j) const {
    return load(routine->precision, at(o, i, j));
  }
  std::int64_t index(const Operand& o, std::uint64_t i) const {
    std::int64_t v = 0;
    std::memcpy(&v, memory[o.argument].data() + i * 8, 8);
    return v;
  }
  std::string text() const {
    std::ostringstream out;
    out << routine->name;
    for (std::size_t i = 0; i < routine->kinds.size(); ++i) {
      const Argument& argument = arguments[i];
      out << ' ' << routine->argument_names[i] << '=';
      if (routine->kinds[i] == Kind::flag) out << argument.flag;
      if (routine->kinds[i] == Kind::dim) out << argument.dim;
      if (routine->kinds[i] == Kind::scalar || routine->kinds[i] == Kind::real_scalar) {
        out << argument.scalar.re << ',' << argument.scalar.im;
      }
      if (routine->kinds[i] == Kind::matrix) out << "ld" << lds[i];
    }
    return out.str();
  }
};

inline char random_flag(std::mt19937_64& random, std::string_view name) {
  const std::string_view values = name == "uplo"   ? "UL"
                                  : name == "diag" ? "NU"
                                  : name == "side" ? "LR"
                                                   : "NTC";
  return values[uniform<std::size_t>(random, 0, values.size() - 1)];
}

inline void fill(Problem& p, const Operand& o, std::mt19937_64& random) {
  const bool is_matrix = p.routine->kinds[o.argument] == Kind::matrix;
  std::uniform_real_distribution<double> unit(-1, 1);
  // Guard: a little more than the operand, poisoned like all that is not referenced. 0xFF...: NaN.
  p.memory[o.argument].assign(p.ld(o) * std::max<std::uint64_t>(1, o.cols) * o.element_bytes + 32,
                              0xFF);
  if (!o.read) return;
  for (std::uint64_t j = 0; j < o.cols; ++j) {
    for (std::uint64_t i = 0; i < o.rows; ++i) {
      if (!referenced(o.triangle, i, j)) continue;
      if (!is_matrix) {  // a row exchange: i with one below it
        const auto v = static_cast<std::int64_t>(uniform(random, i + 1, o.rows));
        std::memcpy(p.at(o, i, j), &v, 8);
        continue;
      }
      // Dominant diagonals, so that factors exist and are well conditioned.
      const double dominant = i == j ? static_cast<double>(o.rows + o.cols) : 0;
      const double imaginary = is_complex(p.routine->precision) && i != j ? unit(random) : 0;
      store(p.routine->precision, p.at(o, i, j), {unit(random) + dominant, imaginary});
    }
  }
}

/// @param largest dimensions are 0..largest
inline Problem random_problem(const Descriptor& routine, std::mt19937_64& random,
                              std::int64_t largest) {
  Problem p;
  p.routine = &routine;
  p.memory.resize(routine.kinds.size());
  std::uniform_real_distribution<double> unit(-1, 1);
  std::int64_t huge[kMaxArguments];
  std::fill_n(huge, kMaxArguments, INT64_MAX);
  do {
    for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
      const double parts[] = {
          0, 1, static_cast<float>(unit(random))};  // a float, so that all precisions hold it
      const double re = parts[uniform(random, 0, 2)];
      if (routine.kinds[i] == Kind::flag)
        p.arguments[i].flag = random_flag(random, routine.argument_names[i]);
      if (routine.kinds[i] == Kind::dim)
        p.arguments[i].dim = uniform<std::int64_t>(random, 0, largest);
      if (routine.kinds[i] == Kind::real_scalar) p.arguments[i].scalar = {re, 0};
      if (routine.kinds[i] == Kind::scalar) {
        p.arguments[i].scalar = {re,
                                 is_complex(routine.precision) ? parts[uniform(random, 0, 2)] : 0};
      }
    }
  } while (!routine.legal(p.arguments, huge));
  p.operands = routine.operands(p.arguments);
  for (const Operand& o : p.operands.span()) {
    if (routine.kinds[o.argument] == Kind::matrix) {
      p.lds[o.argument] =
          std::max<std::int64_t>(1, static_cast<std::int64_t>(o.rows)) + uniform(random, 0, 3);
    }
    p.arguments[o.argument].host = {nullptr, p.lds[o.argument]};
    fill(p, o, random);
  }
  p.point();
  return p;
}

/// Empty if the results of two runs of one problem agree and nothing else differs; otherwise what
/// is wrong. Tolerance: 50 (m + n + 10) eps max|x|, some times the normwise error bound gamma_n of
/// a product or a solve with a well-conditioned matrix (Higham, Accuracy and Stability, chapter 3).
inline std::string difference(const Problem& a, const Problem& b) {
  for (const Operand& o : a.operands.span()) {
    const std::string where = a.text() + ": " + std::string(a.routine->argument_names[o.argument]);
    const bool is_matrix = a.routine->kinds[o.argument] == Kind::matrix;
    std::vector<unsigned char> left = a.memory[o.argument];
    std::vector<unsigned char> right = b.memory[o.argument];
    double largest = 0;
    for (std::uint64_t j = 0; j < o.cols; ++j) {
      for (std::uint64_t i = 0; i < o.rows; ++i) {
        if (is_matrix && referenced(o.triangle, i, j))
          largest = std::max(largest, std::abs(a.value(o, i, j)));
      }
    }
    const double allowed =
        50 * static_cast<double>(o.rows + o.cols + 10) * epsilon(a.routine->precision) * largest;
    for (std::uint64_t j = 0; j < o.cols && o.written && is_matrix; ++j) {
      for (std::uint64_t i = 0; i < o.rows; ++i) {
        if (!referenced(o.triangle, i, j)) continue;
        if (std::memcmp(a.at(o, i, j), b.at(o, i, j), o.element_bytes) == 0)
          continue;  // NaN left alone, too
        if (!(std::abs(a.value(o, i, j) - b.value(o, i, j)) <= allowed)) {
          return where + " differs at " + std::to_string(i) + "," + std::to_string(j);
        }
        const std::uint64_t offset = (i + j * a.ld(o)) * o.element_bytes;
        std::memset(left.data() + offset, 0,
                    o.element_bytes);  // compared: leave the bytes around to compare
        std::memset(right.data() + offset, 0, o.element_bytes);
      }
    }
    if (left != right)
      return where + (o.written && is_matrix ? " was changed outside" : " has other bytes");
  }
  return {};
}

}  // namespace ob::test
