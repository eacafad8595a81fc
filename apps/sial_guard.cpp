#include "sial_guard.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <new>
#include <string>
#include <thread>

namespace ob::apps {
namespace {

using GuardClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBeat{200};
// A guard that did not run itself for this time, because the whole job was stopped, begins to count
// anew.
constexpr std::chrono::seconds kOwnPause{2};

// Says in one line which rank was lost, and how.
void report_loss(const Watched& watched, const std::string& how) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const std::string line = watched.last_line.text();
  const std::string call = watched.last_line.call();
  std::string text = "outboard-sial: lost rank " + std::to_string(watched.rank.load()) + ", a " +
                     (watched.is_server ? "server" : "worker") + " on " + host.data() + ": " + how;
  text += line.empty() ? " (before its first line)" : " (the last line executed is " + line + ")";
  if (!call.empty()) text += " in super-instruction " + call;
  text += "; --resume goes on from the last checkpoint\n";
  // One call, so that lines of several ranks do not mix.
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

[[noreturn]] void end_like(int status, const Watched& watched) {
  if (WIFEXITED(status)) ::_exit(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) {
    // Somebody has asked the job to end.
    ::signal(signal, SIG_DFL);
    ::raise(signal);
  }
  report_loss(watched, "killed by signal " + std::to_string(signal) + ", " + strsignal(signal));
  ::_exit(kRankLost);
}

[[noreturn]] void watch(pid_t child, const Watched& watched) {
  sigset_t ended;
  ::sigemptyset(&ended);
  ::sigaddset(&ended, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &ended, nullptr);
  std::uint64_t beats = 0;
  GuardClock::time_point heard = GuardClock::now();
  GuardClock::time_point before = heard;
  for (;;) {
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) end_like(status, watched);
    const GuardClock::time_point now = GuardClock::now();
    if (watched.beats != beats || now - before > kOwnPause) heard = now;
    beats = watched.beats;
    before = now;
    const std::chrono::milliseconds limit(watched.liveness_ms);
    if (limit.count() != 0 && now - heard > limit) {
      ::kill(child, SIGKILL);
      report_loss(watched, "no sign of life for " + std::to_string(limit.count() / 1000) + " s");
      ::_exit(kRankLost);
    }
    const timespec nap{0, std::chrono::nanoseconds(kBeat).count()};
    ::sigtimedwait(&ended, nullptr, &nap);
  }
}

}  // namespace

Watched* start_guard() {
  void* const memory =
      ::mmap(nullptr, sizeof(Watched), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const watched = new (memory) Watched;
  const pid_t guard = ::getpid();
  const pid_t child = ::fork();
  if (child > 0) watch(child, *watched);
  if (child < 0) return nullptr;
  // The rank does not outlive its guard.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != guard) ::_exit(kRankLost);
  std::thread([watched] {
    for (;;) {
      ++watched->beats;
      std::this_thread::sleep_for(kBeat);
    }
  }).detach();
  return watched;
}

}  // namespace ob::apps
