#pragma once
// Cuts transforms that are too large for a device into smaller ones.

#include <cstdint>

#include "algorithms/fft/passes.hpp"
#include "algorithms/fft/task.hpp"

namespace ob::algorithms {

/// Runs tasks whose single transforms may be too large for `passes`.
/// Threads: owner only
class FftSplit {
 public:
  explicit FftSplit(FftPasses& passes) : passes_(passes) {}

  /// Runs a task. The input changes only where it is also the output. Gaps never change.
  /// Errors: those of passes, out_of_memory
  /// Source: row-column and four-step algorithms (Bailey 1990)
  Status run(const FftTask& task);
  /// True if a retry after the last out_of_memory would fail again, even with smaller parts.
  bool hopeless() const noexcept { return hopeless_; }

 private:
  bool fits(const FftTask& task) const;
  Status split(const FftTask& task);
  Status split_backward(const FftTask& task);
  Status complex_line(const FftTask& task);
  Status factored(const FftTask& task, std::uint64_t first);
  Status chirp(const FftTask& task);
  Status real_forward(const FftTask& task);
  Status real_backward(const FftTask& task);
  Status odd_forward(const FftTask& task);
  Status odd_backward(const FftTask& task);
  Status real_to_real(const FftTask& task);

  FftPasses& passes_;
  bool hopeless_ = false;
};

namespace detail {

/// Calls `visit` with a task for each transform of the batch in turn, until one fails.
template <class Visit>
Status each_transform(const FftTask& task, const Visit& visit) {
  FftTask item = task;
  item.batch.clear();
  item.landed = nullptr;
  std::vector<std::uint64_t> index(task.batch.size());
  for (;;) {
    OB_RETURN_IF_ERROR(visit(static_cast<const FftTask&>(item)));
    std::size_t i = index.size();
    for (; i-- > 0;) {
      const FftAxis& axis = task.batch[i];
      item.input += axis.input_stride;
      item.output += axis.output_stride;
      if (++index[i] < axis.input_count) break;
      item.input -= static_cast<std::int64_t>(axis.input_count) * axis.input_stride;
      item.output -= static_cast<std::int64_t>(axis.output_count) * axis.output_stride;
      index[i] = 0;
    }
    if (i == SIZE_MAX) return {};
  }
}

/// The error when the host cannot allocate `size_bytes`.
Status no_scratch(std::uint64_t size_bytes);

/// A complex one-dimensional task of n points, with the precision of `like` and without data.
FftTask line_task(const FftPlan& like, int sign, std::uint64_t n);

}  // namespace detail
}  // namespace ob::algorithms
