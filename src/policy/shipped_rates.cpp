#include "policy/shipped_rates.hpp"

#include <algorithm>
#include <iterator>

#include "base/arithmetic.hpp"

namespace ob::policy {
namespace {

// The cycles of a call of n flop on one core:
//
//     call + n / (efficiency x flop per cycle) + order x cube root of n^2
//
// The second part is work in kernels, which grows with their vectors. The third part takes the same
// time with any kernels: panels, vectors, rotations, copies. It grows with the elements of the
// matrix, which is the work to the power of 2/3. A rate against the size is then that of R. Hockney
// (The Science of Computer Benchmarking, section 1.3), whose n_1/2 grows with the peak.
struct Curve {
  double efficiency;
  double order;  // cycles
  double call;   // cycles
};

// The curves of similar routines. `serial` is the fraction of the kernels' work that more threads
// do not make shorter; they never shorten the other parts.
struct FamilyRates {
  Curve tuned;
  Curve reference;  // of both the reference BLAS and LAPACK
  double serial;
  double error;
  double reference_error;
};

// Measured with one thread of an AMD EPYC of the fourth generation (Zen 4, 3.5 GHz): OpenBLAS
// 0.3.21 of Debian 12 with kernels from SSE2 to AVX-512, OpenBLAS in the wheels of NumPy and SciPy,
// BLIS 0.9, and the reference BLAS and LAPACK 3.11. The errors contain all of them, and a tenth
// more. `serial` fits two threads of OpenBLAS. Where these were not measured, it is that of similar
// routines; for level 3, whose large calls showed none, it is 2 per cent. The last three families
// are guesses. docs/decision.md has the distributions.
enum Family : std::uint8_t {
  kProduct,
  kRankUpdate,
  kTrmm,
  kTrsm,
  kLu,
  kCholesky,
  kIndefinite,
  kSolve,
  kIndefiniteSolve,
  kInverse,
  kExpertSolve,
  kQr,
  kApplyQ,
  kLeastSquares,
  kPivotedQr,
  kGelsy,
  kGelsd,
  kGelss,
  kSyev,
  kSyevd,
  kSyevr,
  kSyevx,
  kSygvd,
  kGeev,
  kGees,
  kGgev,
  kGesvd,
  kGesdd,
  kSytrd,
  kGebrd,
  kGehrd,
  kLevel2,
  kLevel1,
  kOtherLapack,
};

constexpr FamilyRates kRates[] = {
    // tuned: efficiency, order, call; reference: the same; serial, error, reference_error
    {{0.88, 0.3, 1500}, {0.40, 0, 0}, 0.02, 1.4, 1.5},        // product
    {{0.85, 1.8, 5000}, {0.39, 0, 0}, 0.02, 1.4, 1.5},        // rank update
    {{0.88, 1.9, 7000}, {0.35, 0, 0}, 0.02, 1.3, 1.8},        // trmm
    {{0.79, 15, 0}, {0.24, 0, 10000}, 0.02, 1.6, 1.6},        // trsm
    {{0.84, 15, 4000}, {0.38, 0.2, 19000}, 0.30, 1.4, 1.5},   // lu
    {{0.79, 18, 0}, {0.23, 0, 1700}, 0.10, 1.5, 1.7},         // cholesky
    {{0.65, 22, 7000}, {0.25, 0, 0}, 0.90, 1.3, 1.6},         // indefinite
    {{0.42, 4.5, 20000}, {0.21, 0, 0}, 0.40, 1.4, 2.1},       // solve
    {{0.23, 0, 18000}, {0.26, 0, 0}, 0.90, 1.4, 1.5},         // indefinite solve
    {{0.78, 26, 0}, {0.35, 0, 32000}, 0.02, 1.6, 1.5},        // inverse
    {{0.28, 302, 0}, {0.12, 311, 0}, 0.90, 1.6, 1.5},         // expert solve
    {{0.78, 20, 7000}, {0.30, 0, 0}, 0.20, 1.4, 1.6},         // qr
    {{0.73, 12, 14000}, {0.23, 0, 0}, 0.20, 1.5, 1.6},        // apply q
    {{0.65, 30, 18000}, {0.29, 0, 31000}, 0.40, 1.4, 1.6},    // least squares
    {{0.85, 20, 0}, {0.24, 0, 0}, 0.40, 1.4, 1.5},            // pivoted qr
    {{0.89, 35, 14000}, {0.21, 0, 6000}, 0.50, 1.3, 1.5},     // gelsy
    {{0.43, 108, 0}, {0.19, 61, 0}, 0.80, 1.3, 1.5},          // gelsd
    {{0.29, 46, 5000}, {0.49, 28, 18000}, 0.90, 1.3, 1.5},    // gelss
    {{0.23, 52, 0}, {0.44, 22, 9000}, 0.90, 1.5, 1.5},        // syev
    {{0.73, 62, 62000}, {0.32, 18, 60000}, 0.50, 1.3, 1.7},   // syevd
    {{0.55, 96, 33000}, {0.25, 15, 78000}, 0.50, 1.3, 1.6},   // syevr
    {{0.10, 82, 0}, {0.18, 54, 0}, 0.90, 1.4, 1.5},           // syevx
    {{0.88, 72, 49000}, {0.28, 55, 0}, 0.50, 1.3, 1.5},       // sygvd
    {{0.55, 84, 0}, {0.42, 27, 25000}, 0.80, 1.6, 1.6},       // geev
    {{0.27, 109, 11000}, {0.23, 19, 70000}, 0.80, 1.6, 1.5},  // gees
    {{0.64, 11, 10000}, {0.95, 0, 17000}, 0.90, 1.3, 1.5},    // ggev
    {{0.33, 31, 15000}, {0.60, 3.1, 43000}, 0.90, 1.3, 1.5},  // gesvd
    {{0.95, 45, 53000}, {0.47, 7.1, 62000}, 0.70, 1.3, 1.6},  // gesdd
    {{0.47, 23, 23000}, {0.38, 24, 0}, 0.20, 1.6, 1.5},       // sytrd
    {{0.40, 21, 0}, {0.24, 0, 0}, 0.60, 1.3, 1.5},            // gebrd
    {{0.61, 20, 0}, {0.26, 0, 0}, 0.70, 1.3, 1.5},            // gehrd
    {{0.05, 0, 1000}, {0.15, 0, 300}, 0.50, 4.0, 3.0},        // level 2
    {{0.03, 0, 1000}, {0.10, 0, 300}, 0.50, 4.0, 3.0},        // level 1
    {{0.30, 50, 20000}, {0.20, 20, 20000}, 0.50, 5.0, 3.0},   // other lapack
};

struct NamedFamily {
  std::string_view base;  // the routine without its precision
  Family family;
};

constexpr NamedFamily kNames[] = {
    {"gemm", kProduct},
    {"gemm3m", kProduct},
    {"gemmt", kProduct},
    {"gemmtr", kProduct},
    {"symm", kProduct},
    {"hemm", kProduct},
    {"syrk", kRankUpdate},
    {"herk", kRankUpdate},
    {"syr2k", kRankUpdate},
    {"her2k", kRankUpdate},
    {"trmm", kTrmm},
    {"trsm", kTrsm},
    {"getrf", kLu},
    {"gesv", kLu},
    {"potrf", kCholesky},
    {"posv", kCholesky},
    {"sytrf", kIndefinite},
    {"hetrf", kIndefinite},
    {"sysv", kIndefinite},
    {"hesv", kIndefinite},
    {"getrs", kSolve},
    {"potrs", kSolve},
    {"trtrs", kSolve},
    {"sytrs", kIndefiniteSolve},
    {"hetrs", kIndefiniteSolve},
    {"getri", kInverse},
    {"potri", kInverse},
    {"trtri", kInverse},
    {"posvx", kExpertSolve},
    {"gesvx", kExpertSolve},
    {"geqrf", kQr},
    {"gelqf", kQr},
    {"ormqr", kApplyQ},
    {"unmqr", kApplyQ},
    {"ormlq", kApplyQ},
    {"unmlq", kApplyQ},
    {"orgqr", kApplyQ},
    {"ungqr", kApplyQ},
    {"orglq", kApplyQ},
    {"unglq", kApplyQ},
    {"gels", kLeastSquares},
    {"geqp3", kPivotedQr},
    {"gelsy", kGelsy},
    {"gelsd", kGelsd},
    {"gelss", kGelss},
    {"syev", kSyev},
    {"heev", kSyev},
    {"sygv", kSyev},
    {"hegv", kSyev},
    {"syevd", kSyevd},
    {"heevd", kSyevd},
    {"syevr", kSyevr},
    {"heevr", kSyevr},
    {"syevx", kSyevx},
    {"heevx", kSyevx},
    {"sygvx", kSyevx},
    {"hegvx", kSyevx},
    {"sygvd", kSygvd},
    {"hegvd", kSygvd},
    {"geev", kGeev},
    {"geevx", kGeev},
    {"gees", kGees},
    {"geesx", kGees},
    {"ggev", kGgev},
    {"gesvd", kGesvd},
    {"gesdd", kGesdd},
    {"sytrd", kSytrd},
    {"hetrd", kSytrd},
    {"gebrd", kGebrd},
    {"gehrd", kGehrd},
};

// Levels 1 and 2 are bound by memory. Mode auto never sends them, so a name is only recognized.
constexpr std::string_view kLevel2Names[] = {"gemv", "gbmv", "symv", "sbmv", "spmv", "hemv", "hbmv",
                                             "hpmv", "trmv", "tbmv", "tpmv", "trsv", "tbsv", "tpsv",
                                             "ger",  "geru", "gerc", "syr",  "spr",  "syr2", "spr2",
                                             "her",  "hpr",  "her2", "hpr2"};
constexpr std::string_view kLevel1Names[] = {
    "dot",   "dotu",  "dotc",  "sdot", "dsdot", "axpy",  "scal",  "sscal", "dscal",
    "nrm2",  "cnrm2", "znrm2", "asum", "casum", "zasum", "samax", "damax", "camax",
    "zamax", "copy",  "swap",  "rot",  "srot",  "drot",  "rotm",  "rotg",  "rotmg"};

// Describes a routine by its name.
struct NamedRoutine {
  Family family = kOtherLapack;
  char precision = 'd';
  bool known = false;
};

template <std::size_t count>
bool is_among(const std::string_view (&names)[count], std::string_view name) noexcept {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

NamedRoutine routine_of(std::string_view name) noexcept {
  if (name.empty()) return {};
  const char precision = name.front();
  if (precision != 's' && precision != 'd' && precision != 'c' && precision != 'z') {
    // isamax and its like begin with another letter.
    return {kLevel1, 'd', is_among(kLevel1Names, name.substr(1))};
  }
  const std::string_view base = name.substr(1);
  for (const NamedFamily& row : kNames)
    if (row.base == base) return {row.family, precision, true};
  if (is_among(kLevel2Names, base)) return {kLevel2, precision, true};
  if (is_among(kLevel1Names, base)) return {kLevel1, precision, true};
  return {kOtherLapack, precision, false};
}

// The precisions' factors, measured with the same libraries. Vectors hold twice as many numbers in
// single precision, and complex matrices are smaller for the same work. The reference is compiled
// to scalar code, whose rate does not depend on the precision but gains from complex numbers.
struct PrecisionFactors {
  double efficiency;
  double order;
  double reference_efficiency;
};

constexpr PrecisionFactors factors_of(char precision) noexcept {
  switch (precision) {
    case 's': return {2, 0.75, 1};
    case 'c': return {2, 0.55, 1.6};
    case 'z': return {1, 0.5, 1.6};
    default: return {1, 1, 1};
  }
}

// A transform of FFTW, estimated and with one thread. The rate falls with the size, because the
// data leave one cache after the other:
//
//     call + n / (efficiency x flop per cycle) x (1 + square root of (n / falls_flop)) cycles
//
// Plans by estimate are good for small transforms only. Those of complex data in two dimensions
// take five times as long from 256 x 256 points on, which the large error contains.
struct TransformCurve {
  std::string_view kind;
  double efficiency;
  double single;  // rate in single precision, over that in double
  double falls_flop;
  double large_error;
};
constexpr TransformCurve kTransforms[] = {{"c2c", 0.38, 2, 4.5e6, 4},
                                          {"r2c", 0.30, 1.1, 4e7, 2},
                                          {"c2r", 0.30, 1.1, 4e7, 2},
                                          {"r2r", 0.11, 1.1, 1.3e7, 2}};
constexpr double kTransformCall = 300;  // cycles

const TransformCurve* transform_of(std::string_view routine) noexcept {
  const std::size_t space = routine.find(' ');
  const std::string_view prefix = routine.substr(0, space);
  if (space == std::string_view::npos || (prefix != "fftw" && prefix != "fftwf")) return nullptr;
  for (const TransformCurve& curve : kTransforms)
    if (curve.kind == routine.substr(space + 1)) return &curve;
  return nullptr;
}

// Larger figures are mistakes of the caller, and must not become infinite here.
constexpr double kMostFlop = 1e24;

double transform_cycles(const TransformCurve& curve, bool is_single, const LocalLibrary& library,
                        double flop) noexcept {
  const double rate = library.flop_per_cycle * curve.efficiency * (is_single ? curve.single : 1);
  return kTransformCall + flop / rate * (1 + square_root(flop / curve.falls_flop));
}

double reference_cycles(const NamedRoutine& routine, const LocalLibrary& library,
                        double flop) noexcept {
  const Curve& curve = kRates[routine.family].reference;
  const double factor = factors_of(routine.precision).reference_efficiency;
  const double rate = library.flop_per_cycle * std::min(1.0, curve.efficiency * factor);
  const double root = cube_root(flop);
  return curve.call + flop / rate + curve.order * root * root;
}

double tuned_cycles(const NamedRoutine& routine, const LocalLibrary& library,
                    double flop) noexcept {
  const FamilyRates& family = kRates[routine.family];
  const Curve& curve = family.tuned;
  const PrecisionFactors factors = factors_of(routine.precision);
  const double threads = std::max(1U, library.threads);
  const double shared = family.serial + (1 - family.serial) / threads;
  const double rate = library.flop_per_cycle * curve.efficiency * factors.efficiency;
  const double root = cube_root(flop);
  return curve.call + flop / rate * shared + curve.order * factors.order * root * root;
}

double cycles_of(std::string_view routine, const LocalLibrary& library, double flop) noexcept {
  if (const TransformCurve* curve = transform_of(routine))
    return transform_cycles(*curve, routine.starts_with("fftwf"), library, flop);
  const NamedRoutine named = routine_of(routine);
  return library.kind == LibraryKind::reference ? reference_cycles(named, library, flop)
                                                : tuned_cycles(named, library, flop);
}

}  // namespace

double shipped_rate(std::string_view routine, const LocalLibrary& library, double flop) noexcept {
  if (!(library.clock_hz > 0) || !(library.flop_per_cycle > 0) || !(flop > 0)) return 0;
  const double work = std::min(flop, kMostFlop);
  return work / cycles_of(routine, library, work) * library.clock_hz;
}

double shipped_error(std::string_view routine, const LocalLibrary& library, double flop) noexcept {
  // Calls below this work take some microseconds, in which caches and the start of threads matter.
  constexpr double kSmallFlop = 1e6;
  constexpr double kSmallError = 1.3;
  constexpr double kUnknownError = 2;
  constexpr double kTransformError = 2;
  constexpr double kLargeTransformFlop = 4e6;
  // Threads start and wait for each other; more than two of them were not measured.
  constexpr double kThreadsError = 1.2;
  constexpr double kSmallThreadsFlop = 1e7;
  constexpr double kSmallThreadsError = 1.6;
  constexpr double kMoreThreads = 0.2;  // for each doubling above two
  double error = flop < kSmallFlop ? kSmallError : 1;
  if (library.kind == LibraryKind::unknown) error *= kUnknownError;
  if (const TransformCurve* curve = transform_of(routine)) {
    return error * (flop < kLargeTransformFlop ? kTransformError : curve->large_error);
  }
  const FamilyRates& family = kRates[routine_of(routine).family];
  if (library.kind == LibraryKind::reference) return error * family.reference_error;
  error *= family.error;
  if (library.threads < 2) return error;
  const int doublings = std::bit_width(library.threads) - 2;
  return error * (flop < kSmallThreadsFlop ? kSmallThreadsError : kThreadsError) *
         (1 + kMoreThreads * doublings);
}

double most_rate(std::string_view routine, const LocalLibrary& library) noexcept {
  constexpr double kClockError = 1.1;
  // The kernels of a reference library depend on how somebody compiled it.
  const bool has_known_kernels =
      library.kind == LibraryKind::tuned || library.kind == LibraryKind::reference_lapack;
  if (!has_known_kernels || transform_of(routine) != nullptr) return 0;
  const NamedRoutine named = routine_of(routine);
  // gemm3m computes complex products with three real ones in place of four.
  if (named.family > kLeastSquares || routine.ends_with("3m")) return 0;
  const bool is_single = named.precision == 's' || named.precision == 'c';
  const double peak = library.clock_hz * library.flop_per_cycle * std::max(1U, library.threads);
  return kClockError * peak * (is_single ? 2 : 1);
}

bool has_shipped_rate(std::string_view routine) noexcept {
  return transform_of(routine) != nullptr || routine_of(routine).known;
}

}  // namespace ob::policy
