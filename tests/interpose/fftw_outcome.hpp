#pragma once
// Runs the programs under test, each in a process of its own.

#include <sys/wait.h>

#include <cstdio>
#include <map>
#include <sstream>
#include <string>

namespace ob::interpose {

/// The exit status and the output of a program.
struct Outcome {
  int status = -1;
  std::string text;                  ///< the output without the counts
  std::map<std::string, int> count;  ///< "made plans=", "count execute=" ...
};

/// Runs a shell command and waits for its end.
inline Outcome run(const std::string& command) {
  Outcome outcome;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  char line[512];
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
    const std::string text(line);
    if (text.rfind("made ", 0) != 0 && text.rfind("count ", 0) != 0) {
      outcome.text += text;
      continue;
    }
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      const auto equals = word.find('=');
      if (equals != std::string::npos) {
        outcome.count[word.substr(0, equals)] = std::stoi(word.substr(equals + 1));
      }
    }
  }
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return outcome;
}

/// Returns the command that runs `program` with `library` preloaded.
inline std::string preloaded(const std::string& library, const std::string& mode,
                             const std::string& program) {
  return "env LD_PRELOAD=" + library + " OB_STANDIN=" + mode + " " + program;
}

}  // namespace ob::interpose
