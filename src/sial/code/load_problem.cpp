#include "sial/code/load_problem.hpp"

#include "sial/code/instruction_table.hpp"

namespace ob::sial {

Status bad_file(const std::string& file, const std::string& problem, const std::string& why) {
  return Status(Code::invalid_argument,
                file + ": " + problem + " (" + why + ") compile the program again");
}

std::string describe_instruction(const Program& program, std::uint32_t at) {
  if (at >= program.code.size()) return "missing";
  const InstructionRow* row = find_row(program.code[at].op);
  std::string text = row == nullptr ? "unknown" : row->name;
  if (at >= program.lines.size()) return text;
  const Line& line = program.lines[at];
  if (line.source >= program.sources.size()) return text;
  return text + " at " + program.sources[line.source].name + ":" + std::to_string(line.line);
}

Status bad_instruction(const Program& program, const std::string& file, std::uint32_t at,
                       const std::string& problem, const std::string& why) {
  return bad_file(file,
                  "instruction " + std::to_string(at) + " (" + describe_instruction(program, at) +
                      ") " + problem,
                  why);
}

}  // namespace ob::sial
