#include "bench/daemon_process.hpp"

#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdio>

extern char** environ;

namespace ob::bench {
namespace {

constexpr char kPrefix[] = "listening on ";

std::string folder_of_this_program() {
  std::array<char, PATH_MAX> path{};
  const ssize_t n = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  const std::string whole(path.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  return whole.substr(0, whole.rfind('/'));
}

// Starts `words` with its stdout in a pipe; -1 if that fails.
pid_t spawn(std::vector<std::string>& words, FILE*& output) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return -1;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  if (::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ) != 0) pid = -1;
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  output = ::fdopen(ends[0], "r");
  return pid;
}

std::string next_address(FILE* output) {
  std::array<char, 512> line{};
  if (std::fgets(line.data(), line.size(), output) == nullptr) return {};
  std::string text(line.data());
  if (text.rfind(kPrefix, 0) != 0) return {};
  text.erase(0, sizeof(kPrefix) - 1);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

Result<std::unique_ptr<DaemonProcess>> DaemonProcess::start(const std::vector<std::string>& options) {
  std::unique_ptr<DaemonProcess> daemon(new DaemonProcess);
  char directory[] = "/tmp/ob-bench-XXXXXX";
  if (::mkdtemp(directory) == nullptr) return Status(Code::unavailable, "cannot make a folder in /tmp");
  daemon->directory_ = directory;
  std::vector<std::string> words{folder_of_this_program() + "/outboardd", "--exit-with-parent", "--log-level",
                                 "warn",  "--listen", "127.0.0.1:0", "--listen",
                                 "unix:" + daemon->directory_ + "/socket"};
  words.insert(words.end(), options.begin(), options.end());
  FILE* output = nullptr;
  daemon->pid_ = spawn(words, output);
  if (daemon->pid_ < 0 || output == nullptr) return Status(Code::unavailable, "cannot start " + words[0]);
  daemon->tcp_ = next_address(output);
  daemon->shm_ = next_address(output);
  std::fclose(output);
  if (daemon->tcp_.empty() || daemon->shm_.empty()) {
    return Status(Code::unavailable, words[0] + " did not say where it listens (its message is above)");
  }
  return daemon;
}

DaemonProcess::~DaemonProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  if (!directory_.empty()) ::rmdir(directory_.c_str());  // the daemon removed its socket
}

}  // namespace ob::bench
