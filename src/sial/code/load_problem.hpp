#pragma once
// Messages about byte code that the loader refuses.

#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "sial/code/program.hpp"

namespace ob::sial {

/// Returns the refusal "FILE: PROBLEM (WHY) compile the program again".
Status bad_file(const std::string& file, const std::string& problem, const std::string& why);

/// Returns "name at file:line" of an instruction, as far as the program has these records.
std::string describe_instruction(const Program& program, std::uint32_t at);

/// Returns the refusal "FILE: instruction N (NAME at SOURCE:LINE) PROBLEM (WHY) compile the program
/// again".
Status bad_instruction(const Program& program, const std::string& file, std::uint32_t at,
                       const std::string& problem, const std::string& why);

}  // namespace ob::sial
