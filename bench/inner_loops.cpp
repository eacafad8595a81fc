// Measures the steps of every call in this process: copies of operands between layouts, swaps of
// the other byte order, and encoding of commands. Google Benchmark times the loops. The ceiling of
// a copy is memcpy of as many bytes in the same run.

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "base/layout.hpp"
#include "bench/report.hpp"
#include "wire/byte_swap.hpp"
#include "wire/codec.hpp"

namespace ob::bench {
namespace {

constexpr std::uint64_t kOrder = 512;
constexpr std::uint32_t kElement = 8;
constexpr std::uint64_t kLd = kOrder + 16;

Region region(Triangle triangle, std::uint64_t ld) {
  return {0, kElement, triangle, kOrder, kOrder, ld};
}

void copy_bytes(benchmark::State& state, std::size_t bytes) {
  const std::vector<std::byte> from(bytes);
  std::vector<std::byte> to(bytes);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
}

// Copies the caller's padded matrix to a dense one, as a call on a mapped device does.
void copy_matrix(benchmark::State& state, Triangle triangle) {
  std::vector<std::byte> from(kElement * kLd * kOrder);
  std::vector<std::byte> to(kElement * kOrder * kOrder);
  const Layout source = Layout::matrix(from.data(), region(triangle, kLd));
  const Layout destination = Layout::matrix(to.data(), region(triangle, kOrder));
  for (auto _ : state) {
    copy(destination, source);
    benchmark::ClobberMemory();
  }
  const std::uint64_t bytes = packed_bytes(region(triangle, kLd));
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
}

// Two areas far larger than the caches that a process has to itself. A loop that walks through them
// finds every piece equally cold. Tests walk through a small part.
struct Areas {
  explicit Areas(std::size_t bytes)
      : from(bytes, std::byte{1}), to(bytes, std::byte{2}) {}  // touches the pages, too
  std::vector<std::byte> from;
  std::vector<std::byte> to;
};

using Move = void (*)(std::byte* to, const std::byte* from, std::size_t bytes);

void move_same(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

void move_swapped(std::byte* to, const std::byte* from, std::size_t bytes) {
  wire::copy_swapped(to, from, bytes, 8, bytes);
}

void walk(benchmark::State& state, Areas* areas, std::size_t bytes, Move move) {
  std::size_t at = 0;
  for (auto _ : state) {
    move(areas->to.data() + at, areas->from.data() + at, bytes);
    benchmark::ClobberMemory();
    at = at + 2 * bytes <= areas->to.size() ? at + bytes : 0;
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
}

void encode_write(benchmark::State& state) {
  const wire::Write message{BufferId{7}, region(Triangle::upper, kOrder)};
  for (auto _ : state) {
    wire::Body body;
    wire::encode(message, body);
    benchmark::DoNotOptimize(body.bytes().data());
  }
}

void decode_write(benchmark::State& state) {
  wire::Body body;
  wire::encode(wire::Write{BufferId{7}, region(Triangle::upper, kOrder)}, body);
  for (auto _ : state) {
    auto message = wire::decode<wire::Write>(body.bytes());
    benchmark::DoNotOptimize(message);
  }
}

// Collects the results of Google Benchmark: GB/s if bytes were counted, else ns.
class Collector final : public benchmark::ConsoleReporter {
 public:
  struct Figures {
    Samples rate;
    Samples time;
  };

  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration) continue;
      const auto counted = run.counters.find("bytes_per_second");
      if (counted != run.counters.end()) figures_.rate.add(counted->second * 1e-9);
      figures_.time.add(run.GetAdjustedRealTime());
    }
  }
  Figures take() { return std::exchange(figures_, Figures()); }

 private:
  Figures figures_;
};

Collector::Figures measure(const std::string& name) {
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector, nullptr, "^" + name + "/");
  return collector.take();
}

template <class Loop, class... Arguments>
void declare_once(const std::string& name, const Options& options, Loop loop,
                  Arguments... arguments) {
  benchmark::RegisterBenchmark(name.c_str(), loop, arguments...)
      ->Unit(benchmark::kNanosecond)
      ->MinTime(options.check ? 0.001 : 0.1);
}

template <class Loop, class... Arguments>
void declare(const std::string& name, const Options& options, Loop loop, Arguments... arguments) {
  benchmark::RegisterBenchmark(name.c_str(), loop, arguments...)
      ->Unit(benchmark::kNanosecond)
      ->MinTime(options.check ? 0.001 : 0.1)
      ->Repetitions(options.runs);
}

void add_copy(Report& report, const Options& options, const std::string& name, Triangle triangle) {
  Row row;
  row.bench = "inner_loops";
  row.name = "copy " + name;
  row.bytes = packed_bytes(region(triangle, kLd));
  row.unit = "GB/s";
  row.ceiling_name = "memcpy of as many bytes";
  declare("copy_" + name, options, copy_matrix, triangle);
  declare("memcpy_" + name, options, copy_bytes, row.bytes);
  row.samples = measure("copy_" + name).rate;
  row.ceiling = measure("memcpy_" + name).rate;
  report.add(row);
}

void add_swap(Report& report, const Options& options, Areas& areas, std::size_t bytes) {
  const std::string size = std::to_string(bytes >> 10) + " KiB";
  Row row;
  row.bench = "inner_loops";
  row.name = "swap 64-bit words";
  row.bytes = bytes;
  row.unit = "GB/s";
  row.ceiling_name = "memcpy of as many bytes";
  declare_once("swap_" + size, options, walk, &areas, bytes, move_swapped);
  declare_once("walk_" + size, options, walk, &areas, bytes, move_same);
  for (int round = 0; round < options.runs; ++round) {  // in turns, so both see the same load
    row.samples.add(measure("swap_" + size).rate.median());
    row.ceiling.add(measure("walk_" + size).rate.median());
  }
  report.add(row);
}

void add_codec(Report& report, const Options& options, const std::string& name,
               void (*loop)(benchmark::State&)) {
  Row row;
  row.bench = "inner_loops";
  row.name = name;
  row.bytes = wire::kHeaderBytes;
  row.unit = "ns";
  row.better = Better::smaller;
  declare(name, options, loop);
  row.samples = measure(name).time;
  report.add(row);
}

}  // namespace
}  // namespace ob::bench

int main(int argc, char** argv) {
  using namespace ob::bench;
  const Options options = Options::parse_or_exit(
      argc, argv, "Inner loops of the wire: strided copies, byte swaps, headers.");
  Report report;
  add_copy(report, options, "padded matrix", ob::Triangle::full);
  add_copy(report, options, "upper triangle", ob::Triangle::upper);
  add_copy(report, options, "strict lower triangle", ob::Triangle::lower_strict);
  {
    const std::size_t largest_bytes = std::size_t{options.check ? 1U : 256U} << 20;
    Areas areas(2 * largest_bytes);
    for (std::size_t bytes = std::size_t{1} << 20; bytes <= largest_bytes; bytes <<= 2) {
      add_swap(report, options, areas, bytes);
    }
  }
  add_codec(report, options, "encode write", encode_write);
  add_codec(report, options, "decode write", decode_write);
  report.write(options);
  return 0;
}
