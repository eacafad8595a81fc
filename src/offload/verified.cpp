#include "offload/verified.hpp"

#include <sys/random.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/layout.hpp"
#include "offload/clock.hpp"
#include "offload/report.hpp"

namespace ob::offload {
namespace {

using verify::Verdict;
using verify::Verification;

// Makes a seed that the checked side cannot guess.
std::uint64_t fresh_seed() noexcept {
  std::uint64_t seed = 0;
  if (::getrandom(&seed, sizeof seed, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof seed))
    seed = now_ns() * 0x9E3779B97F4A7C15ULL;  // early at boot
  return seed;
}

Status wrong_result(std::string_view name, const Verification& found) {
  char text[160];
  std::snprintf(text, sizeof text,
                "the result of %.*s is wrong (residual %.3g, rounding explains %.3g)",
                static_cast<int>(name.size()), name.data(), found.residual, found.bound);
  return {Code::device_error, text};
}

Layout home_of(const Operand& operand, const HostOperand& host) noexcept {
  return Layout::matrix(host.data, region_of(operand, Kind::matrix, host.ld));
}

// The layout of the copy: the same elements in the same order, without gaps between columns.
Layout copy_of(const Operand& operand, void* data) noexcept {
  return Layout::matrix(data,
                        region_of(operand, Kind::matrix, static_cast<std::int64_t>(operand.rows)));
}

}  // namespace

Status VerifiedJob::run(client::AcquiredDevice& acquired, algorithms::CallTimings& timings) {
  if (!asked_) saved_ = try_to_save();
  asked_ = true;
  OB_RETURN_IF_ERROR(job_.run(acquired, timings));
  Verification found;
  try {
    if (saved_) found = verify();
  } catch (...) {  // no memory: as if there were no check
  }
  if (row_ != nullptr) {
    Counter& counter = found.verdict == Verdict::right   ? row_->verified
                       : found.verdict == Verdict::wrong ? row_->mismatched
                                                         : row_->unchecked;
    add(counter, 1);
  }
  if (found.verdict != Verdict::wrong) return {};
  restore();
  return wrong_result(name_, found);
}

bool VerifiedJob::try_to_save() noexcept {
  try {
    return save();
  } catch (...) {
    return false;
  }
}

bool VerifiedCalls::save() {
  if (!verify::is_verifiable(routine_)) return false;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const Operands operands = routine_.operands(calls_[i]);
    for (const Operand& operand : operands.span()) {
      if (!operand.read || !operand.written || routine_.kinds[operand.argument] != Kind::matrix)
        continue;
      std::uint64_t bytes = 0;
      if (__builtin_mul_overflow(operand.rows * operand.element_bytes, operand.cols, &bytes))
        return false;
      originals_.push_back({i, operand, HostScratch(bytes)});
      void* const data = originals_.back().memory.data();
      if (data == nullptr) return false;
      copy(copy_of(operand, data), home_of(operand, calls_[i][operand.argument].host));
    }
  }
  return true;
}

Verification VerifiedCalls::verify() {
  Verification all{Verdict::right, 0, 0};
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    std::vector<verify::SavedOperand> saved_operands;
    for (const Saved& saved : originals_) {
      if (saved.call == i) saved_operands.push_back({saved.operand.argument, saved.memory.data()});
    }
    const Verification one = verify::verify_call(routine_, calls_[i], saved_operands, fresh_seed());
    if (one.verdict == Verdict::wrong) return one;
    if (one.verdict == Verdict::unchecked) all = one;
  }
  return all;
}

void VerifiedCalls::restore() noexcept {
  for (const Saved& saved : originals_) {
    copy(home_of(saved.operand, calls_[saved.call][saved.operand.argument].host),
         copy_of(saved.operand, saved.memory.data()));
  }
}

namespace {

bool is_split(const FftTransform& transform, bool input) noexcept {
  const FftPlan& plan = transform.plan;
  const std::uint32_t real = plan.precision == Precision::c || plan.precision == Precision::s
                                 ? sizeof(float)
                                 : sizeof(double);
  const FftSide& side = input ? transform.input : transform.output;
  const bool real_side = plan.kind == (input ? FftKind::r2c : FftKind::c2r);
  return !real_side && side.element_bytes == real;
}

// Dimensions of batch and transform.
std::size_t axes_of(const FftTransform& transform, bool input) noexcept {
  const FftSide& side = input ? transform.input : transform.output;
  return static_cast<std::size_t>(side.dimensions) - (is_split(transform, input) ? 1 : 0);
}

using Strides = std::array<std::int64_t, Layout::kMaxDimensions>;

}  // namespace

bool VerifiedFft::save() {
  const FftPlan& plan = transform_.plan;
  if (plan.kind == FftKind::r2r || plan.rank == 0) return false;
  if (input_ != output_) return true;
  const Layout home = transform_.input.layout(input_);
  memory_.emplace_back(home.total_bytes());
  if (memory_.back().data() == nullptr) return false;
  copy(Layout::bytes(memory_.back().data(), home.total_bytes()), home);
  return true;
}

Verification VerifiedFft::verify() {
  const FftSide& in = transform_.input;
  const FftSide& out = transform_.output;
  const std::size_t axes = axes_of(transform_, true);
  const std::size_t batch_axes = axes - transform_.plan.rank;
  std::array<std::uint64_t, Layout::kMaxDimensions> batch{};
  Strides in_strides{};
  Strides out_strides{};
  std::int64_t packed = in.element_bytes;
  if (is_split(transform_, true)) packed *= 2;
  for (std::size_t i = axes; i-- > 0;) {
    if (i < batch_axes) batch[i] = in.dims[i].count;
    in_strides[i] = memory_.empty() ? in.dims[i].stride_bytes : packed;
    packed *= static_cast<std::int64_t>(in.dims[i].count);
    out_strides[i] = out.dims[i].stride_bytes;
  }
  const auto apart = [&](bool input, bool is_packed) {
    const FftSide& side = input ? in : out;
    if (!is_split(transform_, input)) return static_cast<std::int64_t>(side.element_bytes / 2);
    return is_packed ? static_cast<std::int64_t>(side.element_bytes)
                     : side.dims[axes_of(transform_, input)].stride_bytes;
  };
  const void* const given = memory_.empty() ? input_ : memory_.back().data();
  const verify::FftArray before{static_cast<const std::byte*>(given),
                                std::span(in_strides).first(axes), apart(true, !memory_.empty())};
  const verify::FftArray after{static_cast<const std::byte*>(output_),
                               std::span(out_strides).first(axes), apart(false, false)};
  return verify::verify_fft(transform_.plan, std::span(batch).first(batch_axes), before, after,
                            fresh_seed());
}

void VerifiedFft::restore() noexcept {
  if (memory_.empty()) return;
  const Layout home = transform_.input.layout(input_);
  copy(home, Layout::bytes(memory_.back().data(), home.total_bytes()));
}

}  // namespace ob::offload
