// A product over a link by each order of its panels, beside what the schedule predicts.
//
// The daemon computes at a known rate (the null backend with --device-rate), so that what is
// measured is how well sending, computing and returning overlap. Prints one line per order: name,
// parts, predicted seconds, whether it would be chosen, then the seconds of each run.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "algorithms/gemm_pipeline.hpp"
#include "bench/or_exit.hpp"
#include "client/remote_device.hpp"

namespace {

using namespace ob;
using algorithms::PipelineModel;
using algorithms::ProductOrder;
using algorithms::ProductSchedule;
using bench::or_exit;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string server;
  std::uint64_t n = 2000;
  unsigned parts = 8;
  int runs = 3;
  double rate_gflops = 100;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Bench {
 public:
  explicit Bench(const Options& options)
      : n_(options.n),
        a_(n_ * n_, 1.0),
        b_(n_ * n_, 1.0),
        c_(n_ * n_, 1.0),
        device_(or_exit(client::RemoteDevice::open(options.server))),
        queue_(or_exit(device_->create_queue())) {
    const auto order = static_cast<std::int64_t>(n_);
    arguments_[0].flag = arguments_[1].flag = 'N';
    for (const int i : {2, 3, 4}) arguments_[i].dim = order;
    arguments_[5].scalar = {1, 0};
    arguments_[6].host = {a_.data(), order};
    arguments_[7].host = {b_.data(), order};
    arguments_[8].scalar = {0, 0};
    arguments_[9].host = {c_.data(), order};
  }

  // Of operands as large as the product's, in the same memory.
  PipelineModel model(double rate_gflops) {
    const std::uint64_t bytes = n_ * n_ * sizeof(double);
    const Region whole{0, 8, Triangle::full, n_, n_, n_, 8};
    const BufferId buffer = or_exit(device_->allocate(bytes));
    const Layout a = Layout::matrix(a_.data(), whole);
    double to = 1e30;
    double from = 1e30;
    for (int i = 0; i < 3; ++i) {
      const auto start = Clock::now();
      or_exit(device_->write(queue_, buffer, whole, a));
      or_exit(device_->synchronize(queue_).status);
      to = std::min(to, seconds_since(start));
      const auto middle = Clock::now();
      or_exit(device_->read(queue_, buffer, whole, Layout::matrix(c_.data(), whole)));
      or_exit(device_->synchronize(queue_).status);
      from = std::min(from, seconds_since(middle));
    }
    or_exit(device_->free(buffer));
    return {.to_bytes_per_s = static_cast<double>(bytes) / to,
            .from_bytes_per_s = static_cast<double>(bytes) / from,
            .message_s = algorithms::kMessageSeconds,
            .fetch_s = algorithms::kFetchSeconds,
            .flop_per_s = rate_gflops * 1e9,
            .call_s = algorithms::kCallSeconds,
            .submit_s = algorithms::kSubmitSeconds};
  }

  double run(const ProductSchedule& schedule) {
    algorithms::Stages stages;
    const auto start = Clock::now();
    or_exit(algorithms::offload_product(*device_, queue_, gemm_, arguments_, schedule, nullptr,
                                        stages));
    return seconds_since(start);
  }

  algorithms::ProductShape shape() const { return algorithms::product_shape(gemm_, arguments_); }

 private:
  const std::uint64_t n_;
  std::vector<double> a_;
  std::vector<double> b_;
  std::vector<double> c_;
  std::unique_ptr<client::RemoteDevice> device_;
  QueueId queue_;
  const Descriptor& gemm_ = *routines::find(std::string_view("dgemm"));
  Argument arguments_[kMaxArguments];
};

void measure(Bench& bench, const Options& options) {
  const PipelineModel model = bench.model(options.rate_gflops);
  const algorithms::ProductShape shape = bench.shape();
  std::printf("link %.4f %.4f GB/s\n", model.to_bytes_per_s * 1e-9, model.from_bytes_per_s * 1e-9);
  std::vector<ProductSchedule> schedules;
  for (const ProductOrder order : algorithms::kProductOrders) {
    schedules.push_back(algorithms::schedule_product(shape, order, options.parts));
  }
  schedules.push_back(algorithms::choose_schedule(shape, model));
  std::vector<std::vector<double>> seconds(schedules.size());
  for (const ProductSchedule& schedule : schedules) (void)bench.run(schedule);  // touches memory
  for (int run = 0; run < options.runs; ++run) {
    for (std::size_t i = 0; i < schedules.size(); ++i) {
      seconds[i].push_back(bench.run(schedules[i]));
    }
  }
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    const ProductSchedule& schedule = schedules[i];
    const bool chosen = i + 1 == schedules.size();
    std::printf("%s%s,%zu,%.6f", chosen ? "chosen: " : "", name_of(schedule.order).data(),
                std::max(schedule.a.size(), schedule.b.size()),
                algorithms::predict(schedule, shape, model));
    for (const double s : seconds[i]) std::printf(",%.6f", s);
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Times a square dgemm by each order of its panels.", "bench_product_orders"};
  app.add_option("--server", options.server, "daemon with --backend null")->required();
  app.add_option("--rate", options.rate_gflops, "its --device-rate [GFLOP/s]")->required();
  app.add_option("--order", options.n, "of the matrices")->capture_default_str();
  app.add_option("--parts", options.parts, "panels")->capture_default_str();
  app.add_option("--runs", options.runs, "of each")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  Bench bench(options);
  measure(bench, options);
  return 0;
}
