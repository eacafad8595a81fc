#include "sial/worker/pardo_times.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <numeric>
#include <queue>
#include <set>
#include <sstream>
#include <string>
#include <utility>

namespace ob::sial {
namespace {

constexpr std::size_t kMostClasses = 128;
constexpr double kUneven = 1.1;  // the slowest worker's time over the mean
// Iterations of a class that the times of earlier runs stand for at most, so that new ones count.
constexpr double kMostRemembered = 100;
constexpr const char* kFirstLine = "times of pardos, version 1";

double& member(ClassTimes& times, unsigned i) {
  return i == 0 ? times.count : i == 1 ? times.time : times.squares;
}

// Returns a product of extents, or a power of 2^(1/4) near it: few where there are many products.
std::uint64_t rounded(std::uint64_t product) {
  const double quarter = std::round(4 * std::log2(static_cast<double>(product)));
  return static_cast<std::uint64_t>(std::llround(std::exp2(quarter / 4)));
}

}  // namespace

PardoTimes::PardoTimes(const Program& program, const Layout& layout, Rank workers)
    : program_(program), layout_(layout), workers_(workers) {
  for (std::uint32_t loop = 0; loop < program.loops.size(); ++loop) {
    if (program.loops[loop].kind == LoopKind::pardo) pardos_[loop].loop = loop;
  }
}

void PardoTimes::keep_classes(std::uint32_t loop) {
  std::set<std::uint64_t> products{1};
  for (const std::uint32_t index : program_.loops[loop].indices) {
    const Layout::IndexRange& range = layout_.range(index);
    if (range.kind == IndexKind::subindex) continue;
    std::set<std::uint64_t> extents, next;
    for (std::int64_t segment = range.lower; segment <= range.upper; ++segment) {
      extents.insert(static_cast<std::uint64_t>(layout_.extent(index, segment)));
      if (range.kind == IndexKind::simple) break;  // all have one element
    }
    for (const std::uint64_t product : products) {
      for (const std::uint64_t extent : extents) next.insert(product * extent);
    }
    if (next.size() > kMostClasses) {
      std::set<std::uint64_t> fewer;
      for (const std::uint64_t product : next) fewer.insert(rounded(product));
      next = std::move(fewer);
    }
    products = std::move(next);
  }
  Pardo& pardo = pardos_.at(loop);
  pardo.products.assign(products.begin(), products.end());
  pardo.own.resize(pardo.products.size());
  pardo.all.resize(pardo.products.size());
}

std::size_t PardoTimes::class_of(std::uint32_t loop, const IndexValues& values) const {
  const std::vector<std::uint64_t>& products = pardos_.at(loop).products;
  std::uint64_t product = 1;
  for (const std::uint32_t index : program_.loops[loop].indices) {
    if (layout_.range(index).kind == IndexKind::subindex) continue;
    product *= static_cast<std::uint64_t>(layout_.extent(index, values[index]));
  }
  // Products that were rounded are near one of the list.
  const auto above = std::ranges::lower_bound(products, product);
  if (above == products.end()) return products.size() - 1;
  const auto at = static_cast<std::size_t>(above - products.begin());
  return at > 0 && product - products[at - 1] < *above - product ? at - 1 : at;
}

void PardoTimes::note(std::uint32_t loop, const IndexValues& values, double time) {
  Pardo& pardo = pardos_.at(loop);
  pardo.mine += time;
  if (pardo.products.empty()) return;
  ClassTimes& times = pardo.own[class_of(loop, values)];
  times.count += 1;
  times.time += time;
  times.squares += time * time;
}

void PardoTimes::put_into(Message& part) const {
  for (const auto& [loop, pardo] : pardos_) {
    part.numbers.push_back(pardo.mine);
    for (const ClassTimes& times : pardo.own) {
      part.numbers.insert(part.numbers.end(), {times.count, times.time, times.squares});
    }
  }
  part.number = part.numbers.size();  // the numbers behind are combined by max
  for (const auto& [loop, pardo] : pardos_) part.numbers.push_back(pardo.mine);
}

void PardoTimes::take(const Message& result, double least) {
  auto sums = result.numbers.begin();
  auto most = sums + static_cast<std::ptrdiff_t>(result.number);
  for (auto& [loop, pardo] : pardos_) {
    const double mean = *sums++ / workers_;
    const double slowest = *most++;
    pardo.mean += mean;
    pardo.slowest += slowest;
    if (slowest > least && slowest > kUneven * mean) pardo.uneven = true;
    for (ClassTimes& times : pardo.all) {
      for (unsigned i = 0; i < 3; ++i) member(times, i) += *sums++;
    }
    pardo.mine = 0;
    std::ranges::fill(pardo.own, ClassTimes{});
  }
}

std::string PardoTimes::place_of(const Pardo& pardo) const {
  const Line& line = program_.lines[program_.loops[pardo.loop].begin];
  const std::filesystem::path source = program_.sources[line.source].name;
  return source.filename().string() + ":" + std::to_string(line.line);
}

void PardoTimes::load(const std::filesystem::path& file) {
  std::ifstream from(file);
  std::string text;
  if (!std::getline(from, text) || text != kFirstLine) return;
  std::map<std::pair<std::string, std::uint64_t>, ClassTimes> known;
  while (std::getline(from, text)) {
    std::istringstream line(text);
    std::uint64_t product = 0;
    ClassTimes times;
    std::string place;
    line >> product >> times.count >> times.time >> times.squares >> std::ws;
    const bool right = line && std::getline(line, place) && times.count > 0 && times.time >= 0;
    if (right) known[{place, product}] = times;
  }
  for (auto& [loop, pardo] : pardos_) {
    for (std::size_t at = 0; at < pardo.products.size(); ++at) {
      const auto found = known.find({place_of(pardo), pardo.products[at]});
      if (found == known.end()) continue;
      const double part = std::min(1.0, kMostRemembered / found->second.count);
      for (unsigned i = 0; i < 3; ++i) member(pardo.own[at], i) += part * member(found->second, i);
    }
  }
}

Status PardoTimes::save(const std::filesystem::path& file) const {
  std::ostringstream text;
  text.precision(9);
  text << kFirstLine << "\n";
  bool any = false;
  for (const auto& [loop, pardo] : pardos_) {
    for (std::size_t at = 0; at < pardo.products.size(); ++at) {
      const ClassTimes& times = pardo.all[at];
      if (times.count == 0) continue;
      any = true;
      text << pardo.products[at] << " " << times.count << " " << times.time << " " << times.squares
           << " " << place_of(pardo) << "\n";
    }
  }
  if (!any) return {};
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  const std::filesystem::path made = file.string() + ".new";
  {
    std::ofstream to(made);
    to << text.str();
    to.flush();
    if (!to) return {Code::unavailable, "cannot write " + made.string() + "; check free space"};
  }
  std::filesystem::rename(made, file, error);
  if (error) return {Code::unavailable, "cannot write " + file.string() + ": " + error.message()};
  return {};
}

std::vector<ClassShare> longest_first(const std::vector<std::uint64_t>& counts,
                                      const std::vector<double>& costs, Rank workers, Rank worker) {
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t one) { return costs[one]; });
  using Load = std::pair<double, Rank>;  // the first of equal ones is the lowest rank
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (Rank rank = 0; rank < workers; ++rank) loads.emplace(0.0, rank);
  std::vector<ClassShare> shares(counts.size());
  for (const std::size_t one : order) {
    std::vector<std::uint64_t> given(workers);
    for (std::uint64_t i = 0; i < counts[one]; ++i) {
      const auto [load, rank] = loads.top();
      loads.pop();
      ++given[rank];
      loads.emplace(load + costs[one], rank);
    }
    for (Rank rank = 0; rank < worker; ++rank) shares[one].first += given[rank];
    shares[one].end = shares[one].first + given[worker];
  }
  return shares;
}

}  // namespace ob::sial
