#pragma once
// Data of Fourier transforms for benchmarks: the input, and the distance between results.

#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace ob::bench {

/// The kind and lengths of one transform, with the first dimension slowest. Arrays are packed as in
/// FFTW's basic interface.
struct FftShape {
  std::string kind;  ///< "c2c", "r2c", "c2r"
  std::vector<int> lengths;

  /// Reads texts such as "c2r" and "64x64". False if they describe no transform.
  static bool parse(std::string_view kind, std::string_view lengths, FftShape& shape);

  std::size_t input_reals() const { return reals(kind == "r2c"); }
  std::size_t output_reals() const { return reals(kind == "c2r"); }

 private:
  std::size_t reals(bool real_side) const;
};

/// Fills the input with random numbers in [-1, 1), the same ones for the same seed. A half spectrum
/// (c2r) gets the symmetry of real data, because the result is not defined without it.
template <class Real>
void fill_input(const FftShape& shape, std::uint64_t seed, Real* data);

/// Fills the array with NaN, so that a check finds elements that are not written.
template <class Real>
void poison(Real* data, std::size_t count);

/// |data - reference| / |reference| in the 2-norm; not a number if `reference` does not hold
/// exactly `count` numbers.
template <class Real>
double relative_distance(std::istream& reference, const Real* data, std::size_t count);

}  // namespace ob::bench
