// Measures, for several sizes, copies that swap the bytes of every word. It runs each loop that
// this processor supports, with the stores of the library (past the caches from a size on), on one
// thread and on two that share the work. The ceiling is memcpy on as many threads. Both run in
// turns.
// Source: DaCS, "Optimized Byte-Swapping"

#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bench/conversation.hpp"
#include "bench/report.hpp"
#include "wire/byte_swap.hpp"
#include "wire/detail/swap_kernels.hpp"

namespace ob::bench {
namespace {

using Clock = std::chrono::steady_clock;
using wire::detail::Store;
using wire::detail::SwapKernel;
/// Moves `bytes`, which are a part of the data of the case.
using Move = std::function<void(std::byte* to, const std::byte* from, std::size_t bytes)>;

// Source and destination. They are far apart, and all pages are touched.
struct Areas {
  explicit Areas(std::size_t bytes) : from(bytes, std::byte{1}), to(bytes, std::byte{2}) {}
  std::vector<std::byte> from;
  std::vector<std::byte> to;
};

// Measures the rate of `moves` moves [GB/s]. Every thread moves its own part of each.
double rate(Areas& areas, std::size_t bytes, unsigned threads, std::uint64_t moves,
            const Move& move) {
  const std::size_t part = bytes / threads;
  const auto work = [&](unsigned index) {
    for (std::uint64_t i = 0; i < moves; ++i) {
      move(areas.to.data() + index * part, areas.from.data() + index * part, part);
      asm volatile("" : : "r"(areas.to.data()) : "memory");  // keeps the compiler from merging
    }
  };
  std::barrier start(threads);
  std::vector<std::thread> others;
  for (unsigned index = 1; index < threads; ++index) {
    others.emplace_back([&, index] {
      start.arrive_and_wait();
      work(index);
    });
  }
  start.arrive_and_wait();
  const auto begun = Clock::now();
  work(0);
  for (std::thread& other : others) other.join();
  const std::chrono::duration<double> taken = Clock::now() - begun;
  return static_cast<double>(bytes) * static_cast<double>(moves) / taken.count() * 1e-9;
}

void measure(const Options& options, Report& report, Areas& areas, std::size_t bytes,
             const SwapKernel& kernel, std::size_t word_bytes, unsigned threads) {
  const std::uint64_t moves = options.check ? 2 : messages_for(bytes);
  // copy_swapped() decides in the same way
  const Store store = bytes >= wire::kStreamingBytes ? Store::streaming : Store::cached;
  const Move swap = [&](std::byte* to, const std::byte* from, std::size_t part) {
    kernel.loop(to, from, part, word_bytes, store);
  };
  const Move copy = [](std::byte* to, const std::byte* from, std::size_t part) {
    std::memcpy(to, from, part);
  };
  Row row;
  row.bench = "byte_swap";
  row.name = std::string(kernel.name) + ", " + std::to_string(8 * word_bytes) + "-bit words, " +
             std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  row.bytes = bytes;
  row.unit = "GB/s";
  row.ceiling_name = "memcpy by as many threads";
  (void)rate(areas, bytes, threads, 1, swap);
  for (int run = 0; run < options.runs; ++run) {
    row.samples.add(rate(areas, bytes, threads, moves, swap));
    row.ceiling.add(rate(areas, bytes, threads, moves, copy));
  }
  report.add(row);
}

std::vector<std::size_t> sizes(bool check) {
  if (check) return {16 << 10, 1 << 20};
  return {4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20};
}

}  // namespace
}  // namespace ob::bench

int main(int argc, char** argv) {
  using namespace ob::bench;
  const Options options = Options::parse_or_exit(
      argc, argv, "Swapping bytes while copying, by size, loop, word and threads.");
  const std::vector<std::size_t> all = sizes(options.check);
  Areas areas(all.back());
  Report report;
  for (const auto& kernel : ob::wire::detail::swap_kernels()) {
    for (const std::size_t word_bytes : {4U, 8U}) {
      for (const unsigned threads : {1U, 2U}) {
        for (const std::size_t bytes : all)
          measure(options, report, areas, bytes, kernel, word_bytes, threads);
      }
    }
  }
  report.write(options);
  return 0;
}
