#pragma once
// The command lines of benchmark programs. CLI11 is compiled once, for command_line.cpp.

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace ob::bench {

/// Limits for the values of an option.
struct OptionRules {
  bool required = false;
  bool sizes = false;                 ///< takes units: 4MiB
  std::vector<std::string> one_of{};  ///< the values that are allowed; empty: any
  int least = 0;                      ///< of an int
};

/// The options of a program, each bound to a variable whose value at first is the default.
class CommandLine {
 public:
  explicit CommandLine(const char* summary);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// A vector takes several values, separated by commas or spaces.
  using Variable = std::variant<bool*, int*, unsigned*, std::uint64_t*, double*, std::string*,
                                std::vector<double>*, std::vector<std::uint64_t>*>;
  /// Adds one option. A bool is a flag.
  void add(const char* name, Variable variable, const char* help, const OptionRules& rules = {});
  /// Sets the variables. Ends the program after --help with 0, and after an error with 2.
  void parse_or_exit(int argc, char** argv);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace ob::bench
