#pragma once
// A file for blocks that a server has no memory for.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "base/status.hpp"

namespace ob::sial {

/// The file of one array. Each block lies in a slot of its size, and a slot that is free again is
/// used for the next block of that size. The file has no name, so the system removes it with the
/// process, however that ends.
/// Threads: owner only
class SpillFile {
 public:
  /// @param folder exists
  /// @param stem what errors call the file, which has no name
  /// Errors: unavailable, with the folder and the reason
  static Result<SpillFile> create(const std::filesystem::path& folder, const std::string& stem);

  /// Returns the position of a slot.   Units: bytes
  std::uint64_t take_slot(std::uint64_t block_bytes);
  void free_slot(std::uint64_t offset, std::uint64_t block_bytes);

  /// Writes a block into its slot.   Errors: unavailable, with the file's name and the reason
  Status write(std::uint64_t offset, std::span<const std::byte> block) const;
  /// Reads a block, and compares its checksum.
  /// Errors: unavailable, with the file's name and the reason; `block` is undefined then
  Status read(std::uint64_t offset, std::span<std::byte> block, std::uint64_t checksum) const;
  /// Lets the system begin to read a block, and does not wait for it.
  void read_ahead(std::uint64_t offset, std::uint64_t block_bytes) const noexcept;
  /// True if reading the block would wait for the disk. The system may drop the block at any time.
  bool waits_for_disk(std::uint64_t offset, std::uint64_t block_bytes) const noexcept;

 private:
  SpillFile(Fd file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}
  Status problem(const std::string& what) const;

  Fd file_;
  std::string name_;  // for errors
  std::uint64_t end_ = 0;
  std::map<std::uint64_t, std::vector<std::uint64_t>> free_;  // offsets by size of the slot
};

}  // namespace ob::sial
