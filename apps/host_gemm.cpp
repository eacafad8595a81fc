#include "host_gemm.hpp"

#include <utility>

#include "backend/cpu/host_routines.hpp"
#include "base/contract.hpp"
#include "routines/descriptor.hpp"

namespace ob::apps {
namespace {

class HostGemm final : public sial::Gemm {
 public:
  HostGemm(std::unique_ptr<HostRoutines> library, const Descriptor& routine)
      : library_(std::move(library)), routine_(routine) {}

  void run(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
           const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double beta,
           double* c, std::int64_t ldc) override {
    Argument arguments[10];
    arguments[0].flag = transa;
    arguments[1].flag = transb;
    arguments[2].dim = m;
    arguments[3].dim = n;
    arguments[4].dim = k;
    arguments[5].scalar = {alpha, 0};
    // The routine only reads A and B.
    arguments[6].host = {const_cast<double*>(a), lda};
    arguments[7].host = {const_cast<double*>(b), ldb};
    arguments[8].scalar = {beta, 0};
    arguments[9].host = {c, ldc};
    const Status done = library_->run(routine_, arguments);
    OB_ENSURE(done.ok());
  }

 private:
  const std::unique_ptr<HostRoutines> library_;
  const Descriptor& routine_;
};

}  // namespace

Result<std::unique_ptr<sial::Gemm>> open_host_gemm(unsigned threads) {
  OB_ASSIGN_OR_RETURN(std::unique_ptr<HostRoutines> library, cpu::open_host_routines(threads));
  const Descriptor* const routine = routines::find("dgemm");
  if (routine == nullptr || !library->has(*routine)) {
    return Status(Code::unavailable, "the BLAS library has no dgemm; install libopenblas0-pthread");
  }
  return std::unique_ptr<sial::Gemm>(new HostGemm(std::move(library), *routine));
}

}  // namespace ob::apps
