#include "sial/code/structure.hpp"

#include "sial/code/instruction_table.hpp"
#include "sial/code/load_problem.hpp"

namespace ob::sial {
namespace {

enum class RegionSort { where, body, section };

struct Region {
  RegionSort sort;
  std::uint32_t number;  // of the loop or section
  std::uint32_t id;
};

// Goes through the code once and keeps the regions that are open.
class StructureFinder {
 public:
  StructureFinder(const Program& program, const std::string& file)
      : program_(program), file_(file) {}

  Result<Structure> find() {
    const std::size_t size = program_.code.size();
    found_.proc_of.reserve(size);
    found_.loop_of.reserve(size);
    found_.region_of.reserve(size);
    found_.parent_of.assign(program_.loops.size(), kNone);
    found_.in_pardo.assign(program_.loops.size(), false);
    seen_loops_.assign(program_.loops.size(), false);
    for (const Instruction& instruction : program_.code)
      if (instruction.op == Opcode::section_begin) seen_sections_.push_back(false);
    for (std::uint32_t proc = 0; proc < program_.procs.size(); ++proc)
      OB_RETURN_IF_ERROR(scan_proc(proc));
    for (std::size_t loop = 0; loop < seen_loops_.size(); ++loop) {
      if (!seen_loops_[loop])
        return bad_file(file_, "loop " + std::to_string(loop) + " is not in the code",
                        "a record needs its loop_begin");
    }
    return std::move(found_);
  }

 private:
  Status refuse(std::uint32_t at, const std::string& problem, const std::string& why) const {
    return bad_instruction(program_, file_, at, problem, why);
  }

  Status scan_proc(std::uint32_t number) {
    const Proc& proc = program_.procs[number];
    const std::uint32_t proc_region = next_region_++;
    for (std::uint32_t at = proc.begin; at < proc.end; ++at) {
      OB_RETURN_IF_ERROR(enter_body(at));
      found_.proc_of.push_back(number);
      found_.loop_of.push_back(loop_);
      found_.region_of.push_back(open_.empty() ? proc_region : open_.back().id);
      OB_RETURN_IF_ERROR(check_place(at));
      OB_RETURN_IF_ERROR(check_end(at, number));
      OB_RETURN_IF_ERROR(scan(at, proc));
    }
    if (open_.empty()) return {};
    return refuse(proc.end - 1, "ends its proc inside a loop or section",
                  "each has its end in the same proc");
  }

  // Replaces the where clauses of a loop by its body.
  Status enter_body(std::uint32_t at) {
    if (open_.empty() || open_.back().sort != RegionSort::where) return {};
    if (program_.loops[open_.back().number].body != at) return {};
    if (program_.code[at - 1].op != Opcode::where)
      return refuse(at - 1, "ends where clauses", "the last of them is where");
    open_.back() = {RegionSort::body, open_.back().number, next_region_++};
    return {};
  }

  // Checks that the innermost region may contain the instruction.
  Status check_place(std::uint32_t at) const {
    const Instruction& instruction = program_.code[at];
    const bool in_where = !open_.empty() && open_.back().sort == RegionSort::where;
    const bool is_where = instruction.op == Opcode::where;
    if (is_where && (!in_where || instruction.a != open_.back().number))
      return refuse(at, "stands outside of the where clauses of its loop",
                    "they lie between loop_begin and the body");
    if (in_where && !is_where && !is_expression(instruction.op))
      return refuse(at, "stands in where clauses", "they contain only expressions");
    const bool in_section = !open_.empty() && open_.back().sort == RegionSort::section;
    const bool pardo = instruction.op == Opcode::loop_begin &&
                       program_.loops[instruction.a].kind == LoopKind::pardo;
    if (in_section && !pardo && instruction.op != Opcode::section_end)
      return refuse(at, "stands in a section", "sections contain only pardos");
    return {};
  }

  Status check_end(std::uint32_t at, std::uint32_t proc) const {
    const Opcode op = program_.code[at].op;
    const bool last = at + 1 == program_.procs[proc].end;
    const Opcode end = proc == 0 ? Opcode::halt : Opcode::return_;
    if (last && op != end)
      return refuse(at, "ends its proc", "the program ends with halt, other procs with return");
    if (op == Opcode::halt && !last) return refuse(at, "ends no program", "halt is the last one");
    if (op == Opcode::return_ && proc == 0)
      return refuse(at, "stands outside of procs", "only a proc can return");
    return {};
  }

  Status scan(std::uint32_t at, const Proc& proc) {
    const Instruction& instruction = program_.code[at];
    switch (instruction.op) {
      case Opcode::loop_begin: return begin_loop(at, proc);
      case Opcode::loop_end: return end_loop(at);
      case Opcode::section_begin: return begin_section(at);
      case Opcode::section_end: return end_section(at);
      case Opcode::loop_exit:
      case Opcode::loop_cycle:
        if (loop_ == instruction.a) return {};
        return refuse(at, "names a loop that is not the innermost one around it",
                      "only that can be left or continued");
      default: return {};
    }
  }

