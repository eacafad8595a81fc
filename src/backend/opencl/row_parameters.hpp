#pragma once
// The parameters of CLBlast's functions, made from the arguments of a row.

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "backend/opencl/blas_table.hpp"
#include "backend/opencl/memory.hpp"
#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::opencl {

/// Hands out one parameter after another. CLBlast keeps the reference's order, so that a
/// parameter's type and the next argument of the row say what it is: an enumeration is the next
/// flag; a buffer the next operand, the two sizes after it its offset and leading dimension in
/// elements; any other size the next dimension; a number the next scalar.
class RowParameters {
 public:
  /// @pre operands lie at multiples of the size of an element from the beginning of their buffers
  RowParameters(const ClMemory& memory, const Descriptor& routine, const Argument* arguments,
                cl_command_queue* queue)
      : memory_(memory), routine_(routine), arguments_(arguments), queue_(queue) {}

  template <class P>
  P next() {
    if constexpr (std::is_same_v<P, CLBlastLayout>) {
      return CLBlastLayoutColMajor;
    } else if constexpr (std::is_same_v<P, CLBlastTranspose>) {
      const char trans = take(Kind::flag).flag;
      // The real functions refuse C.
      const bool real = routine_.precision == Precision::s || routine_.precision == Precision::d;
      return trans == 'N'            ? CLBlastTransposeNo
             : trans == 'C' && !real ? CLBlastTransposeConjugate
                                     : CLBlastTransposeYes;
    } else if constexpr (std::is_same_v<P, CLBlastTriangle>) {
      return take(Kind::flag).flag == 'U' ? CLBlastTriangleUpper : CLBlastTriangleLower;
    } else if constexpr (std::is_same_v<P, CLBlastDiagonal>) {
      return take(Kind::flag).flag == 'U' ? CLBlastDiagonalUnit : CLBlastDiagonalNonUnit;
    } else if constexpr (std::is_same_v<P, CLBlastSide>) {
      return take(Kind::flag).flag == 'L' ? CLBlastSideLeft : CLBlastSideRight;
    } else if constexpr (std::is_same_v<P, cl_mem>) {
      operand_ = &take(Kind::matrix).host;
      sizes_ = 0;
      return memory_.place(static_cast<std::byte*>(operand_->data)).buffer;
    } else if constexpr (std::is_same_v<P, std::size_t>) {
      return size();
    } else if constexpr (std::is_same_v<P, cl_command_queue*>) {
      return queue_;
    } else if constexpr (std::is_same_v<P, cl_event*>) {
      return nullptr;
    } else if constexpr (std::is_floating_point_v<P>) {
      return static_cast<P>(take(Kind::scalar).scalar.re);
    } else {
      const Complex value = take(Kind::scalar).scalar;
      using Part = std::remove_reference_t<decltype(P::s[0])>;
      return P{{static_cast<Part>(value.re), static_cast<Part>(value.im)}};
    }
  }

 private:
  // The next argument of that kind; real scalars are scalars.
  const Argument& take(Kind kind) {
    const auto is = [&](Kind k) {
      return k == kind || (kind == Kind::scalar && k == Kind::real_scalar);
    };
    while (!is(routine_.kinds[at_])) ++at_;
    return arguments_[at_++];
  }

  std::size_t size() {
    if (operand_ == nullptr) return static_cast<std::size_t>(take(Kind::dim).dim);
    if (sizes_++ == 0) {
      const Place place = memory_.place(static_cast<std::byte*>(operand_->data));
      return place.offset_bytes / element_bytes(routine_.precision);
    }
    return static_cast<std::size_t>(std::exchange(operand_, nullptr)->ld);
  }

  const ClMemory& memory_;
  const Descriptor& routine_;
  const Argument* const arguments_;
  cl_command_queue* const queue_;
  std::size_t at_ = 0;
  const HostOperand* operand_ = nullptr;  // whose sizes come next
  int sizes_ = 0;                         // of it that were given out
};

template <class... P>
CLBlastStatusCode call_with(CLBlastStatusCode (*function)(P...), RowParameters& row) {
  // A braced list is evaluated from left to right; arguments of a call are in any order.
  const std::tuple<P...> parameters{row.next<P>()...};
  return std::apply(function, parameters);
}

}  // namespace ob::opencl
