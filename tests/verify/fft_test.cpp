// Tests checks of transforms: results by FFTW's definition pass, and damaged ones fail.

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>
#include <vector>

#include "support/random.hpp"
#include "verify/verification.hpp"

namespace ob::test {
namespace {

using verify::Verdict;
using verify::Verification;
using Complexes = std::vector<std::complex<double>>;

// A transform, computed by definition. Its data are complex, complete and in packed order.
struct Case {
  FftPlan plan;
  std::vector<std::uint64_t> batch;
  std::vector<std::uint64_t> n;
  std::vector<Complexes> input;   // for each transform; c2r: the full spectrum
  std::vector<Complexes> output;  // r2c: the full spectrum
};

std::uint64_t count_of(const std::vector<std::uint64_t>& n) {
  std::uint64_t count = 1;
  for (const std::uint64_t i : n) count *= i;
  return count;
}

// Transforms along each dimension in turn.
Complexes transformed(Complexes x, const std::vector<std::uint64_t>& n, int sign) {
  std::uint64_t inner = 1;
  for (std::size_t d = n.size(); d-- > 0; inner *= n[d]) {
    Complexes y(x.size());
    for (std::uint64_t at = 0; at < x.size(); ++at) {
      const std::uint64_t k = at / inner % n[d];
      const std::uint64_t base = at - k * inner;
      for (std::uint64_t j = 0; j < n[d]; ++j) {
        const double angle = sign * 2 * std::numbers::pi * static_cast<double>(j * k % n[d]) /
                             static_cast<double>(n[d]);
        y[at] += x[base + j * inner] * std::polar(1.0, angle);
      }
    }
    x = std::move(y);
  }
  return x;
}

Complexes random_data(std::uint64_t count, bool real, std::mt19937_64& random) {
  std::uniform_real_distribution<double> value(-1, 1);
  Complexes x(count);
  for (auto& v : x) {
    const double re = value(random);
    v = {re, real ? 0 : value(random)};
  }
  return x;
}

Case random_case(FftKind kind, Precision precision, std::mt19937_64& random,
                 std::uint64_t largest = 0) {
  Case c;
  c.plan.kind = kind;
  c.plan.precision = precision;
  c.plan.sign = kind == FftKind::c2c ? (uniform(random, 0, 1) != 0 ? 1 : -1)
                                     : (kind == FftKind::r2c ? -1 : 1);
  c.plan.rank = static_cast<std::uint8_t>(largest != 0 ? 1 : uniform(random, 1, 3));
  for (int d = 0; d < c.plan.rank; ++d) {
    const std::uint64_t most = c.plan.rank == 1 ? 90 : c.plan.rank == 2 ? 17 : 8;
    c.n.push_back(largest != 0 ? largest : uniform<std::uint64_t>(random, 1, most));
    c.plan.n[static_cast<std::size_t>(d)] = c.n.back();
  }
  for (int d = uniform(random, 0, 2); d > 0; --d)
    c.batch.push_back(uniform<std::uint64_t>(random, 1, 3));
  for (std::uint64_t b = 0; b < count_of(c.batch); ++b) {
    Complexes x = random_data(count_of(c.n), kind != FftKind::c2c, random);
    if (kind == FftKind::c2r) x = transformed(x, c.n, -1);  // gives a spectrum of real data
    c.output.push_back(transformed(x, c.n, c.plan.sign));
    c.input.push_back(std::move(x));
  }
  return c;
}

// One side of a transform in a program's form: strided, with gaps, interleaved or split.
class Side {
 public:
  Side(const Case& c, bool input, bool split, std::mt19937_64& random) : counts_(c.n) {
    const bool real = c.plan.kind == (input ? FftKind::r2c : FftKind::c2r);
    const bool half = c.plan.kind == (input ? FftKind::c2r : FftKind::r2c);
    if (half) counts_.back() = counts_.back() / 2 + 1;
    single_ = c.plan.precision == Precision::c;
    real_ = real;
    const std::int64_t word = single_ ? 4 : 8;
    std::int64_t stride = word * (real || split ? 1 : 2);
    std::vector<std::uint64_t> all = c.batch;
    all.insert(all.end(), counts_.begin(), counts_.end());
    strides_.resize(all.size());
    for (std::size_t d = all.size(); d-- > 0;) {
      stride *= uniform(random, 1, 2);
      strides_[d] = stride;
      stride *= static_cast<std::int64_t>(all[d]);
    }
    imaginary_ = split ? stride : word;
    memory_.assign(static_cast<std::size_t>(split ? 2 * stride : stride), 0xFF);
    full_ = c.n;
    batch_ = c.batch;
    const auto& data = input ? c.input : c.output;
    for (std::uint64_t b = 0; b < data.size(); ++b) {
      for (std::uint64_t i = 0; i < count_of(counts_); ++i) {
        set(b, i, data[b][in_full(i)]);
      }
    }
  }

