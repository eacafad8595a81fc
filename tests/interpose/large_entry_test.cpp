// Matrices with few elements that lie far apart, so that positions need more than 32 bits: leading
// dimensions beyond 2^31 under ILP64 names, and products of dimension and leading dimension beyond
// 2^31 under LP64 names. The memory is mapped, but only few pages are touched.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cmath>

#include "interpose/entry_names.hpp"

namespace ob::test {
namespace {

constexpr std::int64_t kSize = 3;

// A 3 x 3 matrix whose rows (or columns) lie `ld` elements apart. Unwritten memory between them is
// 0; a few elements next to the matrix are NaN.
class Far {
 public:
  Far(std::int64_t ld, bool row_major) : ld_(ld), row_major_(row_major) {
    bytes_ = static_cast<std::size_t>((kSize - 1) * std::abs(ld) + 2 * kSize) * sizeof(float);
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no address space for a sparse mapping");
    data_ = static_cast<float*>(memory);
    for (std::int64_t line = 0; line < kSize; ++line) {
      for (std::int64_t k = 0; k < 2 * kSize; ++k) data_[line * std::abs(ld) + k] = NAN;
    }
  }
  ~Far() { munmap(data_, bytes_); }
  Far(const Far&) = delete;
  Far& operator=(const Far&) = delete;

  float* data() { return data_; }
  float& operator()(std::int64_t i, std::int64_t j) {
    return data_[row_major_ ? i * ld_ + j : i + j * ld_];
  }
  /// Element k of a vector with increment ld.
  float& operator[](std::int64_t k) { return data_[ld_ > 0 ? k * ld_ : (kSize - 1 - k) * -ld_]; }
  /// Returns true if the neighbours of each line's `used` elements are still NaN.
  bool has_untouched_gaps(std::int64_t used = kSize) const {
    for (std::int64_t line = 0; line < kSize; ++line) {
      const float* first = data_ + line * std::abs(ld_);
      for (std::int64_t k = used; k < 2 * kSize; ++k) {
        if (!std::isnan(first[k])) return false;
      }
    }
    return true;
  }

