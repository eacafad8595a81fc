// Each instruction in its right form, and with wrong operands, labels and stacks.

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "sial/code/assembler.hpp"
#include "sial/code/instruction_table.hpp"
#include "sial/code/loading.hpp"

namespace ob::test {
namespace {

using Op = Opcode;
using Emit = std::function<void(Workbench&)>;

struct Statement {
  const char* name;
  Emit emit;
};

struct WrongStatement {
  const char* name;
  Emit emit;
  const char* words;
};

void push(Workbench& w, const char* types) {
  for (const char* type = types; *type != '\0'; ++type)
    w.emit(*type == 'i' ? Op::push_int : Op::push_scalar, *type == 'i' ? w.one : w.zero);
}

const Statement kRightStatements[] = {
    {"jumps",
     [](auto& w) {
       push(w, "i");
       w.emit(Op::jump_if_false, w.here() + 2);
       w.emit(Op::jump, w.here() + 1);
     }},
    {"stop", [](auto& w) { w.emit(Op::stop); }},
    {"exit", [](auto& w) { w.emit(Op::loop_exit, 5); }},
    {"cycle", [](auto& w) { w.emit(Op::loop_cycle, 5); }},
    {"barriers", [](auto& w) { w.emit(Op::barrier), w.emit(Op::barrier, 0, 0, 0, 1); }},
    {"gpu", [](auto& w) { w.emit(Op::gpu_on), w.emit(Op::gpu_off); }},
    {"int expression",
     [](auto& w) {
       w.emit(Op::push_int, w.one), w.emit(Op::push_int_variable, w.n), w.emit(Op::push_index, w.i);
       w.emit(Op::int_add), w.emit(Op::int_negate), w.emit(Op::push_index, w.ii);
       for (const Op op : {Op::int_subtract, Op::int_multiply}) w.emit(op), push(w, "i");
       w.emit(Op::int_divide), w.emit(Op::int_add), w.emit(Op::store_int, w.n, 0, 0, 3);
     }},
    {"scalar expression",
     [](auto& w) {
       w.emit(Op::push_scalar_variable, w.x), w.emit(Op::scalar_negate), w.emit(Op::scalar_sqrt);
       for (const Op op : {Op::scalar_add, Op::scalar_subtract, Op::scalar_multiply,
                           Op::scalar_divide, Op::scalar_power})
         push(w, "s"), w.emit(op);
       w.emit(Op::scalar_to_int), w.emit(Op::int_to_scalar);
       w.emit(Op::push_element, w.select(w.pre, {w.s})), w.emit(Op::scalar_add);
       w.emit(Op::push_element, w.select(w.pre, {w.i | kCast})), w.emit(Op::scalar_add);
       w.emit(Op::store_scalar, w.x, 0, 0, 2);
     }},
    {"comparisons",
     [](auto& w) {
       push(w, "ii"), w.emit(Op::compare_ints, 0, 0, 0, 5);
       push(w, "ss"), w.emit(Op::compare_scalars, 0, 0, 0, 5);
       w.emit(Op::int_add), w.emit(Op::store_int, w.n);
     }},
    {"full contraction",
     [](auto& w) {
       w.emit(Op::push_contraction, w.select(w.t, {w.i, w.j}), w.select(w.t, {w.j, w.i}));
       w.emit(Op::store_scalar, w.x, 0, 0, 1);
     }},
    {"fill",
     [](auto& w) {
       push(w, "s"), w.emit(Op::block_fill, w.select(w.st, {w.i, w.j}), 0, 0, 3);
     }},
    {"copy",
     [](auto& w) {
       w.emit(Op::block_copy, w.select(w.t, {w.i, w.j}), w.select(w.a, {w.j, w.i}), 0, 2);
       w.emit(Op::block_copy, w.select(w.t, {w.i, w.i}), w.select(w.l, {w.i, w.i}));
     }},
    {"copy with a simple label more",
     [](auto& w) {
       const auto wide = w.array("wide", sial::Storage::temp, {w.i, w.j, w.s});
       w.emit(Op::block_copy, w.select(wide, {w.i, w.j, w.s}), w.select(w.t, {w.i, w.j}));
       w.emit(Op::block_copy, w.select(w.t, {w.i, w.j}), w.select(wide, {w.i, w.j, w.k | kCast}));
     }},
    {"sums",
     [](auto& w) {
       const auto t = w.select(w.t, {w.i, w.j});
       w.emit(Op::block_add, t, t, w.select(w.l, {w.i, w.j})), w.emit(Op::block_subtract, t, t, t);
     }},
    {"scaled copy",
     [](auto& w) {
       push(w, "s");
       w.emit(Op::block_scale, w.select(w.t, {w.i, w.j}), w.select(w.l, {w.i, w.j}), 0, 2);
     }},
    {"contraction",
     [](auto& w) {
       w.emit(Op::block_contract, w.select(w.t, {w.j, w.i}), w.select(w.a, {w.i, w.k}),
              w.select(w.b, {w.k, w.j}), 1);
       w.emit(Op::block_contract, w.select(w.one_s, {w.s}), w.select(w.v, {w.i}),
              w.select(w.v, {w.i}));
     }},
    {"outer product",
     [](auto& w) {
       w.emit(Op::block_outer, w.select(w.t, {w.j, w.i}), w.select(w.v, {w.i}),
              w.select(w.y, {w.j}), 2);
     }},
    {"slice and insert",
     [](auto& w) {
       const auto part = w.select(w.part, {w.ii, w.j});
       w.emit(Op::block_slice, part, w.select(w.a, {w.ii, w.j}));
       w.emit(Op::block_insert, w.select(w.t, {w.ii, w.j}), part);
     }},
    {"whole statics",
     [](auto& w) {
       push(w, "s"), w.emit(Op::static_fill, w.st, 0, 0, 3);
       w.emit(Op::static_copy, w.st, w.su, 0, 2);
     }},
    {"regions",
     [](auto& w) {
       w.bounds(), push(w, "s"), w.emit(Op::region_fill, w.c);
       w.bounds(), w.emit(Op::region_store, w.c, w.select(w.t, {w.i, w.j}));
       w.bounds(), w.emit(Op::region_load, w.select(w.t, {w.i, w.j}), w.c);
       w.bounds(), w.emit(Op::allocate_contiguous, w.c);
       w.bounds(), w.emit(Op::deallocate_contiguous, w.c);
     }},
    {"release",
     [](auto& w) {
       w.emit(Op::block_release, w.select(w.t, {w.i, w.j}));
     }},
    {"get and put",
     [](auto& w) {
       const auto a = w.select(w.a, {w.i, w.j}), b = w.select(w.b, {w.i, w.j});
       w.get(a), w.get(b), w.get(a);
       w.emit(Op::put_block, a, w.select(w.t, {w.i, w.j}), 0, 2);
       push(w, "s"), w.emit(Op::put_scalar, b, 0, 0, 3);
     }},
    {"create and delete", [](auto& w) { w.emit(Op::create, w.a), w.emit(Op::delete_, w.b); }},
    {"allocate",
     [](auto& w) {
       const auto rows = w.select(w.l, {w.i, kStar});
       w.emit(Op::allocate, rows), w.emit(Op::deallocate, rows), w.emit(Op::deallocate_array, w.l);
     }},
    {"collectives",
     [](auto& w) {
       push(w, "s"), w.emit(Op::collective_scalar, w.x);
       push(w, "i"), w.emit(Op::collective_int, w.n);
       w.emit(Op::collective_static, w.st, w.su);
       w.emit(Op::assert_same_scalar, w.x), w.emit(Op::assert_same_int, w.n);
       w.emit(Op::assert_same_static, w.st);
       push(w, "i"), w.emit(Op::broadcast_static, w.st);
     }},
    {"persistence",
     [](auto& w) {
       w.emit(Op::set_persistent, w.x, w.label), w.emit(Op::set_persistent, w.a, w.label, 0, 1);
       w.emit(Op::restore_persistent, w.st, w.label, 0, 1);
     }},
    {"output",
     [](auto& w) {
       w.emit(Op::print_string, w.label), w.emit(Op::print_int_variable, w.n, 0, 0, 1);
       w.emit(Op::print_index, w.i), w.emit(Op::print_scalar_variable, w.x);
       push(w, "i"), w.emit(Op::print_int), push(w, "s"), w.emit(Op::print_scalar);
       w.emit(Op::print_block, w.select(w.a, {w.i, w.j})), w.emit(Op::print_static, w.st);
     }},
    {"execute",
     [](auto& w) {
       w.emit(Op::argument_block, w.select(w.a, {w.i, w.j}));
       w.emit(Op::argument_block, w.select(w.t, {w.i, w.j}));
       w.bounds(), w.emit(Op::argument_region, w.c);
       w.emit(Op::execute, w.f_rwu, 3);
     }},
    {"arguments that are read",
     [](auto& w) {
       w.emit(Op::argument_array, w.a), w.emit(Op::execute, w.f_r, 1);
       w.emit(Op::argument_index, w.ii), w.emit(Op::execute, w.f_r, 1);
       w.emit(Op::argument_scalar_constant, w.zero), w.emit(Op::execute, w.f_r, 1);
       w.emit(Op::argument_int_constant, w.one), w.emit(Op::execute, w.f_r, 1);
       w.emit(Op::argument_string, w.label), w.emit(Op::execute, w.f_r, 1);
     }},
    {"arguments that are written",
     [](auto& w) {
       w.emit(Op::argument_scalar, w.x), w.emit(Op::execute, w.f_w, 1);
       w.emit(Op::argument_int, w.n), w.emit(Op::execute, w.f_w, 1);
       w.emit(Op::argument_array, w.st), w.emit(Op::execute, w.f_w, 1);
     }},
};

const WrongStatement kWrongOperands[] = {
    {"no operation", [](auto& w) { w.emit(static_cast<Op>(0x29)); }, "does not exist"},
    {"high operation", [](auto& w) { w.emit(static_cast<Op>(0xffff)); }, "does not exist"},
    {"variant", [](auto& w) { w.emit(Op::barrier, 0, 0, 0, 2); }, "has no variant 2"},
    {"variant of none", [](auto& w) { w.emit(Op::stop, 0, 0, 0, 1); }, "has no variant 1"},
    {"unused operand", [](auto& w) { w.emit(Op::stop, 0, 1); }, "does not have is not zero"},
    {"target", [](auto& w) { w.emit(Op::jump, 1000); }, "instruction 1000 is missing"},
    {"proc", [](auto& w) { w.emit(Op::call, 1); }, "proc 1 is missing"},
    {"program", [](auto& w) { w.emit(Op::call, 0); }, "proc 0"},
    {"loop", [](auto& w) { w.emit(Op::loop_exit, 99); }, "loop 99 is missing"},
    {"int constant", [](auto& w) { w.emit(Op::push_int, 9); }, "int constant 9 is missing"},
    {"int", [](auto& w) { w.emit(Op::print_int_variable, 9); }, "int 9 is missing"},
    {"index", [](auto& w) { w.emit(Op::print_index, 9); }, "index 9 is missing"},
    {"scalar constant", [](auto& w) { w.emit(Op::push_scalar, 9); }, "scalar constant 9"},
    {"scalar", [](auto& w) { w.emit(Op::assert_same_scalar, 9); }, "scalar 9 is missing"},
    {"string", [](auto& w) { w.emit(Op::print_string, 999); }, "string 999 is missing"},
    {"selector", [](auto& w) { w.emit(Op::print_block, 999); }, "selector 999 is missing"},
    {"array", [](auto& w) { w.emit(Op::print_static, 999); }, "array 999 is missing"},
    {"access",
     [](auto& w) {
       w.emit(Op::get, w.select(w.a, {w.i, w.j}), 9);
     },
     "access 9"},
    {"super-instruction", [](auto& w) { w.emit(Op::execute, 9); }, "super-instruction 9"},
    {"arguments", [](auto& w) { w.emit(Op::execute, w.f_r, 17); }, "17 arguments are too many"},
    {"object", [](auto& w) { w.emit(Op::set_persistent, 9, 0); }, "object 9 is missing"},
    {"persistent temp", [](auto& w) { w.emit(Op::set_persistent, w.t, 0, 0, 1); },
     "t cannot be persistent"},
    {"persistent predefined", [](auto& w) { w.emit(Op::set_persistent, w.threshold, 0); },
     "predefined"},
    {"persistent predefined array", [](auto& w) { w.emit(Op::restore_persistent, w.pre, 0, 0, 1); },
     "predefined"},
    {"star",
     [](auto& w) {
       w.emit(Op::print_block, w.select(w.t, {w.i, kStar}));
     },
     "has a *"},
    {"part",
     [](auto& w) {
       w.emit(Op::print_block, w.select(w.t, {w.ii, w.j}));
     },
     "selects a part"},
    {"no part",
     [](auto& w) {
       w.emit(Op::block_slice, w.select(w.part, {w.ii, w.j}), w.select(w.part, {w.ii, w.j}));
     },
     "selects no part"},
    {"element",
     [](auto& w) {
       w.emit(Op::push_element, w.select(w.t, {w.i, w.j}));
     },
     "more than one element"},
    {"written distributed",
     [](auto& w) {
       w.emit(Op::block_copy, w.select(w.a, {w.i, w.j}), w.select(w.t, {w.i, w.j}));
     },
     "only put writes it"},
    {"insert into served",
     [](auto& w) {
       w.emit(Op::block_insert, w.select(w.b, {w.ii, w.j}), w.select(w.part, {w.ii, w.j}));
     },
     "only put writes it"},
    {"get of a temp",
     [](auto& w) {
       w.get(w.select(w.t, {w.i, w.j}));
     },
     "neither distributed nor served"},
    {"create of a static", [](auto& w) { w.emit(Op::create, w.st); },
     "neither distributed nor served"},
    {"allocate a temp",
     [](auto& w) {
       w.emit(Op::allocate, w.select(w.t, {w.i, w.j}));
     },
     "t is not local"},
    {"release a local",
     [](auto& w) {
       w.emit(Op::block_release, w.select(w.l, {w.i, w.j}));
     },
     "is no temp"},
    {"whole temp", [](auto& w) { w.emit(Op::argument_array, w.t); }, "as a whole"},
    {"static", [](auto& w) { w.emit(Op::print_static, w.a); }, "a is not static"},
    {"deallocate contiguous as blocks", [](auto& w) { w.emit(Op::deallocate_array, w.c); },
     "is not local, or it is contiguous"},
    {"contiguous", [](auto& w) { w.bounds(), w.emit(Op::allocate_contiguous, w.l); },
     "l is not contiguous"},
    {"block of a contiguous array",
     [](auto& w) {
       w.select(w.c, {w.i, w.j});
     },
     "contiguous array c"},
    {"kind",
     [](auto& w) {
       w.select(w.t, {w.i, w.s});
     },
     "index s has another kind"},
    {"table",
     [](auto& w) {
       w.select(w.t, {w.i, w.m});
     },
     "index m has another kind or table"},
    {"cast",
     [](auto& w) {
       w.select(w.t, {w.i | kCast, w.j});
     },
     "index i is cast"},
    {"segment for a subindex",
     [](auto& w) {
       w.select(w.part, {w.i, w.j});
     },
     "index i has"},
};

const std::vector<WrongStatement>& wrong_labels() {
  static const auto two = [](Op op, auto left, auto right) {
    return [=](Workbench& w) { w.emit(op, left(w), right(w)); };
  };
  static const auto ij = [](Workbench& w) { return w.select(w.t, {w.i, w.j}); };
  static const auto ji = [](Workbench& w) { return w.select(w.t, {w.j, w.i}); };
  static const auto ik = [](Workbench& w) { return w.select(w.u, {w.i, w.k}); };
  static const auto kj = [](Workbench& w) { return w.select(w.w, {w.k, w.j}); };
  static const auto i_i = [](Workbench& w) { return w.select(w.t, {w.i, w.i}); };
  static const auto only_i = [](Workbench& w) { return w.select(w.v, {w.i}); };
  static const std::vector<WrongStatement> statements{
      {"copy", two(Op::block_copy, ij, ik), "permutation"},
      {"copy of a diagonal", two(Op::block_copy, ij, i_i), "permutation"},
      {"copy of less", two(Op::block_copy, ij, only_i), "permutation"},
      {"sum", [](auto& w) { w.emit(Op::block_add, ij(w), ij(w), ji(w)); }, "equal in a sum"},
      {"difference", [](auto& w) { w.emit(Op::block_subtract, ij(w), ji(w), ij(w)); },
       "equal in a sum"},
      {"scaled copy", [](auto& w) { push(w, "s"), w.emit(Op::block_scale, ij(w), ji(w)); },
       "scaled copy"},
      {"slice",
       [](auto& w) {
         w.emit(Op::block_slice, w.select(w.part, {w.ii, w.j}), w.select(w.t, {w.ii, w.k}));
       },
       "slice or insert"},
      {"label once",
       [](auto& w) { w.emit(Op::block_contract, ij(w), ik(w), w.select(w.y, {w.j})); },
       "only one operand"},
      {"label twice", [](auto& w) { w.emit(Op::block_contract, ij(w), i_i(w), kj(w)); },
       "twice in one operand"},
      {"label in all", [](auto& w) { w.emit(Op::block_contract, ij(w), ij(w), ij(w)); },
       "in all operands"},
      {"contraction to a scalar",
       [](auto& w) { w.emit(Op::push_contraction, ij(w), ik(w)), w.emit(Op::store_scalar, w.x); },
       "only one operand"},
      {"outer shares", [](auto& w) { w.emit(Op::block_outer, ij(w), only_i(w), only_i(w)); },
       "have different labels"},
      {"outer loses",
       [](auto& w) { w.emit(Op::block_outer, i_i(w), only_i(w), w.select(w.y, {w.j})); },
       "has all labels"},
      {"outer gains",
       [](auto& w) {
         const auto wide = w.array("wide", sial::Storage::temp, {w.i, w.j, w.k});
         w.emit(Op::block_outer, w.select(wide, {w.i, w.j, w.k}), only_i(w), w.select(w.y, {w.j}));
       },
       "no other labels"},
      {"put",
       [](auto& w) {
         w.emit(Op::put_block, w.select(w.a, {w.i, w.j}), ji(w));
       },
       "a put has"},
      {"region", [](auto& w) { w.bounds(), w.emit(Op::region_store, w.c, only_i(w)); },
       "a block and a region"},
      {"region of another kind",
       [](auto& w) {
         w.bounds(), w.emit(Op::region_load, w.select(w.q, {w.i, w.m}), w.c);
       },
       "a block and a region"},
      {"statics", [](auto& w) { w.emit(Op::static_copy, w.st, w.pre); }, "whole statics"},
      {"ranges of statics",
       [](auto& w) {
         const auto other = w.segmented("other", "ao");
         w.program.indices[other].upper = {false, 2};
         const auto array = w.array("narrow", sial::Storage::static_, {w.i, other});
         w.emit(Op::collective_static, w.st, array);
       },
       "whole statics"},
  };
  return statements;
}

const WrongStatement kWrongStacks[] = {
    {"nothing", [](auto& w) { w.emit(Op::store_int, w.n); }, "finds nothing"},
    {"type", [](auto& w) { push(w, "s"), w.emit(Op::store_int, w.n); }, "it takes i and finds s"},
    {"one of two", [](auto& w) { push(w, "s"), w.emit(Op::scalar_add); }, "takes ss and finds s"},
    {"left over", [](auto& w) { push(w, "ii"), w.emit(Op::store_int, w.n); }, "leaves values"},
    {"over a barrier", [](auto& w) { push(w, "i"), w.emit(Op::barrier); }, "leaves values"},
    {"over a jump", [](auto& w) { push(w, "i"), w.emit(Op::jump, w.here() + 1); }, "leaves values"},
    {"over a loop", [](auto& w) { push(w, "i"); }, "leaves values"},
    {"into an expression",
     [](auto& w) { w.emit(Op::jump, w.here() + 2), push(w, "i"), w.emit(Op::store_int, w.n); },
     "target of a jump inside a statement"},
    {"overflow",
     [](auto& w) {
       for (int i = 0; i < 65; ++i) push(w, "i");
     },
     "overflows the stack"},
    {"bounds", [](auto& w) { push(w, "iii"), w.emit(Op::allocate_contiguous, w.c); },
     "it takes iiii"},
    {"statement among arguments",
     [](auto& w) {
       w.emit(Op::argument_scalar, w.x), w.emit(Op::gpu_on), w.emit(Op::execute, w.f_r, 1);
     },
     "between arguments and their execute"},
    {"arguments without execute", [](auto& w) { w.emit(Op::argument_scalar, w.x); },
     "between arguments and their execute"},
    {"jump to an argument",
     [](auto& w) {
       w.emit(Op::jump, w.here() + 2), w.emit(Op::argument_scalar, w.x);
       w.emit(Op::execute, w.f_r, 1);
     },
     "target of a jump inside a statement"},
    {"fewer arguments", [](auto& w) { w.emit(Op::execute, w.f_r, 0); }, "has 0 arguments"},
    {"number of arguments",
     [](auto& w) { w.emit(Op::argument_scalar, w.x), w.emit(Op::execute, w.f_r, 2); },
     "has 1 arguments"},
    {"written index",
     [](auto& w) { w.emit(Op::argument_index, w.i), w.emit(Op::execute, w.f_w, 1); },
     "can only be read"},
    {"written constant",
     [](auto& w) { w.emit(Op::argument_scalar_constant, 0), w.emit(Op::execute, w.f_w, 1); },
     "can only be read"},
    {"written distributed block",
     [](auto& w) {
       w.emit(Op::argument_block, w.select(w.a, {w.i, w.j})), w.emit(Op::execute, w.f_w, 1);
     },
     "can only be read"},
};

void expect_all_refused(std::span<const WrongStatement> statements) {
  for (const WrongStatement& statement : statements) {
    SCOPED_TRACE(statement.name);
    Workbench bench;
    statement.emit(bench);
    expect_refused(bench.finish(), statement.words);
  }
}

TEST(Statements, RightOnesAreAccepted) {
  for (const Statement& statement : kRightStatements) {
    SCOPED_TRACE(statement.name);
    Workbench bench;
    statement.emit(bench);
    expect_loads(bench.finish());
  }
}

TEST(Statements, EveryInstructionIsAmongTheRightOnes) {
  std::set<Op> seen;
  for (const Statement& statement : kRightStatements) {
    Workbench bench;
    statement.emit(bench);
    for (const sial::Instruction& instruction : bench.finish().code) seen.insert(instruction.op);
  }
  // These belong to the structure around statements (structure_test.cpp).
  for (const Op op : {Op::call, Op::return_, Op::where, Op::section_begin, Op::section_end})
    seen.insert(op);
  for (unsigned number = 0; number < 0x200; ++number) {
    const auto op = static_cast<Op>(number);
    EXPECT_EQ(sial::find_row(op) != nullptr, seen.contains(op)) << number;
  }
}

TEST(Statements, WrongOperandsAreRefused) { expect_all_refused(kWrongOperands); }
TEST(Statements, WrongLabelsAreRefused) { expect_all_refused(wrong_labels()); }
TEST(Statements, WrongStacksAreRefused) { expect_all_refused(kWrongStacks); }

TEST(Statements, RefusalNamesInstructionAndLine) {
  Workbench bench;
  bench.emit(Op::store_int, bench.n);
  const auto loaded = load(encode(bench.finish()));
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.status().message(),
            "bench.sialc: instruction 6 (store_int at bench.sial:16) does not find its operands on "
            "the stack (it takes i and finds nothing) compile the program again");
}

}  // namespace
}  // namespace ob::test
