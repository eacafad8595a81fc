#pragma once
// Band and packed storage of the BLAS, as its documentation lays them out.

#include "conformance/device/dense.hpp"

namespace ob::test {

/// Where the elements of an n x n triangle, or of a band, lie in their storage.
class Storage {
 public:
  /// a(i, j) at row ku + i - j of column j.
  static Storage band(std::uint64_t m, std::uint64_t n, std::uint64_t kl, std::uint64_t ku);
  /// One side of a band of n x n: k diagonals above or below the main one.
  static Storage half_band(char uplo, std::uint64_t n, std::uint64_t k);
  /// The columns of a triangle one after the other.
  static Storage packed(char uplo, std::uint64_t n);

  /// m x n with zeros where nothing is stored.
  Dense unpack(const Dense& stored) const;
  /// NaN where `stored` holds no element of the matrix.
  Dense pack(const Dense& full) const;

 private:
  Storage(std::uint64_t m, std::uint64_t n, std::uint64_t kl, std::uint64_t ku)
      : m_(m), n_(n), kl_(kl), ku_(ku) {}
  bool holds(std::uint64_t i, std::uint64_t j) const { return i <= j + kl_ && j <= i + ku_; }
  std::uint64_t place(std::uint64_t i, std::uint64_t j) const;
  Dense empty() const;

  std::uint64_t m_;
  std::uint64_t n_;
  std::uint64_t kl_;
  std::uint64_t ku_;
  char packed_ = 0;  // uplo of a packed triangle
};

}  // namespace ob::test
