#include "bench/child_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <climits>

extern char** environ;

namespace ob::bench {
namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

std::string own_folder() {
  std::array<char, PATH_MAX> path{};
  const ssize_t n = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  const std::string whole(path.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  return whole.substr(0, whole.rfind('/'));
}

ChildProcess::ChildProcess(std::vector<std::string> words,
                           const std::vector<std::string>& environment) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::vector<std::string> whole;
  for (char** at = environ; *at != nullptr; ++at) whole.emplace_back(*at);
  whole.insert(whole.end(), environment.begin(), environment.end());
  std::vector<char*> argv = pointers(words);
  std::vector<char*> envp = pointers(whole);
  if (::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), envp.data()) != 0) pid_ = -1;
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  output_ = ::fdopen(ends[0], "r");
}

ChildProcess::~ChildProcess() {
  if (output_ != nullptr) std::fclose(output_);
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
}

std::string ChildProcess::line() {
  std::array<char, 4096> text{};
  if (output_ == nullptr || std::fgets(text.data(), text.size(), output_) == nullptr) return {};
  std::string line(text.data());
  while (!line.empty() && line.back() == '\n') line.pop_back();
  return line;
}

}  // namespace ob::bench
