#include "support/hostile_judge.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "routines/problem.hpp"

namespace ob::test {
namespace {

using Wide = __int128;

// Beyond this, n (n + 1) overflows 64 bits (docs/wire.md, section 4.8).
constexpr std::int64_t kLargestDim = 3037000498;

bool fits_integer(std::int64_t value) { return value >= INT32_MIN && value <= INT32_MAX; }

std::string illegal(const HostileCall& call) {
  const Descriptor& routine = *call.routine;
  std::int64_t lds[kMaxArguments] = {};
  for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
    if (has_ld(routine.kinds[i])) lds[i] = call.arguments[i].device.ld;
    const std::int64_t dim = routine.kinds[i] == Kind::dim ? call.arguments[i].dim : 0;
    if (dim < -kLargestDim || dim > kLargestDim) return "a dimension no memory has";
    if (!fits_integer(dim) || !fits_integer(lds[i])) return "an integer beyond 32 bits";
  }
  return routine.legal(call.arguments, lds) ? "" : "illegal arguments";
}

class Judge {
 public:
  Judge(const HostileCall& call, const FindBuffer& find, bool elements)
      : call_(call), find_(find), elements_(elements), routine_(*call.routine) {}

  Judgement decide() {
    Judgement judgement;
    judgement.refuse = illegal(call_);
    if (!judgement.refuse.empty()) return judgement;
    operands_ = routine_.operands(call_.arguments);
    for (const Operand& operand : operands_.span()) {
      if (operand.rows == 0 || operand.cols == 0) continue;
      judgement.refuse = misplaced(operand);
      if (judgement.refuse.empty() && elements_) judgement.refuse = bad_elements(operand);
      if (!judgement.refuse.empty()) return judgement;
      if (changes(operand)) judgement.may_change.push_back(columns(operand));
    }
    judgement.refuse = overlapping();
    return judgement;
  }

 private:
  static bool changes(const Operand& operand) { return operand.written || operand.consumed; }
  const DeviceOperand& device(const Operand& operand) const {
    return call_.arguments[operand.argument].device;
  }
  Kind kind(const Operand& operand) const { return routine_.kinds[operand.argument]; }
  std::uint64_t ld(const Operand& operand) const {
    const std::int64_t given = device(operand).ld;
    if (kind(operand) == Kind::strided) return static_cast<std::uint64_t>(std::abs(given));
    return kind(operand) == Kind::matrix ? static_cast<std::uint64_t>(given) : operand.rows;
  }
  Columns columns(const Operand& operand) const {
    return {device(operand).buffer, device(operand).offset_bytes,
            operand.rows * operand.element_bytes, ld(operand) * operand.element_bytes,
            operand.cols};
  }

  std::string misplaced(const Operand& operand) const {
    const auto buffer = find_(device(operand).buffer);
    if (!buffer) return "no buffer";
    const Wide elements = (Wide{operand.cols} - 1) * ld(operand) + operand.rows;
    const Wide end = elements * operand.element_bytes + device(operand).offset_bytes;
    if (end > buffer->size_bytes) return "beyond the buffer";
    const std::uint64_t word = kind(operand) == Kind::character ? 1
                               : kind(operand) == Kind::index_vector
                                   ? 8
                                   : real_bytes(routine_.precision);
    return device(operand).offset_bytes % word == 0 ? "" : "not aligned";
  }

  std::string bad_elements(const Operand& operand) const {
    const auto buffer = find_(device(operand).buffer);
    const std::string_view values = routine_.values[operand.argument];
    if (!operand.read || buffer->contents.empty()) return "";
    const std::byte* data = buffer->contents.data() + device(operand).offset_bytes;
    if (kind(operand) == Kind::matrix && values == "finite" && !finite(operand, data))
      return "no finite number";
    if (kind(operand) != Kind::index_vector) return "";
    std::vector<std::int64_t> indices(operand.rows);
    std::memcpy(indices.data(), data, indices.size() * 8);
    if (values == "pivots" && !are_rows(indices)) return "a pivot that is no row";
    return values == "signed" && !are_blocks(indices) ? "a pivot without its pair" : "";
  }
  bool finite(const Operand& operand, const std::byte* data) const {
    for (std::uint64_t j = 0; j < operand.cols; ++j) {
      for (std::uint64_t i = 0; i < operand.rows; ++i) {
        if (!referenced(operand.triangle, i, j)) continue;
        const auto value =
            load(routine_.precision, data + (i + j * ld(operand)) * operand.element_bytes);
        if (!std::isfinite(value.real()) || !std::isfinite(value.imag())) return false;
      }
    }
    return true;
  }
  static bool are_rows(const std::vector<std::int64_t>& indices) {
    const auto n = static_cast<std::int64_t>(indices.size());
    return std::all_of(indices.begin(), indices.end(),
                       [n](std::int64_t index) { return index >= 1 && index <= n; });
  }
  // Runs of one negative pivot have an even length.
  static bool are_blocks(const std::vector<std::int64_t>& indices) {
    const auto n = static_cast<std::int64_t>(indices.size());
    for (std::size_t at = 0; at < indices.size();) {
      const std::int64_t index = indices[at];
      if (index == 0 || index > n || index < -n) return false;
      std::size_t end = at + 1;
      while (index < 0 && end < indices.size() && indices[end] == index) ++end;
      if (index < 0 && (end - at) % 2 != 0) return false;
      at = end;
    }
    return true;
  }

