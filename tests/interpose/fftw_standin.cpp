// Replaces fft_offload.cpp in the preload tests. OB_STANDIN sets its decisions. It computes
// transforms by their definitions in long double, and uses only FftTransform.

#include <array>
#include <atomic>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "interpose/fftw_arrays.hpp"
#include "interpose/gate.hpp"

namespace ob::interpose {

constinit std::atomic<double> g_min_flops{0};

namespace {

using Value = std::complex<long double>;

struct Counts {
  std::atomic<int> decide{0}, ahead{0}, execute{0}, local{0}, rehearse{0};
};
constinit Counts g_counts;

bool mode_is(const char* wanted) {
  const char* mode = std::getenv("OB_STANDIN");
  return std::strcmp(mode == nullptr ? "local" : mode, wanted) == 0;
}

// A DFT along one dimension of packed data.
void transform_dimension(std::vector<Value>& data, std::size_t n, std::size_t stride, int sign) {
  std::vector<Value> root(n), line(n);
  for (std::size_t j = 0; j < n; ++j) {
    const long double angle = sign * 2 * std::acos(-1.0L) * j / n;
    root[j] = {std::cos(angle), std::sin(angle)};
  }
  for (std::size_t base = 0; base < data.size(); ++base) {
    if (base / stride % n != 0) continue;
    for (std::size_t k = 0; k < n; ++k) {
      line[k] = 0;
      for (std::size_t j = 0; j < n; ++j) line[k] += data[base + j * stride] * root[j * k % n];
    }
    for (std::size_t k = 0; k < n; ++k) data[base + k * stride] = line[k];
  }
}

// Returns the weight of input j in output k.   Source: FFTW 3.3 manual, sections 4.8.2 to 4.8.5
long double weight(RealTransform kind, std::size_t n, std::size_t j, std::size_t k) {
  const long double pi = std::acos(-1.0L), size = n, x = j, y = k;
  const long double edge = j == 0 || j == n - 1 ? 1 : 2;  // the ends of REDFT00 count once
  const long double turn = 2 * pi * x * y / size;
  switch (kind) {
    case RealTransform::r2hc:
      return k <= n / 2 ? std::cos(turn) : -std::sin(2 * pi * x * (size - y) / size);
    case RealTransform::hc2r:
      if (j == 0 || 2 * j == n) return std::cos(turn);
      return j < n - j ? 2 * std::cos(turn) : -2 * std::sin(2 * pi * (size - x) * y / size);
    case RealTransform::dht: return std::cos(turn) + std::sin(turn);
    case RealTransform::redft00: return edge * std::cos(pi * x * y / (size - 1));
    case RealTransform::redft01: return (j == 0 ? 1 : 2) * std::cos(pi * x * (y + 0.5L) / size);
    case RealTransform::redft10: return 2 * std::cos(pi * (x + 0.5L) * y / size);
    case RealTransform::redft11: return 2 * std::cos(pi * (x + 0.5L) * (y + 0.5L) / size);
    case RealTransform::rodft00: return 2 * std::sin(pi * (x + 1) * (y + 1) / (size + 1));
    case RealTransform::rodft01:
      return (j == n - 1 ? 1 : 2) * std::sin(pi * (x + 1) * (y + 0.5L) / size);
    case RealTransform::rodft10: return 2 * std::sin(pi * (x + 0.5L) * (y + 1) / size);
    case RealTransform::rodft11: return 2 * std::sin(pi * (x + 0.5L) * (y + 0.5L) / size);
  }
  return 0;
}

// A real-to-real transform along one dimension of packed data.
void transform_real(std::vector<Value>& data, std::size_t n, std::size_t stride,
                    RealTransform kind) {
  std::vector<Value> line(n);
  for (std::size_t base = 0; base < data.size(); ++base) {
    if (base / stride % n != 0) continue;
    for (std::size_t k = 0; k < n; ++k) {
      line[k] = 0;
      for (std::size_t j = 0; j < n; ++j) {
        line[k] += data[base + j * stride] * weight(kind, n, j, k);
      }
    }
    for (std::size_t k = 0; k < n; ++k) data[base + k * stride] = line[k];
  }
}

template <class Real>
std::vector<Value> load(const FftTransform& t, void* input) {
  const Layout layout = t.input.layout(input);
  std::vector<Real> packed(layout.total_bytes() / sizeof(Real));
  Layout::Cursor cursor(layout);
  gather(cursor, std::as_writable_bytes(std::span(packed)));
  std::vector<Value> values;
  if (!is_complex(t.plan.kind, true)) {
    values.assign(packed.begin(), packed.end());
    return values;
  }
  for (std::size_t i = 0; i < packed.size(); i += 2) values.emplace_back(packed[i], packed[i + 1]);
  return values;
}

template <class Real>
void store(const FftTransform& t, const std::vector<Value>& values, void* output) {
  std::vector<Real> packed;
  for (const Value& v : values) {
    packed.push_back(static_cast<Real>(v.real()));
    if (is_complex(t.plan.kind, false)) packed.push_back(static_cast<Real>(v.imag()));
  }
  const Layout layout = t.output.layout(output);
  Layout::Cursor cursor(layout);
  scatter(std::as_bytes(std::span(packed)), cursor);
}

// Completes the stored half of a spectrum: X[-k] = conj(X[k]) over all dimensions.
std::vector<Value> whole_spectrum(const FftPlan& plan, const std::vector<Value>& half) {
  const int last = plan.rank - 1;
  const std::size_t total = points(plan);
  std::vector<Value> whole(total * plan.batch);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::array<std::size_t, FftPlan::kMaxRank> k{};
    for (std::size_t d = plan.rank, rest = i % total; d-- > 0; rest /= plan.n[d]) {
      k[d] = rest % plan.n[d];
    }
    const bool stored = k[last] <= plan.n[last] / 2;
    std::size_t at = i / total;
    for (int d = 0; d <= last; ++d) {
      const std::size_t n = plan.n[d];
      at = at * (d == last ? n / 2 + 1 : n) + (stored ? k[d] : (n - k[d]) % n);
    }
    whole[i] = stored ? half[at] : std::conj(half[at]);
  }
  return whole;
}

template <class Real>
void run(const FftTransform& t, void* input, void* output) {
  const FftPlan& plan = t.plan;
  std::vector<Value> values = load<Real>(t, input);
  if (plan.kind == FftKind::c2r) values = whole_spectrum(plan, values);
  std::size_t stride = 1;
  for (int d = plan.rank; d-- > 0; stride *= plan.n[d]) {
    if (plan.kind == FftKind::r2r) {
      transform_real(values, plan.n[d], stride, plan.real[d]);
    } else {
      transform_dimension(values, plan.n[d], stride, plan.sign);
    }
  }
  if (plan.kind == FftKind::r2c) {
    const std::size_t last = plan.n[plan.rank - 1];
    std::vector<Value> half;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i % last <= last / 2) half.push_back(values[i]);
    }
    values = half;
  }
  store<Real>(t, values, output);
}

}  // namespace

