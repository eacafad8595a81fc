// Measures the time that planning ahead hides. The device needs time to plan the transform. The
// plan is requested just before the data is sent, as when the program plans (ahead), or only when
// the data has arrived (late). The device is a null device with slow plans. The floor is the longer
// of the transfer and the plan.
// Source: RCPU, sections 3.1.2 and 5.1, figure 5.4

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "bench/daemon_process.hpp"
#include "bench/or_exit.hpp"
#include "bench/report.hpp"
#include "client/remote_device.hpp"

namespace ob::bench {
namespace {

constexpr double kPlanSeconds = 20e-3;
constexpr std::size_t kPointBytes = 16;

// One connection that transforms arrays of up to `largest_bytes`.
class Transforms {
 public:
  Transforms(const std::string& address, std::size_t largest_bytes)
      : host_(largest_bytes, std::byte{1}), device_(or_exit(client::RemoteDevice::open(address))) {
    queue_ = or_exit(device_->create_queue());
    buffer_ = or_exit(device_->allocate(largest_bytes));
    send(largest_bytes);
  }

  /// Sends `bytes` and waits until they have arrived.
  double send(std::size_t bytes) {
    return timed([&] { write(bytes); });
  }

  /// Plans, sends the data and transforms it. `ahead`: the plan is requested before the data is
  /// sent, otherwise after it has arrived.
  double transform(std::size_t bytes, bool ahead) {
    PlanId plan;
    const double taken = timed([&] {
      if (ahead) plan = new_plan(bytes);
      write(bytes);
      if (!ahead) {
        or_exit(device_->synchronize(queue_).status);
        plan = new_plan(bytes);
      }
      or_exit(device_->execute(queue_, plan, {buffer_, 0}, {buffer_, 0}));
    });
    or_exit(device_->destroy_plan(plan));
    return taken;
  }

 private:
  template <class Work>
  double timed(const Work& work) {
    const auto start = transport::Clock::now();
    work();
    or_exit(device_->synchronize(queue_).status);
    const std::chrono::duration<double, std::milli> taken = transport::Clock::now() - start;
    return taken.count();
  }

  void write(std::size_t bytes) {
    const Region region{0, 1, Triangle::full, bytes, 1, bytes};
    or_exit(device_->write(queue_, buffer_, region, Layout::bytes(host_.data(), bytes)));
  }

  // Makes a plan that the daemon does not have yet. Each is one point shorter than the last one.
  PlanId new_plan(std::size_t bytes) {
    FftPlan plan{.rank = 1};
    plan.n[0] = bytes / kPointBytes - ++plans_made_;
    const PlanId id = or_exit(device_->make_plan(plan));
    or_exit(device_->flush());
    return id;
  }

  std::vector<std::byte> host_;
  std::unique_ptr<client::RemoteDevice> device_;
  QueueId queue_;
  BufferId buffer_;
  std::uint64_t plans_made_ = 0;
};

void measure(const std::string& transport, const std::string& address,
             const std::vector<std::size_t>& sizes, const Options& options, Report& report) {
  Transforms ours(address, sizes.back());
  for (const std::size_t bytes : sizes) {
    Row ahead{.bench = "plan_ahead",
              .name = transport + " planned ahead",
              .bytes = bytes,
              .unit = "ms",
              .better = Better::smaller,
              .samples = {},
              .ceiling_name = "longer of transfer and plan",
              .ceiling = {}};
    Row late = ahead;
    late.name = transport + " planned late";
    for (int i = 0; i < options.runs; ++i) {
      const double floor = std::max(ours.send(bytes), kPlanSeconds * 1e3);
      ahead.ceiling.add(floor);
      late.ceiling.add(floor);
      ahead.samples.add(ours.transform(bytes, true));
      late.samples.add(ours.transform(bytes, false));
    }
    report.add(ahead);
    report.add(late);
  }
}

}  // namespace
}  // namespace ob::bench

int main(int argc, char** argv) {
  using namespace ob::bench;
  const Options options =
      Options::parse_or_exit(argc, argv, "Planning a transform while its data travel.");
  const auto daemon = or_exit(DaemonProcess::start(
      {"--backend", "null", "--plan-time", std::to_string(kPlanSeconds * 1e3) + "ms"}));
  using Sizes = std::vector<std::size_t>;
  const Sizes sizes =
      options.check ? Sizes{1 << 16} : Sizes{1 << 20, 16 << 20, 64 << 20, 256 << 20};
  Report report;
  measure("tcp", daemon->tcp(), sizes, options, report);
  measure("shm", daemon->shm(), sizes, options, report);
  report.write(options);
  return 0;
}
