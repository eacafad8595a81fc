#include "signals_held.hpp"

#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace ob::apps {
namespace {

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

sigset_t forwarded() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : kForwarded) sigaddset(&set, number);
  return set;
}

}  // namespace

std::optional<int> exit_status(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, WNOHANG) != child) return std::nullopt;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

SignalsHeld::SignalsHeld() : watched_(forwarded()) {
  sigaddset(&watched_, SIGCHLD);
  sigprocmask(SIG_BLOCK, &watched_, &before_);
  std::signal(SIGCHLD, SIG_DFL);  // a caller that ignores it would reap our children
  descriptor_.reset(signalfd(-1, &watched_, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!descriptor_) throw std::system_error(errno, std::generic_category(), "signalfd");
}

SignalsHeld::~SignalsHeld() {
  const timespec now{};
  while (sigtimedwait(&watched_, nullptr, &now) > 0) {
  }
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<int> SignalsHeld::early() const {
  const sigset_t set = forwarded();
  const timespec now{};
  const int number = sigtimedwait(&set, nullptr, &now);
  if (number < 0) return std::nullopt;
  return number;
}

void SignalsHeld::forward(pid_t child) const {
  signalfd_siginfo signal;
  while (read(descriptor_.get(), &signal, sizeof signal) == sizeof signal) {
    if (signal.ssi_signo == SIGCHLD || signal.ssi_code == SI_KERNEL) continue;
    kill(child, static_cast<int>(signal.ssi_signo));
  }
}

bool SignalsHeld::await_child(std::chrono::steady_clock::time_point deadline) const {
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  const auto left = deadline - std::chrono::steady_clock::now();
  if (left <= left.zero()) return false;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  const timespec wait{seconds.count(), std::chrono::nanoseconds(left - seconds).count()};
  sigtimedwait(&children, nullptr, &wait);
  return true;
}

Started SignalsHeld::spawn(const std::vector<std::string>& command, char* const* environment,
                           const posix_spawn_file_actions_t* files, Options options) const {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &before_);
  int flags = POSIX_SPAWN_SETSIGMASK;
  if (options.own_session) flags |= POSIX_SPAWN_SETSID;
  posix_spawnattr_setflags(&attributes, static_cast<short>(flags));
  Started started;
  started.problem =
      posix_spawnp(&started.process, words.front(), files, &attributes, words.data(), environment);
  posix_spawnattr_destroy(&attributes);
  if (started.problem != 0) started.process = -1;
  return started;
}

}  // namespace ob::apps
