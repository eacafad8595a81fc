#include "device/gemm_rate.hpp"

#include <algorithm>
#include <string_view>

namespace ob {
namespace {

// A product this long hides the start-up time; larger matrices bring no higher rate.
constexpr double kEnoughSeconds = 2e-3;
constexpr std::int64_t kLeast = 512;
constexpr std::int64_t kMost = 8192;

// Returns the seconds of C := A B of order n; 0 if it fails.
double multiply(Device& device, QueueId queue, BufferId matrices, std::int64_t n) {
  const Descriptor* dgemm = routines::find("dgemm");
  const auto bytes = static_cast<std::uint64_t>(n) * static_cast<std::uint64_t>(n) * 8;
  Argument arguments[kMaxArguments];
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < dgemm->kinds.size(); ++i) {
    const std::string_view name = dgemm->argument_names[i];
    switch (dgemm->kinds[i]) {
      case Kind::flag: arguments[i].flag = 'N'; break;
      case Kind::dim: arguments[i].dim = n; break;
      case Kind::matrix:
        arguments[i].device = {matrices, offset, n};
        offset += bytes;
        break;
      default: arguments[i].scalar = {name == "alpha" ? 1.0 : 0.0, 0}; break;
    }
  }
  (void)device.call(queue, *dgemm, arguments);
  const QueueReport report = device.synchronize(queue);
  return report.status.ok() ? static_cast<double>(report.compute_ns) * 1e-9 : 0;
}

}  // namespace

double measure_gflops(Device& device) {
  const auto queue = device.create_queue();
  if (!queue.ok()) return 0;
  double gflops = 0;
  for (std::int64_t n = kLeast; n <= kMost; n *= 2) {
    const auto cube = static_cast<double>(n);
    const auto matrices =
        device.allocate(static_cast<std::uint64_t>(n) * static_cast<std::uint64_t>(n) * 24);
    if (!matrices.ok()) break;
    (void)multiply(device, *queue, *matrices, n);  // the first product starts the library
    const double seconds = multiply(device, *queue, *matrices, n);
    (void)device.free(*matrices);
    if (seconds <= 0) break;
    gflops = std::max(gflops, 2 * cube * cube * cube / seconds * 1e-9);
    if (seconds > kEnoughSeconds) break;
  }
  (void)device.destroy_queue(*queue);
  return gflops;
}

}  // namespace ob
