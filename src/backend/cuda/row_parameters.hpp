#pragma once
// The parameters of NVIDIA's functions, made from the arguments of a row.

#include <cublas_v2.h>
#include <cusolverDn.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "routines/argument.hpp"
#include "routines/descriptor.hpp"

namespace ob::cuda {

/// The parameters that are not arguments of the row.
struct RowExtras {
  cusolverDnParams_t params = nullptr;
  std::byte* device_work = nullptr;
  std::byte* host_work = nullptr;
  std::size_t device_bytes = 0;
  std::size_t host_bytes = 0;
  int work_elements = 0;
  int* pivots = nullptr;  ///< 32-bit ones, for functions that know no others
  int* info = nullptr;
};

/// The answer to a query of the workspace size.
struct RowWanted {
  std::size_t device_bytes = 0;
  std::size_t host_bytes = 0;
  int work_elements = 0;
};

/// Returns one parameter after another. cuBLAS and cuSOLVER keep the reference's order, so that a
/// parameter's C type and the next argument of the row determine its meaning. An enumeration is the
/// next flag. An integer is the leading dimension or increment of the operand before it, else the
/// next dimension. A pointer is the next scalar (converted, on the host) or operand (on the
/// device). A data type is that of the next operand. Arguments that a function leaves out are
/// skipped. The workspace and info follow the last operand. The second B of trmm is the same as the
/// first.
/// Memory: scalars live in this object
class RowParameters {
 public:
  /// @param operands the operands of the arguments
  /// @param wanted receives the answer of a workspace query; nullptr for other functions
  RowParameters(const Descriptor& routine, const Argument* arguments, const Operands& operands,
                const RowExtras& extras = {}, RowWanted* wanted = nullptr)
      : routine_(routine),
        arguments_(arguments),
        operands_(operands),
        extras_(extras),
        wanted_(wanted) {}

  template <class P>
  P next() {
    P parameter{};
    set(parameter);
    return parameter;
  }

 private:
  static constexpr bool is_value(Kind kind) {
    return kind == Kind::scalar || kind == Kind::real_scalar;
  }
  bool at_end() const { return at_ >= routine_.kinds.size() || routine_.kinds[at_] == Kind::info; }
  template <class Wants>
  void skip_to(Wants wants) {
    while (!at_end() && !wants(routine_.kinds[at_])) ++at_;
  }
  char flag() { return arguments_[at_++].flag; }
  std::int64_t integer();
  cudaDataType data_type();
  void* pointer();
  template <class Number>
  Number* value();

  void set(cublasOperation_t& parameter);
  void set(cublasFillMode_t& parameter);
  void set(cublasDiagType_t& parameter);
  void set(cublasSideMode_t& parameter);
  void set(cusolverEigMode_t& parameter);
  void set(cusolverEigType_t& parameter);
  void set(signed char& parameter);
  void set(cusolverDnParams_t& parameter);
  void set(cudaDataType& parameter);
  void set(std::size_t& parameter);
  void set(std::size_t*& parameter);
  void set(int*& parameter);
  template <std::integral P>
  void set(P& parameter);
  template <class Pointed>
  void set(Pointed*& parameter);

