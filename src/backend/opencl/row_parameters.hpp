#pragma once
// The parameters of CLBlast's functions, made from the arguments of a row.

#include <concepts>
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

/// Returns one parameter after another. CLBlast keeps the reference's order, so that a parameter's
/// type and the next argument of the row determine its meaning. An enumeration is the next flag. A
/// buffer is the next operand, and the two sizes after it are its offset and leading dimension in
/// elements. Any other size is the next dimension. A number is the next scalar.
class RowParameters {
 public:
  /// @param arguments have operands at multiples of the element size from the start of a buffer
  RowParameters(const ClMemory& memory, const Descriptor& routine, const Argument* arguments,
                cl_command_queue* queue)
      : memory_(memory), routine_(routine), arguments_(arguments), queue_(queue) {}

  template <class P>
  P next() {
    P parameter{};
    set(parameter);
    return parameter;
  }

 private:
  // One overload for each type of a parameter.
  void set(CLBlastLayout& parameter) { parameter = CLBlastLayoutColMajor; }
  void set(CLBlastTranspose& parameter) {
    const char trans = take(Kind::flag).flag;
    // The real functions refuse the flag C.
    const bool real = routine_.precision == Precision::s || routine_.precision == Precision::d;
    parameter = trans == 'N'            ? CLBlastTransposeNo
                : trans == 'C' && !real ? CLBlastTransposeConjugate
                                        : CLBlastTransposeYes;
  }
  void set(CLBlastTriangle& parameter) {
    parameter = take(Kind::flag).flag == 'U' ? CLBlastTriangleUpper : CLBlastTriangleLower;
  }
  void set(CLBlastDiagonal& parameter) {
    parameter = take(Kind::flag).flag == 'U' ? CLBlastDiagonalUnit : CLBlastDiagonalNonUnit;
  }
  void set(CLBlastSide& parameter) {
    parameter = take(Kind::flag).flag == 'L' ? CLBlastSideLeft : CLBlastSideRight;
  }
  void set(cl_mem& parameter) {
    operand_ = &take(Kind::matrix).host;
    sizes_ = 0;
    parameter = memory_.place(static_cast<std::byte*>(operand_->data)).buffer;
  }
  void set(std::size_t& parameter) { parameter = size(); }
  void set(cl_command_queue*& parameter) { parameter = queue_; }
  void set(cl_event*& parameter) { parameter = nullptr; }
  template <std::floating_point P>
  void set(P& parameter) {
    parameter = static_cast<P>(take(Kind::scalar).scalar.re);
  }
  template <class P>
  void set(P& parameter) {
    const Complex value = take(Kind::scalar).scalar;
    using Part = std::remove_reference_t<decltype(P::s[0])>;
    parameter = P{{static_cast<Part>(value.re), static_cast<Part>(value.im)}};
  }

  // Takes the next argument of a kind; real scalars count as scalars.
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
  const HostOperand* operand_ = nullptr;  // the operand whose sizes come next
  int sizes_ = 0;                         // number of its sizes returned so far
};

template <class... P>
CLBlastStatusCode call_with(CLBlastStatusCode (*function)(P...), RowParameters& row) {
  // A braced list is evaluated from left to right. The arguments of a call have no order.
  const std::tuple<P...> parameters{row.next<P>()...};
  return std::apply(function, parameters);
}

}  // namespace ob::opencl
