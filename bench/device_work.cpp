// Runs work of the device API on the devices of given daemons, as lines on the standard input ask
// for it, and prints a number for each:
//
//   copy BYTES COUNT            from the first device to the second, each copy waited for; GB/s
//   stream BYTES COUNT          the same with one wait at the end; GB/s
//   memcpy BYTES COUNT          the same as `copy` by one thread of this process; GB/s
//   factor ROUTINE ORDER COUNT  potrf, getrf or geqrf by ob_on_devices() on the first COUNT
//   devices;
//                               seconds
//
// bench/outboard_bench/device_places.py runs it and makes the links.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <outboard/device.hpp>

#include "bench/ceilings.hpp"
#include "bench/command_line.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A device with a queue and, after the first copy, a buffer.
struct Place {
  explicit Place(const std::string& where) : device(where), queue(device) {}

  ob_place room(std::uint64_t bytes) {
    if (buffer == nullptr || bytes > size) {
      buffer = std::make_unique<outboard::Vector<double>>(
          device, static_cast<std::int64_t>(bytes / sizeof(double)));
      size = bytes;
    }
    return {buffer->buffer().get(), 0};
  }

  outboard::Device device;
  outboard::Queue queue;
  std::unique_ptr<outboard::Vector<double>> buffer;
  std::uint64_t size = 0;
};

using Places = std::vector<std::unique_ptr<Place>>;

double copy(Places& places, std::uint64_t bytes, std::uint64_t count, bool wait_for_each) {
  Place& from = *places[0];
  Place& to = *places[1];
  const ob_place source = from.room(bytes);
  const ob_place target = to.room(bytes);
  const ob_rect all{bytes, 1, bytes, bytes, 8, 0};
  const auto start = Clock::now();
  for (std::uint64_t i = 0; i < count; ++i) {
    outboard::check(ob_copy_between(from.queue.get(), source, to.queue.get(), target, &all));
    if (!wait_for_each && i + 1 < count) continue;
    to.queue.synchronize();
    from.queue.synchronize();
  }
  return static_cast<double>(bytes) * static_cast<double>(count) * 1e-9 / seconds_since(start);
}

ob_operand number(std::int64_t value) {
  ob_operand operand{};
  operand.value.integer = value;
  return operand;
}

ob_operand flag(char value) {
  ob_operand operand{};
  operand.value.flag = value;
  return operand;
}

ob_operand host(void* at, std::int64_t ld) {
  ob_operand operand{};
  operand.value.host = at;
  operand.ld = ld;
  return operand;
}

// A matrix that has a Cholesky factor, and whose pivots are those on the diagonal.
void fill(std::vector<double>& a, std::int64_t order) {
  for (std::int64_t j = 0; j < order; ++j) {
    for (std::int64_t i = 0; i < order; ++i) {
      a[static_cast<std::size_t>(j * order + i)] =
          i == j ? static_cast<double>(2 * order) : 1.0 / static_cast<double>(1 + i + j);
    }
  }
}

double factor(const Places& places, const std::string& routine, std::int64_t order,
              std::size_t devices) {
  std::vector<double> a(static_cast<std::size_t>(order * order));
  std::vector<double> tau(static_cast<std::size_t>(order));
  std::vector<std::int64_t> pivots(static_cast<std::size_t>(order));
  std::int64_t info = -1;
  fill(a, order);
  std::vector<ob_device> handles;
  for (std::size_t i = 0; i < devices; ++i) handles.push_back(places.at(i)->device.get());
  std::vector<ob_operand> operands;
  if (routine == "potrf") {
    operands = {flag('L'), number(order), host(a.data(), order)};
  } else {
    operands = {number(order), number(order), host(a.data(), order),
                routine == "getrf" ? host(pivots.data(), 1) : host(tau.data(), 1)};
  }
  operands.push_back(host(&info, 0));
  const auto start = Clock::now();
  outboard::check(ob_on_devices(handles.data(), devices, ("d" + routine).c_str(), operands.data(),
                                operands.size()));
  const double taken = seconds_since(start);
  if (info == 0) return taken;
  std::fprintf(stderr, "device_work: d%s has the info %lld\n", routine.c_str(),
               static_cast<long long>(info));
  std::exit(1);
}

double work(Places& places, const std::string& line) {
  std::istringstream words(line);
  std::string verb;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  words >> verb;
  std::string routine;
  if (verb == "factor") words >> routine;
  words >> first >> second;
  const bool known = verb == "copy" || verb == "stream" || verb == "memcpy" || verb == "factor";
  if (!words || !known || first == 0 || second == 0) {
    std::fprintf(stderr, "device_work: unknown work \"%s\"\n", line.c_str());
    std::exit(2);
  }
  if (verb == "factor") return factor(places, routine, static_cast<std::int64_t>(first), second);
  if (verb == "memcpy") return ob::bench::memcpy_once(first, false);
  return copy(places, first, second, verb == "copy");
}

}  // namespace

int main(int argc, char** argv) {
  std::string servers;
  ob::bench::CommandLine line("Work on devices; reads lines, prints a number for each.");
  line.add("--servers", &servers, "addresses of devices, with commas", {.required = true});
  line.parse_or_exit(argc, argv);
  try {
    Places places;
    std::istringstream names(servers);
    for (std::string name; std::getline(names, name, ',');)
      places.push_back(std::make_unique<Place>(name));
    for (std::string asked; std::getline(std::cin, asked);) {
      std::printf("%.9g\n", work(places, asked));
      std::fflush(stdout);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "device_work: %s\n", error.what());
    return 1;
  }
  return 0;
}
