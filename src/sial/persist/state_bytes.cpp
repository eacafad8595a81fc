#include "sial/persist/state_bytes.hpp"

#include <array>
#include <span>
#include <utility>

#include "base/checksum.hpp"
#include "sial/persist/durable_file.hpp"

namespace ob::sial {
namespace {

struct StateHead {
  std::array<char, 8> magic{'O', 'B', 'S', 'I', 'A', 'L', 'W', 'S'};
  std::uint64_t version = 1;
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
};

Status damaged_state(const std::filesystem::path& path, const std::string& why) {
  return {Code::invalid_argument, path.string() + ": " + why};
}

}  // namespace

Status StateWriter::write(const std::filesystem::path& path) const {
  StateHead head;
  head.bytes = bytes_.size();
  head.checksum = checksum(bytes_);
  StateWriter file;
  file.put(head);
  file.append(bytes_.data(), bytes_.size());
  return write_durably(path, file.bytes_);
}

Result<StateReader> StateReader::open(const std::filesystem::path& path) {
  OB_ASSIGN_OR_RETURN(std::vector<std::byte> bytes, read_whole(path));
  StateHead head;
  const StateHead expected;
  if (bytes.size() < sizeof head) return damaged_state(path, "the file is shorter than it was");
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.magic != expected.magic) return damaged_state(path, "this is no state of a worker");
  if (head.version != expected.version) {
    return damaged_state(path, "another version has written the file");
  }
  const auto content = std::span(bytes).subspan(sizeof head);
  if (content.size() != head.bytes) return damaged_state(path, "the file has another size");
  if (checksum(content) != head.checksum) {
    return damaged_state(path, "the file is damaged (its checksum is wrong)");
  }
  return StateReader(std::move(bytes), sizeof head);
}

}  // namespace ob::sial
