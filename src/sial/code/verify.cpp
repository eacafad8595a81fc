#include "sial/code/verify.hpp"

#include "sial/code/load_problem.hpp"

namespace ob::sial {

Status verify(const Program& program, const std::string& file) {
  OB_RETURN_IF_ERROR(verify_procs(program, file));
  OB_RETURN_IF_ERROR(verify_operands(program, file));
  OB_ASSIGN_OR_RETURN(const Structure structure, find_structure(program, file));
  OB_RETURN_IF_ERROR(verify_stack(program, structure, file));
  OB_RETURN_IF_ERROR(verify_labels(program, file));
  OB_RETURN_IF_ERROR(verify_accesses(program, structure, file));
  return verify_bindings(program, structure, file);
}

Status verify_procs(const Program& program, const std::string& file) {
  if (program.lines.size() != program.code.size()) {
    return bad_file(file,
                    "the file has " + std::to_string(program.lines.size()) + " lines for " +
                        std::to_string(program.code.size()) + " instructions",
                    "each instruction has one");
  }
  std::uint32_t end = 0;
  for (const Proc& proc : program.procs) {
    if (proc.begin != end || proc.end <= proc.begin || proc.end > program.code.size())
      return bad_file(file, "proc " + proc.name + " has wrong limits",
                      "procs follow each other from instruction 0 and are not empty");
    end = proc.end;
  }
  if (end == 0) return bad_file(file, "the file has no proc", "proc 0 is the program");
  if (end != program.code.size())
    return bad_file(file, "the code is longer than its procs", "the last proc ends with the code");
  return {};
}

namespace {

Status verify_access(const Program& program, const Structure& structure, const std::string& file,
                     std::uint32_t number) {
  const Access& access = program.accesses[number];
  const std::string which = "access " + std::to_string(number);
  const bool exists = access.instruction < program.code.size();
  const Instruction get = exists ? program.code[access.instruction] : Instruction{};
  if (get.op != Opcode::get || get.b != number || get.a != access.selector)
    return bad_file(file,
                    which + " does not belong to instruction " + std::to_string(access.instruction),
                    "that is not a get with this access and selector");
  std::uint32_t around = structure.loop_of[access.instruction];
  for (const std::uint32_t loop : access.loops) {
    if (loop != around || around == kNone)
      return bad_instruction(program, file, access.instruction,
                             "has an access with loop " + std::to_string(loop),
                             "the loops around it are listed from the innermost one outwards");
    around = structure.parent_of[loop];
  }
  return {};
}

}  // namespace

Status verify_accesses(const Program& program, const Structure& structure,
                       const std::string& file) {
  for (std::uint32_t number = 0; number < program.accesses.size(); ++number)
    OB_RETURN_IF_ERROR(verify_access(program, structure, file, number));
  for (std::uint32_t at = 0; at < program.code.size(); ++at) {
    const Instruction& instruction = program.code[at];
    if (instruction.op == Opcode::get && program.accesses[instruction.b].instruction != at)
      return bad_instruction(program, file, at, "has the access of another get",
                             "each get has its own");
  }
  return {};
}

}  // namespace ob::sial
