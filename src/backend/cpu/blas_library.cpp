#include "backend/cpu/blas_library.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "backend/cpu/cores.hpp"
#include "backend/cpu/device_operations.hpp"
#include "device/stopwatch.hpp"

namespace ob::cpu {
namespace {

// All devices of the process share one first instance of each library.
std::mutex& shared_instance_turn() {
  static std::mutex turn;
  return turn;
}

// Libraries read environment variables when they are opened. The variables are set only meanwhile.
std::mutex& opening() {
  static std::mutex mutex;
  return mutex;
}

using Objects = std::vector<SharedObject>;

Result<Objects> open_all(const std::vector<std::string>& names) {
  Objects objects;
  for (const std::string& name : names) {
    OB_ASSIGN_OR_RETURN(SharedObject object, SharedObject::open(name));
    objects.push_back(std::move(object));
  }
  return objects;
}

// True if the routines take 64-bit integers. Such a library may have the plain names, and would
// read beyond our integers.
bool has_long_integers(const Objects& objects) {
  char* (*config)() = nullptr;
  objects[0].load("openblas_get_config", config);
  return config != nullptr && std::strstr(config(), "USE64BITINT") != nullptr;
}

bool is_openblas(const Objects& objects) {
  return objects.size() == 1 && objects[0].symbol("openblas_get_config") != nullptr;
}

struct Found {
  Objects objects;
  std::string name;
};

Result<Found> open_first() {
  if (const char* wanted = std::getenv("OUTBOARD_BLAS"); wanted != nullptr && *wanted != '\0') {
    Result<Objects> objects = open_all({wanted});
    if (!objects.ok()) return objects.status().in("OUTBOARD_BLAS");
    if (has_long_integers(objects.value())) {
      return Status(Code::unavailable,
                    "OUTBOARD_BLAS: " + std::string(wanted) +
                        " takes 64-bit integers (ILP64); name a library with 32-bit"
                        " ones, e.g. libopenblas.so.0");
    }
    return Found{std::move(objects).value(), wanted};
  }
  if (Result<Objects> objects = open_all({"libopenblas.so.0"}); objects.ok()) {
    return Found{std::move(objects).value(), "OpenBLAS"};
  }
  if (Result<Objects> objects = open_all({"liblapack.so.3", "libblas.so.3"}); objects.ok()) {
    return Found{std::move(objects).value(), "libblas.so.3"};
  }
  return Status(
      Code::unavailable,
      "no BLAS library here (neither libopenblas.so.0 nor libblas.so.3 with liblapack.so.3);"
      " install the Debian package libopenblas0-pthread, or name a library in OUTBOARD_BLAS");
}

}  // namespace

Result<std::unique_ptr<BlasLibrary>> BlasLibrary::open(const Config& config) {
  const std::lock_guard lock(opening());
  const ScopedVariable core_type("OPENBLAS_CORETYPE", suitable_core_type());
  const ScopedVariable thread_count("OPENBLAS_NUM_THREADS", std::to_string(config.threads));
  OB_ASSIGN_OR_RETURN(Found found, open_first());
  std::unique_ptr<BlasLibrary> library(new BlasLibrary);
  bool own = false;
  if (config.own_instance && is_openblas(found.objects)) {
    if (Result<SharedObject> copy = SharedObject::open_copy(found.objects[0]); copy.ok()) {
      library->objects_.push_back(std::move(copy).value());
      own = true;
    }
  }
  if (!own) {
    library->objects_ = std::move(found.objects);
    library->turn_ = &shared_instance_turn();
  }
  library->configure(config.threads);
  library->bind();
  library->describe(found.name, config.threads);
  return library;
}

void* BlasLibrary::symbol(const char* name) const noexcept {
  for (const SharedObject& object : objects_) {
    if (void* found = object.symbol(name)) return found;
  }
  return nullptr;
}

void BlasLibrary::bind() {
  for (const ThunkEntry& entry : thunks()) {
    if (void* function = symbol(entry.symbol)) routines_[entry.id] = {entry.thunk, function};
  }
  const auto find_symbol = [this](const char* name) { return symbol(name); };
  for (const Descriptor& routine : routines::all()) {
    if (routines_.contains(routine.id)) continue;
    if (const auto other = substitute(routine, find_symbol)) routines_[routine.id] = *other;
  }
  for (const Descriptor& routine : routines::device_operations()) {
    if (const Thunk own = operation(routine)) routines_[routine.id] = {own, nullptr};
  }
}

void BlasLibrary::configure(unsigned threads) {
  if (auto* set = reinterpret_cast<void (*)(int)>(symbol("openblas_set_num_threads"))) {
    set(static_cast<int>(threads));
  }
}

void BlasLibrary::describe(const std::string& name, unsigned threads) {
  using Text = char*();
  description_ = name;
  if (auto* config = reinterpret_cast<Text*>(symbol("openblas_get_config")))
    description_ = config();
  std::string core_name;
  if (auto* core = reinterpret_cast<Text*>(symbol("openblas_get_corename"))) core_name = core();
  // The library's own text may name the core that it was built for.
  if (!core_name.empty() && description_.find(core_name) == std::string::npos) {
    description_ += " " + core_name;
  }
  description_ += ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  if (misread(core_name)) {
    warning_ = "OpenBLAS takes this processor for " + core_name +
               " and will be slow (it does not know the model, or OPENBLAS_CORETYPE says so); set "
               "OPENBLAS_CORETYPE=" +
               suitable_core_type();
  }
}

const BlasLibrary::Routine* BlasLibrary::find(std::uint32_t descriptor_id) const noexcept {
  const auto found = routines_.find(descriptor_id);
  return found == routines_.end() ? nullptr : &found->second;
}

bool BlasLibrary::run(const Routine& routine, const Argument* arguments) const {
  std::unique_lock<std::mutex> turn;
  const bool in_library = routine.function != nullptr;
  if (turn_ != nullptr && in_library) turn = std::unique_lock(*turn_);
  return routine.thunk(routine.function, arguments);
}

// Returns the nanoseconds of C := A A of ones; 0 without dgemm.
std::uint64_t BlasLibrary::multiply(int n) const {
  using Dgemm = void(const char*, const char*, const int*, const int*, const int*, const double*,
                     const double*, const int*, const double*, const int*, const double*, double*,
                     const int*, std::size_t, std::size_t);
  auto* dgemm = reinterpret_cast<Dgemm*>(symbol("dgemm_"));
  if (dgemm == nullptr) return 0;
  const auto elements = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  const std::vector<double> a(elements, 1.0);
  std::vector<double> c(elements);
  const double one = 1;
  const double zero = 0;
  std::unique_lock<std::mutex> turn;
  if (turn_ != nullptr) turn = std::unique_lock(*turn_);
  const Stopwatch watch;
  dgemm("N", "N", &n, &n, &n, &one, a.data(), &n, a.data(), &n, &zero, c.data(), &n, 1, 1);
  return std::max<std::uint64_t>(1, watch.elapsed_ns());
}

void BlasLibrary::start_threads() const { (void)multiply(256); }

double BlasLibrary::measure_gflops() const {
  constexpr int kOrder = 512;
  constexpr double kFlops = 2.0 * kOrder * kOrder * kOrder;
  const std::uint64_t best_ns = std::min({multiply(kOrder), multiply(kOrder), multiply(kOrder)});
  return best_ns == 0 ? 0 : kFlops / static_cast<double>(best_ns);
}

}  // namespace ob::cpu
