#include "cufft/transform.hpp"

#include <dlfcn.h>
#include <fftw3.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace standin::fft {
namespace {

// FFTW's functions of one precision, found at run time: others in the process may use FFTW, too.
template <class Complex, class Number, class Plan>
struct Library {
  Plan (*c2c)(int, const fftw_iodim64*, int, const fftw_iodim64*, Complex*, Complex*, int,
              unsigned);
  Plan (*r2c)(int, const fftw_iodim64*, int, const fftw_iodim64*, Number*, Complex*, unsigned);
  Plan (*c2r)(int, const fftw_iodim64*, int, const fftw_iodim64*, Complex*, Number*, unsigned);
  void (*execute)(Plan);
  void (*destroy)(Plan);

  Library(const char* file, const char* threads_file, const char* prefix) {
    void* const library = open(file);
    find(c2c, library, prefix, "plan_guru64_dft");
    find(r2c, library, prefix, "plan_guru64_dft_r2c");
    find(c2r, library, prefix, "plan_guru64_dft_c2r");
    find(execute, library, prefix, "execute");
    find(destroy, library, prefix, "destroy_plan");
    // Other code in this process may plan, too, without our lock. FFTW has a lock for this.
    void (*make_safe)() = nullptr;
    find(make_safe, open(threads_file), prefix, "make_planner_thread_safe");
    make_safe();
  }
  static void* open(const char* file) {
    void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) {
      std::fprintf(stderr, "standin_cuda: %s\n", dlerror());
      std::abort();
    }
    return library;
  }
  template <class Function>
  static void find(Function& function, void* library, const char* prefix, const char* name) {
    char symbol[64];
    std::snprintf(symbol, sizeof symbol, "%s%s", prefix, name);
    function = reinterpret_cast<Function>(dlsym(library, symbol));
    if (function == nullptr) std::abort();
  }
};

template <class Complex, class Number, class Library>
void run(const Library& library, const Transform& t, std::byte* input, std::byte* output) {
  std::vector<fftw_iodim64> dims(t.n.size());
  for (std::size_t d = 0; d < dims.size(); ++d)
    dims[d] = {t.n[d], t.input_steps[d], t.output_steps[d]};
  const fftw_iodim64 batch{t.batch, t.input_dist, t.output_dist};
  const int rank = static_cast<int>(dims.size());
  auto* const in = reinterpret_cast<Complex*>(input);
  auto* const out = reinterpret_cast<Complex*>(output);
  const auto plan = [&] {
    switch (t.type) {
      case CUFFT_R2C:
      case CUFFT_D2Z:
        return library.r2c(rank, dims.data(), 1, &batch, reinterpret_cast<Number*>(input), out,
                           FFTW_ESTIMATE);
      case CUFFT_C2R:
      case CUFFT_Z2D:
        return library.c2r(rank, dims.data(), 1, &batch, in, reinterpret_cast<Number*>(output),
                           FFTW_ESTIMATE);
      default: return library.c2c(rank, dims.data(), 1, &batch, in, out, t.sign, FFTW_ESTIMATE);
    }
  }();
  if (plan == nullptr) {
    std::fprintf(stderr, "standin_cuda: FFTW makes no plan\n");
    std::abort();
  }
  library.execute(plan);
  library.destroy(plan);
}

}  // namespace

void Transform::run(std::byte* input, std::byte* output) const {
  if (type == CUFFT_C2C || type == CUFFT_R2C || type == CUFFT_C2R) {
    static const Library<fftwf_complex, float, fftwf_plan> kSingle(
        "libfftw3f.so.3", "libfftw3f_threads.so.3", "fftwf_");
    fft::run<fftwf_complex, float>(kSingle, *this, input, output);
  } else {
    static const Library<fftw_complex, double, fftw_plan> kDouble("libfftw3.so.3",
                                                                  "libfftw3_threads.so.3", "fftw_");
    fft::run<fftw_complex, double>(kDouble, *this, input, output);
  }
}

}  // namespace standin::fft
