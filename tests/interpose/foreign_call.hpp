#pragma once
// Calls of Fortran, CBLAS and LAPACKE functions through pointers, with the arguments of a Problem.
// emit_calls.py emits the parts that differ from row to row.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <type_traits>

#include "routines/problem.hpp"

namespace ob::test {

/// One call. Workspaces have the documented minimal lengths unless `lengths` sets others.
struct ForeignCall {
  static constexpr int kMaxLengths = 4;
  static constexpr std::int64_t kLeast = INT64_MIN;

  void* function;
  Problem& problem;
  void* callback = nullptr;  ///< passed for an EXTERNAL
  int layout = 0;            ///< 0: the layout of the problem
  std::array<std::int64_t, kMaxLengths> lengths = {kLeast, kLeast, kLeast, kLeast};

  // The outputs of the call follow.
  std::int64_t info = 0;  ///< the value that LAPACKE returned
  /// The first elements of the workspaces that have a length argument.
  std::array<double, kMaxLengths> first = {};
  std::array<std::int64_t, kMaxLengths> least = {};  ///< the documented minima
  bool overran = false;                              ///< true: the call wrote behind a workspace
};

/// The calls of one routine; index 0 with 32-bit integers, 1 with 64-bit ones.
struct ForeignCalls {
  using Call = void (*)(ForeignCall&);
  std::array<Call, 2> fortran;
  std::array<Call, 2> c;             ///< CBLAS, or LAPACKE's high-level form
  std::array<Call, 2> lapacke_work;  ///< nullptr in the BLAS
  int lengths;                       ///< the number of workspaces with a length argument
  bool has_callback;
  /// True: row-major calls always stay with the original.
  bool row_major_stays;
  /// Row-major calls stay, too, if one of these flags (a bit per argument) is ConjTrans and
  /// complex.
  std::uint32_t flipped_trans;
};

/// The calls of routines::all()[index].
const ForeignCalls& foreign_calls(std::size_t index);

namespace detail {

template <class T>
struct RealOf {
  using type = T;
};
template <class R>
struct RealOf<std::complex<R>> {
  using type = R;
};

template <class T>
double first_as_double(const void* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return std::real(value);
}

}  // namespace detail

/// The arguments that an emitted call passes. Pointers are valid until the object is destroyed. The
/// destructor puts integers and info into the problem.
template <class T, class Int>
class Passing {
 public:
  using Real = typename detail::RealOf<T>::type;

  explicit Passing(ForeignCall& call) : call_(call), p_(call.problem) {}
  Passing(const Passing&) = delete;
  Passing& operator=(const Passing&) = delete;
  ~Passing() {
    for (const Indices& moved : indices_) {
      for (std::size_t i = 0; i < moved.values.size() - 1; ++i) {
        // Elements that the routine did not write keep their bytes.
        if (moved.values[i] == moved.before[i]) continue;
        const auto wide = static_cast<std::int64_t>(moved.values[i]);
        std::memcpy(p_.memory[moved.argument].data() + i * 8, &wide, 8);
      }
    }
    for (const std::vector<unsigned char>& memory : work_)
      call_.overran |= !has_poisoned_end(memory);
    for (std::size_t i = 0; i < lengths_; ++i)
      call_.first[i] = read_first_[i](work_[with_length_[i]].data());
  }

  // Arguments for Fortran: all are references.
  void* integer(std::int64_t v) { return &integers_.emplace_back(static_cast<Int>(v)); }
  void* dim_at(int i) { return integer(p_.arguments[i].dim); }
  void* ld_at(int i) { return integer(p_.lds[i]); }
  void* flag_at(int i) { return &p_.arguments[i].flag; }
  void* scalar_at(int i) {
    store(p_.routine->precision, &scalars_.emplace_back(), value(i));
    return &scalars_.back();
  }
  void* real_at(int i) {
    store(real_of(p_.routine->precision), &scalars_.emplace_back(), value(i));
    return &scalars_.back();
  }

