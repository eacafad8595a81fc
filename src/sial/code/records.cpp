#include "sial/code/records.hpp"

#include "sial/code/record_reader.hpp"

namespace ob::sial {

Result<Program> read_records(const Sections& sections, const std::string& file) {
  return RecordReader(sections, file).read();
}

}  // namespace ob::sial
