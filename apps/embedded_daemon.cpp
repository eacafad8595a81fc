#include "embedded_daemon.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "say.hpp"

namespace ob::apps {
namespace {

// A daemon that has not drained after this time is killed, because the command it served has ended.
constexpr std::chrono::seconds kDrainTimeout{5};
// The variables that outboardd reads; a test compares them with settings/settings.toml. It gets no
// other one of Outboard.
constexpr std::string_view kDaemonVariables[] = {"OUTBOARD_BLAS", "OUTBOARD_CUDA_PATH"};
constexpr std::string_view kRemovedVariables[] = {"OUTBOARD_", "RCPU_", "LD_PRELOAD"};
constexpr int kSocket = 3;  // the descriptor of the socket in the daemon
constexpr std::size_t kLogLines = 20;

std::vector<std::string> names_in(const char* folder) {
  std::vector<std::string> names;
  DIR* const open = opendir(folder);
  if (open == nullptr) return names;
  while (const dirent* const entry = readdir(open)) names.emplace_back(entry->d_name);
  closedir(open);
  return names;
}

bool is_set(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

std::string text_of(const std::string& file) {
  std::ifstream lines(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(lines), {}};
}

// Returns the last lines of a log, each after a bar, with a line end before each.
std::string last_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back("\n  | " + text.substr(begin, end - begin));
    begin = end + 1;
  }
  std::string last;
  for (std::size_t i = lines.size() - std::min(lines.size(), kLogLines); i < lines.size(); ++i) {
    last += lines[i];
  }
  return last;
}

std::vector<char*> environment_of_daemon() {
  std::vector<char*> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::string_view name = text.substr(0, text.find('='));
    const auto begins = [&](std::string_view beginning) { return name.starts_with(beginning); };
    const bool removed = std::ranges::any_of(kRemovedVariables, begins);
    const bool read = std::ranges::find(kDaemonVariables, name) != std::end(kDaemonVariables);
    if (!removed || read) kept.push_back(*variable);
  }
  kept.push_back(nullptr);
  return kept;
}

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

Fd listen_at(const std::string& path) {
  Fd listening(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!listening) fail("a socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  fchmod(listening.get(), 0600);  // the mode of the socket's file
  if (bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listening.get(), SOMAXCONN) != 0) {
    fail(path);
  }
  return listening;
}

}  // namespace

bool may_have_accelerator() {
  if (is_set("OUTBOARD_CUDA_PATH") || is_set("OCL_ICD_VENDORS")) return true;
  const std::vector<std::string> devices = names_in("/dev");
  const auto is_nvidia = [](const std::string& name) { return name.starts_with("nvidia"); };
  if (std::ranges::any_of(devices, is_nvidia)) return true;
  const auto is_driver = [](const std::string& name) { return name.ends_with(".icd"); };
  const auto is_graphics = [](const std::string& name) { return name == "dri" || name == "kfd"; };
  return std::ranges::any_of(names_in("/etc/OpenCL/vendors"), is_driver) &&
         std::ranges::any_of(devices, is_graphics);
}

EmbeddedDaemon::EmbeddedDaemon(std::string program, const std::vector<std::string>& options,
                               const PrivateFolder& folder, const SignalsHeld& signals, bool quiet)
    : path_(folder.path("outboardd.sock")),
      log_(folder.path("outboardd.log")),
      output_(folder.path("outboardd.out")),
      // The clients are threads of one command, so the daemon refuses none of them to protect the
      // others.
      command_{std::move(program),   "--listen",          "fd:" + std::to_string(kSocket),
               "--exit-with-parent", "--longest-command", "0"},
      signals_(signals),
      quiet_(quiet) {
  command_.insert(command_.end(), options.begin(), options.end());
  socket_ = listen_at(path_);
  // Clients that find this file wait for a daemon that starts (src/transport/shm/connect.cpp).
  const std::string starting = path_ + ".starting";
  const Fd file(open(starting.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

EmbeddedDaemon::~EmbeddedDaemon() {
  socket_.reset();
  if (process_ < 0 || exit_status(process_)) return;
  kill(process_, SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + kDrainTimeout;
  while (signals_.await_child(deadline)) {
    if (exit_status(process_)) return;
  }
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

void EmbeddedDaemon::start() {
  if (!socket_) return;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, socket_.get(), kSocket);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, output_.c_str(), O_CREAT | O_WRONLY, 0600);
  posix_spawn_file_actions_addopen(&files, 2, log_.c_str(), O_CREAT | O_WRONLY, 0600);
  // The descriptors that our caller passed to us are for the command, not for the daemon.
  posix_spawn_file_actions_addclosefrom_np(&files, kSocket + 1);
  std::vector<char*> environment = environment_of_daemon();
  // In a session of its own, Ctrl-C in the terminal reaches only the command.
  const Started started =
      signals_.spawn(command_, environment.data(), &files, {.own_session = true});
  posix_spawn_file_actions_destroy(&files);
  process_ = started.process;
  if (started.problem != 0) {
    report("did not start (" + std::string(std::strerror(started.problem)) + ": " +
           command_.front() + ")");
  }
  socket_.reset();
}

void EmbeddedDaemon::report_end() {
  if (process_ < 0) return;
  const std::optional<int> status = exit_status(process_);
  if (!status) return;
  process_ = -1;
  const std::string number = std::to_string(*status);
  if (text_of(output_).starts_with("listening on ")) {
    report("ended early (status " + number + ")");
  } else {
    report("did not start (it ended with status " + number + ")");
  }
}

void EmbeddedDaemon::report(const std::string& what) const {
  if (quiet_) return;
  const std::string tail = last_lines(text_of(log_));
  say("the embedded daemon " + what + "; calls stay local" + (tail.empty() ? "" : ":" + tail));
}

}  // namespace ob::apps