FftDecision decide_fft(const FftTransform&, FftMoment, const void*) noexcept {
  const int asked = g_counts.decide++;
  if (mode_is("gate")) {
    g_min_flops = std::numeric_limits<double>::infinity();
    return FftDecision::local;
  }
  if (mode_is("remote") || mode_is("fail")) return FftDecision::remote;
  if (!mode_is("learn")) return FftDecision::local;
  constexpr FftDecision kTurns[] = {FftDecision::open, FftDecision::trial, FftDecision::remote,
                                    FftDecision::local};
  return kTurns[asked % 4];
}

void plan_ahead(const FftTransform&) noexcept { ++g_counts.ahead; }

bool execute_fft(const FftTransform& t, void* input, void* output) noexcept {
  ++g_counts.execute;
  if (mode_is("fail")) return false;
  if (t.plan.precision == Precision::z) {
    run<double>(t, input, output);
  } else {
    run<float>(t, input, output);
  }
  return true;
}

void rehearse_fft(const FftTransform&, void*, void*) noexcept { ++g_counts.rehearse; }

LocalFft::LocalFft(const FftTransform& t, const void*) noexcept : transform_(t) {
  ++g_counts.local;
}
LocalFft::~LocalFft() = default;

}  // namespace ob::interpose

/// The programs under test find this function with dlsym.
extern "C" [[gnu::visibility("default")]] int ob_standin_count(const char* what) noexcept {
  using ob::interpose::g_counts;
  if (std::strcmp(what, "decide") == 0) return g_counts.decide;
  if (std::strcmp(what, "ahead") == 0) return g_counts.ahead;
  if (std::strcmp(what, "execute") == 0) return g_counts.execute;
  if (std::strcmp(what, "rehearse") == 0) return g_counts.rehearse;
  return std::strcmp(what, "local") == 0 ? g_counts.local.load() : -1;
}