  std::uint64_t elements() const { return count_of(counts_); }
  std::complex<double> get(std::uint64_t b, std::uint64_t i) const {
    const unsigned char* p = memory_.data() + offset(b, i);
    return {word(p), real_ ? 0 : word(p + imaginary_)};
  }
  void set(std::uint64_t b, std::uint64_t i, std::complex<double> v) {
    unsigned char* p = memory_.data() + offset(b, i);
    put(p, v.real());
    if (!real_) put(p + imaginary_, v.imag());
  }
  verify::FftArray array() const {
    return {reinterpret_cast<const std::byte*>(memory_.data()), strides_, imaginary_};
  }

 private:
  // The position of the element in the full data.
  std::uint64_t in_full(std::uint64_t i) const {
    const std::uint64_t last = i % counts_.back();
    return i / counts_.back() * full_.back() + last;
  }
  std::int64_t offset(std::uint64_t b, std::uint64_t i) const {
    std::int64_t at = 0;
    std::size_t d = strides_.size();
    for (std::size_t k = counts_.size(); k-- > 0; i /= counts_[k])
      at += strides_[--d] * static_cast<std::int64_t>(i % counts_[k]);
    for (std::size_t k = batch_.size(); k-- > 0; b /= batch_[k])
      at += strides_[--d] * static_cast<std::int64_t>(b % batch_[k]);
    return at;
  }
  double word(const unsigned char* p) const {
    float s = 0;
    double d = 0;
    if (single_) {
      std::memcpy(&s, p, 4);
      return s;
    }
    std::memcpy(&d, p, 8);
    return d;
  }
  void put(unsigned char* p, double v) const {
    const auto s = static_cast<float>(v);
    if (single_) {
      std::memcpy(p, &s, 4);
    } else {
      std::memcpy(p, &v, 8);
    }
  }

