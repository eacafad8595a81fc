#include "device/measure_rates.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string_view>

#include "routines/rate_family.hpp"

namespace ob {
namespace {

// Launches and synchronization do not matter in a call this long. On a slow device, the next order
// would take eight times as long.
constexpr double kEnoughSeconds = 4e-3;
constexpr std::int64_t kLeast = 128;
constexpr std::int64_t kMost = 2048;
constexpr std::uint64_t kAlignment = 256;

// A queue, and memory for one call after the other.
class Runs {
 public:
  explicit Runs(Device& device) : device_(device), queue_(device.create_queue()) {}
  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;
  ~Runs() {
    if (queue_.ok()) (void)device_.destroy_queue(*queue_);
  }

  // Runs submit(queue, buffer) twice on the same data, because most routines destroy their
  // operands. The first run starts the library. Returns the seconds of the second, 0 on failure.
  template <class Submit>
  double seconds(std::vector<double>& data, std::uint64_t bytes, Submit submit) {
    if (!queue_.ok()) return 0;
    const auto buffer = device_.allocate(bytes);
    if (!buffer.ok()) return 0;
    const Region whole{.element_bytes = sizeof(double),
                       .rows = data.size(),
                       .cols = 1,
                       .ld = data.size(),
                       .word_bytes = sizeof(double)};
    double found = 0;
    for (int run = 0; run < 2; ++run) {
      (void)device_.write(*queue_, *buffer, whole, Layout::matrix(data.data(), whole));
      (void)submit(*queue_, *buffer);
      const QueueReport report = device_.synchronize(*queue_);
      found = report.status.ok() ? static_cast<double>(report.compute_ns) * 1e-9 : 0;
      if (found == 0) break;
    }
    (void)device_.free(*buffer);
    return found;
  }

 private:
  Device& device_;
  Result<QueueId> queue_;
};

// Random elements with a large diagonal: a matrix that has all factorizations. Of a symmetric one,
// only a triangle is read.
std::vector<double> random_matrix(std::int64_t n) {
  std::mt19937_64 random(static_cast<std::uint64_t>(n));
  std::uniform_real_distribution<double> element(-0.5, 0.5);
  const auto order = static_cast<std::size_t>(n);
  std::vector<double> data(order * order);
  for (double& value : data) value = element(random);
  for (std::size_t i = 0; i < order; ++i) data[i * (order + 1)] += static_cast<double>(n);
  return data;
}

// The arguments of a call with square matrices, and the memory for its operands.
struct MeasuredCall {
  Argument arguments[kMaxArguments];
  std::uint64_t bytes = 0;

  MeasuredCall(const Descriptor& routine, std::string_view flags, std::int64_t n) {
    std::size_t flag = 0;
    for (std::size_t i = 0; i < routine.kinds.size(); ++i) {
      if (routine.kinds[i] == Kind::flag) arguments[i].flag = flags[flag++];
      if (routine.kinds[i] == Kind::dim) arguments[i].dim = n;
    }
    for (const Operands operands = routine.operands(arguments);
         const Operand& operand : operands.span()) {
      const Kind kind = routine.kinds[operand.argument];
      const std::int64_t ld =
          kind == Kind::matrix ? std::max<std::int64_t>(1, static_cast<std::int64_t>(operand.rows))
                               : 0;
      arguments[operand.argument].device = {{}, bytes, ld};
      const Region region = region_of(operand, kind, ld);
      const std::uint64_t used = std::max<std::uint64_t>(extent_bytes(region), sizeof(double));
      bytes += (used + kAlignment - 1) / kAlignment * kAlignment;
    }
  }

  Status submit(Device& device, QueueId queue, const Descriptor& routine, BufferId buffer) {
    for (std::size_t i = 0; i < routine.kinds.size(); ++i)
      if (is_memory(routine.kinds[i])) arguments[i].device.buffer = buffer;
    return device.call(queue, routine, arguments);
  }
};

// Appends the rates of one family. `measure` returns the seconds of a call of order n, and sets its
// work.
template <class Measure>
void add_family(RateFamily family, std::vector<RoutineRate>& rates, Measure measure) {
  for (std::int64_t n = kLeast; n <= kMost; n *= 2) {
    double flop = 0;
    const double seconds = measure(n, flop);
    if (!(seconds > 0) || !(flop > 0)) return;
    rates.push_back({family, flop, flop / seconds * 1e-9});
    if (seconds > kEnoughSeconds) return;
  }
}

double time_routine(Device& device, Runs& runs, const MeasuredRoutine& measured, std::int64_t n,
                    double& flop) {
  const Descriptor* const routine = routines::find(measured.name);
  if (routine == nullptr) return 0;
  MeasuredCall call(*routine, measured.flags, n);
  flop = routine->flops(call.arguments);
  std::vector<double> data = random_matrix(n);
  return runs.seconds(data, call.bytes, [&](QueueId queue, BufferId buffer) {
    return call.submit(device, queue, *routine, buffer);
  });
}

double time_transform(Device& device, Runs& runs, std::int64_t n, double& flop) {
  FftPlan shape;
  shape.rank = 2;
  shape.n[0] = shape.n[1] = static_cast<std::uint64_t>(n);
  flop = flops(shape);
  const auto plan = device.make_plan(shape);
  if (!plan.ok()) return 0;
  std::vector<double> data(2 * points(shape), 1.0);
  const double seconds =
      runs.seconds(data, input_bytes(shape), [&](QueueId queue, BufferId buffer) {
        return device.execute(queue, *plan, {buffer, 0}, {buffer, 0});
      });
  (void)device.destroy_plan(*plan);
  return seconds;
}

}  // namespace

std::vector<RoutineRate> measure_rates(Device& device) {
  std::vector<RoutineRate> rates;
  Runs runs(device);
  for (const MeasuredRoutine& measured : measured_routines()) {
    add_family(measured.family, rates, [&](std::int64_t n, double& flop) {
      return time_routine(device, runs, measured, n, flop);
    });
  }
  add_family(RateFamily::transform, rates,
             [&](std::int64_t n, double& flop) { return time_transform(device, runs, n, flop); });
  return rates;
}

}  // namespace ob
