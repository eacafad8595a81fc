// Measures a product over a link with each order of its panels, or another routine of BLAS level 3
// as a whole and in panels. It also prints the prediction of the schedule.
//
// The daemon computes at a known rate (the null backend with --device-rate), so that the times show
// how well sending, computing and returning overlap. The program prints one line per order: name
// (after "chosen: " if the schedule chooses it), parts, predicted seconds, then the seconds of each
// run.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "algorithms/offload.hpp"
#include "algorithms/panels/gemm_pipeline.hpp"
#include "algorithms/panels/panels.hpp"
#include "bench/command_line.hpp"
#include "bench/or_exit.hpp"
#include "client/remote_device.hpp"

namespace {

using namespace ob;
using algorithms::PanelSchedule;
using algorithms::PanelShape;
using algorithms::PipelineModel;
using algorithms::ProductOrder;
using algorithms::ProductSchedule;
using bench::or_exit;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string server;
  std::string routine = "dgemm";
  std::uint64_t n = 2000;
  std::uint64_t length = 0;
  unsigned parts = 8;
  int runs = 3;
  double rate_gflops = 100;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool is_in_panels(const Descriptor& routine) {
  const Argument none[kMaxArguments];
  return algorithms::panel_shape(routine, none).has_value();
}

// One way to run the call.
struct Way {
  std::string name;
  std::size_t parts;
  double predicted_s;
  std::function<Status(Device&, QueueId, const Descriptor&, const Argument*)> offload;
};

class Bench {
 public:
  explicit Bench(const Options& options)
      : n_(options.n),
        a_(n_ * n_, 1.0),
        b_(n_ * n_, 1.0),
        c_(n_ * n_, 1.0),
        device_(or_exit(client::RemoteDevice::open(options.server))),
        queue_(or_exit(device_->create_queue())),
        routine_(found(options.routine)) {
    const auto order = static_cast<std::int64_t>(n_);
    for (std::size_t i = 0; i < routine_.kinds.size(); ++i) {
      const std::string_view name = routine_.argument_names[i];
      if (routine_.kinds[i] == Kind::flag) arguments_[i].flag = routine_.values[i].front();
      if (routine_.kinds[i] == Kind::dim) arguments_[i].dim = order;
      const bool other = name == (routine_.base.ends_with("k") ? "k" : "n");
      if (other && options.length > 0)
        arguments_[i].dim = static_cast<std::int64_t>(options.length);
      if (name == "alpha") arguments_[i].scalar = {1, 0};
      if (name == "a") arguments_[i].host = {a_.data(), order};
      if (name == "b") arguments_[i].host = {b_.data(), order};
      if (name == "c") arguments_[i].host = {c_.data(), order};
    }
  }

  // The model is measured with operands as large as those of the product, in the same memory.
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

  // Returns the seconds of one run. `offload` has the form of the functions of algorithms/.
  double run(const Way& way) {
    const auto start = Clock::now();
    or_exit(way.offload(*device_, queue_, routine_, arguments_));
    return seconds_since(start);
  }

  std::vector<Way> ways(const PipelineModel& model, unsigned parts) const {
    const auto shape = algorithms::panel_shape(routine_, arguments_);
    return shape ? panel_ways(*shape, model, parts) : product_ways(model, parts);
  }

 private:
  static const Descriptor& found(std::string_view name) {
    const Descriptor* routine = routines::find(name);
    const bool suits = routine != nullptr && routine->precision == Precision::d &&
                       (routine->base == "gemm" || is_in_panels(*routine));
    if (!suits) or_exit({Code::invalid_argument, std::string(name) + " is not cut"});
    return *routine;
  }

  std::vector<Way> product_ways(const PipelineModel& model, unsigned parts) const {
    const algorithms::ProductShape shape = algorithms::product_shape(routine_, arguments_);
    std::vector<Way> made;
    const auto add = [&](const std::string& before, const ProductSchedule& schedule) {
      made.push_back({before + std::string(name_of(schedule.order)),
                      std::max(schedule.a.size(), schedule.b.size()),
                      algorithms::predict(schedule, shape, model),
                      [schedule](Device& device, QueueId queue, const Descriptor& routine,
                                 const Argument* arguments) {
                        algorithms::CallTimings timings;
                        return algorithms::offload_product(
                            {device, queue, routine, arguments, timings}, schedule);
                      }});
    };
    for (const ProductOrder order : algorithms::kProductOrders) {
      add("", algorithms::schedule_product(shape, order, parts));
    }
    add("chosen: ", algorithms::choose_schedule(shape, model));
    return made;
  }

  std::vector<Way> panel_ways(const PanelShape& shape, const PipelineModel& model,
                              unsigned parts) const {
    std::vector<Way> made;
    const auto add = [&](const std::string& name, const PanelSchedule& schedule) {
      made.push_back({name, schedule.panels.size(), algorithms::predict(schedule, shape, model),
                      [schedule](Device& device, QueueId queue, const Descriptor& routine,
                                 const Argument* arguments) {
                        algorithms::CallTimings timings;
                        return schedule.panels.size() == 1
                                   ? algorithms::offload_call(
                                         {device, queue, routine, arguments, timings})
                                   : algorithms::offload_panels(
                                         {device, queue, routine, arguments, timings}, schedule);
                      }});
    };
    add("whole", algorithms::schedule_panels(shape, 1));
    add("panels", algorithms::schedule_panels(shape, parts));
    if (shape.form == PanelShape::Form::one_side) {
      add("strips", algorithms::schedule_strips(shape, parts));
    }
    const PanelSchedule chosen = algorithms::choose_panels(shape, model);
    add(chosen.in_strips ? "chosen: strips" : "chosen: panels", chosen);
    return made;
  }

  const std::uint64_t n_;
  std::vector<double> a_;
  std::vector<double> b_;
  std::vector<double> c_;
  std::unique_ptr<client::RemoteDevice> device_;
  QueueId queue_;
  const Descriptor& routine_;
  Argument arguments_[kMaxArguments];
};

void measure(Bench& bench, const Options& options) {
  const PipelineModel model = bench.model(options.rate_gflops);
  std::printf("link %.4f %.4f GB/s\n", model.to_bytes_per_s * 1e-9, model.from_bytes_per_s * 1e-9);
  const std::vector<Way> ways = bench.ways(model, options.parts);
  std::vector<std::vector<double>> seconds(ways.size());
  for (const Way& way : ways) (void)bench.run(way);  // touches memory
  for (int run = 0; run < options.runs; ++run) {
    for (std::size_t i = 0; i < ways.size(); ++i) seconds[i].push_back(bench.run(ways[i]));
  }
  for (std::size_t i = 0; i < ways.size(); ++i) {
    std::printf("%s,%zu,%.6f", ways[i].name.c_str(), ways[i].parts, ways[i].predicted_s);
    for (const double s : seconds[i]) std::printf(",%.6f", s);
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  ob::bench::CommandLine line("Times a call by each order of its panels.");
  line.add("--server", &options.server, "daemon with --backend null", {.required = true});
  line.add("--rate", &options.rate_gflops, "its --device-rate [GFLOP/s]", {.required = true});
  line.add("--routine", &options.routine, "dgemm, dsymm, dtrmm, dtrsm, dsyrk or dsyr2k");
  line.add("--order", &options.n, "of the (square) matrices");
  line.add("--length", &options.length, "n, or k of dsyrk and dsyr2k; 0: the order");
  line.add("--parts", &options.parts, "panels");
  line.add("--runs", &options.runs, "of each");
  line.parse_or_exit(argc, argv);
  Bench bench(options);
  measure(bench, options);
  return 0;
}
