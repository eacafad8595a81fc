#include "device/kernels/condition.hpp"

#include <array>
#include <charconv>
#include <string>
#include <string_view>

namespace ob::kernels {
namespace {

// Parentheses and signs nest no deeper, so that a hostile source cannot exhaust the stack.
constexpr int kMostDepth = 64;

// The binary operators by their precedence, the weakest first.
int precedence(std::string_view symbol) noexcept {
  if (symbol == "||") return 1;
  if (symbol == "&&") return 2;
  if (symbol == "==" || symbol == "!=") return 3;
  if (symbol == "<" || symbol == ">" || symbol == "<=" || symbol == ">=") return 4;
  if (symbol == "+" || symbol == "-") return 5;
  if (symbol == "*" || symbol == "/" || symbol == "%") return 6;
  return 0;
}

std::int64_t wrapped(std::uint64_t value) noexcept { return static_cast<std::int64_t>(value); }

class Evaluator {
 public:
  explicit Evaluator(std::span<const Token> tokens) : tokens_(tokens) {}

  Result<std::int64_t> all() {
    OB_ASSIGN_OR_RETURN(const std::int64_t value, binary(1));
    if (at_ != tokens_.size()) return not_understood();
    return value;
  }

 private:
  Status not_understood() const {
    const std::uint32_t line = tokens_.empty() ? 0 : tokens_.front().line;
    return {Code::build_failed, "line " + std::to_string(line) +
                                    ": this #if is not understood; use whole numbers, defined(), "
                                    "comparisons, && and ||"};
  }
  bool take(std::string_view symbol) noexcept {
    if (at_ == tokens_.size() || !tokens_[at_].is(symbol)) return false;
    ++at_;
    return true;
  }

  Result<std::int64_t> binary(int weakest) {
    OB_ASSIGN_OR_RETURN(std::int64_t left, unary());
    while (at_ < tokens_.size()) {
      const std::string_view symbol = tokens_[at_].text;
      const int own = precedence(symbol);
      if (own < weakest || own == 0) break;
      ++at_;
      OB_ASSIGN_OR_RETURN(const std::int64_t right, binary(own + 1));
      OB_ASSIGN_OR_RETURN(left, apply(symbol, left, right));
    }
    return left;
  }

  Result<std::int64_t> unary() {
    if (++depth_ > kMostDepth) return not_understood();
    Result<std::int64_t> value = operand();
    --depth_;
    return value;
  }

  Result<std::int64_t> operand() {
    if (take("!")) {
      OB_ASSIGN_OR_RETURN(const std::int64_t value, unary());
      return std::int64_t{value == 0 ? 1 : 0};
    }
    if (take("-")) {
      OB_ASSIGN_OR_RETURN(const std::int64_t value, unary());
      return wrapped(0 - static_cast<std::uint64_t>(value));
    }
    if (take("(")) {
      OB_ASSIGN_OR_RETURN(const std::int64_t value, binary(1));
      if (!take(")")) return not_understood();
      return value;
    }
    if (at_ == tokens_.size()) return not_understood();
    const Token& token = tokens_[at_++];
    if (token.type == Token::Type::name) return std::int64_t{0};
    return token.type == Token::Type::number ? number(token.text) : not_understood();
  }

  Result<std::int64_t> number(std::string_view text) const {
    while (!text.empty() && std::string_view("uUlL").find(text.back()) != std::string_view::npos) {
      text.remove_suffix(1);
    }
    const bool hex = text.starts_with("0x") || text.starts_with("0X");
    if (hex) text.remove_prefix(2);
    const int base = hex ? 16 : text.starts_with("0") ? 8 : 10;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size()) return not_understood();
    return wrapped(value);
  }

  Result<std::int64_t> apply(std::string_view symbol, std::int64_t a, std::int64_t b) const {
    const auto ua = static_cast<std::uint64_t>(a);
    const auto ub = static_cast<std::uint64_t>(b);
    if (symbol == "+") return wrapped(ua + ub);
    if (symbol == "-") return wrapped(ua - ub);
    if (symbol == "*") return wrapped(ua * ub);
    if (symbol == "/" || symbol == "%") {
      if (b == 0 || (a == INT64_MIN && b == -1)) return not_understood();
      return symbol == "/" ? a / b : a % b;
    }
    return std::int64_t{compare(symbol, a, b) ? 1 : 0};
  }
  static bool compare(std::string_view symbol, std::int64_t a, std::int64_t b) noexcept {
    if (symbol == "||") return a != 0 || b != 0;
    if (symbol == "&&") return a != 0 && b != 0;
    if (symbol == "==") return a == b;
    if (symbol == "!=") return a != b;
    if (symbol == "<") return a < b;
    if (symbol == ">") return a > b;
    return symbol == "<=" ? a <= b : a >= b;
  }

  const std::span<const Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<std::int64_t> evaluate_condition(std::span<const Token> expression) {
  return Evaluator(expression).all();
}

}  // namespace ob::kernels
