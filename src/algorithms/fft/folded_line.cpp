// Runs one long dimension of real-to-real data through a real or complex transform.

#include "algorithms/fft/split.hpp"
#include "base/host_scratch.hpp"
#include "device/real_transform.hpp"
#include "device/strided_line.hpp"

namespace ob::algorithms {

Status FftSplit::real_to_real(const FftTask& task) {
  const std::uint64_t n = task.plan.n[0];
  const RealFolds folds(task.plan.real[0], n);
  FftTask through;
  through.plan = embedding(task.plan.real[0], n, task.plan.precision);
  const std::uint32_t in = element_bytes(through.plan, true);
  const std::uint32_t out = element_bytes(through.plan, false);
  const std::uint64_t before_bytes = input_bytes(through.plan);
  const std::uint64_t after_bytes = output_bytes(through.plan);
  through.transform = {{before_bytes / in, after_bytes / out, in, out}};
  const HostScratch before(before_bytes);
  const HostScratch after(after_bytes);
  through.input = before.data();
  through.output = after.data();
  if (through.input == nullptr || through.output == nullptr) {
    return detail::no_scratch(before_bytes + after_bytes);
  }
  return with_real(task.plan, [&](auto real) -> Status {
    using Line = StridedLine<decltype(real)>;
    return detail::each_transform(task, [&](const FftTask& item) -> Status {
      folds.fold_in(Line{item.input, item.transform[0].input_stride}, through.input);
      OB_RETURN_IF_ERROR(run(through));
      folds.fold_out(through.output, Line{item.output, item.transform[0].output_stride});
      return {};
    });
  });
}

}  // namespace ob::algorithms
