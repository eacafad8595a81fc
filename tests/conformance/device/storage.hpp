#pragma once
// Band and packed storage of the BLAS, as defined in its documentation.

#include "conformance/device/dense.hpp"

namespace ob::test {

/// Maps the elements of an n x n triangle, or of a band, to their places in storage.
class Storage {
 public:
  /// Stores a(i, j) in row ku + i - j of column j.
  static Storage band(std::uint64_t m, std::uint64_t n, std::uint64_t kl, std::uint64_t ku);
  /// Stores one side of an n x n band: k diagonals above or below the main one.
  static Storage half_band(char uplo, std::uint64_t n, std::uint64_t k);
  /// Stores the columns of a triangle one after another.
  static Storage packed(char uplo, std::uint64_t n);

  /// Returns an m x n matrix with zeros where nothing is stored.
  Dense unpack(const Dense& stored) const;
  /// Returns the storage, with NaN where it holds no element of the matrix.
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
  char packed_ = 0;  // uplo of a packed triangle; 0: a band
};

}  // namespace ob::test
