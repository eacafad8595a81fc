#include "sial/code/record_reader.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "sial/code/byte_fields.hpp"
#include "sial/code/load_problem.hpp"
#include "sial/code/utf8.hpp"

namespace ob::sial {
namespace {

// Names that many records share, such as those of segment tables.
constexpr std::size_t kSharedNames = 1 << 20;

std::string as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

RecordReader::RecordReader(const Sections& sections, const std::string& file)
    : sections_(sections), file_(file), most_copied_bytes_(kSharedNames) {
  for (const Section& section : sections.all) most_copied_bytes_ += 4 * section.bytes.size();
}

Result<Program> RecordReader::read() {
  using enum SectionKind;
  const std::uint32_t programs = sections_[SectionKind::program].records;
  if (programs != 1)
    return bad_file(file_, "the file has " + std::to_string(programs) + " programs",
                    "one is right");
  OB_RETURN_IF_ERROR(read_strings());
  OB_RETURN_IF_ERROR(for_each(program, &RecordReader::read_program));
  OB_RETURN_IF_ERROR(for_each(sources, &RecordReader::read_source));
  OB_RETURN_IF_ERROR(for_each(int_constants, &RecordReader::read_int_constant));
  OB_RETURN_IF_ERROR(for_each(scalar_constants, &RecordReader::read_scalar_constant));
  OB_RETURN_IF_ERROR(for_each(ints, &RecordReader::read_int));
  OB_RETURN_IF_ERROR(for_each(scalars, &RecordReader::read_scalar));
  OB_RETURN_IF_ERROR(for_each(indices, &RecordReader::read_index));
  OB_RETURN_IF_ERROR(for_each(arrays, &RecordReader::read_array));
  OB_RETURN_IF_ERROR(for_each(super_instructions, &RecordReader::read_super_instruction));
  OB_RETURN_IF_ERROR(for_each(procs, &RecordReader::read_proc));
  OB_RETURN_IF_ERROR(for_each(selectors, &RecordReader::read_selector));
  OB_RETURN_IF_ERROR(for_each(loops, &RecordReader::read_loop));
  OB_RETURN_IF_ERROR(for_each(code, &RecordReader::read_instruction));
  OB_RETURN_IF_ERROR(for_each(lines, &RecordReader::read_line));
  OB_RETURN_IF_ERROR(for_each(accesses, &RecordReader::read_access));
  return std::move(program_);
}

Status RecordReader::refuse(const std::string& problem, const std::string& why) const {
  return Status(Code::invalid_argument, problem + " (" + why + ")");
}

Status RecordReader::for_each(SectionKind kind, Status (RecordReader::*read_record)(Bytes)) {
  const Section& section = sections_[kind];
  const std::size_t size = record_bytes(kind);
  for (std::uint32_t i = 0; i < section.records; ++i) {
    const Status outcome = (this->*read_record)(section.bytes.subspan(i * size, size));
    if (outcome.ok()) continue;
    return Status(outcome.code(), file_ + ": section " + to_string(kind) + ", record " +
                                      std::to_string(i) + ": " + outcome.message() +
                                      " compile the program again");
  }
  return {};
}

Status RecordReader::name_at(std::uint32_t number, std::string& text) {
  if (number >= program_.strings.size())
    return refuse("string " + std::to_string(number) + " is missing", "the file has fewer");
  const std::string& found = program_.strings[number];
  if (found.empty()) return refuse("a name is empty", "every object has one");
  copied_bytes_ += found.size();
  if (copied_bytes_ > most_copied_bytes_)
    return refuse("too many records have the same long name", "names are unique");
  text = found;
  return {};
}

Status RecordReader::list_at(Bytes places, std::uint32_t count,
                             std::vector<std::uint32_t>& list) const {
  for (std::size_t i = 0; i < places.size() / 4; ++i) {
    const std::uint32_t number = u32_at(places, 4 * i);
    if (i < count) {
      list.push_back(number);
    } else if (number != kNone) {
      return refuse("place " + std::to_string(i) + " of a list is used",
                    "the list has " + std::to_string(count) + " entries");
    }
  }
  return {};
}

Status RecordReader::read_strings() {
  const Section& section = sections_[SectionKind::strings];
  program_.strings.reserve(section.records);
  Bytes rest = section.bytes;
  for (std::uint32_t i = 0; i < section.records; ++i) {
    const std::string which = "string " + std::to_string(i);
    const bool has_length = rest.size() >= 4;
    const std::uint32_t length = has_length ? u32_at(rest, 0) : 0;
    if (!has_length || length > rest.size() - 4)
      return bad_file(file_, which + " is cut", "its section ends before it");
    const Bytes text = rest.subspan(4, length);
    if (!is_text(text))
      return bad_file(file_, which + " is no text", "it must be UTF-8 without NUL");
    program_.strings.push_back(as_text(text));
    rest = rest.subspan(4 + std::size_t{length});
  }
  if (!rest.empty())
    return bad_file(file_, "section strings is too long", "bytes follow its last record");
  return {};
}

Status RecordReader::read_program(Bytes record) {
  OB_RETURN_IF_ERROR(name_at(u32_at(record, 0), program_.name));
  OB_RETURN_IF_ERROR(name_at(u32_at(record, 4), program_.compiler));
  program_.optimisation = u32_at(record, 8);
  if (u32_at(record, 12) != 0) return refuse("reserved bytes are set", "they must be zero");
  return {};
}

Status RecordReader::read_source(Bytes record) {
  Source source;
  OB_RETURN_IF_ERROR(name_at(u32_at(record, 0), source.name));
  if (u32_at(record, 4) != 0) return refuse("reserved bytes are set", "they must be zero");
  for (std::size_t i = 0; i < source.sha256.size(); ++i) source.sha256[i] = u8_at(record, 8 + i);
  program_.sources.push_back(std::move(source));
  return {};
}

Status RecordReader::read_int_constant(Bytes record) {
  program_.int_constants.push_back(i64_at(record, 0));
  return {};
}

Status RecordReader::read_scalar_constant(Bytes record) {
  const double value = f64_at(record, 0);
  if (!std::isfinite(value))
    return refuse("a constant is not finite", "no source has such a number");
  program_.scalar_constants.push_back(value);
  return {};
}

Status RecordReader::read_int(Bytes record) {
  IntVariable variable;
  OB_RETURN_IF_ERROR(name_at(u32_at(record, 0), variable.name));
  const std::uint32_t flags = u32_at(record, 4);
  if (flags > 1) return refuse("flags have unknown bits", "bit 0 is the only one");
  variable.predefined = flags == 1;
  variable.initial = i64_at(record, 8);
  program_.ints.push_back(std::move(variable));
  return {};
}

Status RecordReader::read_scalar(Bytes record) {
  ScalarVariable variable;
  OB_RETURN_IF_ERROR(name_at(u32_at(record, 0), variable.name));
  const std::uint32_t flags = u32_at(record, 4);
  if (flags > 1) return refuse("flags have unknown bits", "bit 0 is the only one");
  variable.predefined = flags == 1;
  variable.initial = f64_at(record, 8);
  if (!std::isfinite(variable.initial))
    return refuse("the first value is not finite", "no source has such a number");
  program_.scalars.push_back(std::move(variable));
  return {};
}

Status RecordReader::read_super_instruction(Bytes record) {
  SuperInstruction instruction;
  OB_RETURN_IF_ERROR(name_at(u32_at(record, 0), instruction.name));
  const std::uint32_t intents = u32_at(record, 4);
  if (intents >= program_.strings.size())
    return refuse("string " + std::to_string(intents) + " is missing", "the file has fewer");
  const std::string& letters = program_.strings[intents];
  if (letters.size() > kMaxArguments || letters.find_first_not_of("rwu") != std::string::npos) {
    return refuse("intents are wrong",
                  "they are up to " + std::to_string(kMaxArguments) + " letters r, w and u");
  }
  instruction.intents = letters;
  program_.super_instructions.push_back(std::move(instruction));
  return {};
}

Status RecordReader::read_proc(Bytes record) {
  Proc proc;
  OB_RETURN_IF_ERROR(name_at(u32_at(record, 0), proc.name));
  proc.begin = u32_at(record, 4);
  proc.end = u32_at(record, 8);
  if (u32_at(record, 12) != 0) return refuse("reserved bytes are set", "they must be zero");
  program_.procs.push_back(std::move(proc));
  return {};
}

Status RecordReader::read_instruction(Bytes record) {
  Instruction instruction;
  instruction.op = static_cast<Opcode>(u16_at(record, 0));
  instruction.x = u16_at(record, 2);
  instruction.a = u32_at(record, 4);
  instruction.b = u32_at(record, 8);
  instruction.c = u32_at(record, 12);
  program_.code.push_back(instruction);
  return {};
}

Status RecordReader::read_line(Bytes record) {
  const Line line{u32_at(record, 0), u32_at(record, 4), u32_at(record, 8)};
  if (line.source >= program_.sources.size())
    return refuse("source " + std::to_string(line.source) + " is missing", "the file has fewer");
  if (line.line == 0 || line.column == 0) return refuse("a place is 0", "places count from 1");
  program_.lines.push_back(line);
  return {};
}

}  // namespace ob::sial