  Status begin_loop(std::uint32_t at, const Proc& proc) {
    const std::uint32_t number = program_.code[at].a;
    const Loop& loop = program_.loops[number];
    if (loop.begin != at)
      return refuse(at, "is not the beginning that its loop names", "each loop has one");
    if (loop.body <= loop.begin || loop.end < loop.body || loop.end >= proc.end)
      return refuse(at, "has a loop with wrong limits",
                    "the body follows the beginning, and the end lies in the proc");
    const bool in_section = !open_.empty() && open_.back().sort == RegionSort::section;
    if (loop.section != (in_section ? open_.back().number : kNone))
      return refuse(at, "has a loop that names another section", "it is the section around it");
    seen_loops_[number] = true;
    found_.parent_of[number] = loop_;
    found_.in_pardo[number] =
        loop.kind == LoopKind::pardo || (loop_ != kNone && found_.in_pardo[loop_]);
    const RegionSort sort = loop.body == at + 1 ? RegionSort::body : RegionSort::where;
    open_.push_back({sort, number, next_region_++});
    loop_ = number;
    return {};
  }

  Status end_loop(std::uint32_t at) {
    const std::uint32_t number = program_.code[at].a;
    const bool innermost =
        !open_.empty() && open_.back().sort == RegionSort::body && open_.back().number == number;
    if (!innermost || program_.loops[number].end != at)
      return refuse(at, "is not the end that the innermost loop names", "loops are nested");
    open_.pop_back();
    loop_ = found_.parent_of[number];
    return {};
  }

  Status begin_section(std::uint32_t at) {
    const std::uint32_t number = program_.code[at].a;
    if (number >= seen_sections_.size() || seen_sections_[number])
      return refuse(at, "has a wrong section number", "sections are numbered from 0, each once");
    seen_sections_[number] = true;
    open_.push_back({RegionSort::section, number, next_region_++});
    return {};
  }

  Status end_section(std::uint32_t at) {
    const bool innermost = !open_.empty() && open_.back().sort == RegionSort::section &&
                           open_.back().number == program_.code[at].a;
    if (!innermost) return refuse(at, "does not end the innermost section", "sections are nested");
    open_.pop_back();
    return {};
  }

  const Program& program_;
  const std::string& file_;
  Structure found_;
  std::vector<Region> open_;
  std::uint32_t loop_ = kNone;  // the innermost open one
  std::uint32_t next_region_ = 0;
  std::vector<bool> seen_loops_, seen_sections_;
};

bool is_jump(Opcode op) { return op == Opcode::jump || op == Opcode::jump_if_false; }

Status find_targets(const Program& program, const std::string& file, Structure& found) {
  found.target.assign(program.code.size(), false);
  for (std::uint32_t at = 0; at < program.code.size(); ++at) {
    const Instruction& instruction = program.code[at];
    if (!is_jump(instruction.op)) continue;
    if (found.region_of[instruction.a] != found.region_of[at])
      return bad_instruction(program, file, at,
                             "leads to instruction " + std::to_string(instruction.a),
                             "it crosses the limits of a proc, a loop, where clauses or a section");
    found.target[instruction.a] = true;
  }
  return {};
}

// Appends the instructions that may follow `at` in its proc. The last instruction of a proc has
// none.
void append_successors(const Program& program, std::uint32_t at, std::vector<std::uint32_t>& next) {
  const Instruction& instruction = program.code[at];
  if (find_row(instruction.op)->falls_through) next.push_back(at + 1);
  switch (instruction.op) {
    case Opcode::jump:
    case Opcode::jump_if_false: next.push_back(instruction.a); break;
    case Opcode::loop_begin:
    case Opcode::loop_exit: next.push_back(program.loops[instruction.a].end + 1); break;
    case Opcode::where:
    case Opcode::loop_cycle: next.push_back(program.loops[instruction.a].end); break;
    default: break;
  }
}

void find_reachable(const Program& program, Structure& found) {
  found.reachable.assign(program.code.size(), false);
  std::vector<std::uint32_t> waiting;
  for (const Proc& proc : program.procs) waiting.push_back(proc.begin);
  while (!waiting.empty()) {
    const std::uint32_t at = waiting.back();
    waiting.pop_back();
    if (found.reachable[at]) continue;
    found.reachable[at] = true;
    append_successors(program, at, waiting);
  }
}

}  // namespace

Result<Structure> find_structure(const Program& program, const std::string& file) {
  OB_ASSIGN_OR_RETURN(Structure found, StructureFinder(program, file).find());
  OB_RETURN_IF_ERROR(find_targets(program, file, found));
  find_reachable(program, found);
  return found;
}

}  // namespace ob::sial