  // Marks the bytes of one operand and looks for those of the other.
  std::string overlapping() const {
    for (const Operand& one : operands_.span()) {
      for (const Operand& other : operands_.span()) {
        if (&one == &other || !changes(one) || one.rows * one.cols == 0) continue;
        if (other.rows * other.cols == 0 || device(one).buffer != device(other).buffer) continue;
        if (share_a_byte(columns(one), columns(other))) return "operands that overlap";
      }
    }
    return "";
  }
  static bool share_a_byte(const Columns& one, const Columns& other) {
    std::vector<bool> marked(HostileBuffers::kBytes);
    for (std::uint64_t j = 0; j < one.count; ++j) {
      const auto at = marked.begin() + static_cast<std::ptrdiff_t>(one.first + j * one.pitch);
      std::fill_n(at, one.width, true);
    }
    for (std::uint64_t j = 0; j < other.count; ++j) {
      const auto at = marked.begin() + static_cast<std::ptrdiff_t>(other.first + j * other.pitch);
      if (std::find(at, at + static_cast<std::ptrdiff_t>(other.width), true) !=
          at + static_cast<std::ptrdiff_t>(other.width))
        return true;
    }
    return false;
  }

  const HostileCall& call_;
  const FindBuffer& find_;
  const bool elements_;
  const Descriptor& routine_;
  Operands operands_;
};

std::string bad_plan(const FftPlan& plan) {
  if (plan.rank > FftPlan::kMaxRank || (plan.sign != 1 && plan.sign != -1)) return "no plan";
  if (plan.batch == 0 || (plan.kind != FftKind::c2c && plan.rank == 0)) return "an empty plan";
  for (std::size_t i = 0; i < plan.rank; ++i) {
    if (plan.n[i] == 0) return "a size of 0";
    const bool r2r = plan.kind == FftKind::r2r;
    if (r2r && plan.real[i] == RealTransform::redft00 && plan.n[i] == 1) return "REDFT00 of 1";
  }
  return "";
}

bool within(const BufferRef& array, std::uint64_t bytes, const FindBuffer& find) {
  const auto buffer = find(array.buffer);
  return buffer && Wide{array.offset_bytes} + bytes <= buffer->size_bytes;
}

Judgement judge_transform(const HostileCall& call, const FindBuffer& find) {
  Judgement judgement{bad_plan(call.plan), {}};
  if (!judgement.refuse.empty()) return judgement;
  const std::uint64_t read = input_bytes(call.plan);
  const std::uint64_t written = output_bytes(call.plan);
  const BufferRef& in = call.input;
  const BufferRef& out = call.output;
  const std::uint64_t word = call.plan.precision == Precision::z ? 8 : 4;
  const bool same = in.buffer == out.buffer && in.offset_bytes == out.offset_bytes;
  if (!within(in, read, find) || !within(out, written, find)) {
    judgement.refuse = "beyond the buffer";
  } else if ((in.offset_bytes | out.offset_bytes) % word != 0) {
    judgement.refuse = "not aligned";
  } else if (same != call.plan.in_place) {
    judgement.refuse = "not in place as planned";
  } else if (!same && in.buffer == out.buffer && in.offset_bytes < out.offset_bytes + written &&
             out.offset_bytes < in.offset_bytes + read) {
    judgement.refuse = "arrays that overlap";
  }
  // The input of a transform in place is lost.
  const std::uint64_t changed = call.plan.in_place ? std::max(read, written) : written;
  judgement.may_change = {{out.buffer, out.offset_bytes, changed, changed, 1}};
  return judgement;
}

}  // namespace

Judgement judge(const HostileCall& call, const FindBuffer& find, bool elements) {
  return call.routine == nullptr ? judge_transform(call, find)
                                 : Judge(call, find, elements).decide();
}

}  // namespace ob::test
