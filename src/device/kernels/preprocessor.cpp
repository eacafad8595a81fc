#include "device/kernels/preprocessor.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "device/kernels/condition.hpp"

namespace ob::kernels {
namespace {

constexpr std::size_t kMostTokens = std::size_t{1} << 21;
constexpr std::size_t kMostNested = 64;  // conditions, and macros in macros

Status failed(std::uint32_t line, const std::string& what) {
  return {Code::build_failed, "line " + std::to_string(line) + ": " + what};
}

struct Macro {
  bool with_parameters = false;
  std::vector<Token> body;
};

// An #if whose #endif has not come.
struct Condition {
  bool outer = true;    // the text around it counts
  bool now = false;     // this branch counts
  bool done = false;    // a branch has counted
  bool closed = false;  // #else has come
};

class Preprocessor {
 public:
  explicit Preprocessor(PreprocessedSource& result) : result_(result) {}

  void define(const Definition& definition) {
    const std::string& name = result_.texts.emplace_back(definition.name);
    const std::string& value = result_.texts.emplace_back(definition.value);
    Macro macro;
    append_tokens(value, 0, macro.body);
    macros_[name] = std::move(macro);
  }

  Status run(std::string_view source) {
    const std::string& text = result_.texts.emplace_back(without_comments(source));
    std::string_view rest = text;
    for (std::uint32_t number = 1; !rest.empty(); ++number) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      OB_RETURN_IF_ERROR(read_line(rest.substr(0, end), number));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (conditions_.empty()) return {};
    return {Code::build_failed, "an #if has no #endif"};
  }

 private:
  bool counts() const noexcept { return conditions_.empty() || conditions_.back().now; }

  Status read_line(std::string_view line, std::uint32_t number) {
    line_.clear();
    append_tokens(line, number, line_);
    if (line_.empty()) return {};
    if (line_.front().is("#")) return directive(line, number);
    if (!counts()) return {};
    for (const Token& token : line_) OB_RETURN_IF_ERROR(expand(token, number, result_.tokens));
    return {};
  }

  Status expand(const Token& token, std::uint32_t number, std::vector<Token>& to) {
    const auto found = token.type == Token::Type::name ? macros_.find(token.text) : macros_.end();
    const bool expands =
        found != macros_.end() && !found->second.with_parameters &&
        std::find(expanding_.begin(), expanding_.end(), token.text) == expanding_.end();
    if (!expands) {
      if (to.size() >= kMostTokens) return failed(number, "macros expand to too much text");
      to.push_back({token.type, token.text, number});
      return {};
    }
    // A macro that stands for nothing also takes time.
    if (++expansions_ > kMostTokens || expanding_.size() >= kMostNested) {
      return failed(number, "macros expand to too much text");
    }
    expanding_.push_back(token.text);
    for (const Token& part : found->second.body) OB_RETURN_IF_ERROR(expand(part, number, to));
    expanding_.pop_back();
    return {};
  }

  Status directive(std::string_view line, std::uint32_t number) {
    const std::string_view name = line_.size() > 1 ? line_[1].text : std::string_view();
    if (name == "if" || name == "ifdef" || name == "ifndef") return open(name, number);
    if (name == "elif" || name == "else" || name == "endif") return next(name, number);
    if (!counts()) return {};
    if (name == "include") {
      return failed(number, "#include (a module has no other files); put all into the source");
    }
    if (name == "define") return define_macro(line, number);
    if (name == "undef" && line_.size() > 2) macros_.erase(line_[2].text);
    return {};
  }

  Status define_macro(std::string_view line, std::uint32_t number) {
    if (line_.size() < 3 || line_[2].type != Token::Type::name) {
      return failed(number, "a #define has no name");
    }
    const std::string_view name = line_[2].text;
    const auto behind = static_cast<std::size_t>(name.data() + name.size() - line.data());
    Macro macro;
    macro.with_parameters = behind < line.size() && line[behind] == '(';
    macro.body.assign(line_.begin() + 3, line_.end());
    macros_[name] = std::move(macro);
    return {};
  }

  Status open(std::string_view name, std::uint32_t number) {
    if (conditions_.size() >= kMostNested) return failed(number, "too many #if inside of others");
    Condition condition{.outer = counts()};
    if (condition.outer) {
      OB_ASSIGN_OR_RETURN(condition.now, value_of(name, number));
    }
    condition.done = condition.now;
    conditions_.push_back(condition);
    return {};
  }

  Status next(std::string_view name, std::uint32_t number) {
    if (conditions_.empty()) return failed(number, std::string(name) + " without #if");
    if (name == "endif") {
      conditions_.pop_back();
      return {};
    }
    Condition& condition = conditions_.back();
    if (std::exchange(condition.closed, condition.closed || name == "else")) {
      return failed(number, std::string(name) + " after #else");
    }
    condition.now = condition.outer && !condition.done;
    if (condition.now && name == "elif") {
      OB_ASSIGN_OR_RETURN(condition.now, value_of(name, number));
    }
    condition.done = condition.done || condition.now;
    return {};
  }

  // Returns whether the condition of the present line holds.
  Result<bool> value_of(std::string_view name, std::uint32_t number) {
    if (name == "ifdef" || name == "ifndef") {
      if (line_.size() < 3) return failed(number, std::string(name) + " has no name");
      return macros_.contains(line_[2].text) == (name == "ifdef");
    }
    std::vector<Token> expression;
    for (std::size_t i = 2; i < line_.size(); ++i) {
      if (!line_[i].is("defined")) {
        OB_RETURN_IF_ERROR(expand(line_[i], number, expression));
        continue;
      }
      const bool parentheses = i + 3 < line_.size() && line_[i + 1].is("(") && line_[i + 3].is(")");
      const std::size_t asked = i + (parentheses ? 2 : 1);
      if (asked >= line_.size()) return failed(number, "defined has no name");
      const bool known = macros_.contains(line_[asked].text);
      expression.push_back({Token::Type::number, known ? "1" : "0", number});
      i = asked + (parentheses ? 1 : 0);
    }
    OB_ASSIGN_OR_RETURN(const std::int64_t value, evaluate_condition(expression));
    return value != 0;
  }

  PreprocessedSource& result_;
  std::map<std::string_view, Macro> macros_;
  std::vector<Condition> conditions_;
  std::vector<std::string_view> expanding_;
  std::size_t expansions_ = 0;
  std::vector<Token> line_;  // of the present line
};

}  // namespace

Result<PreprocessedSource> preprocess(std::string_view source,
                                      const std::vector<Definition>& definitions) {
  PreprocessedSource result;
  Preprocessor preprocessor(result);
  for (const Definition& definition : definitions) preprocessor.define(definition);
  OB_RETURN_IF_ERROR(preprocessor.run(source));
  return result;
}

}  // namespace ob::kernels
