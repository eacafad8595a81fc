#include "device/gemm_rate.hpp"

#include <algorithm>

#include "device/square_product.hpp"

namespace ob {
namespace {

// A product this long hides the start-up time; larger matrices bring no higher rate.
constexpr double kEnoughSeconds = 2e-3;
constexpr std::int64_t kLeast = 512;
constexpr std::int64_t kMost = 8192;

// Returns the seconds of C := A B of order n; 0 if it fails.
double multiply(Device& device, QueueId queue, BufferId matrices, std::int64_t n) {
  (void)submit_square_product(device, queue, matrices, n);
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
    const auto matrices = device.allocate(3 * square_bytes(n));
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
