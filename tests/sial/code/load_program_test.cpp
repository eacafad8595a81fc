#include "sial/code/load_program.hpp"

#include <gtest/gtest.h>

#include "sial/code/loading.hpp"
#include "sial/code/sample_programs.hpp"
#include "sial/code/walk.hpp"
#include "support/hex.hpp"
#include "support/random.hpp"

namespace ob::test {
namespace {

using sial::Opcode;
using sial::Program;

// The page docs/sial/bytecode.md, followed by hand, makes this file from
//   sial fill
//     predefined int norb
//     aoindex i = 1:norb
//     temp t[i]
//     distributed d[i]
//     scalar x = -2.0
//     pardo i
//       t[i] = 1.5
//       put d[i] = t[i]
//     endpardo i
//     sip_barrier
//     do i
//       get d[i]
//       x += d[i] * d[i]
//     enddo i
//   endsial fill
constexpr const char* kGolden = R"(
    // header
    89 53 49 41 4c 0d 0a 1a 01 00 08 00 10 00 00 00 00 06 00 00 00 00 00 00 c6 f8 b5 3e a0 cc 85 42
    // table
    01 00 00 00 01 00 00 00 20 02 00 00 00 00 00 00 10 00 00 00 00 00 00 00 0f 6c 2d 5d 44 7b 98 de
    02 00 00 00 01 00 00 00 30 02 00 00 00 00 00 00 28 00 00 00 00 00 00 00 a0 f0 eb 65 45 c9 88 fe
    03 00 00 00 09 00 00 00 58 02 00 00 00 00 00 00 41 00 00 00 00 00 00 00 86 47 72 f1 43 5f e1 ba
    04 00 00 00 00 00 00 00 a0 02 00 00 00 00 00 00 00 00 00 00 00 00 00 00 c2 94 d3 38 05 80 06 2d
    05 00 00 00 01 00 00 00 a0 02 00 00 00 00 00 00 08 00 00 00 00 00 00 00 58 34 f6 9f 88 a4 61 25
    06 00 00 00 01 00 00 00 a8 02 00 00 00 00 00 00 10 00 00 00 00 00 00 00 77 b1 32 44 b1 4b 7d a9
    07 00 00 00 01 00 00 00 b8 02 00 00 00 00 00 00 10 00 00 00 00 00 00 00 e9 03 bc e3 22 07 c3 b9
    08 00 00 00 01 00 00 00 c8 02 00 00 00 00 00 00 28 00 00 00 00 00 00 00 c9 2f 4d 88 8d 3b c1 7f
    09 00 00 00 02 00 00 00 f0 02 00 00 00 00 00 00 50 00 00 00 00 00 00 00 5d f9 f9 52 06 a1 9c 97
    0a 00 00 00 00 00 00 00 40 03 00 00 00 00 00 00 00 00 00 00 00 00 00 00 c2 94 d3 38 05 80 06 2d
    0b 00 00 00 01 00 00 00 40 03 00 00 00 00 00 00 10 00 00 00 00 00 00 00 35 95 2b 81 82 4e d5 04
    0c 00 00 00 02 00 00 00 50 03 00 00 00 00 00 00 50 00 00 00 00 00 00 00 f4 6f e6 94 b6 6f 2d 44
    0d 00 00 00 02 00 00 00 a0 03 00 00 00 00 00 00 c0 00 00 00 00 00 00 00 58 8b 25 c3 26 09 06 6f
    0e 00 00 00 0c 00 00 00 60 04 00 00 00 00 00 00 c0 00 00 00 00 00 00 00 a9 76 ff bf 9e 24 de 79
    0f 00 00 00 0c 00 00 00 20 05 00 00 00 00 00 00 90 00 00 00 00 00 00 00 47 8f 2e 58 22 9d 3e dc
    10 00 00 00 01 00 00 00 b0 05 00 00 00 00 00 00 50 00 00 00 00 00 00 00 c2 66 31 62 30 94 94 fd
    // program
    00 00 00 00 01 00 00 00 00 00 00 00 00 00 00 00
    // sources
    02 00 00 00 00 00 00 00 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11 12 13 14 15 16 17
    18 19 1a 1b 1c 1d 1e 1f
    // strings
    04 00 00 00 66 69 6c 6c 06 00 00 00 6f 75 72 73 20 31 09 00 00 00 66 69 6c 6c 2e 73 69 61 6c 04
    00 00 00 6e 6f 72 62 01 00 00 00 69 02 00 00 00 61 6f 01 00 00 00 74 01 00 00 00 64 01 00 00 00
    78
    // int constants
    00 00 00 00 00 00 00
    // scalar constants
    00 00 00 00 00 00 f8 3f
    // ints
    03 00 00 00 01 00 00 00 00 00 00 00 00 00 00 00
    // scalars
    08 00 00 00 00 00 00 00 00 00 00 00 00 00 00 c0
    // indices
    04 00 00 00 01 00 01 00 05 00 00 00 ff ff ff ff 01 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
    00 00 00 00 00 00 00 00
    // arrays
    06 00 00 00 01 00 01 00 00 00 00 00 ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff
    ff ff ff ff ff ff ff ff 07 00 00 00 03 00 01 00 00 00 00 00 ff ff ff ff ff ff ff ff ff ff ff ff
    ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff
    // procs
    00 00 00 00 00 00 00 00 0c 00 00 00 00 00 00 00
    // selectors
    00 00 00 00 00 00 00 00 00 00 00 00 ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff
    ff ff ff ff ff ff ff ff 01 00 00 00 00 00 00 00 00 00 00 00 ff ff ff ff ff ff ff ff ff ff ff ff
    ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff
    // loops
    02 01 00 00 ff ff ff ff 00 00 00 00 01 00 00 00 04 00 00 00 ff ff ff ff 00 00 00 00 ff ff ff ff
    ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff
    ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff 00 00 00 00 00 00 00 00
    00 01 00 00 ff ff ff ff 06 00 00 00 07 00 00 00 0a 00 00 00 ff ff ff ff 00 00 00 00 ff ff ff ff
    ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff
    ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff 00 00 00 00 00 00 00 00
    // code
    06 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 13 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
    30 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 41 00 00 00 01 00 00 00 00 00 00 00 00 00 00 00
    08 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 0b 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
    06 00 00 00 01 00 00 00 00 00 00 00 00 00 00 00 40 00 00 00 01 00 00 00 00 00 00 00 00 00 00 00
    16 00 00 00 01 00 00 00 01 00 00 00 00 00 00 00 28 00 01 00 00 00 00 00 00 00 00 00 00 00 00 00
    08 00 00 00 01 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
    // lines
    00 00 00 00 07 00 00 00 03 00 00 00 00 00 00 00 08 00 00 00 03 00 00 00 00 00 00 00 08 00 00 00
    03 00 00 00 00 00 00 00 09 00 00 00 03 00 00 00 00 00 00 00 0a 00 00 00 03 00 00 00 00 00 00 00
    0b 00 00 00 03 00 00 00 00 00 00 00 0c 00 00 00 03 00 00 00 00 00 00 00 0d 00 00 00 03 00 00 00
    00 00 00 00 0e 00 00 00 03 00 00 00 00 00 00 00 0e 00 00 00 03 00 00 00 00 00 00 00 0f 00 00 00
    03 00 00 00 00 00 00 00 10 00 00 00 03 00 00 00
    // accesses
    07 00 00 00 01 00 00 00 02 00 00 00 01 00 00 00 01 00 00 00 ff ff ff ff ff ff ff ff ff ff ff ff
    ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff
    ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff
)";

TEST(LoadProgram, GoldenBytes) {
  const auto loaded = load(from_hex(kGolden));
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const Program& p = *loaded;
  EXPECT_EQ(p.name, "fill");
  EXPECT_EQ(p.compiler, "ours 1");
  EXPECT_EQ(p.sources[0].sha256[31], 31);
  EXPECT_EQ(p.scalar_constants, std::vector<double>{1.5});
  EXPECT_EQ(p.ints[0].name, "norb");
  EXPECT_TRUE(p.ints[0].predefined);
  EXPECT_EQ(p.scalars[0].initial, -2.0);
  EXPECT_EQ(p.indices[0].table, "ao");
  EXPECT_FALSE(p.indices[0].lower.variable);
  EXPECT_EQ(p.indices[0].lower.value, 1);
  EXPECT_TRUE(p.indices[0].upper.variable);
  EXPECT_EQ(p.arrays[1].name, "d");
  EXPECT_EQ(p.arrays[1].storage, sial::Storage::distributed);
  EXPECT_EQ(p.selectors[1].array, 1u);
  EXPECT_EQ(p.loops[0].kind, sial::LoopKind::pardo);
  EXPECT_EQ(p.loops[1].end, 10u);
  EXPECT_EQ(p.code[9].op, Opcode::store_scalar);
  EXPECT_EQ(p.code[9].x, 1);
  EXPECT_EQ(p.lines[7].line, 13u);
  EXPECT_TRUE(p.accesses[0].predictable);
  EXPECT_EQ(p.accesses[0].loops, std::vector<std::uint32_t>{1});
}

TEST(LoadProgram, SamplesLoadAndComeBackUnchanged) {
  for (const Program& program : sample_programs()) {
    const auto file = encode(program);
    const auto loaded = load(file);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_EQ(encode(*loaded), file);
  }
}

// Loads a damaged file. A program that passes can be walked through without harm.
void expect_harmless(const std::vector<std::byte>& file, std::mt19937_64& random, int& passed) {
  const auto loaded = load(file);
  if (!loaded.ok()) {
    EXPECT_TRUE(loaded.status().message().starts_with("bench.sialc: "));
    return;
  }
  ++passed;
  for (int times = 0; times < 4; ++times) {
    const auto problem =
        walk(*loaded, 500, [&](unsigned below) { return uniform(random, 0u, below - 1); });
    ASSERT_FALSE(problem) << *problem;
  }
}

TEST(LoadProgram, EveryFlippedBitIsFound) {
  std::mt19937_64 random = fresh_random();
  for (const Program& program : sample_programs()) {
    const auto file = encode(program);
    for (int flip = 0; flip < 3000; ++flip) {
      auto damaged = file;
      const auto at = uniform(random, std::size_t{0}, file.size() - 1);
      damaged[at] ^= static_cast<std::byte>(1u << uniform(random, 0, 7));
      EXPECT_FALSE(load(damaged).ok()) << "byte " << at;
    }
  }
}

TEST(LoadProgram, FlippedBitsWithRightChecksumsDoNoHarm) {
  std::mt19937_64 random = fresh_random();
  int passed = 0;
  for (const Program& program : sample_programs()) {
    const auto file = encode(program);
    for (int flip = 0; flip < 10000; ++flip) {
      auto damaged = file;
      const auto at = uniform(random, std::size_t{0}, file.size() - 1);
      damaged[at] ^= static_cast<std::byte>(1u << uniform(random, 0, 7));
      reseal(damaged);
      expect_harmless(damaged, random, passed);
    }
  }
  EXPECT_GT(passed, 0);  // some bits are harmless, such as those of names
}

TEST(LoadProgram, CutFilesAreRefused) {
  const auto file = encode(sample_programs()[0]);
  for (std::size_t size = 0; size < file.size(); ++size) {
    std::vector<std::byte> cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    reseal(cut);
    EXPECT_FALSE(load(cut).ok()) << size;
  }
}

// Replaces a number by one that may name another record.
void change(std::uint32_t& number, std::mt19937_64& random) {
  switch (uniform(random, 0, 3)) {
    case 0: ++number; break;
    case 1: --number; break;
    default: number = uniform(random, 0u, 60u); break;
  }
}

template <class Records>
auto& any_of(Records& records, std::mt19937_64& random) {
  return records[uniform(random, std::size_t{0}, records.size() - 1)];
}

void mutate(Program& p, std::mt19937_64& random) {
  sial::Instruction& one = any_of(p.code, random);
  switch (uniform(random, 0, 11)) {
    case 0: change(one.a, random); break;
    case 1: change(one.b, random); break;
    case 2: one.op = any_of(p.code, random).op; break;
    case 3: std::swap(one, any_of(p.code, random)); break;
    case 4: one = any_of(p.code, random); break;
    case 5: {
      sial::Loop& loop = any_of(p.loops, random);
      std::uint32_t* const fields[] = {&loop.begin, &loop.body, &loop.end, &loop.section};
      change(*fields[uniform(random, 0, 3)], random);
      break;
    }
    case 6: change(any_of(any_of(p.loops, random).indices, random), random); break;
    case 7:
      any_of(p.loops, random).kind = static_cast<sial::LoopKind>(uniform(random, 0, 2));
      break;
    case 8: change(any_of(any_of(p.selectors, random).dimensions, random).index, random); break;
    case 9:
      any_of(p.arrays, random).storage = static_cast<sial::Storage>(uniform(random, 0, 4));
      break;
    case 10: change(any_of(p.procs, random).end, random); break;
    default: change(any_of(any_of(p.arrays, random).indices, random), random); break;
  }
}

TEST(LoadProgram, MutatedProgramsDoNoHarm) {
  std::mt19937_64 random = fresh_random();
  int passed = 0;
  for (const Program& program : sample_programs()) {
    for (int mutant = 0; mutant < 15000; ++mutant) {
      Program changed = program;
      for (int changes = uniform(random, 1, 3); changes > 0; --changes) mutate(changed, random);
      expect_harmless(encode(changed), random, passed);
    }
  }
  EXPECT_GT(passed, 100);
}

}  // namespace
}  // namespace ob::test
