#include "bench/routine_call.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <new>
#include <random>
#include <span>
#include <vector>

#include "bench/fft_input.hpp"

extern "C" {
#define OB_GEMM(NAME, REAL)                                                                   \
  void NAME(const char*, const char*, const int*, const int*, const int*, const REAL*,        \
            const REAL*, const int*, const REAL*, const int*, const REAL*, REAL*, const int*, \
            std::size_t, std::size_t)
OB_GEMM(dgemm_, double);
OB_GEMM(sgemm_, float);
OB_GEMM(zgemm_, double);  // complex numbers are pairs
#undef OB_GEMM
void dgemv_(const char*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*, std::size_t);
double ddot_(const int*, const double*, const int*, const double*, const int*);
void dsyrk_(const char*, const char*, const int*, const int*, const double*, const double*,
            const int*, const double*, double*, const int*, std::size_t, std::size_t);
void dtrsm_(const char*, const char*, const char*, const char*, const int*, const int*,
            const double*, const double*, const int*, double*, const int*, std::size_t, std::size_t,
            std::size_t, std::size_t);
// A BLAS library may lack these.
#define OB_WEAK __attribute__((weak))
void dgetrf_(const int*, const int*, double*, const int*, int*, int*) OB_WEAK;
void sgesv_(const int*, const int*, float*, const int*, int*, float*, const int*, int*) OB_WEAK;
void dpotrf_(const char*, const int*, double*, const int*, int*, std::size_t) OB_WEAK;
void dgeqrf_(const int*, const int*, double*, const int*, double*, double*, const int*,
             int*) OB_WEAK;
void dsyev_(const char*, const char*, const int*, double*, const int*, double*, double*, const int*,
            int*, std::size_t, std::size_t) OB_WEAK;
#undef OB_WEAK
}

namespace ob::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kThin = 64;
constexpr int kStep = 1;
// LAPACK's block has 32 or 64 columns. dsyev wants two more (its documentation).
constexpr int kWorkColumns = 66;

// Operands begin on a page. The places of small operands in the heap change the time of a call by a
// tenth, and another library in the process changes these places.
template <class T>
struct OnPage {
  using value_type = T;
  static constexpr std::align_val_t kPage{4096};
  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kPage));
  }
  void deallocate(T* memory, std::size_t) noexcept { ::operator delete(memory, kPage); }
  bool operator==(const OnPage&) const = default;
};
template <class Real>
using Numbers = std::vector<Real, OnPage<Real>>;

template <class Real>
struct Operands {
  int n = 0;
  Numbers<Real> a;
  Numbers<Real> b;
  Numbers<Real> c;     // the operand that is written
  Numbers<Real> more;  // dgeqrf: tau; dsyev: the eigenvalues; sgesv: the solution
  Numbers<Real> work;
  std::vector<int> pivots;
};

enum class Extent : std::uint8_t { none, scalar, vector, thin, square };

template <class Real>
struct Routine {
  const char* name;
  Extent a;
  Extent b;
  Extent c;
  bool in_place;  // c is a copy of b before the call
  bool dominant;  // n is added to the diagonal of the first operand
  int (*call)(Operands<Real>&);
  Extent more = Extent::none;
  bool available = true;
};

std::size_t elements(Extent extent, int n) {
  const auto edge = static_cast<std::size_t>(n);
  switch (extent) {
    case Extent::none: return 0;
    case Extent::scalar: return 1;
    case Extent::vector: return edge;
    case Extent::thin: return edge * kThin;
    case Extent::square: return edge * edge;
  }
  return 0;
}

template <class Real, auto kGemm>
int gemm(Operands<Real>& o, int columns) {
  const Real one[] = {1, 0};
  const Real zero[] = {0, 0};
  kGemm("N", "N", &o.n, &columns, &o.n, one, o.a.data(), &o.n, o.b.data(), &o.n, zero, o.c.data(),
        &o.n, 1, 1);
  return 0;
}

