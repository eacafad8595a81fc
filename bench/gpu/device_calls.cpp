// Calls NVIDIA's libraries directly, with operands in page-locked memory. This gives the times of a
// program that is written for the device. `outboard bench gpu` compares unmodified programs with
// them.
//
// usage: device_calls probe                    one line: the device, its memory, the drivers
//        device_calls ROUTINE SIZE RUNS        one line of JSON with a time of each run [ms]:
//                                              to the device, computing, back, and all of it
// ROUTINE: dgemm sgesv dpotrf dgeqrf N, c2c N[xN[xN]] (double). The first run is not counted,
// because libraries load their code in it.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "bench/gpu/problem.hpp"
#include "bench/or_exit.hpp"

namespace {

using ob::bench::or_exit;
using ob::bench::gpu::Device;
using ob::bench::gpu::Problem;

struct Times {
  std::vector<float> to_device, compute, back, whole;
};

// An event between two steps.
class Mark {
 public:
  explicit Mark(const Device& device) : device_(device) {
    or_exit(device.check(device.runtime().cudaEventCreateWithFlags(&event_, cudaEventDefault),
                         "cannot make an event"));
  }
  ~Mark() { (void)device_.runtime().cudaEventDestroy(event_); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;

  void here() {
    or_exit(device_.check(device_.runtime().cudaEventRecord(event_, device_.stream()),
                          "cannot record an event"));
  }
  float ms_since(const Mark& before) const {
    float ms = 0;
    or_exit(device_.check(device_.runtime().cudaEventElapsedTime(&ms, before.event_, event_),
                          "cannot read an event"));
    return ms;
  }

 private:
  const Device& device_;
  cudaEvent_t event_ = nullptr;
};

void run(const Device& device, Problem& problem, Times& times, bool counted) {
  Mark begin(device);
  Mark there(device);
  Mark computed(device);
  Mark end(device);
  begin.here();
  problem.copy_to_device();
  there.here();
  problem.compute();
  computed.here();
  problem.copy_back();
  end.here();
  device.synchronize();
  problem.check();
  if (!counted) return;
  times.to_device.push_back(there.ms_since(begin));
  times.compute.push_back(computed.ms_since(there));
  times.back.push_back(end.ms_since(computed));
  times.whole.push_back(end.ms_since(begin));
}

void print(const char* name, const std::vector<float>& values, const char* end) {
  std::printf("\"%s\": [", name);
  for (std::size_t i = 0; i < values.size(); ++i)
    std::printf("%s%.6g", i == 0 ? "" : ", ", static_cast<double>(values[i]));
  std::printf("]%s", end);
}

int probe() {
  const Device device;
  std::printf("%s\n", device.description().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "probe") return probe();
  const int runs = argc == 4 ? std::atoi(argv[3]) : 0;
  if (runs < 1) {
    std::fprintf(stderr, "usage: device_calls probe | device_calls ROUTINE SIZE RUNS\n");
    return 2;
  }
  const Device device;
  const std::unique_ptr<Problem> problem = Problem::create(device, argv[1], argv[2]);
  if (problem == nullptr) {
    std::fprintf(stderr, "device_calls: no problem is called %s %s\n", argv[1], argv[2]);
    return 2;
  }
  Times times;
  for (int i = 0; i <= runs; ++i) run(device, *problem, times, i != 0);
  std::printf("{");
  print("to_device", times.to_device, ", ");
  print("compute", times.compute, ", ");
  print("back", times.back, ", ");
  print("whole", times.whole, "}\n");
  return 0;
}
