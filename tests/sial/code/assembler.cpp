#include "sial/code/assembler.hpp"

namespace ob::test {

using namespace ob::sial;

Assembler::Assembler() {
  program.name = "bench";
  program.compiler = "test 1";
  program.optimisation = 2;
  program.sources.push_back({"bench.sial", {1, 2, 3}});
  program.procs.push_back({"bench", 0, 0});
}

std::uint32_t Assembler::segmented(const std::string& name, const std::string& table) {
  program.indices.push_back({name, IndexKind::segmented, table, kNone, {false, 1}, {true, 0}});
  return static_cast<std::uint32_t>(program.indices.size() - 1);
}

std::uint32_t Assembler::simple(const std::string& name) {
  program.indices.push_back({name, IndexKind::simple, "", kNone, {false, 1}, {false, 3}});
  return static_cast<std::uint32_t>(program.indices.size() - 1);
}

std::uint32_t Assembler::subindex(const std::string& name, std::uint32_t parent) {
  program.indices.push_back({name, IndexKind::subindex, "", parent, {}, {}});
  return static_cast<std::uint32_t>(program.indices.size() - 1);
}

std::uint32_t Assembler::array(const std::string& name, Storage storage,
                               std::vector<std::uint32_t> indices) {
  Array array;
  array.name = name;
  array.storage = storage;
  array.indices = std::move(indices);
  program.arrays.push_back(std::move(array));
  return static_cast<std::uint32_t>(program.arrays.size() - 1);
}

std::uint32_t Assembler::select(std::uint32_t array, std::initializer_list<std::uint32_t> indices) {
  Selector selector;
  selector.array = array;
  for (const std::uint32_t index : indices) {
    Selected selected{index & ~kCast, (index & kCast) != 0};
    if (index == kStar) selected = {};
    selector.dimensions.push_back(selected);
  }
  program.selectors.push_back(std::move(selector));
  return static_cast<std::uint32_t>(program.selectors.size() - 1);
}

std::uint32_t Assembler::emit(Opcode op, std::uint32_t a, std::uint32_t b, std::uint32_t c,
                              std::uint16_t x) {
  program.code.push_back({op, x, a, b, c});
  program.lines.push_back({0, here() + 9, 3});
  return here() - 1;
}

std::uint32_t Assembler::begin(LoopKind kind, std::vector<std::uint32_t> indices) {
  Loop loop;
  loop.kind = kind;
  loop.begin = here();
  loop.body = here() + 1;
  loop.section = section_;
  loop.indices = std::move(indices);
  program.loops.push_back(std::move(loop));
  open_.push_back(static_cast<std::uint32_t>(program.loops.size() - 1));
  section_ = kNone;
  emit(Opcode::loop_begin, open_.back());
  return open_.back();
}

void Assembler::body() { program.loops[open_.back()].body = here(); }

void Assembler::end() {
  Loop& loop = program.loops[open_.back()];
  loop.end = here();
  section_ = loop.section;
  emit(Opcode::loop_end, open_.back());
  open_.pop_back();
}

void Assembler::get(std::uint32_t selector) {
  Access access;
  access.instruction = here();
  access.selector = selector;
  access.predictable = true;
  access.loops.assign(open_.rbegin(), open_.rend());
  program.accesses.push_back(std::move(access));
  emit(Opcode::get, selector, static_cast<std::uint32_t>(program.accesses.size() - 1));
}

std::uint32_t Assembler::proc(const std::string& name) {
  program.procs.push_back({name, here(), 0});
  return static_cast<std::uint32_t>(program.procs.size() - 1);
}

void Assembler::close_proc(Opcode end) {
  emit(end);
  program.procs.back().end = here();
}

Workbench::Workbench() {
  program.ints = {{"norb", true, 0}, {"n", false, 7}};
  program.scalars = {{"x", false, 0.5}, {"threshold", true, 0}};
  program.int_constants = {1};
  program.scalar_constants = {0.0};
  program.strings = {"label"};
  program.super_instructions = {{"f_rwu", "rwu"}, {"f_r", "r"}, {"f_w", "w"}};
  s = simple("s"), m = segmented("m", "mo");
  i = segmented("i", "ao"), j = segmented("j", "ao"), k = segmented("k", "ao");
  ii = subindex("ii", i);
  a = array("a", Storage::distributed, {i, k});
  b = array("b", Storage::served, {k, j});
  t = array("t", Storage::temp, {i, j});
  u = array("u", Storage::temp, {i, k});
  w = array("w", Storage::temp, {k, j});
  l = array("l", Storage::local, {i, j});
  c = array("c", Storage::local, {i, j});
  program.arrays[c].contiguous = true;
  st = array("st", Storage::static_, {i, j});
  su = array("su", Storage::static_, {j, i});
  pre = array("pre", Storage::static_, {s});
  program.arrays[pre].predefined = true;
  part = array("part", Storage::temp, {ii, j});
  v = array("v", Storage::temp, {i});
  y = array("y", Storage::temp, {j});
  one_s = array("one_s", Storage::temp, {s});
  q = array("q", Storage::temp, {i, m});
  for (const std::uint32_t index : {s, m, i, j, k}) begin(LoopKind::do_, {index});
  begin(LoopKind::do_in, {ii});
}

Program Workbench::finish() {
  for (int loop = 0; loop < 6; ++loop) end();
  close_proc(Opcode::halt);
  return program;
}

void Workbench::bounds() {
  for (int bound = 0; bound < 4; ++bound) emit(Opcode::push_int, one);
}

}  // namespace ob::test
