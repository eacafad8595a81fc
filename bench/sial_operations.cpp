// Measures the operations on SIAL blocks in this process: contractions beside gemm of equal m, n
// and k, and permutations beside memcpy of as many bytes. Both sides run in turns. A contraction
// that permutes operands has the model of gemm plus copies as its ceiling.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "apps/host_gemm.hpp"
#include "bench/or_exit.hpp"
#include "bench/report.hpp"
#include "device/stopwatch.hpp"
#include "sial/operations/axes.hpp"
#include "sial/operations/contraction.hpp"
#include "sial/operations/copy.hpp"

namespace ob::bench {
namespace {

using sial::Assign;
using sial::ConstView;
using sial::View;
using Labels = std::vector<std::uint32_t>;

// A dense block that owns its elements.
struct Block {
  Block(const Labels& labels, const std::vector<std::int64_t>& extents) {
    std::int64_t stride = 1;
    for (const std::uint32_t label : labels) {
      view.labels[view.rank] = label;
      view.strides[view.rank] = stride;
      view.extents[view.rank] = extents[label];
      stride *= extents[view.labels[view.rank++]];
    }
    elements.assign(static_cast<std::size_t>(stride), 1.0);
    view.data = elements.data();
  }
  ConstView read() const { return sial::read_only(view); }
  double bytes() const { return 8.0 * static_cast<double>(elements.size()); }
  std::vector<double> elements;
  View view;
};

// Returns the seconds of one call, from enough calls to fill `least_s`.
double seconds_of(const std::function<void()>& call, double least_s) {
  std::int64_t calls = 0;
  const Stopwatch watch;
  do {
    call();
    ++calls;
  } while (static_cast<double>(watch.elapsed_ns()) < least_s * 1e9);
  return static_cast<double>(watch.elapsed_ns()) * 1e-9 / static_cast<double>(calls);
}

struct Form {
  const char* name;
  Labels d, b1, b2;
};

// Labels: a b are 0 1, c d are 2 3, k l are 4 5.
const Form kForms[] = {
    {"plain", {0, 1, 2, 3}, {0, 1, 4, 5}, {4, 5, 2, 3}},
    {"transposed", {0, 1, 2, 3}, {4, 5, 0, 1}, {2, 3, 4, 5}},
    {"exchanged", {2, 3, 0, 1}, {0, 1, 4, 5}, {4, 5, 2, 3}},
    {"B1 permuted", {0, 1, 2, 3}, {0, 4, 1, 5}, {4, 5, 2, 3}},
    {"B1, B2 permuted", {0, 1, 2, 3}, {0, 4, 1, 5}, {2, 4, 3, 5}},
    {"D permuted", {0, 2, 1, 3}, {0, 1, 4, 5}, {4, 5, 2, 3}},
    {"all permuted", {0, 2, 1, 3}, {0, 4, 1, 5}, {2, 4, 3, 5}},
};

class Contractions {
 public:
  Contractions(const Options& options, Report& report, sial::Gemm& gemm)
      : options_(options), report_(report), gemm_(gemm) {}

  void measure(const Form& form, std::int64_t extent) {
    const std::vector<std::int64_t> extents(6, extent);
    const std::int64_t order = extent * extent;
    Block d(form.d, extents), b1(form.b1, extents), b2(form.b2, extents), copy = b1;
    const auto plan = sial::ContractionPlan::make(d.view, b1.read(), b2.read());
    double copied = 0;
    for (const auto& operand : plan.layout().operands) {
      if (operand.permuted) copied += static_cast<double>(operand.elements);
    }
    Row row;
    row.bench = "sial_operations";
    row.name = std::string("contract ") + form.name + " n=" + std::to_string(order);
    row.bytes = static_cast<std::size_t>(b1.bytes());
    row.unit = "GFLOP/s";
    row.ceiling_name = copied == 0 ? "gemm" : "gemm + copies";
    const double flops = 2.0 * static_cast<double>(order * order) * static_cast<double>(order);
    for (int run = 0; run < options_.runs; ++run) {
      const double contraction = seconds_of(
          [&] {
            or_exit(
                sial::contract(plan, d.view, b1.read(), b2.read(), Assign::set, gemm_, scratch_));
          },
          least_s());
      double ceiling = seconds_of(
          [&] {
            gemm_.run('N', 'N', order, order, order, 1, b1.elements.data(), order,
                      b2.elements.data(), order, 0, d.elements.data(), order);
          },
          least_s());
      if (copied > 0) {
        const double memcpy_s = seconds_of(
            [&] {
              std::memcpy(copy.elements.data(), b1.elements.data(),
                          static_cast<std::size_t>(b1.bytes()));
            },
            least_s() / 4);
        ceiling += memcpy_s * copied * 8 / b1.bytes();
      }
      row.samples.add(flops * 1e-9 / contraction);
      row.ceiling.add(flops * 1e-9 / ceiling);
    }
    report_.add(row);
  }

