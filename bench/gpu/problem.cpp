#include "bench/gpu/problem.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "bench/or_exit.hpp"

namespace ob::bench::gpu {

template <class Real>
void fill(Real* values, std::size_t count) {
  std::uint64_t state = 0x9E3779B97F4A7C15;
  for (std::size_t i = 0; i < count; ++i) {
    // Numerical Recipes' 64-bit congruential generator; its upper bits are good enough for
    // operands.
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    values[i] = static_cast<Real>(static_cast<double>(state >> 40) * 0x1p-24);
  }
}
template void fill(float*, std::size_t);
template void fill(double*, std::size_t);

void copy(const Device& device, const Block& to, const Block& from, cudaMemcpyKind kind) {
  or_exit(device.check(
      device.runtime().cudaMemcpyAsync(to.as<void>(), from.as<void>(),
                                       std::min(to.bytes(), from.bytes()), kind, device.stream()),
      "cannot copy"));
}

std::unique_ptr<Problem> Problem::create(const Device& device, const std::string& routine,
                                         const std::string& size) {
  std::vector<long long> lengths;
  std::stringstream words(size);
  for (std::string word; std::getline(words, word, 'x');)
    lengths.push_back(std::strtoll(word.c_str(), nullptr, 10));
  if (lengths.empty() || *std::min_element(lengths.begin(), lengths.end()) < 1) return nullptr;
  if (routine == "c2c") return lengths.size() > 3 ? nullptr : make_transform(device, lengths);
  if (lengths.size() != 1) return nullptr;
  if (routine == "dgemm") return make_product(device, lengths[0]);
  return make_factorisation(device, routine, lengths[0]);
}

}  // namespace ob::bench::gpu
