#include "offload/processor.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <atomic>

#include "offload/clock.hpp"

namespace ob::offload {
namespace {

using Vectors = Processor::Vectors;
using Vendor = Processor::Vendor;

struct CoreWidth {
  std::string_view name;
  double flop_per_cycle;
};

// A fused multiply-add counts 2 for each number of a vector, and two units work at once unless the
// comment says something else.
constexpr CoreWidth kCores[] = {
    // AVX-512
    {"skylakex", 32},
    {"cooperlake", 32},
    {"sapphirerapids", 32},
    {"skx", 32},
    {"knl", 32},
    {"zen4", 32},
    {"zen5", 32},
    // AVX2 with fused multiply-add
    {"haswell", 16},
    {"zen", 16},
    {"zen2", 16},
    {"zen3", 16},
    // AVX: one unit multiplies, another one adds
    {"sandybridge", 8},
    // fused multiply-add of 128 bits
    {"bulldozer", 8},
    {"piledriver", 8},
    {"steamroller", 8},
    {"excavator", 8},
    // SSE: one unit multiplies, another one adds
    {"prescott", 4},
    {"core2", 4},
    {"penryn", 4},
    {"dunnington", 4},
    {"nehalem", 4},
    {"atom", 4},
    {"barcelona", 4},
    {"bobcat", 4},
    {"opteron", 4},
    {"opteron_sse3", 4},
    {"nano", 4},
    // Arm: NEON or SVE
    {"armv8", 8},
    {"armv8sve", 16},
    {"armsve", 16},
    {"cortexa53", 2},
    {"cortexa55", 4},
    {"cortexa57", 4},
    {"cortexa72", 4},
    {"cortexa73", 4},
    {"cortexa76", 8},
    {"cortexx1", 16},
    {"cortexx2", 16},
    {"neoversen1", 8},
    {"neoversen2", 8},
    {"neoversev1", 16},
    {"neoversev2", 16},
    {"thunderx", 2},
    {"thunderx2", 8},
    {"thunderx2t99", 8},
    {"thunderx3t110", 8},
    {"tsv110", 8},
    {"emag8180", 4},
    {"falkor", 4},
    {"a64fx", 32},
    {"vortex", 12},
    {"vortexm4", 16},
    {"firestorm", 16},
    {"altra", 8},
    {"altramax", 8},
    // POWER and IBM Z
    {"power8", 8},
    {"power9", 8},
    {"power10", 16},
    {"z13", 4},
    {"z14", 8},
    // kernels in plain C
    {"generic", 2},
};

constexpr char lower(char letter) noexcept {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool equal_in_any_case(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

// Ice Lake, Tiger Lake and Rocket Lake for clients have one unit of 512 bits.
bool has_one_wide_unit(const Processor& processor) noexcept {
  constexpr unsigned kModels[] = {0x7D, 0x7E, 0x8C, 0x8D, 0xA7};
  return processor.vendor == Vendor::intel && processor.family == 6 &&
         std::find(std::begin(kModels), std::end(kModels), processor.model) != std::end(kModels);
}

double flop_per_cycle_avx512(const Processor& processor) noexcept {
  // Zen 4 has units of 256 bits, which take two cycles for 512.
  const bool zen4 = processor.vendor == Vendor::amd && processor.family == 0x19;
  return zen4 || has_one_wide_unit(processor) ? 16 : 32;
}

double flop_per_cycle_avx2(const Processor& processor) noexcept {
  // The first Zen has units of 128 bits. Zen 2 begins at model 30h.
  const bool zen1 =
      processor.vendor == Vendor::amd && processor.family == 0x17 && processor.model < 0x30;
  return zen1 ? 8 : 16;
}

constexpr int kAdditions = 128;  // per statement
constexpr int kRounds = 100;     // 12800 additions are 4 us at 3 GHz

// Each addition waits for the one before it and takes one cycle. Both operands are in registers,
// because some processors add constants in no time. The loop's own work runs beside the chain.
void add_in_a_chain() noexcept {
  std::uint64_t sum = 1;
  const std::uint64_t step = 3;
  for (int round = 0; round < kRounds; ++round) {
#if defined(__x86_64__)
    __asm__ volatile(".rept %c2\n add %1, %0\n .endr" : "+r"(sum) : "r"(step), "i"(kAdditions));
#elif defined(__aarch64__)
    __asm__ volatile(".rept %c2\n add %0, %0, %1\n .endr" : "+r"(sum) : "r"(step), "i"(kAdditions));
#else
    for (int i = 0; i < kAdditions; ++i) {
      sum += step;
      __asm__ volatile("" : "+r"(sum));  // the compiler must not combine additions
    }
#endif
  }
}

// Interrupts and other programs only make a try longer, so the shortest one counts.
double measure_clock_hz() noexcept {
  constexpr int kTries = 12;
  constexpr double kEnoughS = 60e-6;
  const std::uint64_t begin = now_ns();
  double shortest = 1;
  for (int i = 0; i < kTries && (i == 0 || seconds_since(begin) < kEnoughS); ++i) {
    const std::uint64_t began = now_ns();
    add_in_a_chain();
    shortest = std::min(shortest, seconds_since(began));
  }
  const double clock = kAdditions * kRounds / std::max(shortest, 1e-9);
  return std::clamp(clock, 0.2e9, 10e9);  // of any processor; a stopped machine gives less
}

}  // namespace

Processor this_processor() noexcept {
  Processor found;
#if defined(__x86_64__)
  // Each question is a trap in a virtual machine. Every x86-64 processor has the first two.
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  __cpuid(0, eax, ebx, ecx, edx);  // "GenuineIntel", "AuthenticAMD"
  found.vendor = ebx == signature_INTEL_ebx ? Vendor::intel
                 : ebx == signature_AMD_ebx ? Vendor::amd
                                            : Vendor::other;
  __cpuid(1, eax, ebx, ecx, edx);
  found.family = (eax >> 8U) & 0xFU;
  found.model = (eax >> 4U) & 0xFU;
  if (found.family == 6 || found.family == 15) found.model += ((eax >> 16U) & 0xFU) << 4U;
  if (found.family == 15) found.family += (eax >> 20U) & 0xFFU;
  __builtin_cpu_init();
  found.vectors = __builtin_cpu_supports("avx512f") ? Vectors::avx512
                  : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
                      ? Vectors::avx2_fma
                  : __builtin_cpu_supports("avx") ? Vectors::avx
                                                  : Vectors::sse2;
#elif defined(__aarch64__)
  found.vectors = Vectors::neon;
#endif
  return found;
}

double flop_per_cycle(const Processor& processor) noexcept {
  switch (processor.vectors) {
    case Vectors::avx512: return flop_per_cycle_avx512(processor);
    case Vectors::avx2_fma: return flop_per_cycle_avx2(processor);
    case Vectors::avx: return 8;
    case Vectors::sse2: return 4;
    case Vectors::neon: return 8;
    case Vectors::scalar: break;
  }
  return 4;  // POWER and others have vectors, too
}

double flop_per_cycle_of_core(std::string_view core) noexcept {
  for (const CoreWidth& known : kCores)
    if (equal_in_any_case(core, known.name)) return known.flop_per_cycle;
  return 0;
}

std::string_view core_type_of(std::string_view config) noexcept {
  while (!config.empty()) {
    const std::size_t end = std::min(config.find(' '), config.size());
    const std::string_view word = config.substr(0, end);
    if (flop_per_cycle_of_core(word) > 0) return word;
    config.remove_prefix(std::min(end + 1, config.size()));
  }
  return {};
}

double clock_hz() noexcept {
  static std::atomic<double> measured{0};  // two threads may measure; each result is valid
  double clock = measured.load(std::memory_order_relaxed);
  if (clock > 0) return clock;
  clock = measure_clock_hz();
  measured.store(clock, std::memory_order_relaxed);
  return clock;
}

}  // namespace ob::offload
