#include "sial/persist/block_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "base/checksum.hpp"
#include "base/fd.hpp"
#include "sial/persist/file_bytes.hpp"

namespace ob::sial {
namespace {

constexpr std::array<char, 8> kMagic{'O', 'B', 'S', 'I', 'A', 'L', 'B', 'K'};
constexpr std::uint32_t kVersion = 1;

struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t reserved = 0;
  std::uint64_t count = 0;
  std::uint64_t index_checksum = 0;
};

struct Entry {
  std::uint64_t number = 0;
  std::uint64_t offset = 0;  // in the file
  std::uint64_t checksum = 0;
  std::uint32_t rank = 0;
  std::uint32_t reserved = 0;
  std::array<std::int64_t, kMaxRank> extents{};
};

std::uint64_t checksum_of(const Block& block) noexcept {
  return checksum(
      std::as_bytes(std::span(block.data(), static_cast<std::size_t>(block.elements()))));
}

std::uint64_t checksum_of(const std::vector<Entry>& index) noexcept {
  return checksum(std::as_bytes(std::span(index)));
}

Status problem(const std::filesystem::path& path, const std::string& what) {
  return {Code::unavailable, path.string() + ": " + what};
}

Status unreadable(const std::filesystem::path& path, const std::string& what) {
  return {Code::invalid_argument, path.string() + ": " + what};
}

// The descriptor of a file with the name for its errors.
struct NamedFile {
  Fd fd;
  const std::filesystem::path& path;

  Status write(const void* data, std::uint64_t bytes, std::uint64_t offset) const {
    const std::span all(static_cast<const std::byte*>(data), static_cast<std::size_t>(bytes));
    const Status written = write_at(fd.get(), offset, all);
    return written.ok() ? written : problem(path, written.message());
  }
  Status read(void* data, std::uint64_t bytes, std::uint64_t offset) const {
    const std::span all(static_cast<std::byte*>(data), static_cast<std::size_t>(bytes));
    const Status got = read_at(fd.get(), offset, all);
    return got.ok() ? got : unreadable(path, got.message());
  }
};

// Sets the shape of an entry's block. Returns false if no block of this file can have it.
bool entry_shape(const Entry& entry, std::uint64_t file_bytes, Shape& shape) {
  if (entry.rank > kMaxRank) return false;
  shape.rank = entry.rank;
  shape.extents = entry.extents;
  std::uint64_t bytes = sizeof(double);
  for (unsigned d = 0; d < shape.rank; ++d) {
    if (shape.extents[d] < 0) return false;
    const auto extent = static_cast<std::uint64_t>(shape.extents[d]);
    if (extent != 0 && bytes > file_bytes / extent) return false;
    bytes *= extent;
  }
  return entry.offset <= file_bytes && bytes <= file_bytes - entry.offset;
}

}  // namespace

Status write_block_file(const std::filesystem::path& path, std::span<const std::uint64_t> numbers,
                        const std::function<Result<ConstBlockPtr>(std::uint64_t)>& block) {
  const NamedFile file{Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)),
                       path};
  if (!file.fd) return problem(path, std::string("cannot create (") + strerror(errno) + ")");
  // The index, which is in front, has checksums: it is written last.
  std::vector<Entry> index;
  index.reserve(numbers.size());
  std::uint64_t offset = sizeof(Header) + numbers.size() * sizeof(Entry);
  for (const std::uint64_t number : numbers) {
    OB_ASSIGN_OR_RETURN(const ConstBlockPtr present, block(number));
    Entry& entry = index.emplace_back();
    entry.number = number;
    entry.offset = offset;
    entry.checksum = checksum_of(*present);
    entry.rank = present->shape().rank;
    std::copy_n(present->shape().extents.begin(), entry.rank, entry.extents.begin());
    OB_RETURN_IF_ERROR(file.write(present->data(), present->bytes(), offset));
    offset += present->bytes();
  }
  Header header;
  header.count = index.size();
  header.index_checksum = checksum_of(index);
  OB_RETURN_IF_ERROR(file.write(&header, sizeof header, 0));
  OB_RETURN_IF_ERROR(file.write(index.data(), index.size() * sizeof(Entry), sizeof header));
  if (::fsync(file.fd.get()) != 0) {
    return problem(path, std::string("the disk does not take it (") + strerror(errno) + ")");
  }
  return {};
}

Status read_block_file(const std::filesystem::path& path, const BlockReceiver& receiver) {
  const NamedFile file{Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), path};
  if (!file.fd) return unreadable(path, std::string("cannot open (") + strerror(errno) + ")");
  const off_t end = ::lseek(file.fd.get(), 0, SEEK_END);
  if (end < 0) return unreadable(path, std::string("cannot read (") + strerror(errno) + ")");
  const auto file_bytes = static_cast<std::uint64_t>(end);
  Header header;
  OB_RETURN_IF_ERROR(file.read(&header, sizeof header, 0));
  if (header.magic != kMagic) return unreadable(path, "this is no file of saved blocks");
  if (header.version != kVersion || header.reserved != 0)
    return unreadable(path, "another version has written the file");
  if (header.count > (file_bytes - sizeof header) / sizeof(Entry)) {
    return unreadable(path, "the file is shorter than it was");
  }
  std::vector<Entry> index(static_cast<std::size_t>(header.count));
  const std::uint64_t index_bytes = header.count * sizeof(Entry);
  OB_RETURN_IF_ERROR(file.read(index.data(), index_bytes, sizeof header));
  if (checksum_of(index) != header.index_checksum) {
    return unreadable(path, "the table of blocks is damaged (its checksum is wrong)");
  }
  for (const Entry& entry : index) {
    if (!receiver.wanted(entry.number)) continue;
    Shape shape;
    if (!entry_shape(entry, file_bytes, shape))
      return unreadable(path, "the table of blocks is damaged");
    OB_ASSIGN_OR_RETURN(BlockPtr block, receiver.allocate(shape));
    OB_RETURN_IF_ERROR(file.read(block->data(), block->bytes(), entry.offset));
    if (checksum_of(*block) != entry.checksum) {
      return unreadable(
          path, "block " + std::to_string(entry.number) + " is damaged (its checksum is wrong)");
    }
    receiver.take(entry.number, std::move(block));
  }
  return {};
}

}  // namespace ob::sial
