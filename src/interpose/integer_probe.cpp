#include "interpose/integer_probe.hpp"

#include <dlfcn.h>

#include <bit>
#include <cstring>

namespace ob::interpose {
namespace {

constexpr std::int64_t kVersionLimit = 1000;  // version numbers of LAPACK are far below this

// ILAVER writes three integers. A 32-bit integer leaves the other half of the -1 unchanged.
Integers ask_ilaver(void* function) noexcept {
  std::int64_t version[3] = {-1, -1, -1};
  reinterpret_cast<void (*)(void*, void*, void*)>(function)(version, version + 1, version + 2);
  if (version[0] >= 0 && version[0] < kVersionLimit) return Integers::ilp64;
  std::int32_t half = 0;
  std::memcpy(&half, version, sizeof half);
  return half >= 0 && half < kVersionLimit ? Integers::lp64 : Integers::unknown;
}

// Calls ISAMAX with n = 0xffffffff00000003. A library that reads 32 bits sees 3. A library that
// reads 64 bits sees a negative number, so its result is 0.
Integers ask_isamax(void* function) noexcept {
  if constexpr (std::endian::native != std::endian::little) return Integers::unknown;
  const std::int64_t n = static_cast<std::int64_t>(0xffffffff00000003ULL);
  const std::int64_t increment = 1;
  const float x[] = {1, 2, 1};
  using Isamax = std::int32_t (*)(const void*, const float*, const void*);
  const std::int32_t index = reinterpret_cast<Isamax>(function)(&n, x, &increment);
  return index == 2 ? Integers::lp64 : index == 0 ? Integers::ilp64 : Integers::unknown;
}

// Asks the functions of the object itself or, if `dependencies`, those of its dependencies.
Integers ask(void* handle, const void* base, bool dependencies) noexcept {
  struct Question {
    const char* name;
    Integers (*ask)(void*) noexcept;
  };
  // The affixed names come last: a library may have a second set of functions under them. Wheels of
  // NumPy rename all but the newest functions, which stay under plain names with 64-bit integers.
  static constexpr Question kQuestions[] = {
      {"ilaver_", ask_ilaver},          {"isamax_", ask_isamax},
      {"scipy_ilaver_", ask_ilaver},    {"scipy_isamax_", ask_isamax},
      {"scipy_ilaver_64_", ask_ilaver}, {"scipy_isamax_64_", ask_isamax},
      {"ilaver_64_", ask_ilaver},       {"isamax_64_", ask_isamax},
  };
  for (const Question& question : kQuestions) {
    void* function = dlsym(handle, question.name);
    Dl_info info{};
    if (function == nullptr || dladdr(function, &info) == 0) continue;
    if (!dependencies && info.dli_fbase != base) continue;
    const Integers answer = question.ask(function);
    if (answer != Integers::unknown) return answer;
  }
  return Integers::unknown;
}

class Object {
 public:
  explicit Object(const void* function) noexcept {
    if (dladdr(function, &info_) == 0 || info_.dli_fname == nullptr) return;
    handle_ = dlopen(info_.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }
  ~Object() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  void* handle() const noexcept { return handle_; }
  const void* base() const noexcept { return info_.dli_fbase; }

 private:
  Dl_info info_{};
  void* handle_ = nullptr;
};

}  // namespace

void pin_object(const char* file) noexcept {
  if (file == nullptr) return;
  if (void* handle = dlopen(file, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE)) dlclose(handle);
}

void* symbol_beside(const void* function, const char* name) noexcept {
  const Object object(function);
  if (object.handle() == nullptr) return nullptr;
  void* found = dlsym(object.handle(), name);
  Dl_info info{};
  if (found == nullptr || dladdr(found, &info) == 0 || info.dli_fbase != object.base())
    return nullptr;
  return found;
}

Integers probe_integers(const void* function) noexcept {
  const Object object(function);
  if (object.handle() == nullptr) return Integers::unknown;
  const Integers own = ask(object.handle(), object.base(), false);
  return own != Integers::unknown ? own : ask(object.handle(), object.base(), true);
}

}  // namespace ob::interpose
