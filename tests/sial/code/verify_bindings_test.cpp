#include <gtest/gtest.h>

#include "sial/code/assembler.hpp"
#include "sial/code/loading.hpp"

namespace ob::test {
namespace {

using Op = Opcode;
using sial::LoopKind;

struct Calls : Assembler {
  std::uint32_t i, j, s, ii, d, st;
  std::uint32_t block;  // a selector of t[i,j]

  Calls() {
    program.ints = {{"norb", true, 0}};
    program.scalars = {{"x", false, 0}};
    program.int_constants = {1};
    program.scalar_constants = {1};
    program.strings = {"label"};
    i = segmented("i", "ao"), j = segmented("j", "ao"), s = simple("s");
    ii = subindex("ii", i);
    d = array("d", sial::Storage::distributed, {i, j});
    st = array("st", sial::Storage::static_, {i, j});
    block = select(array("t", sial::Storage::temp, {i, j}), {i, j});
  }
  void use() { emit(Op::print_block, block); }
  // A do over one index around a call of proc 1.
  void call_in_do(std::uint32_t index) { begin(LoopKind::do_, {index}), emit(Op::call, 1), end(); }
};

TEST(VerifyBindings, IndicesOfCallersAreBound) {
  Calls p;
  for (int call = 0; call < 2; ++call)
    p.begin(LoopKind::do_, {p.i}), p.begin(LoopKind::pardo, {p.j}), p.emit(Op::call, 1), p.end(),
        p.end();
  p.close_proc(Op::halt);
  p.proc("outer"), p.emit(Op::call, 2), p.close_proc(Op::return_);
  p.proc("inner"), p.use(), p.close_proc(Op::return_);
  expect_loads(p.program);
}

TEST(VerifyBindings, IndexThatOneCallerDoesNotBindIsRefused) {
  Calls p;
  p.begin(LoopKind::do_, {p.i}), p.call_in_do(p.j), p.emit(Op::call, 1), p.end();
  p.close_proc(Op::halt);
  p.proc("work"), p.use(), p.close_proc(Op::return_);
  expect_refused(p.program, "uses index j (no loop around it");
}

TEST(VerifyBindings, IndexWithoutALoopIsRefused) {
  {
    Calls p;
    p.begin(LoopKind::do_, {p.i}), p.use(), p.end(), p.close_proc(Op::halt);
    expect_refused(p.program, "uses index j");
  }
  {
    Calls p;
    p.begin(LoopKind::do_, {p.i}), p.end(), p.emit(Op::print_index, p.i), p.close_proc(Op::halt);
    expect_refused(p.program, "uses index i");
  }
  {
    Calls p;
    p.emit(Op::push_index, p.s), p.emit(Op::print_int), p.close_proc(Op::halt);
    expect_refused(p.program, "uses index s");
  }
}

TEST(VerifyBindings, WhereClausesSeeTheIndicesOfTheirLoop) {
  Calls p;
  const auto loop = p.begin(LoopKind::pardo, {p.i, p.j});
  p.emit(Op::push_index, p.i), p.emit(Op::push_index, p.j), p.emit(Op::compare_ints);
  p.emit(Op::where, loop), p.body(), p.use(), p.end(), p.close_proc(Op::halt);
  expect_loads(p.program);
}

TEST(VerifyBindings, BoundIndexIsNotBoundAgain) {
  {
    Calls p;
    p.begin(LoopKind::do_, {p.i}), p.begin(LoopKind::do_, {p.i}), p.end(), p.end();
    p.close_proc(Op::halt);
    expect_refused(p.program, "binds index i again");
  }
  {
    Calls p;  // through a call, at one of two places
    p.emit(Op::call, 1), p.call_in_do(p.i), p.close_proc(Op::halt);
    p.proc("work"), p.begin(LoopKind::do_, {p.i}), p.end(), p.close_proc(Op::return_);
    expect_refused(p.program, "binds index i again");
  }
}

TEST(VerifyBindings, IndexIsFreeAfterItsLoop) {
  Calls p;
  for (int loop = 0; loop < 2; ++loop) p.call_in_do(p.i);
  p.emit(Op::call, 2), p.close_proc(Op::halt);
  p.proc("inside"), p.emit(Op::print_index, p.i), p.close_proc(Op::return_);
  p.proc("alone"), p.begin(LoopKind::do_, {p.i}), p.end(), p.close_proc(Op::return_);
  expect_loads(p.program);
}

TEST(VerifyBindings, SubindexNeedsItsParent) {
  Calls p;
  p.begin(LoopKind::do_in, {p.ii}), p.end(), p.close_proc(Op::halt);
  expect_refused(p.program, "its parent i is not bound");
}

TEST(VerifyBindings, CodeThatNoPathReachesIsNotChecked) {
  Calls p;
  p.close_proc(Op::halt);
  p.proc("never called"), p.use(), p.emit(Op::call, 2), p.close_proc(Op::return_);
  p.proc("called by it"), p.use(), p.emit(Op::return_), p.use(), p.close_proc(Op::return_);
  expect_loads(p.program);
}

TEST(VerifyBindings, RecursionIsRefused) {
  Calls p;
  p.close_proc(Op::halt);
  p.proc("one"), p.emit(Op::call, 2), p.close_proc(Op::return_);
  p.proc("two"), p.emit(Op::call, 1), p.close_proc(Op::return_);
  expect_refused(p.program, "call each other without end");
}

// Emits what all workers must execute together.
void emit_joint(Calls& p, Op op) {
  switch (op) {
    case Op::barrier: p.emit(op); break;
    case Op::section_begin: p.section(0), p.end_section(); break;
    case Op::delete_: p.emit(op, p.d); break;
    case Op::collective_scalar: p.emit(Op::push_scalar), p.emit(op); break;
    case Op::collective_int: p.emit(Op::push_int), p.emit(op); break;
    case Op::collective_static: p.emit(op, p.st, p.st); break;
    case Op::assert_same_static: p.emit(op, p.st); break;
    case Op::broadcast_static: p.emit(Op::push_int), p.emit(op, p.st); break;
    case Op::loop_begin: p.begin(LoopKind::pardo, {p.j}), p.end(); break;
    default: p.emit(op); break;  // of int 0 or scalar 0
  }
}

TEST(VerifyBindings, JointOperationsDoNotLieInAPardo) {
  for (const Op op :
       {Op::barrier, Op::section_begin, Op::delete_, Op::collective_scalar, Op::collective_int,
        Op::collective_static, Op::assert_same_scalar, Op::assert_same_int, Op::assert_same_static,
        Op::broadcast_static, Op::set_persistent, Op::restore_persistent, Op::loop_begin}) {
    SCOPED_TRACE(static_cast<int>(op));
    {
      Calls p;  // alone it is right
      emit_joint(p, op), p.close_proc(Op::halt);
      expect_loads(p.program);
    }
    {
      Calls p;  // in a do inside a pardo
      p.begin(LoopKind::pardo, {p.i}), p.begin(LoopKind::do_, {p.s}), emit_joint(p, op);
      p.end(), p.end(), p.close_proc(Op::halt);
      expect_refused(p.program, "lies in a pardo");
    }
    {
      Calls p;  // through two calls
      p.emit(Op::call, 1), p.begin(LoopKind::pardo, {p.i}), p.emit(Op::call, 1), p.end();
      p.close_proc(Op::halt);
      p.proc("outer"), p.emit(Op::call, 2), p.close_proc(Op::return_);
      p.proc("inner"), emit_joint(p, op), p.close_proc(Op::return_);
      expect_refused(p.program, "lies in a pardo");
    }
  }
}

TEST(VerifyBindings, HostileDepthEndsInARefusal) {
  Calls p;
  for (int loop = 0; loop < 300; ++loop) p.simple("s" + std::to_string(loop));
  for (std::uint32_t index = p.ii + 1; index < p.ii + 301; ++index) p.begin(LoopKind::do_, {index});
  for (int loop = 0; loop < 300; ++loop) p.end();
  p.close_proc(Op::halt);
  expect_refused(p.program, "binds too many indices");
}

}  // namespace
}  // namespace ob::test
