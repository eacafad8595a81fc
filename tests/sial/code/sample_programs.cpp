#include "sial/code/sample_programs.hpp"

#include "sial/code/assembler.hpp"

namespace ob::test {
namespace {

using Op = Opcode;
using namespace ob::sial;

Program statements() {
  Workbench w;
  const auto t = w.select(w.t, {w.i, w.j});
  const auto a = w.select(w.a, {w.i, w.k}), b = w.select(w.b, {w.k, w.j});
  w.get(a), w.get(b);
  w.emit(Op::block_contract, t, a, b, 1);
  w.emit(Op::push_scalar, w.zero), w.emit(Op::block_scale, t, w.select(w.l, {w.i, w.j}), 0, 1);
  w.emit(Op::block_slice, w.select(w.part, {w.ii, w.j}), w.select(w.t, {w.ii, w.j}));
  w.emit(Op::push_element, w.select(w.pre, {w.s})), w.emit(Op::push_scalar_variable, w.x);
  w.emit(Op::compare_scalars), w.emit(Op::jump_if_false, w.here() + 3);
  w.emit(Op::push_scalar, w.zero), w.emit(Op::store_scalar, w.x);
  w.bounds(), w.emit(Op::region_store, w.c, t);
  w.bounds(), w.emit(Op::argument_region, w.c);
  w.emit(Op::argument_block, t), w.emit(Op::argument_scalar, w.x), w.emit(Op::execute, w.f_rwu, 3);
  w.emit(Op::put_block, w.select(w.a, {w.i, w.j}), t, 0, 1);
  w.emit(Op::print_block, t);
  return w.finish();
}

Program structure() {
  Assembler p;
  p.program.ints = {{"norb", true, 0}};
  p.program.int_constants = {1};
  p.program.strings = {"text"};
  const auto i = p.segmented("i", "ao"), j = p.segmented("j", "ao"), s = p.simple("s");
  const auto ii = p.subindex("ii", i);
  const auto d = p.array("d", Storage::distributed, {i, j});
  const auto block = p.select(d, {i, j});
  const auto where = [&](std::uint32_t loop) {
    p.emit(Op::push_index, p.program.loops[loop].indices[0]), p.emit(Op::push_int);
    p.emit(Op::compare_ints, 0, 0, 0, 1), p.emit(Op::where, loop), p.body();
  };
  where(p.begin(LoopKind::do_, {s}));
  p.section(0);
  for (int pardo = 0; pardo < 2; ++pardo) {
    where(p.begin(LoopKind::pardo, {i, j}));
    p.get(block), p.emit(Op::call, 2), p.end();
  }
  p.end_section(), p.emit(Op::call, 1), p.emit(Op::loop_cycle, 0), p.end();
  p.emit(Op::delete_, d), p.close_proc(Op::halt);
  p.proc("outer"), p.emit(Op::barrier);
  p.begin(LoopKind::do_, {i}), p.begin(LoopKind::do_, {j}), p.emit(Op::call, 2), p.end(), p.end();
  p.close_proc(Op::return_);
  p.proc("inner");
  const auto loop = p.begin(LoopKind::do_in, {ii});
  p.emit(Op::push_index, ii), p.emit(Op::jump_if_false, p.here() + 2);
  p.emit(Op::loop_exit, loop), p.get(block), p.emit(Op::print_index, s), p.end();
  p.close_proc(Op::return_);
  return p.program;
}

}  // namespace

std::vector<Program> sample_programs() { return {statements(), structure()}; }

}  // namespace ob::test
