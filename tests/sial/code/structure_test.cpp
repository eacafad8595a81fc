// Procs, loops, where clauses, sections, jumps and accesses.

#include "sial/code/structure.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "sial/code/assembler.hpp"
#include "sial/code/loading.hpp"

namespace ob::test {
namespace {

using Op = Opcode;
using sial::kNone;
using sial::LoopKind;
using sial::Program;

// Declares two indices and an int, and no loop.
struct Plain : Assembler {
  std::uint32_t i, j, a;
  Plain() {
    program.ints = {{"norb", true, 0}};
    program.int_constants = {1};
    program.strings = {"text"};
    i = segmented("i", "ao"), j = segmented("j", "ao");
    a = array("a", sial::Storage::distributed, {i, j});
  }
  void where(std::uint32_t loop) {
    emit(Op::push_index, program.loops[loop].indices[0]), emit(Op::push_int, 0);
    emit(Op::compare_ints), emit(Op::where, loop);
  }
};

// do i where .. / if .. barrier endif / enddo; a section with two pardos; a proc with a return.
Program sample() {
  Plain p;
  const auto loop = p.begin(LoopKind::do_, {p.i});  // 0
  p.where(loop);                                    // 1 to 4
  p.body();
  p.emit(Op::push_int, 0);       // 5
  p.emit(Op::jump_if_false, 8);  // 6
  p.emit(Op::barrier);           // 7
  p.end();                       // 8
  p.section(0);                  // 9
  for (int pardo = 0; pardo < 2; ++pardo) {
    const auto number = p.begin(LoopKind::pardo, {p.i, p.j});  // 10, 17
    p.where(number);                                           // 11, 18
    p.body();
    p.get(p.select(p.a, {p.i, p.j}));  // 15, 22
    p.end();                           // 16, 23
  }
  p.end_section();      // 24
  p.emit(Op::call, 1);  // 25
  p.close_proc(Op::halt);
  p.proc("work");
  p.emit(Op::return_);        // 27
  p.close_proc(Op::return_);  // 28
  return p.program;
}

struct Damage {
  const char* name;
  std::function<void(Program&)> apply;
  const char* words;
};

void expect_damages_refused(const std::vector<Damage>& damages) {
  for (const Damage& damage : damages) {
    SCOPED_TRACE(damage.name);
    Program program = sample();
    damage.apply(program);
    expect_refused(program, damage.words);
  }
}

TEST(Structure, SampleIsAccepted) { expect_loads(sample()); }

TEST(Structure, FactsOfTheSample) {
  const auto found = sial::find_structure(sample(), "bench.sialc");
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->proc_of[26], 0u);
  EXPECT_EQ(found->proc_of[27], 1u);
  EXPECT_EQ(found->loop_of[0], kNone);  // loop_begin is outside, loop_end inside
  for (std::uint32_t at = 1; at <= 8; ++at) EXPECT_EQ(found->loop_of[at], 0u) << at;
  EXPECT_EQ(found->loop_of[9], kNone);
  EXPECT_EQ(found->loop_of[15], 1u);
  EXPECT_EQ(found->loop_of[22], 2u);
  EXPECT_NE(found->region_of[4], found->region_of[5]);
  EXPECT_EQ(found->region_of[5], found->region_of[8]);
  EXPECT_NE(found->region_of[9], found->region_of[10]);
  EXPECT_EQ(found->parent_of, (std::vector<std::uint32_t>{kNone, kNone, kNone}));
  EXPECT_EQ(found->in_pardo, (std::vector<bool>{false, true, true}));
  EXPECT_TRUE(found->target[8]);
  EXPECT_FALSE(found->target[7]);
  EXPECT_TRUE(found->reachable[27]);
  EXPECT_FALSE(found->reachable[28]);  // behind a return
}

TEST(Structure, NestedLoopsKnowTheirParents) {
  Plain p;
  p.begin(LoopKind::pardo, {p.i}), p.begin(LoopKind::do_, {p.j}), p.end(), p.end();
  p.close_proc(Op::halt);
  const auto found = sial::find_structure(p.program, "bench.sialc");
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->parent_of, (std::vector<std::uint32_t>{kNone, 0}));
  EXPECT_EQ(found->in_pardo, (std::vector<bool>{true, true}));
}

TEST(Structure, WrongProcsAreRefused) {
  expect_damages_refused({
      {"gap", [](auto& p) { p.procs[1].begin = 28; }, "proc work has wrong limits"},
      {"empty", [](auto& p) { p.procs[1].end = 27; }, "proc work has wrong limits"},
      {"too long", [](auto& p) { p.procs[1].end = 40; }, "proc work has wrong limits"},
      {"first", [](auto& p) { p.procs[0].begin = 1; }, "proc bench has wrong limits"},
      {"too short", [](auto& p) { p.procs[1].end = 28; }, "the code is longer than its procs"},
      {"none", [](auto& p) { p.procs.clear(); }, "no proc"},
      {"lines", [](auto& p) { p.lines.pop_back(); }, "28 lines for 29 instructions"},
      {"end", [](auto& p) { p.code[28].op = Op::gpu_on; }, "ends its proc"},
      {"end of the program", [](auto& p) { p.code[26].op = Op::stop; }, "ends its proc"},
      {"early halt",
       [](auto& p) {
         p.code[25] = {Op::halt, 0, 0, 0, 0};
       },
       "ends no program"},
      {"return",
       [](auto& p) {
         p.code[25] = {Op::return_, 0, 0, 0, 0};
       },
       "outside of procs"},
      {"recursion",
       [](auto& p) {
         p.code[27] = {Op::call, 0, 1, 0, 0};
       },
       "without end"},
  });
}

