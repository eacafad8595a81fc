#pragma once
// Conversions from the normal form to the parameters of a Fortran routine. Only emitted thunks
// include this.

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "base/contract.hpp"
#include "routines/argument.hpp"

namespace ob::thunk_support {

/// The library's INTEGER. Only tests call libraries with 64-bit integers.
#ifdef OB_THUNK_ILP64
using Integer = std::int64_t;
#else
using Integer = std::int32_t;
#endif

/// Converts to the library's INTEGER. The caller of the thunk has checked the range.
/// @pre std::in_range<Integer>(value)
inline Integer narrow(std::int64_t value) noexcept {
  OB_EXPECT(std::in_range<Integer>(value));
  return static_cast<Integer>(value);
}

template <class T>
struct Scalar {
  using Real = T;
  static T make(Complex value) noexcept { return static_cast<T>(value.re); }
};
template <class R>
struct Scalar<std::complex<R>> {
  using Real = R;
  static std::complex<R> make(Complex value) noexcept {
    return {static_cast<R>(value.re), static_cast<R>(value.im)};
  }
};
template <class T>
using real_t = typename Scalar<T>::Real;

template <class T>
T scalar(const Argument& argument) noexcept {
  return Scalar<T>::make(argument.scalar);
}

/// An integer vector of a call, as the library's integers in private memory. Another process may
/// write to the caller's memory during the call, so a library never sees it: its routines use
/// integers as places.
class PrivateIntegers {
 public:
  /// Copies the caller's 64-bit integers. Elements that the routine does not write keep them.
  PrivateIntegers(void* data, std::int64_t count) noexcept
      : data_(static_cast<char*>(data)), count_(std::max<std::int64_t>(0, count)) {
    if (count_ > kFew) {
      many_ = static_cast<Integer*>(std::malloc(static_cast<std::size_t>(count_) * sizeof *many_));
    }
    for (std::int64_t i = 0; i < count_ && ok(); ++i) {
      std::int64_t wide = 0;
      std::memcpy(&wide, data_ + i * 8, 8);
      get()[i] = static_cast<Integer>(wide);
    }
  }
  ~PrivateIntegers() { std::free(many_); }
  PrivateIntegers(const PrivateIntegers&) = delete;
  PrivateIntegers& operator=(const PrivateIntegers&) = delete;

  /// False without memory.
  bool ok() const noexcept { return many_ != nullptr || count_ <= kFew; }
  Integer* get() noexcept { return many_ != nullptr ? many_ : few_; }
  /// Copies the routine's results to the caller.
  void copy_out() noexcept {
    for (std::int64_t i = 0; i < count_; ++i) {
      const std::int64_t wide = get()[i];
      std::memcpy(data_ + i * 8, &wide, 8);
    }
  }

 private:
  static constexpr std::int64_t kFew = 32;  // small calls need no malloc
  char* data_;
  std::int64_t count_;
  Integer* many_ = nullptr;
  Integer few_[kFew];
};

inline double real_part(double value) noexcept { return value; }
template <class R>
double real_part(std::complex<R> value) noexcept {
  return static_cast<double>(value.real());
}

/// Workspace. Before it is allocated its length is -1, so that a call is a workspace query, and
/// get() points to one element for the answer.
template <class T>
class Workspace {
 public:
  explicit Workspace(std::int64_t least) noexcept : least_(std::max<std::int64_t>(1, least)) {}
  ~Workspace() { std::free(data_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  T* get() noexcept { return data_ != nullptr ? data_ : &answer_; }
  const Integer* length() const noexcept { return &length_; }
  T first() const noexcept { return *data_; }

  /// Allocates the documented minimum, or more if the routine asked for more; false without memory.
  bool allocate() noexcept {
    const double wanted = real_part(answer_);
    constexpr double kMost = static_cast<double>(std::numeric_limits<std::int32_t>::max());
    if (wanted > static_cast<double>(least_)) {
      least_ = static_cast<std::int64_t>(std::min(wanted, kMost));
    }
    data_ = static_cast<T*>(std::malloc(static_cast<std::size_t>(least_) * sizeof(T)));
    length_ = narrow(std::min<std::int64_t>(least_, std::numeric_limits<Integer>::max()));
    return data_ != nullptr;
  }

 private:
  std::int64_t least_;
  T* data_ = nullptr;
  T answer_{};
  Integer length_ = -1;
};

/// Stores a function's value in the caller's memory; integers become 64-bit ones.
template <class T>
void store(void* data, T value) noexcept {
  std::memcpy(data, &value, sizeof value);
}
inline void store(void* data, Integer value) noexcept {
  const std::int64_t wide = value;
  std::memcpy(data, &wide, sizeof wide);
}

/// A character that the routine sets and may read again. The caller gets it at the end.
class CharacterOut {
 public:
  explicit CharacterOut(void* data) noexcept : data_(static_cast<char*>(data)), value_(*data_) {}
  ~CharacterOut() { *data_ = value_; }
  CharacterOut(const CharacterOut&) = delete;
  CharacterOut& operator=(const CharacterOut&) = delete;
  char* get() noexcept { return &value_; }

 private:
  char* data_;
  char value_;
};

/// INFO: private and 32-bit for the routine, 64-bit for the caller, who gets it at the end.
class InfoOut {
 public:
  explicit InfoOut(void* data) noexcept : data_(data) {}
  ~InfoOut() {
    const std::int64_t wide = value_;
    std::memcpy(data_, &wide, sizeof wide);
  }
  InfoOut(const InfoOut&) = delete;
  InfoOut& operator=(const InfoOut&) = delete;
  Integer* get() noexcept { return &value_; }

 private:
  void* data_;
  Integer value_ = 0;
};

}  // namespace ob::thunk_support