int dgemv(Operands<double>& o) {
  const double one = 1;
  const double zero = 0;
  dgemv_("N", &o.n, &o.n, &one, o.a.data(), &o.n, o.b.data(), &kStep, &zero, o.c.data(), &kStep, 1);
  return 0;
}

int ddot(Operands<double>& o) {
  o.c[0] = ddot_(&o.n, o.a.data(), &kStep, o.b.data(), &kStep);
  return 0;
}

int dsyrk(Operands<double>& o) {
  const double one = 1;
  const double zero = 0;
  dsyrk_("L", "N", &o.n, &o.n, &one, o.a.data(), &o.n, &zero, o.c.data(), &o.n, 1, 1);
  return 0;
}

int dtrsm(Operands<double>& o) {
  const double one = 1;
  dtrsm_("L", "L", "N", "N", &o.n, &o.n, &one, o.a.data(), &o.n, o.c.data(), &o.n, 1, 1, 1, 1);
  return 0;
}

int dgetrf(Operands<double>& o) {
  int info = 0;
  o.pivots.resize(static_cast<std::size_t>(o.n));
  dgetrf_(&o.n, &o.n, o.c.data(), &o.n, o.pivots.data(), &info);
  return info;
}

int sgesv(Operands<float>& o) {
  int info = 0;
  const int columns = 1;
  o.pivots.resize(static_cast<std::size_t>(o.n));
  std::fill(o.more.begin(), o.more.end(), 1.0F);  // the right-hand side
  sgesv_(&o.n, &columns, o.c.data(), &o.n, o.pivots.data(), o.more.data(), &o.n, &info);
  return info;
}

int dpotrf(Operands<double>& o) {
  int info = 0;
  dpotrf_("L", &o.n, o.c.data(), &o.n, &info, 1);
  return info;
}

int dgeqrf(Operands<double>& o) {
  int info = 0;
  const auto size = static_cast<int>(o.work.size());
  dgeqrf_(&o.n, &o.n, o.c.data(), &o.n, o.more.data(), o.work.data(), &size, &info);
  return info;
}

int dsyev(Operands<double>& o) {
  int info = 0;
  const auto size = static_cast<int>(o.work.size());
  dsyev_("V", "L", &o.n, o.c.data(), &o.n, o.more.data(), o.work.data(), &size, &info, 1, 1);
  return info;
}

constexpr auto kSquare = Extent::square;
constexpr auto kNone = Extent::none;

std::span<const Routine<double>> double_routines() {
  using O = Operands<double>;
  constexpr auto kVector = Extent::vector;
  static const Routine<double> all[] = {
      {"dgemm", kSquare, kSquare, kSquare, false, false,
       [](O& o) { return gemm<double, dgemm_>(o, o.n); }},
      {"thin", kSquare, Extent::thin, Extent::thin, false, false,
       [](O& o) { return gemm<double, dgemm_>(o, kThin); }},
      {"dgemv", kSquare, kVector, kVector, false, false, dgemv},
      {"ddot", kVector, kVector, Extent::scalar, false, false, ddot},
      {"dsyrk", kSquare, kNone, kSquare, false, false, dsyrk},
      {"dtrsm", kSquare, kSquare, kSquare, true, true, dtrsm},
      {"dgetrf", kNone, kSquare, kSquare, true, true, dgetrf, kNone, dgetrf_ != nullptr},
      {"dpotrf", kNone, kSquare, kSquare, true, true, dpotrf, kNone, dpotrf_ != nullptr},
      {"dgeqrf", kNone, kSquare, kSquare, true, true, dgeqrf, kVector, dgeqrf_ != nullptr},
      {"dsyev", kNone, kSquare, kSquare, true, true, dsyev, kVector, dsyev_ != nullptr},
  };
  return all;
}

