// Calls one BLAS routine on random operands as often as its standard input asks: a program that
// knows nothing of Outboard, timed by `outboard bench blas` with and without it.
//
// usage: blas_calls dgemm|dgemv|ddot N THREADS SEED
//
//   run K          calls K times and prints what each took [ns]
//   save FILE      writes the results of the last call
//   compare FILE   prints how far they are from those in FILE, relative, in the 2-norm
//
// C = A B, y = A x, x'y: square, packed, beta = 0. Operands lie in [0, 1): no term cancels another,
// so that the error of a sum of N terms is at most N eps of the sum (Higham, Accuracy and Stability
// of Numerical Algorithms, 3.5).

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "bench/fft_input.hpp"

extern "C" {
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*,
            const double*, const int*, const double*, const int*, const double*, double*,
            const int*, std::size_t, std::size_t);
void dgemv_(const char*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*, std::size_t);
double ddot_(const int*, const double*, const int*, const double*, const int*);
// OpenBLAS only; another library keeps its own number of threads.
void openblas_set_num_threads(int) __attribute__((weak));
}

namespace {

using Clock = std::chrono::steady_clock;

class Call {
 public:
  Call(const std::string& routine, int n, std::uint64_t seed) : routine_(routine), n_(n) {
    const std::size_t edge = static_cast<std::size_t>(n);
    const bool matrix = routine != "ddot";
    a_.resize(matrix ? edge * edge : edge);
    b_.resize(routine == "dgemm" ? edge * edge : edge);
    c_.resize(routine == "dgemm" ? edge * edge : matrix ? edge : 1);
    std::mt19937_64 numbers(seed);
    for (double& value : a_) value = unit(numbers());
    for (double& value : b_) value = unit(numbers());
    ob::bench::poison(c_.data(), c_.size());
  }

  std::int64_t run() {
    const auto start = Clock::now();
    call();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
  }

  bool save(const std::string& path) const {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(c_.data()),
               static_cast<std::streamsize>(c_.size() * sizeof(double)));
    return file.flush().good();
  }

  double distance(const std::string& path) const {
    std::ifstream file(path, std::ios::binary);
    return ob::bench::relative_distance(file, c_.data(), c_.size());
  }

 private:
  static double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

  void call() {
    const double one = 1;
    const double zero = 0;
    const int step = 1;
    if (routine_ == "dgemm") {
      dgemm_("N", "N", &n_, &n_, &n_, &one, a_.data(), &n_, b_.data(), &n_, &zero, c_.data(), &n_,
             1, 1);
    } else if (routine_ == "dgemv") {
      dgemv_("N", &n_, &n_, &one, a_.data(), &n_, b_.data(), &step, &zero, c_.data(), &step, 1);
    } else {
      c_[0] = ddot_(&n_, a_.data(), &step, b_.data(), &step);
    }
  }

  const std::string routine_;
  const int n_;
  std::vector<double> a_;
  std::vector<double> b_;
  std::vector<double> c_;
};

bool obey(Call& call, const std::string& word, const std::string& value) {
  if (word == "run") {
    for (int i = std::atoi(value.c_str()); i > 0; --i)
      std::cout << call.run() << (i > 1 ? " " : "");
  } else if (word == "save") {
    if (!call.save(value)) return false;
    std::cout << "saved";
  } else if (word == "compare") {
    std::cout << call.distance(value);
  } else {
    return false;
  }
  std::cout << std::endl;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string routine = argc == 5 ? argv[1] : "";
  const int n = argc == 5 ? std::atoi(argv[2]) : 0;
  if ((routine != "dgemm" && routine != "dgemv" && routine != "ddot") || n < 1) {
    std::fprintf(stderr, "usage: blas_calls dgemm|dgemv|ddot N THREADS SEED\n");
    return 2;
  }
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(std::atoi(argv[3]));
  Call call(routine, n, std::strtoull(argv[4], nullptr, 10));
  std::cout << "planned 0" << std::endl;  // there is nothing to plan
  std::string word;
  std::string value;
  while (std::cin >> word >> value) {
    if (obey(call, word, value)) continue;
    std::fprintf(stderr, "blas_calls: cannot do \"%s %s\"\n", word.c_str(), value.c_str());
    return 1;
  }
  return 0;
}
