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
inline constexpr bool kSameWidth = sizeof(Integer) == sizeof(std::int64_t);

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

// Index vectors are moved with memcpy, because the same memory holds 32-bit integers first and
// 64-bit ones later.

inline void widen_in_place(void* data, std::int64_t count) noexcept {
  auto* bytes = static_cast<char*>(data);
  for (std::int64_t i = count; i-- > 0;) {  // backwards: the wide element i covers narrow ones >= i
    std::int32_t narrow_value = 0;
    std::memcpy(&narrow_value, bytes + i * 4, 4);
    const std::int64_t wide = narrow_value;
    std::memcpy(bytes + i * 8, &wide, 8);
  }
}

inline void narrow_to(void* destination, const void* source, std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t wide = 0;
    std::memcpy(&wide, static_cast<const char*>(source) + i * 8, 8);
    const auto value = static_cast<std::int32_t>(wide);
    std::memcpy(static_cast<char*>(destination) + i * 4, &value, 4);
  }
}

/// An integer vector that the routine writes: 32-bit inside the caller's 64-bit memory, widened at
/// the end.
class IndexOut {
 public:
  IndexOut(void* data, std::int64_t count) noexcept : data_(data), count_(count) {}
  ~IndexOut() {
    if (!kSameWidth) widen_in_place(data_, count_);
  }
  IndexOut(const IndexOut&) = delete;
  IndexOut& operator=(const IndexOut&) = delete;
  Integer* get() noexcept { return static_cast<Integer*>(data_); }

 private:
  void* data_;
  std::int64_t count_;
};

/// An integer vector that the routine reads: a narrowed copy, since other queues may read the
/// original meanwhile. Without memory for the copy it is narrowed in place and widened at the end.
class IndexIn {
 public:
  IndexIn(void* data, std::int64_t count) noexcept : data_(data), count_(count) {
    if (kSameWidth) return;
    copy_ = std::malloc(static_cast<std::size_t>(count) * 4 + 4);
    narrow_to(copy_ != nullptr ? copy_ : data_, data_, count_);
  }
  ~IndexIn() {
    if (copy_ == nullptr && !kSameWidth) widen_in_place(data_, count_);
    std::free(copy_);
  }
  IndexIn(const IndexIn&) = delete;
  IndexIn& operator=(const IndexIn&) = delete;
  Integer* get() noexcept { return static_cast<Integer*>(copy_ != nullptr ? copy_ : data_); }

 private:
  void* data_;
  std::int64_t count_;
  void* copy_ = nullptr;
};

/// An integer vector that the routine reads and writes.
class IndexInOut {
 public:
  IndexInOut(void* data, std::int64_t count) noexcept : data_(data), count_(count) {
    if (!kSameWidth) narrow_to(data_, data_, count_);
  }
  ~IndexInOut() {
    if (!kSameWidth) widen_in_place(data_, count_);
  }
  IndexInOut(const IndexInOut&) = delete;
  IndexInOut& operator=(const IndexInOut&) = delete;
  Integer* get() noexcept { return static_cast<Integer*>(data_); }

 private:
  void* data_;
  std::int64_t count_;
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

/// INFO: 32-bit for the routine, 64-bit for the caller.
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