template <class Real>
class Call final : public RoutineCall {
 public:
  Call(const Routine<Real>& routine, int n, std::uint64_t seed, std::size_t parts)
      : routine_(routine), first_seed_(seed), seed_(seed), parts_(parts) {
    operands_.n = n;
    operands_.a.resize(parts * elements(routine.a, n));
    operands_.b.resize(parts * elements(routine.b, n));
    operands_.c.resize(parts * elements(routine.c, n));
    operands_.more.resize(elements(routine.more, n));
    if (routine.more != kNone) operands_.work.resize(kWorkColumns * elements(Extent::vector, n));
    fill();
    poison(operands_.c.data(), operands_.c.size());
    poison(operands_.more.data(), operands_.more.size());
    if (routine.name == std::string("dsyrk")) clear_upper();
  }

  void fresh(bool on) override {
    fresh_ = on;
    seed_ = first_seed_;
    fill();
  }

  std::int64_t run() override {
    if (fresh_ && called_) {
      ++seed_;
      fill();
    }
    called_ = true;
    if (routine_.in_place) operands_.c = operands_.b;
    const auto start = Clock::now();
    const int complaint = routine_.call(operands_);
    const auto took = Clock::now() - start;
    if (complaint != 0) return -1;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
  }

  bool save(const std::string& path) const override {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(results().data()),
               static_cast<std::streamsize>(results().size() * sizeof(Real)));
    return file.flush().good();
  }

  double distance(const std::string& path) const override {
    std::ifstream file(path, std::ios::binary);
    return relative_distance(file, results().data(), results().size());
  }

 private:
  // The result of dsyev is its eigenvalues, because the vectors of close eigenvalues are not
  // determined. The result of sgesv is the solution.
  const Numbers<Real>& results() const {
    const std::string name = routine_.name;
    return name == "dsyev" || name == "sgesv" ? operands_.more : operands_.c;
  }

  void fill() {
    std::mt19937_64 numbers(seed_);
    for (auto* operand : {&operands_.a, &operands_.b})
      for (Real& value : *operand) value = static_cast<Real>(unit(numbers()));
    if (!routine_.dominant) return;
    auto& first = operands_.a.empty() ? operands_.b : operands_.a;
    const auto n = static_cast<std::size_t>(operands_.n);
    for (std::size_t i = 0; i < n; ++i) first[parts_ * (i + i * n)] += static_cast<Real>(n);
  }

  void clear_upper() {
    const auto n = static_cast<std::size_t>(operands_.n);
    for (std::size_t j = 0; j < n; ++j) std::fill_n(&operands_.c[j * n], j, Real{0});
  }

  static double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

  const Routine<Real> routine_;
  const std::uint64_t first_seed_;
  std::uint64_t seed_;
  const std::size_t parts_;  // reals of an element
  bool fresh_ = false;
  bool called_ = false;
  Operands<Real> operands_;
};

}  // namespace

std::unique_ptr<RoutineCall> RoutineCall::create(const std::string& name, int n,
                                                 std::uint64_t seed) {
  static const Routine<float> single{
      "sgemm", kSquare, kSquare, kSquare, false, false, [](Operands<float>& o) {
        return gemm<float, sgemm_>(o, o.n);
      }};
  static const Routine<float> solve{"sgesv", kNone, kSquare,        kSquare,          true,
                                    true,    sgesv, Extent::vector, sgesv_ != nullptr};
  static const Routine<double> complex{
      "zgemm", kSquare, kSquare, kSquare, false, false, [](Operands<double>& o) {
        return gemm<double, zgemm_>(o, o.n);
      }};
  if (name == single.name) return std::make_unique<Call<float>>(single, n, seed, 1);
  if (name == solve.name)
    return solve.available ? std::make_unique<Call<float>>(solve, n, seed, 1) : nullptr;
  if (name == complex.name) return std::make_unique<Call<double>>(complex, n, seed, 2);
  for (const auto& routine : double_routines())
    if (name == routine.name && routine.available)
      return std::make_unique<Call<double>>(routine, n, seed, 1);
  return nullptr;
}

}  // namespace ob::bench
