#include "interpose/normal_form.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace ob::interpose {
namespace {

constexpr std::int64_t kRowMajor = 101;  // CBLAS and LAPACKE have the same two values
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

// The flag with the same meaning for the transposed problem. 0 for illegal flags, and for ConjTrans
// of complex syrk, which the reference CBLAS accepts. The original decides about those.
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

std::int64_t NormalForm::by_value(const Raw& raw) const noexcept {
  return integers_ == Integers::lp64 ? static_cast<std::int32_t>(raw.integer) : raw.integer;
}

bool NormalForm::read(const Raw* raw, void* value) noexcept {
  callers_value_ = value;
  const bool known = entry_.abi == Abi::fortran ? read_fortran(raw) : read_c(raw);
  return known && routine_.legal(arguments_, lds_) &&
         (!has_lengths() || entry_.row.lengths_suffice(arguments_, lengths_));
}

bool NormalForm::prepare() noexcept {
  operands_ = routine_.operands(arguments_);
  return move_operands() && !(entry_.abi == Abi::lapacke && has_nan());
}

// LAPACKE's high-level forms allocate workspace themselves.
bool NormalForm::skips(std::int8_t slot) const noexcept {
  return entry_.abi == Abi::lapacke && (slot == slot::kWork || slot == slot::kLength);
}

void NormalForm::read_extra(std::int8_t slot, const Raw* first, const Raw*& raw) noexcept {
  if (slot == slot::kLength) {
    length_at_[length_count_] = static_cast<std::uint8_t>(raw - first);
    lengths_[length_count_++] =
        entry_.abi == Abi::fortran ? integer_at(raw->pointer) : by_value(*raw);
  }
  ++raw;
}

void NormalForm::read_fortran_value(std::size_t i, const void* pointer) noexcept {
  const Kind kind = routine_.kinds[i];
  Argument& argument = arguments_[i];
  if (kind == Kind::flag) {
    argument.flag = flag(pointer);
  } else if (kind == Kind::dim) {
    argument.dim = integer_at(pointer);
  } else {
    argument.scalar = scalar_at(pointer, routine_.precision, kind);
  }
}

bool NormalForm::read_fortran(const Raw* raw) noexcept {
  const Raw* const first = raw;
  for (const std::int8_t slot : entry_.row.slots) {
    if (slot < 0) {
      read_extra(slot, first, raw);
      continue;
    }
    const auto i = static_cast<std::size_t>(slot);
    const Kind kind = routine_.kinds[i];
    if (kind == Kind::result) {
      arguments_[i].host = {value_, 0};
      continue;
    }
    void* pointer = (raw++)->pointer;
    if (!is_memory(kind)) {
      // C callers pass null for arguments that flags make unused (vl and vu of syevr, RANGE = 'A').
      if (pointer == nullptr) return false;
      read_fortran_value(i, pointer);
    } else if (kind == Kind::info) {
      info_at_ = static_cast<std::uint8_t>(raw - first - 1);
      callers_info_ = pointer;
      arguments_[i].host = {&info_, 0};
    } else {
      if (has_ld(kind)) lds_[i] = integer_at((raw++)->pointer);
      arguments_[i].host = {pointer, lds_[i]};
    }
  }
  raw_count_ = static_cast<int>(raw - first);
  return true;
}

bool NormalForm::has_result_pointer() const noexcept {
  if (!is_complex(routine_.precision) || entry_.row.is_index) return false;
  const Operands operands = routine_.operands(arguments_);
  return operands.span().back().element_bytes == element_bytes(routine_.precision);
}

bool NormalForm::read_c(const Raw* raw) noexcept {
  const Raw* const first = raw;
  if (entry_.row.has_layout) {
    const auto layout = static_cast<std::int32_t>((raw++)->integer);
    if (layout != kRowMajor && layout != kColumnMajor) return false;
    row_major_ = layout == kRowMajor;
  }
  if (row_major_ && entry_.row.row_major_stays) return false;
  for (const std::int8_t slot : entry_.row.slots) {
    if (slot < 0) {
      if (!skips(slot)) read_extra(slot, first, raw);
      continue;
    }
    read_c_argument(static_cast<std::size_t>(slot), raw);
  }
  raw_count_ = static_cast<int>(raw - first);
  if (row_major_) to_column_major();
  return true;
}

void NormalForm::read_c_argument(std::size_t i, const Raw*& raw) noexcept {
  Argument& argument = arguments_[i];
  const Kind kind = routine_.kinds[i];
  switch (kind) {
    case Kind::flag: {
      const std::int64_t value = (raw++)->integer;
      argument.flag = entry_.abi == Abi::cblas
                          ? cblas_flag(static_cast<std::int32_t>(value), entry_.row.flags[i])
                          : upper(static_cast<char>(value));
      return;
    }
    case Kind::dim: argument.dim = by_value(*raw++); return;
    case Kind::scalar:
    case Kind::real_scalar: argument.scalar = c_scalar(*raw++, routine_.precision, kind); return;
    case Kind::info: argument.host = {&info_, 0}; return;  // the result, not an argument
    case Kind::result:
      argument.host = {value_, 0};
      if (has_result_pointer()) callers_value_ = (raw++)->pointer;
      return;
    default: break;
  }
  void* pointer = (raw++)->pointer;
  if (has_ld(kind)) lds_[i] = by_value(*raw++);
  argument.host = {pointer, lds_[i]};
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
      lds_[i] = std::numeric_limits<std::int64_t>::max();  // scratch has its own dimension
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
    return false;  // LAPACKE reports this error
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
  for (std::size_t i = 0; i < routine_.kinds.size(); ++i) {
    if (routine_.kinds[i] == Kind::real_scalar && std::isnan(arguments_[i].scalar.re)) return true;
  }
  for (const Operand& operand : operands_.span()) {
    const Kind kind = routine_.kinds[operand.argument];
    if ((kind != Kind::matrix && kind != Kind::vector) || !operand.read) continue;
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
  if (callers_value_ != nullptr) return_value();
  return info_;
}

void NormalForm::return_value() noexcept {
  if (entry_.row.is_index && entry_.abi == Abi::cblas) {  // starts at 0; also 0 for no elements
    std::int64_t index = 0;
    std::memcpy(&index, value_, sizeof index);
    index -= index > 0 ? 1 : 0;
    std::memcpy(value_, &index, sizeof index);
  }
  std::memcpy(callers_value_, value_, operands_.span().back().element_bytes);
}

void NormalForm::query(void* function, const Raw* raw) const noexcept {
  static constexpr std::int64_t kQuery = -1;  // reads as -1 with 32-bit integers, too
  std::int64_t info = 0;
  Raw arguments[kMaxRaw];
  std::copy_n(raw, raw_count_, arguments);
  for (int i = 0; i < length_count_; ++i) {
    Raw& length = arguments[length_at_[i]];
    if (entry_.abi == Abi::fortran)
      length.pointer = const_cast<std::int64_t*>(&kQuery);
    else
      length.integer = kQuery;
  }
  if (callers_info_ != nullptr) arguments[info_at_].pointer = &info;
  (void)entry_.invoke(function, arguments, nullptr);
}

void NormalForm::release() noexcept {
  for (int i = 0; i < moved_count_; ++i) moved_[i].scratch.release();
}

}  // namespace ob::interpose
