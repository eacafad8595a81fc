#include "bench/daemon_process.hpp"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

namespace ob::bench {
namespace {

std::string address_of(const std::string& line) {
  const std::string prefix = "listening on ";
  return line.rfind(prefix, 0) == 0 ? line.substr(prefix.size()) : std::string();
}

}  // namespace

Result<std::unique_ptr<DaemonProcess>> DaemonProcess::start(
    const std::vector<std::string>& options) {
  std::unique_ptr<DaemonProcess> daemon(new DaemonProcess);
  char directory[] = "/tmp/ob-bench-XXXXXX";
  if (::mkdtemp(directory) == nullptr)
    return Status(Code::unavailable, "cannot make a folder in /tmp");
  daemon->directory_ = directory;
  std::vector<std::string> words{own_folder() + "/outboardd",
                                 "--exit-with-parent",
                                 "--log-level",
                                 "warn",
                                 "--listen",
                                 "127.0.0.1:0",
                                 "--listen",
                                 "unix:" + daemon->directory_ + "/socket"};
  words.insert(words.end(), options.begin(), options.end());
  daemon->process_ = std::make_unique<ChildProcess>(words, std::vector<std::string>{});
  daemon->tcp_ = address_of(daemon->process_->line());
  daemon->shm_ = address_of(daemon->process_->line());
  if (daemon->tcp_.empty() || daemon->shm_.empty()) {
    return Status(Code::unavailable,
                  words[0] + " did not say where it listens (its message is above)");
  }
  return daemon;
}

DaemonProcess::~DaemonProcess() {
  if (process_ && process_->pid() > 0) ::kill(process_->pid(), SIGTERM);
  process_.reset();
  if (!directory_.empty()) ::rmdir(directory_.c_str());  // the daemon removed its socket
}

}  // namespace ob::bench