  std::vector<std::uint64_t> counts_;
  std::vector<std::uint64_t> full_;
  std::vector<std::uint64_t> batch_;
  std::vector<std::int64_t> strides_;
  std::int64_t imaginary_ = 0;
  bool single_ = false;
  bool real_ = false;
  std::vector<unsigned char> memory_;
};

struct Sides {
  Side input;
  Side output;
};

Sides sides_of(const Case& c, std::mt19937_64& random) {
  return {Side(c, true, uniform(random, 0, 3) == 0, random),
          Side(c, false, uniform(random, 0, 3) == 0, random)};
}

Verification check(const Case& c, const Sides& s, std::mt19937_64& random) {
  return verify::verify_fft(c.plan, c.batch, s.input.array(), s.output.array(), random());
}

std::string tell(const Case& c, const Verification& v) {
  std::string text = "kind " + std::to_string(static_cast<int>(c.plan.kind)) + ":";
  for (const std::uint64_t n : c.n) text += " " + std::to_string(n);
  return text + ", residual " + std::to_string(v.residual) + ", bound " + std::to_string(v.bound);
}

using Body = void (*)(const Case&, std::mt19937_64&);

void for_each_kind(int rounds, Body body) {
  auto random = fresh_random();
  for (const FftKind kind : {FftKind::c2c, FftKind::r2c, FftKind::c2r}) {
    for (const Precision precision : {Precision::c, Precision::z}) {
      for (int i = 0; i < rounds; ++i) body(random_case(kind, precision, random), random);
    }
  }
}

TEST(VerifyFftTest, TransformsByDefinitionPass) {
  for_each_kind(300, [](const Case& c, std::mt19937_64& random) {
    const Verification v = check(c, sides_of(c, random), random);
    ASSERT_EQ(v.verdict, Verdict::right) << tell(c, v);
  });
}

TEST(VerifyFftTest, LongOnesPass) {
  auto random = fresh_random();
  for (const FftKind kind : {FftKind::c2c, FftKind::r2c, FftKind::c2r}) {
    for (const Precision precision : {Precision::c, Precision::z}) {
      for (const std::uint64_t n : {1024, 1023, 997}) {
        const Case c = random_case(kind, precision, random, n);
        const Verification v = check(c, sides_of(c, random), random);
        ASSERT_EQ(v.verdict, Verdict::right) << tell(c, v);
      }
    }
  }
}

// The root of the mean square of the elements of one transform.
double typical(const Side& side, std::uint64_t b) {
  double sum = 0;
  for (std::uint64_t i = 0; i < side.elements(); ++i) sum += std::norm(side.get(b, i));
  return std::sqrt(sum / static_cast<double>(side.elements()));
}

// The damage is as large as the elements usually are. A smaller one may be rounding: in single
// precision, an element far below the others has an error of its own size.
TEST(VerifyFftTest, OneWrongElementIsFound) {
  for_each_kind(100, [](const Case& c, std::mt19937_64& random) {
    Sides s = sides_of(c, random);
    const auto b = uniform<std::uint64_t>(random, 0, count_of(c.batch) - 1);
    const auto i = uniform<std::uint64_t>(random, 0, s.output.elements() - 1);
    const double damage = 0.5 * (typical(s.output, b) + std::abs(s.output.get(b, i)));
    s.output.set(b, i, s.output.get(b, i) + damage);
    const Verification v = check(c, s, random);
    EXPECT_EQ(v.verdict, Verdict::wrong) << tell(c, v);
  });
}

// A check with Parseval's theorem does not find this.
TEST(VerifyFftTest, ExchangedElementsAreFound) {
  for_each_kind(100, [](const Case& c, std::mt19937_64& random) {
    Sides s = sides_of(c, random);
    const std::uint64_t n = s.output.elements();
    const auto i = uniform<std::uint64_t>(random, 0, n - 1);
    const auto j = uniform<std::uint64_t>(random, 0, n - 1);
    const auto a = s.output.get(0, i);
    const auto b = s.output.get(0, j);
    // In single precision two weights may be too close to find an exchange.
    if (c.plan.precision == Precision::c || std::abs(a - b) < 0.01) return;
    s.output.set(0, i, b);
    s.output.set(0, j, a);
    const Verification v = check(c, s, random);
    EXPECT_EQ(v.verdict, Verdict::wrong) << tell(c, v);
  });
}

TEST(VerifyFftTest, TheOtherDirectionIsFound) {
  auto random = fresh_random();
  for (int i = 0; i < 50; ++i) {
    Case c = random_case(FftKind::c2c, Precision::z, random);
    if (count_of(c.n) < 3) continue;
    bool same = true;
    for (const std::uint64_t n : c.n) same = same && n < 3;
    if (same) continue;
    c.plan.sign = static_cast<std::int8_t>(-c.plan.sign);
    EXPECT_EQ(check(c, sides_of(c, random), random).verdict, Verdict::wrong);
  }
}

TEST(VerifyFftTest, OneWrongElementOfALongOneIsFound) {
  auto random = fresh_random();
  for (const Precision precision : {Precision::c, Precision::z}) {
    const Case c = random_case(FftKind::c2c, precision, random, 1000);
    for (int i = 0; i < 50; ++i) {
      Sides s = sides_of(c, random);
      const auto at = uniform<std::uint64_t>(random, 0, 999);
      s.output.set(0, at, s.output.get(0, at) + 30.0);  // about the size of an element
      EXPECT_EQ(check(c, s, random).verdict, Verdict::wrong);
    }
  }
}

TEST(VerifyFftTest, ZeroesAndTinyValuesPass) {
  for_each_kind(50, [](const Case& c, std::mt19937_64& random) {
    Sides s = sides_of(c, random);
    const double scale = uniform(random, 0, 1) != 0         ? 0.0
                         : c.plan.precision == Precision::c ? 0x1p-120
                                                            : 0x1p-1000;
    for (std::uint64_t b = 0; b < count_of(c.batch); ++b) {
      for (std::uint64_t i = 0; i < s.input.elements(); ++i)
        s.input.set(b, i, s.input.get(b, i) * scale);
      for (std::uint64_t i = 0; i < s.output.elements(); ++i)
        s.output.set(b, i, s.output.get(b, i) * scale);
    }
    const Verification v = check(c, s, random);
    EXPECT_NE(v.verdict, Verdict::wrong) << tell(c, v);
  });
}

TEST(VerifyFftTest, WhatIsNotANumberIsNotChecked) {
  for_each_kind(20, [](const Case& c, std::mt19937_64& random) {
    Sides s = sides_of(c, random);
    s.input.set(0, 0, std::nan(""));
    EXPECT_EQ(check(c, s, random).verdict, Verdict::unchecked);
  });
}

// The result for a spectrum without the symmetry of real data depends on the library.
TEST(VerifyFftTest, HalfSpectraWithoutSymmetryAreNotChecked) {
  auto random = fresh_random();
  for (int i = 0; i < 50; ++i) {
    const Case c = random_case(FftKind::c2r, Precision::z, random);
    Sides s = sides_of(c, random);
    s.input.set(0, 0, s.input.get(0, 0) + std::complex<double>(0, 3));
    EXPECT_EQ(check(c, s, random).verdict, Verdict::unchecked);
  }
}

}  // namespace
}  // namespace ob::test
