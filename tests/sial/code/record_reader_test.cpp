#include "sial/code/record_reader.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sial/code/assembler.hpp"
#include "sial/code/loading.hpp"

namespace ob::test {
namespace {

using sial::IndexKind;
using sial::LoopKind;
using sial::Program;
using sial::Storage;

Program sample() {
  Workbench bench;
  bench.get(bench.select(bench.a, {bench.i, bench.j}));
  return bench.finish();
}

// Changes a byte of record `number` of a section, with right checksums.
void expect_byte_refused(unsigned kind, std::size_t record_bytes, std::size_t number,
                         std::size_t offset, std::uint8_t value, const std::string& words) {
  SCOPED_TRACE("section " + std::to_string(kind) + ", byte " + std::to_string(offset));
  auto file = encode(sample());
  poke(file, section_offset(file, kind) + number * record_bytes + offset, value, 1);
  reseal(file);
  expect_refused(file, words);
}

TEST(RecordReader, AllFieldsArrive) {
  Program program = sample();
  program.loops[2].kind = LoopKind::pardo, program.loops[2].schedule = "guided";
  program.accesses[0].guarded = true, program.accesses[0].predictable = false;
  program.accesses[0].in_open_loop = true;
  const auto loaded = load(encode(program));
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded->name, "bench");
  EXPECT_EQ(loaded->compiler, "test 1");
  EXPECT_EQ(loaded->optimisation, 2u);
  EXPECT_EQ(loaded->sources[0].name, "bench.sial");
  EXPECT_EQ(loaded->sources[0].sha256, program.sources[0].sha256);
  EXPECT_EQ(loaded->int_constants, program.int_constants);
  EXPECT_EQ(loaded->scalar_constants, program.scalar_constants);
  EXPECT_EQ(loaded->ints[1].name, "n");
  EXPECT_EQ(loaded->ints[1].initial, 7);
  EXPECT_TRUE(loaded->ints[0].predefined);
  EXPECT_EQ(loaded->scalars[0].initial, 0.5);
  EXPECT_EQ(loaded->super_instructions[0].intents, "rwu");
  // A second time through the bytes shows every other field.
  EXPECT_EQ(encode(*loaded), encode(program));
}

TEST(RecordReader, WrongStringsAreRefused) {
  Program program = sample();
  program.strings[0] = std::string("a\0b", 3);
  expect_refused(program, "string 0 is no text");
  program.strings[0] = "\xc0\xaf";
  expect_refused(program, "string 0 is no text");
  auto file = encode(sample());
  poke(file, section_offset(file, 3), 100000, 4);
  reseal(file);
  expect_refused(file, "string 0 is cut");
  poke(file, section_offset(file, 3), 4, 4);  // one letter less: the others are out of step
  reseal(file);
  EXPECT_FALSE(load(file).ok());
}

TEST(RecordReader, StringsFillTheirSection) {
  auto file = encode(sample());
  const std::size_t entry = 32 + 2 * 32;
  poke(file, entry + 4, peek(file, entry + 4, 4) - 1, 4);  // one record less
  reseal(file);
  expect_refused(file, "section strings is too long");
}

TEST(RecordReader, NamesExistAndAreNotEmpty) {
  Program program = sample();
  program.arrays[0].name.clear();
  expect_refused(program, "a name is empty");
  expect_byte_refused(9, 40, 0, 3, 0xff, "is missing");
  expect_byte_refused(10, 8, 0, 7, 0xff, "is missing");
}

TEST(RecordReader, ManyCopiesOfALongNameAreRefused) {
  Program program = sample();
  const std::string name(200000, 'n');
  for (int copy = 0; copy < 12; ++copy) program.super_instructions.push_back({name, "r"});
  expect_refused(program, "too many records have the same long name");
}

TEST(RecordReader, ReservedBytesAreZero) {
  const char* words = "reserved bytes are set";
  expect_byte_refused(1, 16, 0, 12, 1, words);
  expect_byte_refused(2, 40, 0, 4, 1, words);
  expect_byte_refused(8, 40, 2, 7, 1, words);
  expect_byte_refused(8, 40, 2, 39, 1, words);
  expect_byte_refused(9, 40, 1, 7, 1, words);
  expect_byte_refused(11, 16, 0, 15, 1, words);
  expect_byte_refused(12, 40, 0, 4, 1, words);
  expect_byte_refused(13, 96, 0, 2, 1, words);
  expect_byte_refused(13, 96, 0, 95, 1, words);
  expect_byte_refused(6, 16, 0, 4, 2, "unknown bits");
  expect_byte_refused(7, 16, 0, 5, 1, "unknown bits");
  expect_byte_refused(9, 40, 0, 5, 8, "unknown bits");
  expect_byte_refused(16, 80, 0, 8, 8, "unknown bits");
  expect_byte_refused(9, 40, 0, 8 + 4 * 4, 0, "place 4 of a list is used");
  expect_byte_refused(13, 96, 0, 24 + 4, 0, "place 1 of a list is used");
  expect_byte_refused(16, 80, 0, 16 + 4 * 15, 0, "place 15 of a list is used");
}

TEST(RecordReader, WrongKindsAreRefused) {
  expect_byte_refused(8, 40, 0, 4, 3, "kind 3");
  expect_byte_refused(8, 40, 0, 5, 2, "a bound has an unknown kind");
  expect_byte_refused(9, 40, 0, 4, 5, "storage 5");
  expect_byte_refused(9, 40, 0, 6, 0, "rank 0");
  expect_byte_refused(9, 40, 0, 6, 9, "rank 9");
  expect_byte_refused(13, 96, 0, 0, 3, "kind 3");
  expect_byte_refused(13, 96, 0, 1, 0, "0 indices");
  expect_byte_refused(13, 96, 0, 1, 2, "2 indices");
  expect_byte_refused(16, 80, 0, 12, 17, "17 loops");
  expect_byte_refused(15, 12, 0, 0, 1, "source 1 is missing");
  expect_byte_refused(15, 12, 0, 4, 0, "a place is 0");
}

struct RecordDamage {
  const char* name;
  void (*apply)(Program&);
  const char* words;
};

constexpr RecordDamage kRecordDamages[] = {
    {"infinite constant", [](Program& p) { p.scalar_constants[0] = INFINITY; }, "is not finite"},
    {"scalar that is no number", [](Program& p) { p.scalars[0].initial = NAN; }, "is not finite"},
    {"bound", [](Program& p) { p.indices[2].upper.value = 2; }, "int 2 is no bound"},
    {"negative bound", [](Program& p) { p.indices[2].upper.value = -1; }, "int -1 is no bound"},
    {"bound that is not predefined", [](Program& p) { p.indices[2].upper.value = 1; },
     "int 1 is no bound"},
    {"bounds of a subindex", [](Program& p) { p.indices[5].upper.value = 1; },
     "a subindex has bounds"},
    {"parent of no subindex", [](Program& p) { p.indices[2].parent = 1; }, "wrong parent"},
    {"simple parent", [](Program& p) { p.indices[5].parent = 0; }, "wrong parent"},
    {"later parent", [](Program& p) { p.indices[5].parent = 5; }, "wrong parent"},
    {"no parent", [](Program& p) { p.indices[5].parent = sial::kNone; }, "wrong parent"},
    {"predefined temp", [](Program& p) { p.arrays[2].predefined = true; }, "only a static can be"},
    {"contiguous temp", [](Program& p) { p.arrays[2].contiguous = true; }, "only a local can be"},
    {"index of an array", [](Program& p) { p.arrays[2].indices[0] = 9; }, "index 9 is missing"},
    {"subindex of a static", [](Program& p) { p.arrays[7].indices[0] = 5; },
     "an array has a subindex"},
    {"intents", [](Program& p) { p.super_instructions[0].intents = "rx"; }, "intents are wrong"},
    {"17 intents", [](Program& p) { p.super_instructions[0].intents = std::string(17, 'r'); },
     "intents are wrong"},
    {"array of a selector", [](Program& p) { p.selectors[0].array = 99; }, "array 99 is missing"},
    {"index of a selector", [](Program& p) { p.selectors[0].dimensions[0].index = 99; },
     "index 99 is missing"},
    {"rank of a selector", [](Program& p) { p.selectors[0].dimensions.pop_back(); },
     "index 2147483647 is missing"},
    {"schedule",
     [](Program& p) { p.loops[2].kind = LoopKind::pardo, p.loops[2].schedule = "fast"; },
     "wrong schedule"},
    {"schedule of a do", [](Program& p) { p.loops[2].schedule = "static"; }, "wrong schedule"},
    {"index of a loop", [](Program& p) { p.loops[2].indices[0] = 99; }, "index 99 is missing"},
    {"subindex of a do", [](Program& p) { p.loops[2].indices[0] = 5; }, "of a wrong kind"},
    {"index of `do in`", [](Program& p) { p.loops[2].kind = LoopKind::do_in; }, "of a wrong kind"},
    {"index twice",
     [](Program& p) {
       p.loops[2].kind = LoopKind::pardo, p.loops[2].indices = {2, 2};
     },
     "an index twice"},
};

TEST(RecordReader, WrongRecordsAreRefused) {
  for (const RecordDamage& damage : kRecordDamages) {
    SCOPED_TRACE(damage.name);
    Program program = sample();
    damage.apply(program);
    expect_refused(program, damage.words);
    expect_refused(program, ", record ");
  }
}

TEST(RecordReader, TableOfASimpleIndexIsRefused) {
  expect_byte_refused(8, 40, 0, 8, 0, "only segmented ones have one");
  auto file = encode(sample());
  poke(file, section_offset(file, 8) + 8, 0, 4);
  reseal(file);
  expect_refused(file, "only segmented ones have one");
}

TEST(RecordReader, OneProgramIsRight) {
  auto file = encode(sample());
  poke(file, 32 + 4, 0, 4);
  poke(file, 32 + 16, 0, 8);
  reseal(file);
  EXPECT_FALSE(load(file).ok());
}

}  // namespace
}  // namespace ob::test
