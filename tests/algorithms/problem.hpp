#pragma once
// Random calls of any routine of the table, in host memory with poison around every operand.

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "routines/descriptor.hpp"
#include "support/raw_client.hpp"

namespace ob::test {

/// The places a call may run at: this process's own device, or the same behind a daemon.
enum class Place { local, local_hidden, tcp, shm };

inline double number(Precision precision, const std::byte* at) {
  if (precision == Precision::d || precision == Precision::z) {
    double value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  float value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

inline void set_number(Precision precision, std::byte* at, double value) {
  if (precision == Precision::d || precision == Precision::z) {
    std::memcpy(at, &value, sizeof value);
    return;
  }
  const auto narrow = static_cast<float>(value);
  std::memcpy(at, &narrow, sizeof narrow);
}

inline bool in_triangle(Triangle triangle, std::uint64_t i, std::uint64_t j) {
  switch (triangle) {
    case Triangle::full: return true;
    case Triangle::upper: return i <= j;
    case Triangle::lower: return i >= j;
    case Triangle::upper_strict: return i < j;
    case Triangle::lower_strict: return i > j;
  }
  return false;
}

/// One call. Copyable by reset(): results of two runs from the same start can be compared.
class Problem {
 public:
  static constexpr std::byte kPoison{0xFF};  // a NaN in every precision

  /// Empty flags are drawn. Sizes up to `largest`.
  Problem(const Descriptor& routine, std::mt19937_64& random, std::int64_t largest)
      : routine_(routine) {
    do {
      draw(random, largest);
    } while (!routine_.legal(arguments_, lds_) || routine_.trivial(arguments_));
    fill(random);
    start_ = memory_;
  }

  const Descriptor& routine() const { return routine_; }
  const Argument* arguments() const { return arguments_; }
  /// Everything as it was before the call.
  void reset() {
    for (std::size_t i = 0; i < memory_.size(); ++i)
      std::memcpy(memory_[i].data(), start_[i].data(), memory_[i].size());
  }
  /// All bytes, poison included.
  const std::vector<Bytes>& memory() const { return memory_; }
  const std::vector<Bytes>& start() const { return start_; }

  /// "" if every result is near that of `expected` (a run of the original library from the same
  /// start) and every other byte is as it was.
  std::string difference(const std::vector<Bytes>& expected) const {
    for (int o = 0; o < operands_.count; ++o) {
      const Operand& operand = operands_.items[o];
      Bytes rest = memory_[o];
      Bytes rest_before = start_[o];
      for (std::uint64_t j = 0; j < operand.cols; ++j) {
        for (std::uint64_t i = 0; i < operand.rows; ++i) {
          if (!operand.written || !in_triangle(operand.triangle, i, j)) continue;
          const std::uint64_t at = place(operand, i, j);
          if (!near(operand, memory_[o].data() + at, expected[o].data() + at)) {
            return "element (" + std::to_string(i) + ", " + std::to_string(j) + ") of " +
                   name(operand);
          }
          std::memset(rest.data() + at, 0, operand.element_bytes);
          std::memset(rest_before.data() + at, 0, operand.element_bytes);
        }
      }
      if (rest != rest_before) return "a byte outside the results of " + name(operand);
    }
    return "";
  }
  /// "" unless an operand that is read as well as written changed.
  std::string damage() const {
    for (int o = 0; o < operands_.count; ++o) {
      const Operand& operand = operands_.items[o];
      if ((operand.read || !operand.written) && memory_[o] != start_[o]) return name(operand);
    }
    return "";
  }

  std::string describe() const {
    std::string text(routine_.name);
    for (std::size_t i = 0; i < routine_.kinds.size(); ++i) {
      const std::string argument(routine_.argument_names[i]);
      if (routine_.kinds[i] == Kind::flag) text += " " + argument + "=" + arguments_[i].flag;
      if (routine_.kinds[i] == Kind::dim)
        text += " " + argument + "=" + std::to_string(arguments_[i].dim);
    }
    return text;
  }

 private:
  static constexpr std::uint64_t kBefore = 48;  // poison in front

  std::string name(const Operand& operand) const {
    return std::string(routine_.argument_names[operand.argument]) + " of " + describe();
  }
  std::uint64_t ld(const Operand& operand) const {
    return operand.cols > 1 ? static_cast<std::uint64_t>(arguments_[operand.argument].host.ld)
                            : operand.rows;
  }
  std::uint64_t place(const Operand& operand, std::uint64_t i, std::uint64_t j) const {
    return kBefore + (j * ld(operand) + i) * operand.element_bytes;
  }

  void draw(std::mt19937_64& random, std::int64_t largest) {
    constexpr std::string_view kFlags = "NTCLRU";
    constexpr double kScalars[] = {0, 1, -1, 0.75};
    for (std::size_t i = 0; i < routine_.kinds.size(); ++i) {
      Argument& argument = arguments_[i];
      argument = Argument();
      lds_[i] = 0;
      switch (routine_.kinds[i]) {
        case Kind::flag: argument.flag = kFlags[random() % kFlags.size()]; break;
        case Kind::dim:
          argument.dim =
              1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(largest));
          break;
        case Kind::scalar:
          argument.scalar = {kScalars[random() % 4], is_complex() ? kScalars[random() % 4] : 0};
          break;
        case Kind::real_scalar: argument.scalar = {kScalars[random() % 4], 0}; break;
        case Kind::matrix:
          argument.host = {nullptr, largest + static_cast<std::int64_t>(random() % 5)};
          lds_[i] = argument.host.ld;
          break;
        default: argument.host = {nullptr, 0};
      }
    }
  }

  void fill(std::mt19937_64& random) {
    operands_ = routine_.operands(arguments_);
    for (int o = 0; o < operands_.count; ++o) {
      const Operand& operand = operands_.items[o];
      memory_.emplace_back(
          place(operand, operand.rows, std::max<std::uint64_t>(1, operand.cols) - 1) + 64, kPoison);
      Bytes& bytes = memory_.back();
      for (std::uint64_t j = 0; operand.read && j < operand.cols; ++j) {
        for (std::uint64_t i = 0; i < operand.rows; ++i) {
          if (in_triangle(operand.triangle, i, j))
            element(operand, i, j, random, bytes.data() + place(operand, i, j));
        }
      }
      arguments_[operand.argument].host.data = bytes.data() + kBefore;
    }
  }

  // Diagonals dominate, so that solves and factorisations are well conditioned.
  void element(const Operand& operand, std::uint64_t i, std::uint64_t j, std::mt19937_64& random,
               std::byte* at) {
    if (routine_.kinds[operand.argument] == Kind::index_vector) {
      const auto pivot = static_cast<std::int64_t>(i + random() % (operand.rows - i)) + 1;
      std::memcpy(at, &pivot, sizeof pivot);
      return;
    }
    std::uniform_real_distribution<double> small(-0.5, 0.5);
    const std::uint32_t real_bytes =
        routine_.precision == Precision::s || routine_.precision == Precision::c ? 4 : 8;
    const bool dominant = i == j && operand.rows == operand.cols;
    set_number(routine_.precision, at,
               dominant ? static_cast<double>(operand.rows) + 1 : small(random));
    if (is_complex()) set_number(routine_.precision, at + real_bytes, dominant ? 0 : small(random));
  }

  bool is_complex() const {
    return routine_.precision == Precision::c || routine_.precision == Precision::z;
  }

  // Both runs use one library on one set of numbers, but leading dimensions and alignment may
  // choose other kernels and so another order of sums: a few n eps of the largest term, with
  // dominant diagonals near n.
  bool near(const Operand& operand, const std::byte* a, const std::byte* b) const {
    if (routine_.kinds[operand.argument] != Kind::matrix)
      return std::memcmp(a, b, operand.element_bytes) == 0;
    const bool single = routine_.precision == Precision::s || routine_.precision == Precision::c;
    const double bound = (single ? 1.2e-7 : 2.3e-16) * 64 * 64 * 64;
    for (std::uint32_t part = 0; part < operand.element_bytes; part += single ? 4 : 8) {
      const double x = number(routine_.precision, a + part);
      const double y = number(routine_.precision, b + part);
      if (!(std::abs(x - y) <= bound * (1 + std::abs(y)))) return false;
    }
    return true;
  }

  const Descriptor& routine_;
  Argument arguments_[kMaxArguments];
  std::int64_t lds_[kMaxArguments] = {};
  Operands operands_;
  std::vector<Bytes> memory_;
  std::vector<Bytes> start_;
};

}  // namespace ob::test
