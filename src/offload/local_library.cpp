#include "offload/local_library.hpp"

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "base/machine.hpp"
#include "offload/library_queries.hpp"

namespace ob::offload {
namespace {

using policy::LibraryKind;

// The loops of the reference BLAS are compiled for any x86-64, which has SSE2: two numbers are
// multiplied and two are added in a cycle.
constexpr double kReferenceFlopPerCycle = 4;
// FFTW's transforms hardly gain from wider vectors than those of AVX2.
constexpr double kFftwFlopPerCycle = 16;

// The least of kernels with fused multiply-add on 256 bits.
constexpr double kFusedFlopPerCycle = 16;

struct CloseObject {
  void* object = nullptr;
  ~CloseObject() {
    if (object != nullptr) ::dlclose(object);
  }
};

// The file name, and that of the folder, with links resolved.
class ObjectName {
 public:
  explicit ObjectName(const char* path) noexcept {
    const char* resolved = ::realpath(path, buffer_);
    std::string_view whole = resolved != nullptr ? resolved : path;
    const std::size_t slash = whole.rfind('/');
    file_ = slash == std::string_view::npos ? whole : whole.substr(slash + 1);
    whole.remove_suffix(slash == std::string_view::npos ? whole.size() : whole.size() - slash);
    folder_ = whole.substr(whole.rfind('/') + 1);
  }
  bool has(std::string_view word) const noexcept {
    return file_.find(word) != std::string_view::npos ||
           folder_.find(word) != std::string_view::npos;
  }
  bool is_lapack() const noexcept { return is("liblapack"); }
  // Distributions give tuned libraries the reference's name, too, in folders of their own.
  bool is_reference() const noexcept {
    const bool tuned = has("openblas") || has("blis") || has("mkl") || has("atlas");
    return (is("libblas") || is_lapack()) && !tuned;
  }

 private:
  // "liblapack.so.3.11.0", or with integers of 64 bits "liblapack64.so.3.11.0"
  bool is(std::string_view library) const noexcept {
    if (!file_.starts_with(library)) return false;
    const std::string_view rest = file_.substr(library.size());
    return rest.starts_with(".") || rest.starts_with("64.");
  }

  char buffer_[PATH_MAX];
  std::string_view file_, folder_;
};

// A tuned library, and its core type as far as it tells it.
struct TunedLibrary {
  const void* function = nullptr;  // one of its own; nullptr: none was found
  std::string_view name;           // part of the names of its files
  std::string_view core;
};

TunedLibrary find_tuned(void* object) noexcept {
  if (const AskText config = openblas_config(object)) {
    return {reinterpret_cast<const void*>(config), "openblas", core_type_of(config())};
  }
  if (const auto id = find_function<AskNumber>(object, {"bli_arch_query_id"})) {
    using Name = const char* (*)(int);
    const auto name = find_function<Name>(object, {"bli_arch_string"});
    const char* core = name != nullptr ? name(id()) : nullptr;
    return {reinterpret_cast<const void*>(id), "blis", core != nullptr ? core : ""};
  }
  const auto mkl = find_function<AskNumber>(object, {"MKL_Get_Max_Threads"});
  return {reinterpret_cast<const void*>(mkl), "mkl", {}};
}

bool is_fftw(void* object) noexcept {
  return ::dlsym(object, "fftw_version") != nullptr || ::dlsym(object, "fftwf_version") != nullptr;
}

bool are_in_one_object(const Dl_info& a, const void* function) noexcept {
  Dl_info b{};
  return ::dladdr(function, &b) != 0 && a.dli_fbase == b.dli_fbase;
}

// True if the dgemm that the object has, or finds in its dependencies, is the reference's. True if
// it finds none.
bool has_reference_blas(void* object) noexcept {
  Dl_info blas{};
  const void* dgemm = ::dlsym(object, "dgemm_");
  if (dgemm == nullptr || ::dladdr(dgemm, &blas) == 0 || blas.dli_fname == nullptr) return true;
  return ObjectName(blas.dli_fname).is_reference();
}

unsigned threads_on_cores(void* object) noexcept {
  return std::clamp(static_cast<unsigned>(std::max(1, threads_of(object))), 1u, usable_cores());
}

policy::LocalLibrary describe_library(const Dl_info& info, void* object) noexcept {
  const Processor processor = this_processor();
  const ObjectName name(info.dli_fname);
  const TunedLibrary tuned = find_tuned(object);
  if (tuned.function != nullptr) {
    // The reference LAPACK is bound to the BLAS that is one of its dependencies.
    const bool own = name.has(tuned.name) || are_in_one_object(info, tuned.function);
    return {.kind = own || !name.is_lapack() ? LibraryKind::tuned : LibraryKind::reference_lapack,
            .clock_hz = clock_hz(),
            .flop_per_cycle = flop_per_cycle(processor, tuned.core),
            .threads = threads_on_cores(object)};
  }
  if (is_fftw(object)) {  // a plan has one thread unless the program asks for more
    const double width = std::min(kFftwFlopPerCycle, flop_per_cycle(processor));
    return {
        .kind = LibraryKind::fftw, .clock_hz = clock_hz(), .flop_per_cycle = width, .threads = 1};
  }
  if (name.is_reference() && has_reference_blas(object)) {
    return {.kind = LibraryKind::reference,
            .clock_hz = clock_hz(),
            .flop_per_cycle = kReferenceFlopPerCycle,
            .threads = 1};
  }
  const LibraryKind kind = name.has("blis")      ? LibraryKind::tuned
                           : name.is_reference() ? LibraryKind::reference_lapack
                                                 : LibraryKind::unknown;
  return {.kind = kind,
          .clock_hz = clock_hz(),
          .flop_per_cycle = flop_per_cycle(processor),
          .threads = threads_on_cores(object)};
}

}  // namespace

double flop_per_cycle(const Processor& processor, std::string_view core) noexcept {
  const double own = flop_per_cycle(processor);
  const double kernels = flop_per_cycle_of_core(core);
  if (!(kernels > 0)) return own;
  // Zen has units for additions beside those for multiplications, which kernels without fused
  // multiply-add use at the same time. OpenBLAS 0.3.21 on Zen 4 reaches 5.2 flop per cycle with the
  // kernels of Nehalem, and 10.5 with those of Sandy Bridge.
  constexpr unsigned kZen = 0x17;
  const bool more_units = processor.vendor == Processor::Vendor::amd && processor.family >= kZen;
  return std::min(own, more_units && kernels < kFusedFlopPerCycle ? 1.5 * kernels : kernels);
}

policy::LocalLibrary local_library(const void* function) noexcept {
  Dl_info info{};
  if (::dladdr(function, &info) == 0 || info.dli_fname == nullptr) info.dli_fname = "";
  const CloseObject opened{::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)};
  if (opened.object == nullptr || info.dli_fname[0] == 0) {
    return {.kind = LibraryKind::unknown,
            .clock_hz = clock_hz(),
            .flop_per_cycle = flop_per_cycle(this_processor()),
            .threads = usable_cores()};
  }
  return describe_library(info, opened.object);
}

}  // namespace ob::offload
