#include "offload/report.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>

namespace ob::offload {
namespace {

void set_text(char* field, std::size_t size, std::string_view text) noexcept {
  const std::size_t n = std::min(text.size(), size - 1);
  std::memcpy(field, text.data(), n);
  field[n] = 0;
}

const char* name_of(Mode mode) noexcept {
  switch (mode) {
    case Mode::off: return "off";
    case Mode::trace: return "trace";
    case Mode::automatic: return "auto";
    case Mode::remote: return "remote";
  }
  return "";
}

// Opens a file that does not exist yet. A process that execs keeps its number, and must not lose
// the counters of the earlier program. Two engines of one process must not share a file either.
int open_own_file(const std::string& directory) noexcept {
  constexpr int kPrograms = 1000;
  const std::string stem = directory + "/report." + std::to_string(::getpid());
  for (int i = 0; i < kPrograms; ++i) {
    const std::string path = stem + (i == 0 ? std::string() : "." + std::to_string(i)) + ".bin";
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

ReportBlock* map_file(const std::string& directory) noexcept {
  const int fd = open_own_file(directory);
  if (fd < 0) return nullptr;
  void* memory = MAP_FAILED;
  // The file is allocated now. On a full disk, a later access to a hole would kill the program.
  if (::posix_fallocate(fd, 0, sizeof(ReportBlock)) == 0) {
    memory = ::mmap(nullptr, sizeof(ReportBlock), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  ::close(fd);
  return memory == MAP_FAILED ? nullptr : static_cast<ReportBlock*>(memory);
}

ReportBlock* map_private() noexcept {
  void* memory = ::mmap(nullptr, sizeof(ReportBlock), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<ReportBlock*>(memory);
}

}  // namespace

Report::Report(const Config& config) noexcept
    : wanted_(config.report_to_stderr || !config.report_directory.empty()),
      to_stderr_(config.report_to_stderr) {
  if (!config.report_directory.empty()) block_ = map_file(config.report_directory);
  if (block_ == nullptr) block_ = map_private();
  if (block_ == nullptr) return;
  block_->magic = kReportMagic;
  block_->version = kReportVersion;
  block_->rows = kReportRows;
  block_->pid = static_cast<std::uint64_t>(::getpid());
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  block_->started_unix_ns = static_cast<std::uint64_t>(now.tv_sec) * 1000000000ULL +
                            static_cast<std::uint64_t>(now.tv_nsec);
  set_text(block_->program, sizeof(block_->program), program_invocation_short_name);
  set_text(block_->mode, sizeof(block_->mode), name_of(config.mode));
}

Report::~Report() {
  if (block_ != nullptr) ::munmap(block_, sizeof(ReportBlock));
}

ReportRow* Report::row(std::string_view name) noexcept {
  if (block_ == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  for (ReportRow& row : block_->row) {
    if (row.name[0] == 0) set_text(row.name, sizeof(row.name), name);
    if (name.substr(0, sizeof(row.name) - 1) == row.name) return &row;
  }
  return nullptr;
}

void Report::set_server(std::string_view address) noexcept {
  // Every remote call comes here with one of the strings of the connection cache. In most calls the
  // address has not changed.
  if (block_ == nullptr || server_.load(std::memory_order_relaxed) == address.data()) return;
  const std::lock_guard lock(mutex_);
  set_text(block_->server, sizeof(block_->server), address);
  server_.store(address.data(), std::memory_order_relaxed);
}

void Report::set_notice(std::string_view text) noexcept {
  if (block_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  set_text(block_->notice, sizeof(block_->notice), text);
}

void Report::set_reason(std::string_view text) noexcept {
  if (block_ == nullptr || reason_.load(std::memory_order_relaxed) == text.data()) return;
  const std::lock_guard lock(mutex_);
  set_text(block_->reason, sizeof(block_->reason), text);
  reason_.store(text.data(), std::memory_order_relaxed);
}

void Report::set_loss(double spent_s, double lost_s) noexcept {
  if (block_ == nullptr) return;
  block_->spent_ns.store(static_cast<std::uint64_t>(spent_s * 1e9), std::memory_order_relaxed);
  block_->cost_ns.store(static_cast<std::uint64_t>(lost_s * 1e9), std::memory_order_relaxed);
}

void Report::print() const noexcept {
  if (!to_stderr_ || block_ == nullptr || block_->row[0].name[0] == 0) return;
  std::fprintf(stderr, "outboard: %s pid %llu, mode %s, server %s\n", block_->program,
               static_cast<unsigned long long>(block_->pid), block_->mode,
               block_->server[0] != 0 ? block_->server : "none");
  std::fprintf(stderr, "  %-12s %9s %9s %6s %9s %9s %9s %9s %9s %9s %9s %9s\n", "routine", "calls",
               "remote", "failed", "MB to", "MB kept", "MB from", "s to", "s plan", "s compute",
               "s from", "s local");
  for (const ReportRow& row : block_->row) {
    if (row.name[0] == 0) break;
    const auto count = [](const Counter& c) { return static_cast<unsigned long long>(c.load()); };
    const auto scaled = [](const Counter& c, double unit) {
      return static_cast<double>(c.load()) / unit;
    };
    std::fprintf(
        stderr, "  %-12s %9llu %9llu %6llu %9.1f %9.1f %9.1f %9.3f %9.3f %9.3f %9.3f %9.3f\n",
        row.name, count(row.calls), count(row.remote), count(row.fell_back),
        scaled(row.bytes_to, 1e6), scaled(row.bytes_kept, 1e6), scaled(row.bytes_from, 1e6),
        scaled(row.to_server_ns, 1e9), scaled(row.plan_ns, 1e9), scaled(row.compute_ns, 1e9),
        scaled(row.from_server_ns, 1e9), scaled(row.local_ns, 1e9));
    if (row.several > 0) {
      std::fprintf(stderr, "  %-12s %llu on several devices, %.1f each, %.1f MB between them\n", "",
                   count(row.several), scaled(row.devices, static_cast<double>(row.several.load())),
                   scaled(row.bytes_between, 1e6));
    }
    if (row.verified + row.mismatched + row.unchecked == 0) continue;
    std::fprintf(stderr, "  %-12s results: %llu verified, %llu wrong, %llu unchecked\n", "",
                 count(row.verified), count(row.mismatched), count(row.unchecked));
  }
}

void count_remote(ReportRow* row, const algorithms::CallTimings& timings, std::uint64_t whole_ns,
                  double flops) noexcept {
  if (row == nullptr) return;
  add(row->remote, 1);
  add(row->bytes_to, timings.bytes_to);
  add(row->bytes_from, timings.bytes_from);
  add(row->bytes_kept, timings.bytes_kept);
  add(row->bytes_between, timings.bytes_between);
  add(row->to_server_ns, timings.to_server_ns);
  add(row->plan_ns, timings.plan_ns);
  add(row->compute_ns, timings.compute_ns);
  add(row->from_server_ns, timings.from_server_ns);
  add(row->remote_ns, whole_ns);
  add(row->several, timings.more_devices > 0 ? 1 : 0);
  add(row->devices, timings.more_devices > 0 ? 1 + timings.more_devices : 0);
  switch (timings.accuracy) {
    case Accuracy::standard: break;
    case Accuracy::strict: add(row->strict, 1); break;
    case Accuracy::fast: add(row->fast, 1); break;
    case Accuracy::emulated: add(row->emulated, 1); break;
  }
  add(row->remote_megaflop, static_cast<std::uint64_t>(flops * 1e-6));
}

}  // namespace ob::offload
