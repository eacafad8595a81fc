#include "backend/cpu/fft_library.hpp"

#include <utility>

namespace ob::cpu {
namespace {

// FFTW's record of a plan helps to make similar plans. It is cleared only after this many plans.
constexpr unsigned kPlansRemembered = 64;

Status absent(bool single, const Status& why) {
  return {Code::unsupported, std::string("no FFTW in ") + (single ? "single" : "double") +
                                 " precision here: " + why.message() +
                                 "; install the Debian package " +
                                 (single ? "libfftw3-single3" : "libfftw3-double3")};
}

}  // namespace

Result<std::shared_ptr<const FftLibrary>> FftLibrary::open(bool single) {
  const std::string prefix = single ? "fftwf_" : "fftw_";
  const std::string name = single ? "libfftw3f" : "libfftw3";
  Result<SharedObject> object = SharedObject::open(name + ".so.3");
  if (!object.ok()) return absent(single, object.status());
  std::shared_ptr<FftLibrary> library(new FftLibrary);
  library->object_.emplace(std::move(object).value());
  if (!library->load(*library->object_, prefix)) {
    return absent(single, Status(Code::unsupported, name + ".so.3 lacks functions of FFTW 3.3"));
  }
  for (const char* suffix : {"_threads.so.3", "_omp.so.3"}) {
    Result<SharedObject> threads = SharedObject::open(name + suffix);
    if (!threads.ok()) continue;
    int (*init)() = nullptr;
    threads->load((prefix + "init_threads").c_str(), init);
    threads->load((prefix + "plan_with_nthreads").c_str(), library->set_threads_);
    library->threads_object_.emplace(std::move(threads).value());
    const std::lock_guard lock(planner());
    if (init == nullptr || init() == 0) library->set_threads_ = nullptr;
    break;
  }
  return std::shared_ptr<const FftLibrary>(std::move(library));
}

bool FftLibrary::load(const SharedObject& object, const std::string& prefix) {
  object.load((prefix + "plan_guru64_dft").c_str(), plan_dft);
  object.load((prefix + "plan_guru64_dft_r2c").c_str(), plan_real);
  object.load((prefix + "plan_guru64_dft_c2r").c_str(), plan_back);
  object.load((prefix + "plan_guru64_r2r").c_str(), plan_r2r);
  object.load((prefix + "execute_dft").c_str(), execute_dft);
  object.load((prefix + "execute_dft_r2c").c_str(), execute_real);
  object.load((prefix + "execute_dft_c2r").c_str(), execute_back);
  object.load((prefix + "execute_r2r").c_str(), execute_r2r);
  object.load((prefix + "destroy_plan").c_str(), destroy_plan);
  object.load((prefix + "alignment_of").c_str(), alignment_of);
  object.load((prefix + "forget_wisdom").c_str(), forget_wisdom_);
  if (const auto* version = static_cast<const char*>(object.symbol((prefix + "version").c_str()))) {
    description_ = version;
  }
  return plan_dft != nullptr && plan_real != nullptr && plan_back != nullptr &&
         execute_dft != nullptr && execute_real != nullptr && execute_back != nullptr &&
         destroy_plan != nullptr && alignment_of != nullptr;
}

void FftLibrary::plan_with_threads(unsigned threads) const {
  if (set_threads_ != nullptr) set_threads_(static_cast<int>(threads));
}

void FftLibrary::note_plan() const {
  if (forget_wisdom_ == nullptr || ++plans_remembered_ < kPlansRemembered) return;
  forget_wisdom_();
  plans_remembered_ = 0;
}

std::mutex& FftLibrary::planner() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace ob::cpu