  const Descriptor& routine_;
  const Argument* const arguments_;
  const Operands& operands_;
  const RowExtras extras_;
  RowWanted* const wanted_;
  std::size_t at_ = 0;
  const HostOperand* strided_ = nullptr;  // its leading dimension comes next
  const HostOperand* last_ = nullptr;
  bool sized_ = false;  // the first of two sizes or pieces of workspace was returned
  bool pointed_ = false;
  int values_ = 0;
  alignas(16) std::array<std::array<std::byte, 16>, 4> scalars_{};
};

inline std::int64_t RowParameters::integer() {
  if (strided_ != nullptr) {
    const std::int64_t ld = strided_->ld;
    strided_ = nullptr;
    return ld;
  }
  skip_to([](Kind kind) { return kind == Kind::dim; });
  return at_end() ? extras_.work_elements : arguments_[at_++].dim;
}

inline cudaDataType RowParameters::data_type() {
  const Precision precision = routine_.precision;
  const bool single = real_bytes(precision) == 4;
  bool real = precision == Precision::s || precision == Precision::d;
  for (const Operand& operand : operands_.span()) {
    if (at_end() || operand.argument != at_ || routine_.kinds[at_] != Kind::vector) continue;
    // vectors of real numbers, such as w of heevd
    real = real || operand.element_bytes == real_bytes(precision);
  }
  if (real) return single ? CUDA_R_32F : CUDA_R_64F;
  return single ? CUDA_C_32F : CUDA_C_64F;
}

inline void* RowParameters::pointer() {
  skip_to([](Kind kind) { return is_memory(kind); });
  if (at_ < routine_.kinds.size() && routine_.kinds[at_] != Kind::info) {
    last_ = &arguments_[at_].host;
    strided_ = has_ld(routine_.kinds[at_]) ? last_ : nullptr;
    ++at_;
    return last_->data;
  }
  if (at_ >= routine_.kinds.size()) {  // this is C of trmm
    strided_ = last_;
    return last_->data;
  }
  const bool first = !pointed_;
  pointed_ = true;
  return first ? extras_.device_work : extras_.host_work;
}

template <class Number>
Number* RowParameters::value() {
  auto* const slot = scalars_[static_cast<std::size_t>(values_++)].data();
  const Complex value = arguments_[at_++].scalar;
  using Value = std::remove_const_t<Number>;
  if constexpr (std::is_floating_point_v<Value>) {
    *reinterpret_cast<Value*>(slot) = static_cast<Value>(value.re);
  } else {
    using Part = decltype(Value::x);
    *reinterpret_cast<Value*>(slot) = {static_cast<Part>(value.re), static_cast<Part>(value.im)};
  }
  return reinterpret_cast<Number*>(slot);
}

// --- one overload for each type of a parameter
// ----------------------------------------------------

inline void RowParameters::set(cublasOperation_t& parameter) {
  const char trans = flag();
  // The rules of the real functions for the flag C differ from function to function.
  const bool real = routine_.precision == Precision::s || routine_.precision == Precision::d;
  parameter = trans == 'N' ? CUBLAS_OP_N : trans == 'C' && !real ? CUBLAS_OP_C : CUBLAS_OP_T;
}
inline void RowParameters::set(cublasFillMode_t& parameter) {
  parameter = flag() == 'U' ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
}
inline void RowParameters::set(cublasDiagType_t& parameter) {
  parameter = flag() == 'U' ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
}
inline void RowParameters::set(cublasSideMode_t& parameter) {
  parameter = flag() == 'L' ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;
}
inline void RowParameters::set(cusolverEigMode_t& parameter) {
  parameter = flag() == 'V' ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
}
inline void RowParameters::set(cusolverEigType_t& parameter) {
  parameter = static_cast<cusolverEigType_t>(integer());  // CUSOLVER_EIG_TYPE_1 is 1
}
inline void RowParameters::set(signed char& parameter) {
  parameter = static_cast<signed char>(flag());
}
inline void RowParameters::set(cusolverDnParams_t& parameter) { parameter = extras_.params; }
inline void RowParameters::set(cudaDataType& parameter) { parameter = data_type(); }

inline void RowParameters::set(std::size_t& parameter) {
  parameter = std::exchange(sized_, true) ? extras_.host_bytes : extras_.device_bytes;
}
inline void RowParameters::set(std::size_t*& parameter) {
  parameter = std::exchange(sized_, true) ? &wanted_->host_bytes : &wanted_->device_bytes;
}

inline void RowParameters::set(int*& parameter) {
  if (wanted_ != nullptr) {
    parameter = &wanted_->work_elements;
    return;
  }
  skip_to([](Kind kind) { return kind == Kind::index_vector; });
  parameter = at_end() ? extras_.info : extras_.pivots;
  if (!at_end()) ++at_;
}

template <std::integral P>
void RowParameters::set(P& parameter) {
  parameter = static_cast<P>(integer());
}

template <class Pointed>
void RowParameters::set(Pointed*& parameter) {
  if constexpr (!std::is_void_v<Pointed> && !std::is_integral_v<Pointed>) {
    if (at_ < routine_.kinds.size() && is_value(routine_.kinds[at_])) {
      parameter = value<Pointed>();
      return;
    }
  }
  parameter = static_cast<Pointed*>(pointer());
}

/// Calls a function whose first parameter is a handle.
template <class Status, class Handle, class... Parameters>
Status call_with(Status (*function)(Handle, Parameters...), Handle handle, RowParameters& row) {
  // A braced list is evaluated from left to right. The arguments of a call have no order.
  const std::tuple<Parameters...> parameters{row.next<Parameters>()...};
  return std::apply([&](const Parameters&... p) { return function(handle, p...); }, parameters);
}

}  // namespace ob::cuda
