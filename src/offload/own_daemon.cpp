#include "offload/own_daemon.hpp"

#include <algorithm>

#include "base/machine.hpp"
#include "offload/local_library.hpp"
#include "offload/processor.hpp"

namespace ob::offload {
namespace {

// The products of a well-kept library reach nine tenths of the peak.
constexpr double kPartOfPeak = 0.9;
// The daemon opens its libraries and measures a product, and OpenBLAS's threads spin for a while. A
// program that computed on both cores of a machine took 0.08 to 0.1 s longer.
constexpr double kStartS = 0.1;
// A program that ends soon after the start has paid a fifth of its time in calls, at most.
constexpr double kTimesReturned = 5;
// The device may be so many times faster than a library that nobody knows.
constexpr double kUnknownFactor = 2;

}  // namespace

double own_daemon_rate(std::string_view core_type) noexcept {
  return kPartOfPeak * flop_per_cycle(this_processor(), core_type) * clock_hz() * usable_cores();
}

double peak_of(const policy::LocalLibrary& library) noexcept {
  return library.clock_hz * library.flop_per_cycle * library.threads;
}

bool is_worth_starting(double long_s, const policy::LocalLibrary* library,
                       double daemon_rate) noexcept {
  const bool known = library != nullptr && library->kind != policy::LibraryKind::unknown;
  const double factor = known ? daemon_rate / peak_of(*library) : kUnknownFactor;
  return long_s * (1 - 1 / std::max(factor, 1.0)) >= kTimesReturned * kStartS;
}

}  // namespace ob::offload