  // Arguments for C: values.
  int layout() const { return call_.layout != 0 ? call_.layout : p_.row_major ? 101 : 102; }
  Int dim(int i) const { return static_cast<Int>(p_.arguments[i].dim); }
  Int ld(int i) const { return static_cast<Int>(p_.lds[i]); }
  char flag(int i) const { return p_.arguments[i].flag; }
  /// Source: cblas.h of the reference BLAS. Illegal characters become illegal numbers.
  int enumeration(int i, const char* values, int first) const {
    const char* found = std::strchr(values, p_.arguments[i].flag);
    return found != nullptr ? first + static_cast<int>(found - values) : 7;
  }
  template <class F>
  F number(int i) const {
    return static_cast<F>(p_.arguments[i].scalar.re);
  }

  /// Returns the memory of an operand itself.
  void* data(int i) { return p_.memory[static_cast<std::size_t>(i)].data(); }
  /// Returns a copy of integers with the width that the function has, and a guard behind them.
  void* indices(int i) {
    Indices& moved = indices_.emplace_back();
    moved.argument = static_cast<std::size_t>(i);
    for (const Operand& o : p_.operands.span()) {
      if (o.argument != i) continue;
      for (std::uint64_t k = 0; k < o.rows; ++k)
        moved.values.push_back(static_cast<Int>(p_.index(o, k)));
    }
    moved.values.push_back(kGuard);
    moved.before = moved.values;
    return moved.values.data();
  }
  /// Returns poisoned workspace of the larger of `least` and the requested length, plus a guard.
  template <class W>
  void* work(std::int64_t least) {
    const std::int64_t length = call_.lengths[std::min(lengths_, call_.lengths.size() - 1)];
    const auto count = static_cast<std::size_t>(std::max({std::int64_t{1}, least, length}));
    std::vector<unsigned char>& memory = work_.emplace_back(count * sizeof(W) + kGuardBytes);
    poison(memory);
    return memory.data();
  }
  /// Returns the length of the latest workspace, at least 1: for n = 0 some formulas give 0.
  template <class W>
  std::int64_t length(std::int64_t least) {
    least = std::max<std::int64_t>(1, least);
    const std::size_t i = lengths_++;
    with_length_[i] = work_.size() - 1;
    read_first_[i] = detail::first_as_double<W>;
    call_.least[i] = least;
    return call_.lengths[i] == ForeignCall::kLeast ? least : call_.lengths[i];
  }
  void* callback() const { return call_.callback; }

  /// Returns a flag in upper case, as the expressions of the table need it.
  char upper_flag(int i) const {
    const char c = p_.arguments[i].flag;
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  std::int64_t wide_dim(int i) const { return p_.arguments[i].dim; }

  template <class V>
  void take_result(int i, V value) {
    if constexpr (std::is_integral_v<V>) {
      const auto wide = static_cast<std::int64_t>(value);
      std::memcpy(data(i), &wide, sizeof wide);
    } else {
      std::memcpy(data(i), &value, sizeof value);
    }
  }
  /// Copies the first element of the k-th workspace to result i.
  template <class W>
  void take_first(int i, std::size_t k) {
    W value;
    std::memcpy(&value, work_[k].data(), sizeof value);
    std::memcpy(data(i), &value, sizeof value);
  }
  void take_info(int i, Int info) {
    call_.info = info;
    take_result(i, info);
  }

 private:
  static constexpr Int kGuard = -77;
  static constexpr std::size_t kGuardBytes = 32;
  struct Indices {
    std::size_t argument = 0;
    std::vector<Int> values;
    std::vector<Int> before;
  };

  static bool has_poisoned_end(const std::vector<unsigned char>& memory) {
    std::vector<unsigned char> poisoned(memory.size());
    poison(poisoned);
    return std::equal(memory.end() - kGuardBytes, memory.end(), poisoned.end() - kGuardBytes);
  }
  std::complex<double> value(int i) const {
    return {p_.arguments[i].scalar.re, p_.arguments[i].scalar.im};
  }

  ForeignCall& call_;
  Problem& p_;
  std::deque<Int> integers_;
  std::deque<std::complex<double>> scalars_;
  std::deque<Indices> indices_;
  std::deque<std::vector<unsigned char>> work_;
  std::size_t lengths_ = 0;
  std::array<std::size_t, ForeignCall::kMaxLengths> with_length_ = {};
  std::array<double (*)(const void*), ForeignCall::kMaxLengths> read_first_ = {};
};

}  // namespace ob::test
