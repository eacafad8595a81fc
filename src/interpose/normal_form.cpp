#include "interpose/normal_form.hpp"

#include <cstring>
#include <limits>
#include <utility>

namespace ob::interpose {
namespace {

constexpr std::int64_t kRowMajor = 101;  // CBLAS and LAPACKE agree on the two
constexpr std::int64_t kColumnMajor = 102;

bool is_complex(Precision p) noexcept { return p == Precision::c || p == Precision::z; }
bool is_single(Precision p) noexcept { return p == Precision::s || p == Precision::c; }

double real_at(const void* address, bool single, int part) noexcept {
  return single ? static_cast<double>(static_cast<const float*>(address)[part])
                : static_cast<const double*>(address)[part];
}

Complex scalar_at(const void* address, Precision precision, Kind kind) noexcept {
  const bool single = is_single(precision);
  const bool two_parts = kind == Kind::scalar && is_complex(precision);
  return {real_at(address, single, 0), two_parts ? real_at(address, single, 1) : 0.0};
}

// CBLAS passes real scalars by value and complex ones by reference.
Complex c_scalar(const Raw& raw, Precision precision, Kind kind) noexcept {
  if (kind == Kind::scalar && is_complex(precision)) return scalar_at(raw.pointer, precision, kind);
  return {is_single(precision) ? static_cast<double>(raw.single_value) : raw.double_value, 0.0};
}

// The flag that means the same for the transposed problem; 0 for flags that are illegal and for the
// one the reference CBLAS is generous about (ConjTrans of complex syrk): the original decides about
// those.
char flipped(char flag, char of, bool complex_routine) noexcept {
  switch (of) {
    case 'u': return flag == 'U' ? 'L' : flag == 'L' ? 'U' : '\0';
    case 's': return flag == 'L' ? 'R' : flag == 'R' ? 'L' : '\0';
    case 'h': return flag == 'N' ? 'C' : flag == 'C' ? 'N' : '\0';
    case 't':
      if (flag == 'N') return 'T';
      return flag == 'T' || (flag == 'C' && !complex_routine) ? 'N' : '\0';
    default: return '\0';
  }
}

}  // namespace

std::int64_t NormalForm::integer_at(const void* address) const noexcept {
  return integers_ == Integers::lp64 ? *static_cast<const std::int32_t*>(address)
                                     : *static_cast<const std::int64_t*>(address);
}

bool NormalForm::read(const Raw* raw) noexcept {
  const bool known = entry_.abi == Abi::fortran ? read_fortran(raw) : read_c(raw);
  if (!known || !routine_.legal(arguments_, lds_)) return false;
  operands_ = routine_.operands(arguments_);
  return move_operands() && !(entry_.abi == Abi::lapacke && has_nan());
}

bool NormalForm::read_fortran(const Raw* raw) noexcept {
  for (std::size_t i = 0; i < routine_.kinds.size(); ++i) {
    void* pointer = (raw++)->pointer;
    Argument& argument = arguments_[i];
    switch (routine_.kinds[i]) {
      case Kind::flag: argument.flag = flag(pointer); break;
      case Kind::dim: argument.dim = integer_at(pointer); break;
      case Kind::scalar:
      case Kind::real_scalar:
        argument.scalar = scalar_at(pointer, routine_.precision, routine_.kinds[i]);
        break;
      case Kind::matrix:
        lds_[i] = integer_at((raw++)->pointer);
        argument.host = {pointer, lds_[i]};
        break;
      case Kind::index_vector: argument.host = {pointer, 0}; break;
      case Kind::info:
        callers_info_ = pointer;
        argument.host = {&info_, 0};
        break;
    }
  }
  return true;
}

bool NormalForm::read_c(const Raw* raw) noexcept {
  const auto layout = static_cast<std::int32_t>((raw++)->integer);
  if (layout != kRowMajor && layout != kColumnMajor) return false;
  row_major_ = layout == kRowMajor;
  const auto integer = [this](const Raw& r) -> std::int64_t {
    return integers_ == Integers::lp64 ? static_cast<std::int32_t>(r.integer) : r.integer;
  };
  for (std::size_t i = 0; i < routine_.kinds.size(); ++i) {
    Argument& argument = arguments_[i];
    switch (routine_.kinds[i]) {
      case Kind::flag: {
        const std::int64_t value = (raw++)->integer;
        argument.flag = entry_.abi == Abi::cblas
                            ? cblas_flag(static_cast<std::int32_t>(value), entry_.row.flags[i])
                            : upper(static_cast<char>(value));
        break;
      }
      case Kind::dim: argument.dim = integer(*raw++); break;
      case Kind::scalar:
      case Kind::real_scalar:
        argument.scalar = c_scalar(*raw++, routine_.precision, routine_.kinds[i]);
        break;
      case Kind::matrix: {
        void* pointer = (raw++)->pointer;
        lds_[i] = integer(*raw++);
        argument.host = {pointer, lds_[i]};
        break;
      }
      case Kind::index_vector: argument.host = {(raw++)->pointer, 0}; break;
      case Kind::info: argument.host = {&info_, 0}; break;  // the result, not an argument
    }
  }
  if (row_major_) to_column_major();
  return true;
}

void NormalForm::to_column_major() noexcept {
  const EntryRow& row = entry_.row;
  for (int s = 0; s < row.swap_count; ++s) {
    const auto [a, b] = row.swaps[static_cast<std::size_t>(s)];
    std::swap(arguments_[a], arguments_[b]);
    std::swap(lds_[a], lds_[b]);
  }
  for (std::size_t i = 0; i < routine_.kinds.size(); ++i) {
    if ((row.flip_mask >> i & 1U) != 0) {
      arguments_[i].flag =
          flipped(arguments_[i].flag, row.flags[i], is_complex(routine_.precision));
    }
    if (transposed(static_cast<int>(i)))
      lds_[i] = std::numeric_limits<std::int64_t>::max();  // scratch has its own
  }
}

bool NormalForm::move_operands() noexcept {
  for (const Operand& operand : operands_.span()) {
    const Kind kind = routine_.kinds[operand.argument];
    const bool narrow_indices = kind == Kind::index_vector && integers_ == Integers::lp64;
    if ((narrow_indices || transposed(operand.argument)) && !move(operand)) return false;
  }
  return true;
}

bool NormalForm::move(const Operand& operand) noexcept {
  HostOperand& host = arguments_[operand.argument].host;
  const bool is_matrix = routine_.kinds[operand.argument] == Kind::matrix;
  const auto rows = static_cast<std::int64_t>(operand.rows);
  const auto cols = static_cast<std::int64_t>(operand.cols);
  if (is_matrix && host.ld < std::max(std::int64_t{1}, cols))
    return false;  // LAPACKE's error to report
  Moved& moved = moved_[moved_count_];
  std::uint64_t count = 0;
  if (__builtin_mul_overflow(operand.rows, operand.cols, &count)) return false;
  if (!moved.scratch.allocate(count, operand.element_bytes)) return false;
  ++moved_count_;
  moved.callers = host.data;
  moved.callers_ld = host.ld;
  moved.operand = operand;
  host.data = moved.scratch.data();
  if (is_matrix) {
    lds_[operand.argument] = host.ld = std::max(std::int64_t{1}, rows);
    if (operand.read)
      copy_to_column_major(operand, host.data, host.ld, moved.callers, moved.callers_ld);
  } else if (operand.read) {
    widen(static_cast<std::int64_t*>(host.data), static_cast<const std::int32_t*>(moved.callers),
          operand.rows);
  }
  return true;
}

bool NormalForm::has_nan() const noexcept {
  for (const Operand& operand : operands_.span()) {
    if (routine_.kinds[operand.argument] != Kind::matrix || !operand.read) continue;
    const HostOperand& host = arguments_[operand.argument].host;
    if (interpose::has_nan(operand, routine_.precision, host.data, host.ld)) return true;
  }
  return false;
}

std::int64_t NormalForm::write_back() noexcept {
  for (int i = 0; i < moved_count_; ++i) {
    const Moved& moved = moved_[i];
    if (!moved.operand.written) continue;
    if (routine_.kinds[moved.operand.argument] == Kind::matrix) {
      copy_to_row_major(moved.operand, moved.callers, moved.callers_ld, moved.scratch.data(),
                        arguments_[moved.operand.argument].host.ld);
    } else {
      narrow(static_cast<std::int32_t*>(moved.callers),
             static_cast<const std::int64_t*>(moved.scratch.data()), moved.operand.rows);
    }
  }
  if (callers_info_ != nullptr) {
    const auto narrow_info = static_cast<std::int32_t>(info_);
    if (integers_ == Integers::lp64)
      std::memcpy(callers_info_, &narrow_info, sizeof narrow_info);
    else
      std::memcpy(callers_info_, &info_, sizeof info_);
  }
  return info_;
}

void NormalForm::release() noexcept {
  for (int i = 0; i < moved_count_; ++i) moved_[i].scratch.release();
}

}  // namespace ob::interpose
