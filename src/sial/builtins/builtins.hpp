#pragma once
// The super-instructions that every job has.

#include "sial/plugin/super_instruction.hpp"

namespace ob::sial {

SuperFunctions builtin_functions();

}  // namespace ob::sial