  // The time of a statement on small blocks, beside that of the multiplication alone.
  void measure_start(std::int64_t extent) {
    const std::vector<std::int64_t> extents(6, extent);
    const std::int64_t order = extent * extent;
    const Form& form = kForms[0];
    Block d(form.d, extents), b1(form.b1, extents), b2(form.b2, extents);
    const auto plan = sial::ContractionPlan::make(d.view, b1.read(), b2.read());
    sial::LoopGemm loops;
    const auto add = [&](const std::string& name, const std::function<void()>& call) {
      Row row;
      row.bench = "sial_operations";
      row.name = name + " n=" + std::to_string(order);
      row.bytes = static_cast<std::size_t>(b1.bytes());
      row.unit = "ns";
      row.better = Better::smaller;
      for (int run = 0; run < options_.runs; ++run) {
        row.samples.add(1e9 * seconds_of(call, least_s() / 4));
      }
      report_.add(row);
    };
    const auto multiply = [&](sial::Gemm& gemm) {
      gemm.run('N', 'N', order, order, order, 1, b1.elements.data(), order, b2.elements.data(),
               order, 0, d.elements.data(), order);
    };
    add("small gemm", [&] { multiply(gemm_); });
    add("small loops", [&] { multiply(loops); });
    add("small contract", [&] {
      or_exit(sial::contract(plan, d.view, b1.read(), b2.read(), Assign::set, gemm_, scratch_));
    });
    add("small contract and plan", [&] {
      or_exit(sial::contract(d.view, b1.read(), b2.read(), Assign::set, gemm_, scratch_));
    });
  }

 private:
  double least_s() const { return options_.check ? 0 : 0.05; }

  const Options& options_;
  Report& report_;
  sial::Gemm& gemm_;
  sial::Scratch scratch_;
};

// A walk through areas far larger than the caches, so that each block is as cold as the next, for
// the permutation and for memcpy.
class ColdBlocks {
 public:
  ColdBlocks(std::size_t elements, bool check)
      : elements_((elements + 7) / 8 * 8),
        count_(check ? 2 : std::max<std::size_t>(2, kAreaElements / elements_)),
        from_(elements_ * count_ + 8, 1.0),
        to_(elements_ * count_ + 8, 2.0) {}
  void next() { at_ = (at_ + 1) % count_; }
  double* to() { return aligned(to_) + at_ * elements_; }
  const double* from() { return aligned(from_) + at_ * elements_; }

 private:
  static constexpr std::size_t kAreaElements = 24U << 20;
  // Large vectors begin 16 bytes behind a page; the blocks of a worker begin at cache lines.
  static double* aligned(std::vector<double>& area) {
    const auto address = reinterpret_cast<std::uintptr_t>(area.data());
    return area.data() + (64 - address % 64) % 64 / sizeof(double);
  }

  std::size_t elements_;
  std::size_t count_;
  std::vector<double> from_;
  std::vector<double> to_;
  std::size_t at_ = 0;
};

void measure_permutations(const Options& options, Report& report,
                          const std::vector<std::int64_t>& extents) {
  const double least_s = options.check ? 0 : 0.02;
  std::string shape;
  for (const std::int64_t extent : extents) {
    shape += (shape.empty() ? "" : "x") + std::to_string(extent);
  }
  Block b({0, 1, 2, 3}, extents);
  ColdBlocks blocks(b.elements.size(), options.check);
  Labels order{0, 1, 2, 3};
  do {
    const Block d(order, extents);
    const auto plan = sial::copy_plan(d.view, b.read());
    Row row;
    row.bench = "sial_operations";
    row.name = "permute " + shape + " to ";
    for (const std::uint32_t label : order) row.name += std::to_string(label);
    row.bytes = static_cast<std::size_t>(b.bytes());
    row.unit = "GB/s";
    row.ceiling_name = "memcpy";
    for (int run = 0; run < options.runs; ++run) {
      const double permuted = seconds_of(
          [&] {
            blocks.next();
            plan.run(blocks.to(), blocks.from(), 1, false);
          },
          least_s);
      const double copied = seconds_of(
          [&] {
            blocks.next();
            std::memcpy(blocks.to(), blocks.from(), row.bytes);
          },
          least_s);
      row.samples.add(b.bytes() * 1e-9 / permuted);
      row.ceiling.add(b.bytes() * 1e-9 / copied);
    }
    report.add(row);
  } while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace
}  // namespace ob::bench

int main(int argc, char** argv) {
  using namespace ob::bench;
  const Options options = Options::parse_or_exit(
      argc, argv, "Operations on SIAL blocks: contractions, permutations, small blocks.",
      {"contract", "permute", "small"});
  Report report;
  auto gemm = ob::apps::open_host_gemm(1);
  ob::sial::LoopGemm loops;
  if (!gemm.ok()) std::fprintf(stderr, "%s\n", gemm.status().message().c_str());
  Contractions contractions(options, report, gemm.ok() ? *gemm.value() : loops);
  if (options.wants("contract")) {
    for (const std::int64_t extent :
         options.check ? std::vector<std::int64_t>{3} : std::vector<std::int64_t>{10, 14, 20, 32}) {
      for (const Form& form : kForms) contractions.measure(form, extent);
    }
  }
  if (options.wants("small")) {
    for (const std::int64_t extent : {2, 3, 4, 5, 6}) contractions.measure_start(extent);
  }
  if (options.wants("permute")) {
    using Extents = std::vector<std::int64_t>;
    for (const Extents& extents : options.check ? std::vector<Extents>{{5, 3, 4, 2}}
                                                : std::vector<Extents>{{20, 20, 20, 20},
                                                                       {32, 32, 32, 32},
                                                                       {19, 47, 23, 35},
                                                                       {8, 90, 90, 8},
                                                                       {90, 91, 92, 11}}) {
      measure_permutations(options, report, extents);
    }
  }
  report.write(options);
  return 0;
}
