#include "bench/fft_input.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace ob::bench {
namespace {

constexpr std::size_t kMaxRank = 3;

// The element of a plane that holds the complex conjugate. Every index is negated, modulo its
// length.
std::size_t mirror(const std::vector<int>& lengths, std::size_t index) {
  std::size_t mirrored = 0;
  std::size_t scale = 1;
  for (std::size_t d = lengths.size() - 1; d-- > 0;) {  // a plane has no last dimension
    const auto n = static_cast<std::size_t>(lengths[d]);
    mirrored += (n - index % n) % n * scale;
    index /= n;
    scale *= n;
  }
  return mirrored;
}

// Makes one plane of a half spectrum symmetric. It must be its own mirror image if it is the first
// one along the last dimension, or the last one and that dimension has an even length.
template <class Real>
void make_symmetric(const FftShape& shape, Real* data, std::size_t across) {
  const auto row = static_cast<std::size_t>(shape.lengths.back()) / 2 + 1;
  const std::size_t rows = shape.input_reals() / (2 * row);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t other = mirror(shape.lengths, i);
    Real* here = data + 2 * (i * row + across);
    const Real* there = data + 2 * (other * row + across);
    if (other > i) continue;
    here[0] = there[0];
    here[1] = other == i ? Real{0} : -there[1];
  }
}

}  // namespace

bool FftShape::parse(std::string_view kind, std::string_view lengths, FftShape& shape) {
  if (kind != "c2c" && kind != "r2c" && kind != "c2r") return false;
  shape.kind = kind;
  shape.lengths.clear();
  while (shape.lengths.size() < kMaxRank) {
    int length = 0;
    const auto [end, error] =
        std::from_chars(lengths.data(), lengths.data() + lengths.size(), length);
    if (error != std::errc() || length < 1) return false;
    shape.lengths.push_back(length);
    lengths.remove_prefix(static_cast<std::size_t>(end - lengths.data()));
    if (lengths.empty()) return true;
    if (lengths.front() != 'x') return false;
    lengths.remove_prefix(1);
  }
  return false;
}

std::size_t FftShape::reals(bool real_side) const {
  std::size_t count = 1;
  for (const int n : lengths) count *= static_cast<std::size_t>(n);
  if (real_side) return count;
  if (kind == "c2c") return 2 * count;
  const auto last = static_cast<std::size_t>(lengths.back());
  return 2 * (count / last) * (last / 2 + 1);
}

template <class Real>
void fill_input(const FftShape& shape, std::uint64_t seed, Real* data) {
  const std::size_t count = shape.input_reals();
  std::uint64_t state = seed * 2 + 1;
  for (std::size_t i = 0; i < count; ++i) {
    // Marsaglia, Xorshift RNGs (2003): the shifts 13, 7, 17
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    data[i] = static_cast<Real>(static_cast<double>(state >> 11) * 0x1p-52 - 1.0);
  }
  if (shape.kind != "c2r") return;
  const auto last = static_cast<std::size_t>(shape.lengths.back());
  make_symmetric(shape, data, 0);
  if (last % 2 == 0) make_symmetric(shape, data, last / 2);
}

template <class Real>
void poison(Real* data, std::size_t count) {
  std::fill(data, data + count, std::numeric_limits<Real>::quiet_NaN());
}

template <class Real>
double relative_distance(std::istream& reference, const Real* data, std::size_t count) {
  constexpr std::size_t kPart = 1 << 16;
  std::vector<Real> part(kPart);
  double difference = 0;
  double size = 0;
  for (std::size_t done = 0; done < count; done += kPart) {
    const std::size_t n = std::min(kPart, count - done);
    reference.read(reinterpret_cast<char*>(part.data()),
                   static_cast<std::streamsize>(n * sizeof(Real)));
    if (!reference.good()) return std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = 0; i < n; ++i) {
      const double expected = part[i];
      const double off = static_cast<double>(data[done + i]) - expected;
      difference += off * off;
      size += expected * expected;
    }
  }
  const bool at_end = reference.peek() == std::istream::traits_type::eof();
  return at_end ? std::sqrt(difference / size) : std::numeric_limits<double>::quiet_NaN();
}

template void fill_input(const FftShape&, std::uint64_t, double*);
template void fill_input(const FftShape&, std::uint64_t, float*);
template void poison(double*, std::size_t);
template void poison(float*, std::size_t);
template double relative_distance(std::istream&, const double*, std::size_t);
template double relative_distance(std::istream&, const float*, std::size_t);

}  // namespace ob::bench
