// Plans one Fourier transform with FFTW and executes it as often as its standard input asks. The
// program does not use Outboard. `outboard bench fft` times it with and without the drop-in
// library.
//
// usage: fft_transforms double|single c2c|r2c|c2r N[xN[xN]] estimate|measure THREADS SEED
//
//   run K          executes K times and prints the time of each [ns]
//   save FILE      writes the results of the last execution
//   compare FILE   prints the relative distance to the results in FILE, in the 2-norm

#include <fftw3.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "bench/fft_input.hpp"

namespace {

using ob::bench::FftShape;
using Clock = std::chrono::steady_clock;

std::int64_t ns_since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

// The functions of FFTW for one precision, under names without the precision.
#define OB_FFTW_PRECISION(NAME, REAL, PREFIX)                                                \
  struct NAME {                                                                              \
    using Real = REAL;                                                                       \
    using Complex = PREFIX##complex;                                                         \
    using Plan = PREFIX##plan;                                                               \
    static Plan plan(const FftShape& shape, Real* in, Real* out, unsigned flags) {           \
      const auto rank = static_cast<int>(shape.lengths.size());                              \
      const int* n = shape.lengths.data();                                                   \
      auto* complex_in = reinterpret_cast<Complex*>(in);                                     \
      auto* complex_out = reinterpret_cast<Complex*>(out);                                   \
      if (shape.kind == "r2c") return PREFIX##plan_dft_r2c(rank, n, in, complex_out, flags); \
      if (shape.kind == "c2r") return PREFIX##plan_dft_c2r(rank, n, complex_in, out, flags); \
      return PREFIX##plan_dft(rank, n, complex_in, complex_out, FFTW_FORWARD, flags);        \
    }                                                                                        \
    static void execute(Plan plan) { PREFIX##execute(plan); }                                \
    static void destroy(Plan plan) { PREFIX##destroy_plan(plan); }                           \
    static bool use_threads(int n) {                                                         \
      return PREFIX##init_threads() != 0 && (PREFIX##plan_with_nthreads(n), true);           \
    }                                                                                        \
    static void* allocate(std::size_t bytes) { return PREFIX##malloc(bytes); }               \
    static void release(void* memory) { PREFIX##free(memory); }                              \
  }
OB_FFTW_PRECISION(Double, double, fftw_);
OB_FFTW_PRECISION(Single, float, fftwf_);
#undef OB_FFTW_PRECISION

template <class Precision>
class Transform {
 public:
  using Real = typename Precision::Real;

  Transform(const FftShape& shape, std::uint64_t seed) : shape_(shape), seed_(seed) {
    input_ = static_cast<Real*>(Precision::allocate(shape.input_reals() * sizeof(Real)));
    output_ = static_cast<Real*>(Precision::allocate(shape.output_reals() * sizeof(Real)));
    if (!allocated()) return;
    fill_input(shape_, seed_, input_);  // the planner must not find untouched pages
    ob::bench::poison(output_, shape_.output_reals());
  }
  ~Transform() {
    if (plan_ != nullptr) Precision::destroy(plan_);
    Precision::release(input_);
    Precision::release(output_);
  }
  Transform(const Transform&) = delete;
  Transform& operator=(const Transform&) = delete;

  bool allocated() const { return input_ != nullptr && output_ != nullptr; }

  // Makes the plan and returns the time that planning took [ns], or -1 if there is no plan. FFTW
  // overwrites the arrays when it measures, so they are filled again.
  std::int64_t plan(unsigned flags) {
    const auto start = Clock::now();
    plan_ = Precision::plan(shape_, input_, output_, flags);
    const std::int64_t took = ns_since(start);
    fill_input(shape_, seed_, input_);
    ob::bench::poison(output_, shape_.output_reals());
    return plan_ == nullptr ? -1 : took;
  }

  std::int64_t execute() {
    // c2r destroys its input
    if (executed_ && shape_.kind == "c2r") fill_input(shape_, seed_, input_);
    executed_ = true;
    const auto start = Clock::now();
    Precision::execute(plan_);
    return ns_since(start);
  }

  bool save(const std::string& path) const {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(output_),
               static_cast<std::streamsize>(shape_.output_reals() * sizeof(Real)));
    return file.flush().good();
  }

  double distance(const std::string& path) const {
    std::ifstream file(path, std::ios::binary);
    return ob::bench::relative_distance(file, output_, shape_.output_reals());
  }

 private:
  FftShape shape_;
  std::uint64_t seed_;
  bool executed_ = false;
  Real* input_ = nullptr;
  Real* output_ = nullptr;
  typename Precision::Plan plan_ = nullptr;
};

template <class Precision>
bool obey(Transform<Precision>& transform, const std::string& word, const std::string& value) {
  if (word == "run") {
    for (int i = std::atoi(value.c_str()); i > 0; --i)
      std::cout << transform.execute() << (i > 1 ? " " : "");
  } else if (word == "save") {
    if (!transform.save(value)) return false;
    std::cout << "saved";
  } else if (word == "compare") {
    std::cout << transform.distance(value);
  } else {
    return false;
  }
  std::cout << std::endl;
  return true;
}

template <class Precision>
int serve(const FftShape& shape, bool measure, int threads, std::uint64_t seed) {
  Transform<Precision> transform(shape, seed);
  if (!transform.allocated() || (threads > 1 && !Precision::use_threads(threads))) {
    std::fprintf(stderr, "fft_transforms: no memory for the arrays, or no threads\n");
    return 1;
  }
  const std::int64_t planned = transform.plan(measure ? FFTW_MEASURE : FFTW_ESTIMATE);
  if (planned < 0) {
    std::fprintf(stderr, "fft_transforms: FFTW makes no such plan\n");
    return 1;
  }
  std::cout << "planned " << planned << std::endl;
  std::string word;
  std::string value;
  while (std::cin >> word >> value) {
    if (obey(transform, word, value)) continue;
    std::fprintf(stderr, "fft_transforms: cannot do \"%s %s\"\n", word.c_str(), value.c_str());
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  FftShape shape;
  if (argc != 7 || !FftShape::parse(argv[2], argv[3], shape)) {
    std::fprintf(stderr,
                 "usage: fft_transforms double|single c2c|r2c|c2r N[xN[xN]] estimate|measure "
                 "THREADS SEED\n");
    return 2;
  }
  const bool measure = std::string(argv[4]) == "measure";
  const int threads = std::atoi(argv[5]);
  const std::uint64_t seed = std::strtoull(argv[6], nullptr, 10);
  return std::string(argv[1]) == "single" ? serve<Single>(shape, measure, threads, seed)
                                          : serve<Double>(shape, measure, threads, seed);
}
