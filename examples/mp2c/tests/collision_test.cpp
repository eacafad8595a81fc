// Collisions on a device beside those of the oracle, and the random numbers of all three beside
// published ones.
#include <gtest/gtest.h>
#include <mpi.h>

#include <limits>
#include <memory>
#include <string>

#include "oracle.hpp"
#include "philox.hpp"
#include "resident_fluid.hpp"
#include "simulation.hpp"
#include "start.hpp"
#include "travelling_fluid.hpp"

namespace mp2c {
namespace {

constexpr const char* kDevice = "local:cpu";

// --- random numbers ------------------------------------------------------------------------------

struct Known {
  oracle::Words counter;
  std::array<std::uint32_t, 2> key;
  oracle::Words words;
};
// Known answers of philox4x32-10: the file kat_vectors of Random123, which D. E. Shaw Research
// publishes with the paper (Salmon et al., SC 2011).
constexpr Known kKnown[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

std::uint64_t seed_of(const Known& known) {
  return std::uint64_t{known.key[1]} << 32 | known.key[0];
}

TEST(Philox, HostAndOracleGiveKnownAnswers) {
  for (const Known& known : kKnown) {
    EXPECT_EQ(oracle::philox(known.counter, known.key), known.words);
    EXPECT_EQ(philox(known.counter, seed_of(known)), known.words);
  }
}

TEST(Philox, KernelsGiveKnownAnswers) {
  using U = std::uint32_t;
  const outboard::Device device(kDevice);
  const outboard::Queue queue(device);
  const std::string source = std::string(kKernelText) + R"(
__kernel void words(uint a, uint b, uint c, uint d, ulong seed, __global uint* out) {
  const uint4 word = philox(make_uint4(a, b, c, d), seed);
  out[0] = word.x;
  out[1] = word.y;
  out[2] = word.z;
  out[3] = word.w;
}
)";
  const outboard::Module module(device, outboard::portable(source), kernel_options());
  const auto words = module.kernel<U, U, U, U, std::uint64_t, outboard::Out<U>>("words");
  const outboard::Vector<U> out(device, 4);
  for (const Known& known : kKnown) {
    const oracle::Words& c = known.counter;
    oracle::Words found{};
    words(queue, {1}, {1}, c[0], c[1], c[2], c[3], seed_of(known), out);
    queue.read(found.data(), out);
    queue.synchronize();
    EXPECT_EQ(found, known.words);
  }
}

// --- collisions ----------------------------------------------------------------------------------

struct Case {
  const char* name;
  Placement placement;
  bool thermostat;
  int particles_per_cell;
  double solute_fraction;
};

std::ostream& operator<<(std::ostream& to, const Case& one) { return to << one.name; }

Parameters parameters_of(const Case& one) {
  Parameters p;
  p.cells = {6, 7, 8};
  p.chain_length = 2;
  p.slabs = 3;
  p.seed = 0x123456789ABCDEF;
  p.placement = one.placement;
  p.thermostat = one.thermostat;
  p.particles_per_cell = one.particles_per_cell;
  p.solute_fraction = one.solute_fraction;
  return p;
}

class Collisions : public testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<Fluid> fluid() {
    if (p_.placement == Placement::resident) {
      return std::make_unique<ResidentFluid>(device_, p_, domain_, neighbours_, start_);
    }
    return std::make_unique<TravellingFluid>(device_, p_, domain_, neighbours_, start_);
  }

  const Parameters p_ = parameters_of(GetParam());
  Neighbours neighbours_;
  const Domain domain_{p_.cells, 0, 1};
  const outboard::Device device_{kDevice};
  const Particles start_ = make_fluid(p_, domain_);
  Particles solutes_ = make_solutes(p_, domain_);
};

// Sums of some ten numbers, a rotation and a scale: each rounds numbers of at most 8 (velocities)
// some ten times, and the rounding of earlier collisions is turned, and not amplified.
constexpr double kTolerance = 100 * 8 * std::numeric_limits<double>::epsilon();

TEST_P(Collisions, AreThoseOfTheOracle) {
  oracle::Particles expected;
  oracle::add(expected, start_);
  oracle::add(expected, solutes_);
  ASSERT_EQ(expected.size(), p_.particles());
  const auto device_fluid = fluid();
  for (std::uint32_t number = 1; number <= 4; ++number) {
    const Shift shift = random_shift(p_, number);
    device_fluid->collide({number, shift}, solutes_);
    oracle::collide(expected, p_, number, shift);

    oracle::Particles found;
    oracle::add(found, device_fluid->fetch());
    oracle::add(found, solutes_);
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [id, state] : found) {
      const oracle::State& other = expected.at(id);
      for (std::size_t d = 0; d < 3; ++d) {
        const double away = shortest(state.position[d] - other.position[d], p_.cells[d]);
        ASSERT_NEAR(state.velocity[d], other.velocity[d], kTolerance) << id << ' ' << number;
        ASSERT_NEAR(away, 0, kTolerance) << id << ' ' << number;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Placements, Collisions,
    testing::Values(Case{"resident", Placement::resident, false, 10, 0.02},
                    Case{"resident_thermostat", Placement::resident, true, 10, 0.02},
                    Case{"resident_thin", Placement::resident, true, 1, 0},
                    Case{"travelling", Placement::travelling, false, 10, 0.02},
                    Case{"travelling_thermostat", Placement::travelling, true, 10, 0.02},
                    Case{"travelling_thin", Placement::travelling, false, 1, 0}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace mp2c

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  testing::InitGoogleTest(&count, arguments);
  const int failed = RUN_ALL_TESTS();
  MPI_Finalize();
  return failed;
}
