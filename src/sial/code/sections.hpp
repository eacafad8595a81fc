#pragma once
// The file of byte code as a whole: header, table of sections, checksums.
// Source: docs/sial/bytecode.md, "File", "Sections"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.hpp"

namespace ob::sial {

inline constexpr std::array<std::uint8_t, 8> kByteCodeMagic{0x89, 0x53, 0x49, 0x41,
                                                            0x4c, 0x0d, 0x0a, 0x1a};
inline constexpr std::uint16_t kByteCodeVersion = 1;
inline constexpr std::uint32_t kSectionCount = 16;
inline constexpr std::size_t kFileHeaderBytes = 32;
inline constexpr std::size_t kSectionEntryBytes = 32;

enum class SectionKind : std::uint32_t {
  program = 1,
  sources = 2,
  strings = 3,
  int_constants = 4,
  scalar_constants = 5,
  ints = 6,
  scalars = 7,
  indices = 8,
  arrays = 9,
  super_instructions = 10,
  procs = 11,
  selectors = 12,
  loops = 13,
  code = 14,
  lines = 15,
  accesses = 16,
};

/// Returns the name of a section for messages.
const char* to_string(SectionKind kind) noexcept;

/// Returns the bytes of one record; 0 for strings, whose lengths differ.
std::size_t record_bytes(SectionKind kind) noexcept;

/// A section of a file. The length fits the number of records: of strings, which are at least 4
/// bytes long, it is only large enough.
struct Section {
  std::uint32_t records = 0;
  std::span<const std::byte> bytes;
};

struct Sections {
  std::array<Section, kSectionCount> all;
  const Section& operator[](SectionKind kind) const noexcept {
    return all[static_cast<std::size_t>(kind) - 1];
  }
};

/// Finds the sections of a file.
/// Errors:  version_mismatch for another format; invalid_argument if the file is none, damaged, or
///          has a wrong table
Result<Sections> read_sections(std::span<const std::byte> bytes, const std::string& file);

}  // namespace ob::sial
