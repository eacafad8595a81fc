// If a library rejects an argument, the call fails, whatever the library's own handler does (the
// reference's stops the process).

#include "backend/cpu/refusal.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "backend/cpu/shared_object.hpp"

namespace ob::cpu {
namespace {

// LDB = 0 is illegal for any N. The routine tables do not let such a call through.
std::int32_t refused_potrs(const SharedObject& library) {
  using Potrs = void(const char*, const std::int32_t*, const std::int32_t*, const double*,
                     const std::int32_t*, double*, const std::int32_t*, std::int32_t*, std::size_t);
  Potrs* potrs = nullptr;
  library.load("dpotrs_", potrs);
  if (potrs == nullptr) return 0;
  const std::int32_t n = 2;
  const std::int32_t one = 1;
  const std::int32_t zero = 0;
  const double a[4] = {};
  double b[2] = {};
  std::int32_t info = 0;
  potrs("U", &n, &one, a, &n, b, &zero, &info, 1);
  return info;
}

TEST(Refusal, IsNotedAndTheProcessGoesOn) {
  // The alternatives system may link this name to any library, also to the reference.
  for (const char* name : {"libopenblas.so.0", "liblapack.so.3"}) {
    auto library = SharedObject::open(name);
    if (!library.ok()) continue;
    (void)take_refusal();
    EXPECT_EQ(refused_potrs(*library), -7) << name;
    EXPECT_EQ(take_refusal(), "DPOTRS: argument 7") << name;
    EXPECT_EQ(take_refusal(), "") << name;
  }
}

TEST(Refusal, TheFirstComplaintCounts) {
  auto* handler = reinterpret_cast<void (*)(const char*, const std::int32_t*, std::size_t)>(
      dlsym(RTLD_DEFAULT, "xerbla_"));
  ASSERT_NE(handler, nullptr);
  const std::int32_t four = 4;
  const std::int32_t five = 5;
  handler("DLALSD", &four, 6);
  handler("DGELSD  ", &five, 8);
  EXPECT_EQ(take_refusal(), "DLALSD: argument 4");
}

}  // namespace
}  // namespace ob::cpu
