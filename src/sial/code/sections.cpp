#include "sial/code/sections.hpp"

#include <algorithm>

#include "base/checksum.hpp"
#include "sial/code/byte_fields.hpp"
#include "sial/code/load_problem.hpp"
#include "sial/code/program.hpp"

namespace ob::sial {
namespace {

struct SectionSort {
  const char* name;
  std::size_t record_bytes;
};

constexpr std::array<SectionSort, kSectionCount> kSections{{{"program", 16},
                                                            {"sources", 40},
                                                            {"strings", 0},
                                                            {"int constants", 8},
                                                            {"scalar constants", 8},
                                                            {"ints", 16},
                                                            {"scalars", 16},
                                                            {"indices", 40},
                                                            {"arrays", 40},
                                                            {"super-instructions", 8},
                                                            {"procs", 16},
                                                            {"selectors", 40},
                                                            {"loops", 96},
                                                            {"code", 16},
                                                            {"lines", 12},
                                                            {"accesses", 80}}};
constexpr std::size_t kTableEnd = kFileHeaderBytes + kSectionCount * kSectionEntryBytes;
constexpr std::size_t kAlignment = 8;
constexpr std::size_t kLeastString = 4;  // its length

std::size_t align(std::size_t offset) {
  return (offset + kAlignment - 1) / kAlignment * kAlignment;
}

Status check_version(std::span<const std::byte> bytes, const std::string& file) {
  const std::uint16_t version = u16_at(bytes, 8);
  if (version == kByteCodeVersion) return {};
  const std::string why = "this runtime reads version " + std::to_string(kByteCodeVersion);
  return Status(Code::version_mismatch,
                file + ": byte code has format version " + std::to_string(version) + " (" + why +
                    ") " +
                    (version > kByteCodeVersion ? "update the runtime, or compile the program with "
                                                  "the compiler of this runtime"
                                                : "compile the program again"));
}

Status check_header(std::span<const std::byte> bytes, const std::string& file) {
  const bool magic =
      bytes.size() >= kByteCodeMagic.size() &&
      std::equal(kByteCodeMagic.begin(), kByteCodeMagic.end(), bytes.begin(),
                 [](std::uint8_t a, std::byte b) { return a == static_cast<std::uint8_t>(b); });
  if (!magic) {
    return Status(Code::invalid_argument, file +
                                              ": not a file of SIAL byte code (the first bytes are "
                                              "others) name the output of the compiler");
  }
  if (bytes.size() < kTableEnd) {
    return bad_file(file, "the file is too short",
                    std::to_string(bytes.size()) + " bytes do not hold the table of sections");
  }
  OB_RETURN_IF_ERROR(check_version(bytes, file));
  if (u16_at(bytes, 10) != kMaxRank) {
    return bad_file(file, "the highest rank is " + std::to_string(u16_at(bytes, 10)),
                    "version 1 has " + std::to_string(kMaxRank));
  }
  if (u32_at(bytes, 12) != kSectionCount) {
    return bad_file(file, "the file has " + std::to_string(u32_at(bytes, 12)) + " sections",
                    "version 1 has " + std::to_string(kSectionCount));
  }
  if (u64_at(bytes, 16) != bytes.size()) {
    return bad_file(file, "the file is cut or has extra bytes",
                    "it has " + std::to_string(bytes.size()) + " bytes, its header says " +
                        std::to_string(u64_at(bytes, 16)));
  }
  if (u64_at(bytes, 24) != checksum(bytes.subspan(kFileHeaderBytes, kTableEnd - kFileHeaderBytes)))
    return bad_file(file, "the table of sections is damaged", "its checksum differs");
  return {};
}

// Checks one entry of the table. `end` is the end of the section before it.
Result<Section> read_section(std::span<const std::byte> bytes, std::uint32_t number,
                             std::size_t end, const std::string& file) {
  const auto entry =
      bytes.subspan(kFileHeaderBytes + number * kSectionEntryBytes, kSectionEntryBytes);
  const SectionSort& sort = kSections[number];
  const std::string name = std::string("section ") + sort.name;
  if (u32_at(entry, 0) != number + 1) {
    return bad_file(file, name + " is not at its place",
                    "kind " + std::to_string(u32_at(entry, 0)) + " stands there");
  }
  const std::uint32_t records = u32_at(entry, 4);
  const std::uint64_t offset = u64_at(entry, 8);
  const std::uint64_t length = u64_at(entry, 16);
  if (offset != align(end) || offset > bytes.size() || length > bytes.size() - offset) {
    return bad_file(file, name + " has a wrong place",
                    "offset " + std::to_string(offset) + " and length " + std::to_string(length) +
                        " do not fit the file");
  }
  const bool fits = sort.record_bytes > 0 ? length == records * std::uint64_t{sort.record_bytes}
                                          : length / kLeastString >= records;
  if (!fits) {
    return bad_file(
        file, name + " has a wrong length",
        std::to_string(length) + " bytes are not " + std::to_string(records) + " records");
  }
  const auto padding = bytes.subspan(end, offset - end);
  if (!std::all_of(padding.begin(), padding.end(), [](std::byte b) { return b == std::byte{0}; }))
    return bad_file(file, "the bytes in front of " + name + " are not zero",
                    "they have no meaning");
  const Section section{records, bytes.subspan(offset, length)};
  if (u64_at(entry, 24) != checksum(section.bytes))
    return bad_file(file, name + " is damaged", "its checksum differs");
  return section;
}

}  // namespace

const char* to_string(SectionKind kind) noexcept {
  return kSections[static_cast<std::size_t>(kind) - 1].name;
}

std::size_t record_bytes(SectionKind kind) noexcept {
  return kSections[static_cast<std::size_t>(kind) - 1].record_bytes;
}

Result<Sections> read_sections(std::span<const std::byte> bytes, const std::string& file) {
  OB_RETURN_IF_ERROR(check_header(bytes, file));
  Sections sections;
  std::size_t end = kTableEnd;
  for (std::uint32_t number = 0; number < kSectionCount; ++number) {
    OB_ASSIGN_OR_RETURN(sections.all[number], read_section(bytes, number, end, file));
    end = static_cast<std::size_t>(sections.all[number].bytes.data() - bytes.data()) +
          sections.all[number].bytes.size();
  }
  if (end != bytes.size()) {
    return bad_file(file, "the file has bytes behind its last section",
                    std::to_string(bytes.size() - end) + " of them");
  }
  return sections;
}

}  // namespace ob::sial
