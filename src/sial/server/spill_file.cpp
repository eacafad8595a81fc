#include "sial/server/spill_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/checksum.hpp"
#include "sial/persist/file_bytes.hpp"

namespace ob::sial {
namespace {

// Large blocks begin at pages: writing part of a page that is not in memory reads it first. Small
// ones would waste most of their page.
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kLargeBlock = 8 * kPage;
constexpr std::uint64_t kSmallSlot = 64;

std::uint64_t slot_unit(std::uint64_t block_bytes) noexcept {
  return block_bytes >= kLargeBlock ? kPage : kSmallSlot;
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) noexcept {
  return (value + unit - 1) / unit * unit;
}

// Returns a file that ends with the process, at whatever moment that is killed. `name` is for file
// systems that cannot create one without a name, such as NFS.   Errors: errno; the result is empty
Fd nameless_file(const std::filesystem::path& folder, std::string name) {
  Fd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, S_IRUSR | S_IWUSR));
  if (file || (errno != EOPNOTSUPP && errno != EISDIR)) return file;
  name += "-XXXXXX";
  file = Fd(::mkostemp(name.data(), O_CLOEXEC));
  if (file && ::unlink(name.c_str()) != 0) return {};
  return file;
}

}  // namespace

Result<SpillFile> SpillFile::create(const std::filesystem::path& folder, const std::string& stem) {
  std::string name = (folder / stem).string();
  Fd file = nameless_file(folder, name);
  if (!file) {
    return Status(Code::unavailable, name + ": cannot create the file (" + strerror(errno) + ")");
  }
  return SpillFile(out_of_the_way(std::move(file)), std::move(name));
}

std::uint64_t SpillFile::take_slot(std::uint64_t block_bytes) {
  const std::uint64_t unit = slot_unit(block_bytes);
  const std::uint64_t bytes = round_up(block_bytes, unit);
  std::vector<std::uint64_t>& free = free_[bytes];
  if (!free.empty()) {
    const std::uint64_t offset = free.back();
    free.pop_back();
    return offset;
  }
  const std::uint64_t offset = round_up(end_, unit);
  end_ = offset + bytes;
  return offset;
}

void SpillFile::free_slot(std::uint64_t offset, std::uint64_t block_bytes) {
  free_[round_up(block_bytes, slot_unit(block_bytes))].push_back(offset);
}

Status SpillFile::write(std::uint64_t offset, std::span<const std::byte> block) const {
  const Status written = write_at(file_.get(), offset, block);
  return written.ok() ? written : problem(written.message());
}

Status SpillFile::read(std::uint64_t offset, std::span<std::byte> block,
                       std::uint64_t checksum) const {
  const Status got = read_at(file_.get(), offset, block);
  if (!got.ok()) return problem(got.message());
  if (ob::checksum(block) != checksum) {
    return problem("a block is damaged (its checksum is wrong)");
  }
  return {};
}

void SpillFile::read_ahead(std::uint64_t offset, std::uint64_t block_bytes) const noexcept {
  // A hint: read() works without it.
  ::posix_fadvise(file_.get(), static_cast<off_t>(offset), static_cast<off_t>(block_bytes),
                  POSIX_FADV_WILLNEED);
}

bool SpillFile::waits_for_disk(std::uint64_t offset, std::uint64_t block_bytes) const noexcept {
  if (block_bytes == 0) return false;
  // The system reads a block from its beginning to its end. Where it cannot tell, read() waits.
  std::byte probe{};
  const iovec one{&probe, 1};
  for (const std::uint64_t at : {offset, offset + block_bytes - 1}) {
    const ssize_t got = ::preadv2(file_.get(), &one, 1, static_cast<off_t>(at), RWF_NOWAIT);
    if (got < 0 && errno == EAGAIN) return true;
  }
  return false;
}

Status SpillFile::problem(const std::string& what) const {
  return {Code::unavailable, name_ + ": " + what};
}

}  // namespace ob::sial
