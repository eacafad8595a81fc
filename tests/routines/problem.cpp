#include "routines/problem.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace ob::test {

std::complex<double> load(Precision p, const void* at) {
  float f[2] = {};
  double d[2] = {};
  const bool single = real_bytes(p) == 4;
  std::memcpy(single ? static_cast<void*>(f) : d, at, element_bytes(p));
  return single ? std::complex<double>(f[0], f[1]) : std::complex<double>(d[0], d[1]);
}

void store(Precision p, void* at, std::complex<double> v) {
  const float f[2] = {static_cast<float>(v.real()), static_cast<float>(v.imag())};
  const double d[2] = {v.real(), v.imag()};
  std::memcpy(at, real_bytes(p) == 4 ? static_cast<const void*>(f) : d, element_bytes(p));
}

bool referenced(Triangle t, std::uint64_t i, std::uint64_t j) {
  switch (t) {
    case Triangle::upper: return i <= j;
    case Triangle::lower: return i >= j;
    case Triangle::upper_strict: return i < j;
    case Triangle::lower_strict: return i > j;
    default: return true;
  }
}

void poison(std::vector<unsigned char>& memory) {
  const unsigned char bytes[] = {0xAD, 0xDE, 0xF8, 0xFF};
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = bytes[i % 4];
}

Problem& Problem::operator=(const Problem& other) {
  routine = other.routine;
  row_major = other.row_major;
  std::copy_n(other.arguments, kMaxArguments, arguments);
  std::copy_n(other.lds, kMaxArguments, lds);
  memory = other.memory;
  operands = other.operands;
  point();
  return *this;
}

void Problem::point() {
  for (const Operand& o : operands.span())
    arguments[o.argument].host = {memory[o.argument].data(), lds[o.argument]};
}

int Problem::position(std::string_view name) const {
  const auto names = routine->argument_names;
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

char Problem::flag(std::string_view name) const {
  const int at = position(name);
  return at < 0 ? 'N' : arguments[at].flag;
}

std::int64_t Problem::dim(std::string_view name) const {
  const int at = position(name);
  return at < 0 ? 0 : arguments[at].dim;
}

std::complex<double> Problem::scalar(std::string_view name) const {
  const int at = position(name);
  return at < 0 ? 0 : std::complex<double>(arguments[at].scalar.re, arguments[at].scalar.im);
}

const Operand& Problem::operand(std::string_view name) const {
  for (const Operand& o : operands.span()) {
    if (name_of(o) == name) return o;
  }
  std::fprintf(stderr, "%s has no operand %s\n", std::string(routine->name).c_str(),
               std::string(name).c_str());
  std::abort();
}

Number Problem::number_of(const Operand& o) const {
  const Kind kind = kind_of(o);
  if (kind == Kind::character) return Number::character;
  if (kind == Kind::index_vector || kind == Kind::info) return Number::integer;
  if (kind == Kind::result && routine->base == "iamax") return Number::integer;
  if (o.element_bytes == element_bytes(routine->precision)) return Number::element;
  return o.element_bytes == real_bytes(routine->precision) ? Number::real : Number::wide_real;
}

bool Problem::is_band(const Operand& o) const {
  return routine->level == 2 && routine->base[1] == 'b' && kind_of(o) == Kind::matrix;
}

std::uint64_t Problem::ld(const Operand& o) const {
  const std::int64_t given = lds[o.argument];
  if (kind_of(o) == Kind::strided) return static_cast<std::uint64_t>(std::abs(given));
  return kind_of(o) == Kind::matrix ? static_cast<std::uint64_t>(given) : o.rows;
}

std::uint64_t Problem::span(const Operand& o) const {
  const Kind kind = kind_of(o);
  if (kind == Kind::strided) return o.cols == 0 ? 0 : 1 + (o.cols - 1) * ld(o);
  if (kind != Kind::matrix) return o.rows;
  return ld(o) * std::max<std::uint64_t>(1, row_major && !is_band(o) ? o.rows : o.cols);
}

unsigned char* Problem::at(const Operand& o, std::uint64_t i, std::uint64_t j) {
  std::uint64_t offset = i + j * ld(o);
  if (kind_of(o) == Kind::matrix && row_major && !is_band(o)) offset = i * ld(o) + j;
  // With a negative increment the first element lies last.
  if (lds[o.argument] < 0) offset = (o.cols - 1 - j) * ld(o);
  return memory[o.argument].data() + offset * o.element_bytes;
}

std::complex<double> Problem::value(const Operand& o, std::uint64_t i, std::uint64_t j) const {
  switch (number_of(o)) {
    case Number::element: return load(routine->precision, at(o, i, j));
    case Number::real: return load(real_of(routine->precision), at(o, i, j));
    case Number::wide_real: return load(Precision::d, at(o, i, j));
    case Number::integer: return static_cast<double>(index(o, i));
    case Number::character: return static_cast<double>(*at(o, i, j));
  }
  return 0;
}

void Problem::set(const Operand& o, std::uint64_t i, std::uint64_t j, std::complex<double> v) {
  const auto integer = static_cast<std::int64_t>(v.real());
  switch (number_of(o)) {
    case Number::element: store(routine->precision, at(o, i, j), v); return;
    case Number::real: store(real_of(routine->precision), at(o, i, j), v.real()); return;
    case Number::wide_real: store(Precision::d, at(o, i, j), v.real()); return;
    case Number::integer: std::memcpy(at(o, i, j), &integer, sizeof integer); return;
    case Number::character: *at(o, i, j) = static_cast<unsigned char>(integer); return;
  }
}

std::int64_t Problem::index(const Operand& o, std::uint64_t i) const {
  std::int64_t v = 0;
  std::memcpy(&v, memory[o.argument].data() + i * 8, 8);
  return v;
}

std::int64_t Problem::info() const { return has("info") ? index(operand("info"), 0) : 0; }

std::int64_t Problem::size() const {
  std::int64_t largest = 0;
  for (const Operand& o : operands.span())
    largest = std::max<std::int64_t>(largest, static_cast<std::int64_t>(std::max(o.rows, o.cols)));
  for (std::size_t i = 0; i < routine->kinds.size(); ++i) {
    if (routine->kinds[i] == Kind::dim) largest = std::max(largest, arguments[i].dim);
  }
  return largest;
}

std::string Problem::text() const {
  std::ostringstream out;
  out << routine->name << (row_major ? " row-major" : "");
  for (std::size_t i = 0; i < routine->kinds.size(); ++i) {
    const Argument& argument = arguments[i];
    const Kind kind = routine->kinds[i];
    if (is_memory(kind) && !has_ld(kind)) continue;
    out << ' ' << routine->argument_names[i] << '=';
    if (kind == Kind::flag) out << argument.flag;
    if (kind == Kind::dim) out << argument.dim;
    if (kind == Kind::scalar || kind == Kind::real_scalar)
      out << argument.scalar.re << ',' << argument.scalar.im;
    if (has_ld(kind)) out << (kind == Kind::matrix ? "ld" : "inc") << lds[i];
  }
  return out.str();
}

}  // namespace ob::test
