#pragma once
// Data of Fourier transforms for benchmarks: what goes in, and how far results are apart.

#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace ob::bench {

/// Kind and lengths of one transform, first dimension slowest; arrays packed, as FFTW's basic
/// interface has them.
struct FftShape {
  std::string kind;  ///< "c2c", "r2c", "c2r"
  std::vector<int> lengths;

  /// "c2r", "64x64". False if that is none.
  static bool parse(std::string_view kind, std::string_view lengths, FftShape& shape);

  std::size_t input_reals() const { return reals(kind == "r2c"); }
  std::size_t output_reals() const { return reals(kind == "c2r"); }

 private:
  std::size_t reals(bool real_side) const;
};

/// Random numbers in [-1, 1), the same for the same seed. A half spectrum (c2r) gets the symmetry
/// of real data, without which the result is not defined.
template <class Real>
void fill_input(const FftShape& shape, std::uint64_t seed, Real* data);

/// Not-a-numbers: what is not written is found.
template <class Real>
void poison(Real* data, std::size_t count);

/// |data - reference| / |reference| in the 2-norm; not a number if `reference` does not hold
/// exactly `count` numbers.
template <class Real>
double relative_distance(std::istream& reference, const Real* data, std::size_t count);

}  // namespace ob::bench
