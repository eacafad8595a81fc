#pragma once
// The records of the sections, from bytes to a Program.

#include <string>

#include "base/status.hpp"
#include "sial/code/program.hpp"
#include "sial/code/sections.hpp"

namespace ob::sial {

/// Decodes all records. Checks each record for itself: reserved bytes, kinds, strings, and that the
/// ranks of selectors are those of their arrays. verify() checks the numbers of other records.
/// Memory:  a small multiple of the sections' length
/// Errors:  invalid_argument, naming section and record
Result<Program> read_records(const Sections& sections, const std::string& file);

}  // namespace ob::sial
