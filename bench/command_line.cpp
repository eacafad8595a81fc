#include "bench/command_line.hpp"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <type_traits>

namespace ob::bench {
namespace {

template <class Value>
constexpr bool kIsList = false;
template <class Element>
constexpr bool kIsList<std::vector<Element>> = true;

template <class Value>
CLI::Option* add_to(CLI::App& app, const char* name, Value& variable, const char* help,
                    const OptionRules& rules) {
  if constexpr (std::is_same_v<Value, bool>) {
    return app.add_flag(name, variable, help);
  } else {
    CLI::Option* const added = app.add_option(name, variable, help);
    if constexpr (kIsList<Value>) added->delimiter(',');
    if constexpr (std::is_same_v<Value, int>) {
      added->check(CLI::Range(rules.least, std::numeric_limits<int>::max()));
    }
    if (!rules.required) added->capture_default_str();
    return added;
  }
}

}  // namespace

struct CommandLine::Parser {
  CLI::App app;
};

CommandLine::CommandLine(const char* summary)
    : parser_(new Parser{CLI::App(summary, program_invocation_short_name)}) {}

CommandLine::~CommandLine() = default;

void CommandLine::add(const char* name, Variable variable, const char* help,
                      const OptionRules& rules) {
  CLI::Option* const added = std::visit(
      [&](auto* value) { return add_to(parser_->app, name, *value, help, rules); }, variable);
  added->required(rules.required);
  if (rules.sizes) added->transform(CLI::AsSizeValue(false));
  if (!rules.one_of.empty()) added->check(CLI::IsMember(rules.one_of));
}

void CommandLine::parse_or_exit(int argc, char** argv) {
  try {
    parser_->app.parse(argc, argv);
  } catch (const CLI::ParseError& end) {
    std::exit(parser_->app.exit(end) == 0 ? 0 : 2);
  }
}

}  // namespace ob::bench
