#include "backend/cpu/backend.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>

#include "backend/cpu/cores.hpp"
#include "backend/cpu/device.hpp"

namespace ob::cpu {
namespace {

unsigned thread_count(const Config& config) {
  if (config.threads != 0) return config.threads;
  if (const char* wanted = std::getenv("OPENBLAS_NUM_THREADS");
      wanted != nullptr && config.devices == 1) {
    if (const long number = std::strtol(wanted, nullptr, 10); number >= 1 && number <= 1024) {
      return static_cast<unsigned>(number);
    }
  }
  return std::max(1u, usable_cores() / config.devices);
}

CpuDevice::Libraries open_libraries(const Config& config, unsigned threads) {
  CpuDevice::Libraries libraries;
  auto blas = BlasLibrary::open({.own_instance = config.index > 0, .threads = threads});
  libraries.no_blas = blas.status();
  if (blas.ok()) libraries.blas = std::move(blas).value();
  for (const bool single : {false, true}) {
    auto fft = FftLibrary::open(single);
    libraries.no_fft[single ? 1 : 0] = fft.status();
    if (fft.ok()) libraries.fft[single ? 1 : 0] = std::move(fft).value();
  }
  return libraries;
}

std::string describe(const CpuDevice::Libraries& libraries) {
  std::string text =
      libraries.blas != nullptr ? libraries.blas->description() : libraries.no_blas.message();
  for (std::size_t i = 0; i < libraries.fft.size(); ++i) {
    text += "; " + (libraries.fft[i] != nullptr ? libraries.fft[i]->description()
                                                : libraries.no_fft[i].message());
  }
  if (libraries.blas != nullptr && !libraries.blas->warning().empty()) {
    text += "; warning: " + libraries.blas->warning();
  }
  return text;
}

}  // namespace

Result<std::unique_ptr<Device>> create(const Config& config) {
  if (config.devices == 0 || config.index >= config.devices) {
    return Status(Code::invalid_argument, "no device " + std::to_string(config.index) + " among " +
                                              std::to_string(config.devices));
  }
  if (!std::isfinite(config.longest_command_s) || config.longest_command_s < 0) {
    return Status(Code::invalid_argument, "the time of the longest command must be a number");
  }
  const unsigned threads = thread_count(config);
  CpuDevice::Libraries libraries = open_libraries(config, threads);
  DeviceInfo info;
  info.backend = "cpu";
  info.description = describe(libraries);
  info.memory_bytes =
      config.memory_bytes != 0 ? config.memory_bytes : share_of_host_memory(config.devices);
  if (libraries.blas != nullptr) info.gflops_double = libraries.blas->measure_gflops();
  auto device = std::make_unique<CpuDevice>(std::move(info), std::move(libraries), threads,
                                            config.longest_command_s);
  device->fail_allocations(config.fail_allocations);
  device->corrupt(config.corrupt);
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace ob::cpu
