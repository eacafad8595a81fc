#include "executor/process.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>

#include "base/contract.hpp"
#include "base/passed_descriptors.hpp"
#include "executor/run_time.hpp"
#include "executor/service.hpp"

namespace ob::executor {
namespace {

// The end of a process, and the reasons to stop a request, are noticed within this time.
constexpr auto kLookInterval = std::chrono::milliseconds(10);

std::uint64_t next_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

Status failure(const char* step, int error) {
  return {Code::unavailable, std::string("cannot ") + step + " (" + std::strerror(error) + ")"};
}

// The variables that libraries of executors read. Everything else of the daemon's environment stays
// with the daemon.
std::vector<std::string> environment() {
  std::vector<std::string> kept;
  constexpr const char* kNames[] = {"LD_LIBRARY_PATH", "OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS",
                                    "OMP_NUM_THREADS", "OUTBOARD_BLAS",     "ASAN_OPTIONS",
                                    "UBSAN_OPTIONS",   "TSAN_OPTIONS"};
  for (const char* name : kNames) {
    if (const char* value = ::getenv(name)) kept.push_back(std::string(name) + "=" + value);
  }
  return kept;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

std::string end_of(int status) {
  if (WIFSIGNALED(status)) {
    return std::string("signal ") + std::to_string(WTERMSIG(status)) + ", " +
           ::strsignal(WTERMSIG(status));
  }
  return "exit status " + std::to_string(WEXITSTATUS(status));
}

// Moves a descriptor above those that the process is to have.
Fd above_those_of_the_process(Fd fd) noexcept {
  return Fd(fd ? ::fcntl(fd.get(), F_DUPFD_CLOEXEC, kSocketFd + 1) : -1);
}

// The process may change its folder meanwhile. Links are not followed.
bool is_too_large(const std::string& folder) {
  std::error_code error;
  std::uint64_t bytes = 0;
  std::size_t files = 0;
  std::filesystem::recursive_directory_iterator at(folder, error);
  const std::filesystem::recursive_directory_iterator end;
  for (; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    const auto size = at->is_regular_file(ignored) ? at->file_size(ignored) : 0;
    if (!ignored) bytes += size;
    if (++files > Process::kMostFolderFiles || bytes > Process::kMostFolderBytes) return true;
  }
  return false;
}

// Lets others run on this core until an answer has come, or a cheap request would have ended.
void give_way(const Lane& lane, std::uint32_t number) noexcept {
  constexpr auto kCheapTime = std::chrono::microseconds(100);
  const auto until = std::chrono::steady_clock::now() + kCheapTime;
  while (lane.answer.load(std::memory_order_acquire) != number &&
         std::chrono::steady_clock::now() < until) {
    ::sched_yield();
  }
}

// Descriptors and signals of a process that posix_spawn starts.
class SpawnSettings {
 public:
  SpawnSettings() noexcept {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  // Gives the process only stderr, the mailbox and the socket, and the default signals.
  void fill(int memory, int socket) noexcept {
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, memory, kMailboxFd);
    posix_spawn_file_actions_adddup2(&actions, socket, kSocketFd);
    posix_spawn_file_actions_addclosefrom_np(&actions, kSocketFd + 1);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);  // no signals of the daemon's terminal
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

}  // namespace

Process::Process() : number_(next_number()) {}

Process::~Process() {
  kill();
  if (pid_ > 0) reap(true);
  std::error_code ignored;
  if (!folder_.empty()) (void)std::filesystem::remove_all(folder_, ignored);
  if (mailbox_ != nullptr) ::munmap(mailbox_, sizeof(Mailbox));
}

Result<std::shared_ptr<Process>> Process::start(const Program& program) {
  std::shared_ptr<Process> process(new Process);
  OB_RETURN_IF_ERROR(process->open());
  OB_RETURN_IF_ERROR(process->spawn(program));
  return process;
}

Status Process::open() {
  memory_ = above_those_of_the_process(
      Fd(::memfd_create("outboard-mailbox", MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  const int memory = memory_.get();
  if (!memory_ || ::ftruncate(memory, sizeof(Mailbox)) != 0 ||
      ::fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return failure("make a mailbox", errno);
  }
  void* at = ::mmap(nullptr, sizeof(Mailbox), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  if (at == MAP_FAILED) return failure("map a mailbox", errno);
  mailbox_ = static_cast<Mailbox*>(at);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return failure("make a socket pair", errno);
  }
  socket_.reset(ends[0]);
  inherited_ = above_those_of_the_process(Fd(ends[1]));
  return inherited_ ? Status() : failure("make a socket pair", errno);
}

Status Process::spawn(const Program& program) {
  std::vector<std::string> arguments{program.path, std::to_string(::getpid())};
  arguments.insert(arguments.end(), program.arguments.begin(), program.arguments.end());
  if (program.private_folder) {
    OB_RETURN_IF_ERROR(make_folder());
    arguments.push_back(folder_);
  }
  std::vector<std::string> variables = environment();
  SpawnSettings settings;
  settings.fill(memory_.get(), inherited_.get());
  const int error =
      ::posix_spawn(&pid_, program.path.c_str(), &settings.actions, &settings.attributes,
                    pointers(arguments).data(), pointers(variables).data());
  if (error != 0) {
    pid_ = -1;
    return failure(("start " + program.path).c_str(), error);
  }
  inherited_.reset();
  memory_.reset();
  post(mailbox_->lanes[0], kReady, {});
  return {};
}

Status Process::make_folder() {
  const char* parent = ::getenv("TMPDIR");
  std::string name = std::string(parent != nullptr && *parent == '/' ? parent : "/tmp") +
                     "/outboard-kernels-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) return failure("make a folder for a compiler", errno);
  folder_ = name;
  return {};
}

Status Process::await_ready(std::chrono::milliseconds longest, const std::atomic<bool>& stop) {
  const auto until = std::chrono::steady_clock::now() + longest;
  const std::lock_guard lock(lane_mutex_[0]);
  return await_answer(mailbox_->lanes[0], 1, [&](std::chrono::nanoseconds) -> Status {
    if (stop) return {Code::unavailable, "the device is closing"};
    if (std::chrono::steady_clock::now() < until) return {};
    return {Code::deadline_exceeded, "an executor was not ready in time"};
  });
}

Status Process::send(int descriptor) const {
  // The executor reads each descriptor before it answers, so that the socket always has room.
  if (send_descriptor(socket_.get(), descriptor)) return {};
  return {Code::device_error,
          std::string("cannot pass memory to an executor (") + std::strerror(errno) + ")"};
}

// A core that sleeps takes tens of microseconds to wake up. The executor of a cheap request runs on
// this thread's core instead, to which this thread gives way.
Status Process::request(std::size_t lane_index, const Order& order, const Stop& stop) {
  OB_EXPECT(lane_index < Mailbox::kLanes);
  Lane& lane = mailbox_->lanes[lane_index];
  const std::lock_guard lock(lane_mutex_[lane_index]);
  if (order.descriptor >= 0) OB_RETURN_IF_ERROR(send(order.descriptor));
  {
    const std::lock_guard notices_lock(notice_mutex_);
    send_notices(lane_index);
  }
  const std::uint32_t number =
      post(lane, order.kind, order.body, order.cheap ? ::sched_getcpu() : -1);
  if (order.cheap) give_way(lane, number);
  Status status = await_answer(lane, number, stop);
  if (order.began != nullptr) {
    *order.began = lane.taken.load(std::memory_order_acquire) == number;
  }
  if (order.done != nullptr) *order.done = lane.done.load(std::memory_order_acquire);
  return status;
}

Status Process::await_answer(Lane& lane, std::uint32_t number, const Stop& stop) {
  std::optional<RunTime> run_time;  // requests that end soon do not pay for it
  for (;;) {
    const std::uint32_t answered = lane.answer.load(std::memory_order_acquire);
    if (answered == number) return answer_of(lane);
    sleep_until_answer(lane, answered, kLookInterval);
    if (lane.answer.load(std::memory_order_acquire) == number) continue;
    if (reap(false)) return ending();
    if (!run_time) run_time.emplace(pid_);
    if (Status status = stop(run_time->look()); !status.ok()) {
      kill();
      return status;
    }
  }
}

void Process::notify(std::size_t lane, std::uint64_t notice) noexcept try {
  const std::lock_guard lock(notice_mutex_);
  notices_[lane].push_back(notice);
  send_notices(lane);
} catch (const std::bad_alloc&) {
  kill();  // its memory for what the notice names would stay
}

// @pre notice_mutex_ is held
void Process::send_notices(std::size_t lane) {
  std::deque<std::uint64_t>& notices = notices_[lane];
  while (!notices.empty() && executor::notify(mailbox_->lanes[lane], notices.front())) {
    notices.pop_front();
  }
}

bool Process::ended() noexcept { return killed_ || reap(false); }

Status Process::ending() {
  const std::lock_guard lock(end_mutex_);
  return {Code::device_error, "the executor of this client ended (" + end_of_it() + ")"};
}

std::string Process::how_it_ended() {
  if (!reap(false)) return {};
  const std::lock_guard lock(end_mutex_);
  return end_of_it();
}

// @pre end_mutex_ is held
std::string Process::end_of_it() const { return why_.empty() ? end_of(end_status_) : why_; }

void Process::check_folder() noexcept try {
  if (folder_.empty() || !is_too_large(folder_)) return;
  {
    const std::lock_guard lock(end_mutex_);
    why_ = "its files were more than " + std::to_string(kMostFolderFiles) + ", or larger than " +
           std::to_string(kMostFolderBytes >> 20) + " MiB";
  }
  kill();
} catch (const std::exception&) {
  kill();
}

bool Process::reap(bool wait) noexcept {
  const std::lock_guard lock(end_mutex_);
  if (reaped_) return true;
  const pid_t found = ::waitpid(pid_, &end_status_, wait ? 0 : WNOHANG);
  reaped_ = found == pid_ || (found < 0 && errno == ECHILD);
  return reaped_;
}

void Process::kill() noexcept {
  killed_ = true;
  const std::lock_guard lock(end_mutex_);
  if (!reaped_ && pid_ > 0) (void)::kill(pid_, SIGKILL);
}

}  // namespace ob::executor
