// outboard-run: runs a command with the drop-in library in front of its BLAS, LAPACK and FFTW.
//
// `outboard run` starts this program, which takes a few milliseconds, and not Python, which takes
// as long as some commands run.
//
//   outboard-run [OPTION]... [--otherwise PROGRAM [ARGUMENT]... --] run [--mode M] [--server LIST]
//                [--key FOLDER] [--pool URL [--accelerators N [--exclusive | --shared PART]
//                [--kind KIND] [--wait TIME] [--require]]] [--] COMMAND...
//
//   --otherwise PROGRAM   executes this with the words from `run` on if they have other options or
//                         wrong values, or if N accelerators are not free
//   --daemon-option WORD  one more word for the command line of the embedded daemon
//   --quiet               does not report an embedded daemon that fails
//
// The exit status is that of the command, or 128 + N after signal N. It is 125 if this program
// fails, and 126 or 127 if the command cannot be started.

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "command_lease.hpp"
#include "embedded_daemon.hpp"
#include "interpose/setting_table.hpp"
#include "private_folder.hpp"
#include "run_request.hpp"
#include "say.hpp"
#include "signals_held.hpp"

namespace ob::apps {
namespace {

using interpose::setting_table::kServers;

constexpr int kWrongOptions = 2;
constexpr int kOwnFailure = 125;  // the same as env(1) and timeout(1)
constexpr const char* kLibrary = "liboutboard-preload.so";

struct Options {
  std::vector<std::string> otherwise;
  std::vector<std::string> daemon_options;
  bool quiet = false;
  std::vector<std::string> words;  // from `run` on
};

std::optional<Options> options_of(const std::vector<std::string>& words) {
  Options options;
  std::size_t i = 0;
  for (; i < words.size() && words[i].starts_with("--"); ++i) {
    const bool has_value = i + 1 < words.size();
    if (words[i] == "--quiet") {
      options.quiet = true;
    } else if (words[i] == "--daemon-option" && has_value) {
      options.daemon_options.push_back(words[++i]);
    } else if (words[i] == "--otherwise" && has_value) {
      while (++i < words.size() && words[i] != "--") options.otherwise.push_back(words[i]);
    } else {
      return std::nullopt;
    }
  }
  for (; i < words.size(); ++i) options.words.push_back(words[i]);
  return options;
}

int execute(std::vector<std::string> command, const std::vector<std::string>& words) {
  command.insert(command.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& word : command) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execvp(pointers.front(), pointers.data());
  say("cannot start '" + command.front() + "' (" + std::strerror(errno) + ")");
  return kOwnFailure;
}

bool is_loadable(const std::string& library) {
  return library.find_first_of(": \t\n") == std::string::npos;  // ld.so(8)
}

// Returns `library` in front of the entries of LD_PRELOAD, without other copies of the library.
std::string preloaded(const std::string& library) {
  const char* const inherited = std::getenv("LD_PRELOAD");
  const std::string entries = inherited == nullptr ? "" : inherited;
  std::string all = library;
  for (std::size_t begin = 0; begin < entries.size();) {
    const std::size_t end = std::min(entries.find_first_of(": \t\n", begin), entries.size());
    const std::string entry = entries.substr(begin, end - begin);
    begin = end + 1;
    if (entry.empty() || std::filesystem::path(entry).filename() == kLibrary) continue;
    all += ":" + entry;
  }
  return all;
}

void set(const char* variable, const std::string& value) {
  if (setenv(variable, value.c_str(), 1) != 0) {
    throw std::system_error(errno, std::generic_category(), variable);
  }
}

std::string joined(const std::vector<std::string>& servers) {
  std::string all;
  for (const std::string& server : servers) all += (all.empty() ? "" : ",") + server;
  return all;
}

// Waits for the end of the command, and passes signals on to it. Starts the daemon when the first
// client waits for it.
int await(pid_t child, const SignalsHeld& signals, EmbeddedDaemon* daemon) {
  for (;;) {
    if (const std::optional<int> status = exit_status(child)) {
      return *status >= 0 ? *status : 128 - *status;
    }
    pollfd sources[] = {{signals.descriptor(), POLLIN, 0},
                        {daemon == nullptr ? -1 : daemon->waiting_clients(), POLLIN, 0}};
    if (poll(sources, 2, -1) < 0) continue;
    if (sources[1].revents != 0) daemon->start();
    if (sources[0].revents != 0) {
      signals.forward(child);  // not reaped yet, so the number is still its own
      if (daemon != nullptr) daemon->report_end();
    }
  }
}

// @param begins the lease to acquire while the command runs; nullptr: none
int run_command(const std::vector<std::string>& command, const SignalsHeld& signals,
                EmbeddedDaemon* daemon, CommandLease* begins) {
  if (const std::optional<int> early = signals.early()) return 128 + *early;
  const Started started = signals.spawn(command, environ, nullptr, {});
  if (started.problem == 0) {
    // The command comes first. Its library waits for the answer in a file, not for this thread.
    if (begins != nullptr) begins->begin();
    return await(started.process, signals, daemon);
  }
  say("cannot start '" + command.front() + "' (" + std::strerror(started.problem) +
      "); check its name and PATH");
  const bool missing = started.problem == ENOENT || started.problem == ENOTDIR;
  return missing ? 127 : 126;  // the same as in POSIX shells
}

// A command that may run without accelerators begins while they are acquired.
bool begins_without(const RunRequest& request) {
  const bool calls = request.mode == "auto" || request.mode == "remote";
  return request.accelerators && !request.begins_with_them && calls;
}

// Returns the exit status; nothing if the command was not started, because its accelerators are not
// free, or the manager did not give them.
std::optional<int> run(const RunRequest& request, const Options& options) {
  const auto native = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
  const SignalsHeld signals;
  // It ends after the folder: a manager on this machine writes to disk at the release, and to
  // remove files would wait for that.
  std::unique_ptr<CommandLease> lease;
  const PrivateFolder folder;
  if (request.accelerators) {
    auto named =
        CommandLease::named({request.pool, request.key, *request.accelerators, folder.path()});
    if (!named.ok()) return std::nullopt;
    lease = std::move(named).value();
    const bool has_them = begins_without(request) || lease->acquire().ok();
    if (const std::optional<int> early = signals.early()) return 128 + *early;
    if (!has_them) return std::nullopt;
  }
  std::string library = native / "lib" / kLibrary;
  if (!is_loadable(library)) {
    const std::string link = folder.path(kLibrary);
    std::filesystem::create_symlink(library, link);
    library = link;
  }
  std::optional<EmbeddedDaemon> daemon;
  if (request.needs_daemon()) {
    daemon.emplace(native / "bin" / "outboardd", options.daemon_options, folder, signals,
                   options.quiet);
  }
  set("LD_PRELOAD", preloaded(library));
  set("OUTBOARD_MODE", request.mode);
  if (daemon) {
    set("OUTBOARD_SERVER", daemon->address());
    if (!may_have_accelerator()) set("OUTBOARD_OWN_CORES", "1");
  } else if (!request.servers.empty()) {
    set("OUTBOARD_SERVER", joined(request.servers));
  }
  if (!request.key.empty()) set("OUTBOARD_KEY", request.key);
  if (!request.pool.empty()) set("OUTBOARD_POOL", request.pool);
  if (lease) {
    set("OUTBOARD_LEASE", lease->id());
    set("OUTBOARD_LEASE_ANSWER", lease->answer());
    unsetenv(kServers.variable);  // servers that are named go before a lease
    unsetenv(kServers.older_variable);
  }
  const int status = run_command(request.command, signals, daemon ? &*daemon : nullptr,
                                 begins_without(request) ? lease.get() : nullptr);
  if (daemon) daemon->report_end();
  if (lease) lease->stop_renewing();
  return status;
}

}  // namespace
}  // namespace ob::apps

int main(int count, char** words) {
  using namespace ob::apps;  // NOLINT(google-build-using-namespace): the program is theirs
  try {
    const std::optional<Options> options = options_of({words + 1, words + count});
    if (!options) {
      say("outboard-run has another option (it is a part of Outboard); use `outboard run`");
      return kWrongOptions;
    }
    if (const auto request = usual_run(options->words)) {
      if (const std::optional<int> status = run(*request, *options)) return *status;
    }
    if (!options->otherwise.empty()) return execute(options->otherwise, options->words);
    say("outboard-run has no command (it is a part of Outboard); use `outboard run`");
    return kWrongOptions;
  } catch (const std::exception& error) {
    say(std::string("cannot run the command (") + error.what() + ")");
    return kOwnFailure;
  }
}
