#include "host_lapack.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/blas_library.hpp"

namespace ob::apps {
namespace {

using Length = std::size_t;  // of a character argument, as gfortran passes it
using Dsyevd = void(const char*, const char*, const int*, double*, const int*, double*, double*,
                    const int*, int*, const int*, int*, Length, Length);
using Dsygvd = void(const int*, const char*, const char*, const int*, double*, const int*, double*,
                    const int*, double*, double*, const int*, int*, const int*, int*, Length,
                    Length);
using Dgesv = void(const int*, const int*, double*, const int*, int*, double*, const int*, int*);
using Dpotrf = void(const char*, const int*, double*, const int*, int*, Length);
using Dgesdd = void(const char*, const int*, const int*, double*, const int*, double*, double*,
                    const int*, double*, const int*, double*, const int*, int*, int*, Length);

struct Routines {
  Dsyevd* dsyevd = nullptr;
  Dsygvd* dsygvd = nullptr;
  Dgesv* dgesv = nullptr;
  Dpotrf* dpotrf = nullptr;
  Dgesdd* dgesdd = nullptr;
};

Status failure(const char* problem, int info) {
  return {Code::invalid_argument, std::string(problem) + " (LAPACK's info is " +
                                      std::to_string(info) + "); check the matrix"};
}

// Orders are those of blocks or static arrays, far below 2^31; a matrix of that order has no room.
int to_int(std::int64_t number) { return static_cast<int>(std::max<std::int64_t>(1, number)); }

class LibraryLapack final : public sial::Lapack {
 public:
  LibraryLapack(std::unique_ptr<cpu::BlasLibrary> library, const Routines& routines)
      : library_(std::move(library)), routines_(routines) {}

  Status eigen(std::int64_t order, double* a, double* w) override {
    const int n = to_int(order);
    double work_size = 0;
    int integers = 0;
    int info = 0;
    const int query = -1;
    routines_.dsyevd("V", "L", &n, a, &n, w, &work_size, &query, &integers, &query, &info, 1, 1);
    const int size = take_work(work_size, integers);
    routines_.dsyevd("V", "L", &n, a, &n, w, work_.data(), &size, integers_.data(), &integers,
                     &info, 1, 1);
    if (info != 0) return failure("the eigenvalues do not converge", info);
    return {};
  }

  Status eigen_generalized(std::int64_t order, double* a, double* b, double* w) override {
    const int n = to_int(order);
    const int type = 1;
    double work_size = 0;
    int integers = 0;
    int info = 0;
    const int query = -1;
    routines_.dsygvd(&type, "V", "L", &n, a, &n, b, &n, w, &work_size, &query, &integers, &query,
                     &info, 1, 1);
    const int size = take_work(work_size, integers);
    routines_.dsygvd(&type, "V", "L", &n, a, &n, b, &n, w, work_.data(), &size, integers_.data(),
                     &integers, &info, 1, 1);
    if (info > n) return failure("the second matrix is not positive definite", info);
    if (info != 0) return failure("the eigenvalues do not converge", info);
    return {};
  }

  Status solve(std::int64_t order, std::int64_t columns, double* a, double* b) override {
    const int n = to_int(order);
    const int sides = to_int(columns);
    integers_.resize(static_cast<std::size_t>(n));
    int info = 0;
    routines_.dgesv(&n, &sides, a, &n, integers_.data(), b, &n, &info);
    if (info != 0) return failure("the matrix is singular", info);
    return {};
  }

  Status cholesky(std::int64_t order, double* a) override {
    const int n = to_int(order);
    int info = 0;
    routines_.dpotrf("L", &n, a, &n, &info, 1);
    if (info != 0) return failure("the matrix is not positive definite", info);
    return {};
  }

  Status svd(std::int64_t rows, std::int64_t columns, double* a, double* s, double* u,
             double* vt) override {
    const int m = to_int(rows);
    const int n = to_int(columns);
    const int k = std::min(m, n);
    double work_size = 0;
    int info = 0;
    const int query = -1;
    integers_.resize(8 * static_cast<std::size_t>(k));
    routines_.dgesdd("S", &m, &n, a, &m, s, u, &m, vt, &k, &work_size, &query, integers_.data(),
                     &info, 1);
    const int size = take_work(work_size, 8 * k);
    routines_.dgesdd("S", &m, &n, a, &m, s, u, &m, vt, &k, work_.data(), &size, integers_.data(),
                     &info, 1);
    if (info != 0) return failure("the singular values do not converge", info);
    return {};
  }

 private:
  // Makes room for a routine's answer to a query of its workspace.
  int take_work(double size, int integers) {
    const int needed = std::max(1, static_cast<int>(size));
    if (work_.size() < static_cast<std::size_t>(needed)) {
      work_.resize(static_cast<std::size_t>(needed));
    }
    integers_.resize(static_cast<std::size_t>(std::max(1, integers)));
    return needed;
  }

  std::unique_ptr<cpu::BlasLibrary> library_;
  Routines routines_;
  std::vector<double> work_;
  std::vector<int> integers_;
};

template <class Function>
bool load(const cpu::BlasLibrary& library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(library.symbol(name));
  return function != nullptr;
}

}  // namespace

Result<std::shared_ptr<sial::Lapack>> open_host_lapack(unsigned threads) {
  OB_ASSIGN_OR_RETURN(auto library, cpu::BlasLibrary::open({.threads = threads}));
  Routines routines;
  const bool complete =
      load(*library, "dsyevd_", routines.dsyevd) && load(*library, "dsygvd_", routines.dsygvd) &&
      load(*library, "dgesv_", routines.dgesv) && load(*library, "dpotrf_", routines.dpotrf) &&
      load(*library, "dgesdd_", routines.dgesdd);
  if (!complete) {
    return Status(Code::unavailable, "the library has no complete LAPACK (" +
                                         library->description() +
                                         "); install the Debian package libopenblas0-pthread");
  }
  return std::shared_ptr<sial::Lapack>(
      std::make_shared<LibraryLapack>(std::move(library), routines));
}

}  // namespace ob::apps
