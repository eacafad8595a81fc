#include "offload/local_library.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "base/machine.hpp"
#include "offload/library_queries.hpp"

namespace ob::offload {
namespace {

using policy::LibraryKind;

// A library stays open until the process ends, as it does in a program.
const void* function_of(const char* library, const char* name) {
  void* object = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  return object != nullptr ? ::dlsym(object, name) : nullptr;
}

void expect_plausible(const policy::LocalLibrary& library) {
  EXPECT_EQ(library.clock_hz, clock_hz());
  EXPECT_GE(library.flop_per_cycle, 1);
  EXPECT_LE(library.flop_per_cycle, 64);
  EXPECT_GE(library.threads, 1u);
  EXPECT_LE(library.threads, usable_cores());
}

TEST(LocalLibrary, OpenBlasIsTuned) {
  const void* dgemm = function_of("libopenblas.so.0", "dgemm_");
  if (dgemm == nullptr) GTEST_SKIP() << "this machine has no OpenBLAS";
  const policy::LocalLibrary found = local_library(dgemm);
  EXPECT_EQ(found.kind, LibraryKind::tuned);
  expect_plausible(found);
}

TEST(LocalLibrary, FftwIsRecognized) {
  const void* execute = function_of("libfftw3.so.3", "fftw_execute");
  if (execute == nullptr) GTEST_SKIP() << "this machine has no FFTW";
  const policy::LocalLibrary found = local_library(execute);
  EXPECT_EQ(found.kind, LibraryKind::fftw);
  EXPECT_EQ(found.threads, 1u);
  expect_plausible(found);
}

TEST(LocalLibrary, AnotherLibraryIsUnknown) {
  for (const void* any :
       {static_cast<const void*>(nullptr), reinterpret_cast<const void*>(&expect_plausible),
        function_of("libc.so.6", "getpid")}) {
    const policy::LocalLibrary found = local_library(any);
    EXPECT_EQ(found.kind, LibraryKind::unknown);
    expect_plausible(found);
  }
}

TEST(LocalLibrary, KernelsRunAtTheWidthOfTheNarrowerSide) {
  const Processor zen4{Processor::Vendor::amd, 0x19, 0x11, Processor::Vectors::avx512};
  const Processor skylake{Processor::Vendor::intel, 6, 0x55, Processor::Vectors::avx512};
  EXPECT_EQ(flop_per_cycle(zen4, "SkylakeX"), 16);
  EXPECT_EQ(flop_per_cycle(zen4, "Haswell"), 16);
  EXPECT_EQ(flop_per_cycle(zen4, "Sandybridge"), 12);
  EXPECT_EQ(flop_per_cycle(zen4, "Nehalem"), 6);
  EXPECT_EQ(flop_per_cycle(skylake, "SkylakeX"), 32);
  EXPECT_EQ(flop_per_cycle(skylake, "Haswell"), 16);
  EXPECT_EQ(flop_per_cycle(skylake, "Prescott"), 4);
  EXPECT_EQ(flop_per_cycle(skylake, ""), 32);
  EXPECT_EQ(flop_per_cycle(skylake, "NewerThanThisTable"), 32);
}

}  // namespace
}  // namespace ob::offload
