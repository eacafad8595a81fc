#pragma once
// Reads the sections of a file one after another into a Program.

#include <cstdint>
#include <span>
#include <string>

#include "base/status.hpp"
#include "sial/code/program.hpp"
#include "sial/code/sections.hpp"

namespace ob::sial {

/// The state of read_records(). The functions of the sections are called in the order of the file,
/// since records refer to earlier ones.
class RecordReader {
 public:
  RecordReader(const Sections& sections, const std::string& file);

  Result<Program> read();

 private:
  using Bytes = std::span<const std::byte>;

  Status read_strings();
  Status read_program(Bytes record);
  Status read_source(Bytes record);
  Status read_int_constant(Bytes record);
  Status read_scalar_constant(Bytes record);
  Status read_int(Bytes record);
  Status read_scalar(Bytes record);
  Status read_index(Bytes record);
  Status read_index_bounds(Bytes record, Index& index);
  Status read_array(Bytes record);
  Status read_super_instruction(Bytes record);
  Status read_proc(Bytes record);
  Status read_selector(Bytes record);
  Status read_loop(Bytes record);
  Status read_instruction(Bytes record);
  Status read_line(Bytes record);
  Status read_access(Bytes record);

  // Calls `read_record` for each record of a section, and names the record in a failure.
  Status for_each(SectionKind kind, Status (RecordReader::*read_record)(Bytes));
  // Copies string `number` to `text`. A name is not empty.
  Status name_at(std::uint32_t number, std::string& text);
  // Reads a list of `count` numbers in `places` places. The other places contain kNone.
  Status list_at(Bytes places, std::uint32_t count, std::vector<std::uint32_t>& list) const;
  Status refuse(const std::string& problem, const std::string& why) const;

  const Sections& sections_;
  const std::string& file_;
  Program program_;
  // A file may name one long string in many records. The copies are counted, so that they stay in
  // proportion to the file.
  std::size_t copied_bytes_ = 0;
  std::size_t most_copied_bytes_;
};

}  // namespace ob::sial
