#include "conformance/device/storage.hpp"

#include <limits>

namespace ob::test {

Storage Storage::band(std::uint64_t m, std::uint64_t n, std::uint64_t kl, std::uint64_t ku) {
  return {m, n, kl, ku};
}

Storage Storage::half_band(char uplo, std::uint64_t n, std::uint64_t k) {
  return uplo == 'U' ? Storage(n, n, 0, k) : Storage(n, n, k, 0);
}

Storage Storage::packed(char uplo, std::uint64_t n) {
  Storage storage = half_band(uplo, n, n);
  storage.packed_ = uplo;
  return storage;
}

std::uint64_t Storage::place(std::uint64_t i, std::uint64_t j) const {
  if (packed_ == 'U') return j * (j + 1) / 2 + i;
  if (packed_ == 'L') return j * n_ - j * (j + 1) / 2 + i;
  return j * (kl_ + ku_ + 1) + ku_ + i - j;
}

Dense Storage::empty() const {
  Dense stored = packed_ != 0 ? Dense(n_ * (n_ + 1) / 2, 1) : Dense(kl_ + ku_ + 1, n_);
  for (Wide& x : stored.elements) x = std::numeric_limits<long double>::quiet_NaN();
  return stored;
}

Dense Storage::unpack(const Dense& stored) const {
  Dense full(m_, n_);
  for (std::uint64_t j = 0; j < n_; ++j) {
    for (std::uint64_t i = 0; i < m_; ++i) {
      if (holds(i, j)) full(i, j) = stored.elements[place(i, j)];
    }
  }
  return full;
}

Dense Storage::pack(const Dense& full) const {
  Dense stored = empty();
  for (std::uint64_t j = 0; j < n_; ++j) {
    for (std::uint64_t i = 0; i < m_; ++i) {
      if (holds(i, j)) stored.elements[place(i, j)] = full(i, j);
    }
  }
  return stored;
}

}  // namespace ob::test
