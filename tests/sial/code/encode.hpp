#pragma once
// Writes byte code, for tests of its loader. Independent of the loader: docs/sial/bytecode.md is
// the common source.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sial/code/program.hpp"

namespace ob::test {

/// Returns the file of a program, also of a wrong one. Names that `program.strings` lacks are added
/// behind them.
std::vector<std::byte> encode(const sial::Program& program);

/// Corrects the checksums of a file after a test has changed its bytes.
/// @pre the table of sections is complete; sections that leave the file keep their checksums
void reseal(std::vector<std::byte>& file);

/// Returns the offset of a section, 1 to 16, in a file.
std::size_t section_offset(const std::vector<std::byte>& file, unsigned kind);

/// Writes a little-endian number into a file.
void poke(std::vector<std::byte>& file, std::size_t offset, std::uint64_t value, unsigned bytes);

/// Returns a little-endian number of a file.
std::uint64_t peek(const std::vector<std::byte>& file, std::size_t offset, unsigned bytes);

}  // namespace ob::test
