#include "sial/code/load_program.hpp"

#include "sial/code/records.hpp"
#include "sial/code/sections.hpp"
#include "sial/code/verify.hpp"

namespace ob::sial {

Result<Program> load_program(std::span<const std::byte> bytes, const std::string& name) {
  OB_ASSIGN_OR_RETURN(const Sections sections, read_sections(bytes, name));
  OB_ASSIGN_OR_RETURN(Program program, read_records(sections, name));
  OB_RETURN_IF_ERROR(verify(program, name));
  return program;
}

}  // namespace ob::sial
