#include "offload/processor.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace ob::offload {
namespace {

using Vendor = Processor::Vendor;
using Vectors = Processor::Vectors;

TEST(Processor, TheCoreTypeIsAWordOfTheDescription) {
  EXPECT_EQ(core_type_of("OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY SkylakeX "
                         "MAX_THREADS=64"),
            "SkylakeX");
  EXPECT_EQ(
      core_type_of("OpenBLAS 0.3.27  USE64BITINT DYNAMIC_ARCH NO_AFFINITY Zen MAX_THREADS=64"),
      "Zen");
  EXPECT_EQ(core_type_of("OpenBLAS 0.3.20 NO_AFFINITY USE_OPENMP HASWELL SINGLE_THREADED"),
            "HASWELL");
  EXPECT_EQ(core_type_of("Prescott"), "Prescott");
}

TEST(Processor, AnUnknownDescriptionHasNoCoreType) {
  for (const char* config :
       {"", " ", "OpenBLAS", "OpenBLAS 0.3.99 Future MAX_THREADS=64", "  Zenith ", "SkylakeX2"}) {
    EXPECT_EQ(core_type_of(config), "") << config;
  }
}

TEST(Processor, CoreTypesHaveTheWidthOfTheirKernels) {
  EXPECT_EQ(flop_per_cycle_of_core("SkylakeX"), 32);
  EXPECT_EQ(flop_per_cycle_of_core("skx"), 32);
  EXPECT_EQ(flop_per_cycle_of_core("Haswell"), 16);
  EXPECT_EQ(flop_per_cycle_of_core("ZEN"), 16);
  EXPECT_EQ(flop_per_cycle_of_core("zen3"), 16);
  EXPECT_EQ(flop_per_cycle_of_core("Sandybridge"), 8);
  EXPECT_EQ(flop_per_cycle_of_core("Nehalem"), 4);
  EXPECT_EQ(flop_per_cycle_of_core("Prescott"), 4);
  EXPECT_EQ(flop_per_cycle_of_core("neoversen1"), 8);
  EXPECT_EQ(flop_per_cycle_of_core("unknown"), 0);
  EXPECT_EQ(flop_per_cycle_of_core(""), 0);
}

// The vectors alone do not determine the rate: some processors have narrower units behind them.
TEST(Processor, TheWidthIsThatOfTheUnits) {
  const auto width = [](Vendor vendor, unsigned family, unsigned model, Vectors vectors) {
    return flop_per_cycle(Processor{vendor, family, model, vectors});
  };
  EXPECT_EQ(width(Vendor::intel, 6, 0x55, Vectors::avx512), 32);   // Skylake-SP
  EXPECT_EQ(width(Vendor::intel, 6, 0x8F, Vectors::avx512), 32);   // Sapphire Rapids
  EXPECT_EQ(width(Vendor::intel, 6, 0x8C, Vectors::avx512), 16);   // Tiger Lake
  EXPECT_EQ(width(Vendor::amd, 0x19, 0x11, Vectors::avx512), 16);  // Zen 4
  EXPECT_EQ(width(Vendor::amd, 0x1A, 0x02, Vectors::avx512), 32);  // Zen 5
  EXPECT_EQ(width(Vendor::intel, 6, 0x3F, Vectors::avx2_fma), 16);
  EXPECT_EQ(width(Vendor::amd, 0x17, 0x31, Vectors::avx2_fma), 16);  // Zen 2
  EXPECT_EQ(width(Vendor::amd, 0x17, 0x01, Vectors::avx2_fma), 8);   // Zen
  EXPECT_EQ(width(Vendor::intel, 6, 0x2D, Vectors::avx), 8);
  EXPECT_EQ(width(Vendor::intel, 6, 0x1A, Vectors::sse2), 4);
  EXPECT_EQ(width(Vendor::other, 0, 0, Vectors::neon), 8);
  EXPECT_GT(width(Vendor::other, 0, 0, Vectors::scalar), 0);
}

TEST(Processor, ThisOneHasAWidth) {
  const double width = flop_per_cycle(this_processor());
  EXPECT_GE(width, 2);
  EXPECT_LE(width, 64);
}

TEST(Processor, TheClockIsPlausible) {
  const double clock = clock_hz();
  EXPECT_GE(clock, 0.5e9);
  EXPECT_LE(clock, 7e9);
  EXPECT_EQ(clock_hz(), clock);  // it is measured once
}

}  // namespace
}  // namespace ob::offload