 private:
  std::int64_t ld_;
  bool row_major_;
  std::size_t bytes_ = 0;
  float* data_ = nullptr;
};

using Small = std::array<std::array<float, kSize>, kSize>;

Small fill(Far& matrix, std::mt19937_64& random) {
  Small values{};
  for (std::int64_t i = 0; i < kSize; ++i) {
    for (std::int64_t j = 0; j < kSize; ++j) {
      const int v = uniform(random, -9, 9) + (i == j ? 40 : 0);  // sums of products are exact
      matrix(i, j) = values[i][j] = static_cast<float>(v);
    }
  }
  return values;
}

template <class Function>
Function entry(const char* name) {
  void* found = bound(name);
  if (found == nullptr) throw std::runtime_error(std::string("no ") + name);
  return reinterpret_cast<Function>(found);
}

void expect_out(const Counted& counted) { EXPECT_EQ(counted.went_out(), mode_is("compute")); }

// C := A B without reading C.
template <class Call>
void check_product(std::int64_t ld, bool row_major, Call call) {
  auto random = fresh_random();
  Far a(ld, row_major);
  Far b(ld + 1, row_major);
  Far c(ld + 2, row_major);
  const Small x = fill(a, random);
  const Small y = fill(b, random);
  const Counted counted(*routines::find("sgemm"));
  call(a.data(), b.data(), c.data());
  expect_out(counted);
  for (std::int64_t i = 0; i < kSize; ++i) {
    for (std::int64_t j = 0; j < kSize; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < kSize; ++k) sum += x[i][k] * y[k][j];
      EXPECT_EQ(c(i, j), sum) << i << "," << j;
    }
  }
  EXPECT_TRUE(c.has_untouched_gaps());
}

template <class Int>
void check_fortran_product(const char* name, Int ld) {
  using Gemm = void (*)(const char*, const char*, const Int*, const Int*, const Int*, const float*,
                        const float*, const Int*, const float*, const Int*, const float*, float*,
                        const Int*, std::size_t, std::size_t);
  check_product(ld, false, [&](float* a, float* b, float* c) {
    const Int n = kSize;
    const Int ldb = ld + 1;
    const Int ldc = ld + 2;
    const float one = 1;
    const float zero = 0;
    entry<Gemm>(name)("N", "N", &n, &n, &n, &one, a, &ld, b, &ldb, &zero, c, &ldc, 1, 1);
  });
}

TEST(LargeEntry, LeadingDimensionsBeyond32Bits) {
  check_fortran_product<std::int64_t>("sgemm_64_", (std::int64_t{1} << 31) + 5);
  check_fortran_product<std::int64_t>("scipy_sgemm_64_", (std::int64_t{1} << 32) + 5);
}

TEST(LargeEntry, PositionsBeyond32BitsWithLeadingDimensionsBelow) {
  check_fortran_product<std::int32_t>("sgemm_", INT32_MAX - 2);
}

TEST(LargeEntry, CblasInBothLayouts) {
  using Gemm =
      void (*)(int, int, int, std::int64_t, std::int64_t, std::int64_t, float, const float*,
               std::int64_t, const float*, std::int64_t, float, float*, std::int64_t);
  const std::int64_t ld = (std::int64_t{1} << 31) + 5;
  for (const int layout : {101, 102}) {
    check_product(ld, layout == 101, [&](float* a, float* b, float* c) {
      entry<Gemm>("cblas_sgemm64_")(layout, 111, 111, kSize, kSize, kSize, 1, a, ld, b, ld + 1, 0,
                                    c, ld + 2);
    });
  }
}

TEST(LargeEntry, IncrementsOfBothSigns) {
  using Axpy = void (*)(const std::int64_t*, const float*, const float*, const std::int64_t*,
                        float*, const std::int64_t*);
  const std::int64_t n = kSize;
  const std::int64_t incx = (std::int64_t{1} << 31) + 3;
  const std::int64_t incy = -(std::int64_t{1} << 31) - 1;
  const float two = 2;
  Far x(incx, false);
  Far y(incy, false);
  for (std::int64_t k = 0; k < kSize; ++k) {
    x[k] = static_cast<float>(k + 1);
    y[k] = static_cast<float>(100 * k);
  }
  const Counted counted(*routines::find("saxpy"));
  entry<Axpy>("saxpy_64_")(&n, &two, x.data(), &incx, y.data(), &incy);
  expect_out(counted);
  for (std::int64_t k = 0; k < kSize; ++k) EXPECT_EQ(y[k], static_cast<float>(102 * k + 2));
  EXPECT_TRUE(y.has_untouched_gaps(1));
}

// A is diagonally dominant, so that no rows are exchanged: A = L U.
void expect_factors(Far& a, const Small& before, const std::array<std::int64_t, kSize>& pivots) {
  for (std::int64_t i = 0; i < kSize; ++i) {
    EXPECT_EQ(pivots[i], i + 1);
    for (std::int64_t j = 0; j < kSize; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k <= std::min(i, j); ++k) sum += (k == i ? 1.0F : a(i, k)) * a(k, j);
      EXPECT_NEAR(sum, before[i][j], 1e-4) << i << "," << j;  // 20 eps of 40
    }
  }
  EXPECT_TRUE(a.has_untouched_gaps());
}

TEST(LargeEntry, FactorisationInPlace) {
  using Getrf = void (*)(const std::int64_t*, const std::int64_t*, float*, const std::int64_t*,
                         std::int64_t*, std::int64_t*);
  auto random = fresh_random();
  const std::int64_t n = kSize;
  const std::int64_t lda = (std::int64_t{1} << 31) + 5;
  Far a(lda, false);
  const Small before = fill(a, random);
  std::array<std::int64_t, kSize> pivots{};
  std::int64_t info = -1;
  const Counted counted(*routines::find("sgetrf"));
  entry<Getrf>("sgetrf_64_")(&n, &n, a.data(), &lda, pivots.data(), &info);
  expect_out(counted);
  EXPECT_EQ(info, 0);
  expect_factors(a, before, pivots);
}

// This runs through column-major scratch memory. There is no original ILP64 LAPACKE.
TEST(LargeEntry, RowMajorLapacke) {
  if (!mode_is("compute")) return;
  using Getrf =
      std::int64_t (*)(int, std::int64_t, std::int64_t, float*, std::int64_t, std::int64_t*);
  auto random = fresh_random();
  const std::int64_t lda = (std::int64_t{1} << 31) + 5;
  Far a(lda, true);
  const Small before = fill(a, random);
  std::array<std::int64_t, kSize> pivots{};
  const Counted counted(*routines::find("sgetrf"));
  EXPECT_EQ(entry<Getrf>("LAPACKE_sgetrf64_")(101, kSize, kSize, a.data(), lda, pivots.data()), 0);
  expect_out(counted);
  expect_factors(a, before, pivots);
}

}  // namespace
}  // namespace ob::test