TEST(Structure, WrongLoopsAreRefused) {
  expect_damages_refused({
      {"begin", [](auto& p) { p.loops[0].begin = 1; }, "is not the beginning"},
      {"end before the body", [](auto& p) { p.loops[0].end = 4; }, "wrong limits"},
      {"body before the beginning", [](auto& p) { p.loops[0].body = 0; }, "wrong limits"},
      {"end outside", [](auto& p) { p.loops[0].end = 28; }, "wrong limits"},
      {"another end", [](auto& p) { p.loops[0].end = 7; }, "is not the end"},
      {"end of another", [](auto& p) { p.code[16].a = 2; }, "is not the end"},
      {"beginning of another", [](auto& p) { p.code[17].a = 1; }, "is not the beginning"},
      {"no end",
       [](auto& p) {
         p.code[8] = {Op::gpu_on, 0, 0, 0, 0};
       },
       "section"},
      {"no beginning", [](auto& p) { p.loops.push_back(p.loops[0]); }, "loop 3 is not in the code"},
      {"where outside",
       [](auto& p) {
         p.code[7] = {Op::where, 0, 0, 0, 0};
       },
       "outside of the where"},
      {"where of another", [](auto& p) { p.code[4].a = 1; }, "outside of the where"},
      {"statement in where",
       [](auto& p) {
         p.code[2] = {Op::barrier, 0, 0, 0, 0};
       },
       "contain only expressions"},
      {"where without where", [](auto& p) { p.loops[0].body = 4; }, "ends where clauses"},
      {"exit of another",
       [](auto& p) {
         p.code[7] = {Op::loop_exit, 0, 1, 0, 0};
       },
       "innermost"},
      {"cycle outside",
       [](auto& p) {
         p.code[25] = {Op::loop_cycle, 0, 1, 0, 0};
       },
       "innermost"},
  });
}

TEST(Structure, LoopThatIsOpenAtTheEndOfAProcIsRefused) {
  Plain p;
  p.begin(LoopKind::do_, {p.i});
  p.emit(Op::halt);
  p.program.procs[0].end = p.here();
  p.proc("more");
  p.end();
  p.close_proc(Op::return_);
  expect_refused(p.program, "wrong limits");
}

TEST(Structure, WrongSectionsAreRefused) {
  expect_damages_refused({
      {"number", [](auto& p) { p.code[9].a = 1; }, "wrong section number"},
      {"end", [](auto& p) { p.code[24].a = 1; }, "does not end the innermost section"},
      {"pardo of none", [](auto& p) { p.loops[1].section = kNone; }, "another section"},
      {"pardo of another", [](auto& p) { p.loops[1].section = 1; }, "another section"},
      {"do of one", [](auto& p) { p.loops[0].section = 0; }, "a do has a section"},
      {"statement",
       [](auto& p) {
         p.code[24] = {Op::barrier, 0, 0, 0, 0};
       },
       "sections contain only pardos"},
      {"do", [](auto& p) { p.loops[1].kind = LoopKind::do_, p.loops[1].indices = {0}; },
       "a do has a section"},
      {"end alone",
       [](auto& p) {
         p.code[25] = {Op::section_end, 0, 0, 0, 0};
       },
       "does not end the innermost section"},
  });
}

TEST(Structure, JumpsAcrossLimitsAreRefused) {
  const char* words = "it crosses the limits";
  expect_damages_refused({
      {"out of a loop", [](auto& p) { p.code[6].a = 9; }, words},
      {"into where clauses", [](auto& p) { p.code[6].a = 4; }, words},
      {"before the loop", [](auto& p) { p.code[6].a = 0; }, words},
      {"into a loop",
       [](auto& p) {
         p.code[25] = {Op::jump, 0, 7, 0, 0};
       },
       words},
      {"into a section",
       [](auto& p) {
         p.code[25] = {Op::jump, 0, 17, 0, 0};
       },
       words},
      {"into a proc",
       [](auto& p) {
         p.code[25] = {Op::jump, 0, 27, 0, 0};
       },
       words},
  });
}

TEST(Structure, WrongAccessesAreRefused) {
  const char* foreign = "does not belong to instruction";
  expect_damages_refused({
      {"no get", [](auto& p) { p.accesses[0].instruction = 7; }, foreign},
      {"outside", [](auto& p) { p.accesses[0].instruction = 99; }, foreign},
      {"other get", [](auto& p) { p.accesses[0].instruction = 22; }, foreign},
      {"selector", [](auto& p) { p.accesses[0].selector = 1; }, foreign},
      {"shared", [](auto& p) { p.code[22].b = 0; }, "access 1 does not belong"},
      {"no get for it", [](auto& p) { p.accesses.push_back(p.accesses[0]); }, foreign},
      {"other loop", [](auto& p) { p.accesses[0].loops = {2}; }, "has an access with loop 2"},
      {"too many loops",
       [](auto& p) {
         p.accesses[0].loops = {1, 1};
       },
       "has an access with loop 1"},
      {"missing loop", [](auto& p) { p.accesses[0].loops = {77}; }, "has an access with loop 77"},
  });
  Program program = sample();
  program.code[22].a = program.code[15].a, program.code[22].b = 0;
  program.accesses.pop_back();
  expect_refused(program, "has the access of another get");
}

}  // namespace
}  // namespace ob::test
