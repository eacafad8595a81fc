#include "settings.hpp"

#include <cstdio>
#include <cstdlib>
#include <random>

namespace standin {
namespace {

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  switch (*end) {
    case 'K': return value << 10;
    case 'M': return value << 20;
    case 'G': return value << 30;
    default: return value;
  }
}

Settings read() {
  Settings s;
  s.devices = static_cast<int>(number("STANDIN_CUDA_DEVICES", 1));
  s.memory_bytes = number("STANDIN_CUDA_MEMORY", s.memory_bytes);
  s.delay_us = static_cast<unsigned>(number("STANDIN_CUDA_DELAY_US", 0));
  s.sticky = number("STANDIN_CUDA_STICKY", 0);
  s.no_driver = number("STANDIN_CUDA_NO_DRIVER", 0) != 0;
  s.peers = number("STANDIN_CUDA_PEERS", 1) != 0;
  s.abort_on_violation = number("STANDIN_CUDA_ABORT", 0) != 0;
  s.exit_code = number("STANDIN_CUDA_EXIT", 0) != 0;
  s.quiet = number("STANDIN_CUDA_QUIET", 0) != 0;
  s.seed = number("OUTBOARD_TEST_SEED", std::random_device{}());
  if (s.delay_us > 0 && !s.quiet) {
    std::fprintf(stderr, "standin_cuda: seed: OUTBOARD_TEST_SEED=%llu\n",
                 static_cast<unsigned long long>(s.seed));
  }
  return s;
}

}  // namespace

const Settings& settings() {
  static const Settings kSettings = read();
  return kSettings;
}

}  // namespace standin
