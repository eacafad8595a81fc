#include "device/kernels/signatures.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "device/kernels/parameter_types.hpp"
#include "device/kernels/preprocessor.hpp"

namespace ob::kernels {
namespace {

template <std::size_t kCount>
bool one_of(std::string_view text, const std::array<std::string_view, kCount>& words) noexcept {
  return std::find(words.begin(), words.end(), text) != words.end();
}

constexpr std::array<std::string_view, 2> kKernel{"__kernel", "kernel"};
constexpr std::array<std::string_view, 2> kGlobal{"__global", "global"};
constexpr std::array<std::string_view, 2> kLocal{"__local", "local"};
constexpr std::array<std::string_view, 2> kConstant{"__constant", "constant"};
constexpr std::array<std::string_view, 2> kPrivate{"__private", "private"};
constexpr std::array<std::string_view, 4> kIgnored{"volatile", "restrict", "__restrict",
                                                   "__restrict__"};
// OpenCL C knows these keywords with and without underscores.
constexpr std::array<std::string_view, 5> kShort{"kernel", "global", "local", "constant",
                                                 "private"};
// OpenCL C 1.2, 6.9 k: their sizes differ between the host and devices.
constexpr std::array<std::string_view, 6> kUnsized{"bool",     "size_t",    "ptrdiff_t",
                                                   "intptr_t", "uintptr_t", "half"};

enum class Space : std::uint8_t { none, global, local, constant };

class Parser {
 public:
  Parser(std::span<const Token> tokens, Dialect dialect) : tokens_(tokens), dialect_(dialect) {}

  Result<std::vector<KernelSignature>> all() {
    std::size_t depth = 0;
    while (at_ < tokens_.size()) {
      const Token& token = tokens_[at_++];
      if (token.is("{")) ++depth;
      if (token.is("}") && depth > 0) --depth;
      if (token.type != Token::Type::name) continue;
      if (dialect_ == Dialect::portable && one_of(token.text, kShort)) {
        return failed(long_word(token.text));
      }
      if (depth != 0) continue;
      if (token.is("typedef")) read_typedef();
      if (one_of(token.text, kKernel)) OB_RETURN_IF_ERROR(read_kernel());
    }
    return std::move(kernels_);
  }

 private:
  Status failed(const std::string& what) const {
    const std::size_t last = std::min(at_, tokens_.size() - 1);
    const std::string kernel = kernel_.empty() ? "" : "kernel " + kernel_ + ": ";
    return {Code::build_failed,
            "line " + std::to_string(tokens_[last].line) + ": " + kernel + what};
  }
  static std::string long_word(std::string_view word) {
    return "write __" + std::string(word) + " instead of " + std::string(word) +
           " (CUDA has another meaning for it)";
  }
  bool ended() const noexcept { return at_ == tokens_.size(); }
  bool see(std::string_view text) const noexcept { return !ended() && tokens_[at_].is(text); }
  bool take(std::string_view text) noexcept {
    if (!see(text)) return false;
    ++at_;
    return true;
  }

  // Cuts "( ... )" off, and returns what is inside; nothing if it does not end.
  std::span<const Token> parenthesized() {
    if (!take("(")) return {};
    const std::size_t begin = at_;
    for (std::size_t depth = 1; !ended(); ++at_) {
      if (see("(")) ++depth;
      if (see(")") && --depth == 0) return tokens_.subspan(begin, at_++ - begin);
    }
    return {};
  }

  // typedef KNOWN NAME; others stay unknown.
  void read_typedef() {
    std::vector<std::string_view> words;
    std::size_t at = at_;
    while (at < tokens_.size() && tokens_[at].type == Token::Type::name) {
      words.push_back(tokens_[at++].text);
    }
    if (at == tokens_.size() || !tokens_[at].is(";") || words.size() < 2) return;
    const std::string_view name = words.back();
    words.pop_back();
    if (ParameterType type = type_of(words); type.bytes != 0)
      aliases_[std::string(name)] = std::move(type);
  }

  Status read_attributes(KernelSignature& kernel) {
    while (take("__attribute__") || take("__attribute")) {
      const std::span<const Token> inside = parenthesized();
      for (std::size_t i = 0; i + 7 < inside.size(); ++i) {
        if (!inside[i].is("reqd_work_group_size") && !inside[i].is("__reqd_work_group_size__")) {
          continue;
        }
        for (std::size_t extent = 0; extent < 3; ++extent) {
          OB_RETURN_IF_ERROR(
              read_extent(inside[i + 2 + 2 * extent], kernel.required_group[extent]));
        }
      }
    }
    return {};
  }
  Status read_extent(const Token& token, std::uint32_t& extent) const {
    const std::string_view text = token.text;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error == std::errc() && end == text.data() + text.size() && extent != 0) return {};
    return failed("reqd_work_group_size takes three numbers");
  }

  Status read_kernel() {
    KernelSignature kernel;
    kernel_.clear();
    OB_RETURN_IF_ERROR(read_attributes(kernel));
    if (!take("void")) return failed("a kernel begins with \"__kernel void NAME(\"");
    OB_RETURN_IF_ERROR(read_attributes(kernel));
    if (ended() || tokens_[at_].type != Token::Type::name) return failed("a kernel has no name");
    kernel.name = kernel_ = std::string(tokens_[at_++].text);
    if (!see("(")) return failed("no parameters behind the name");
    const std::span<const Token> inside = parenthesized();
    if (ended()) return failed("its parameters do not end, or it has no body");
    OB_RETURN_IF_ERROR(read_parameters(inside, kernel));
    OB_RETURN_IF_ERROR(read_attributes(kernel));
    if (!see("{") && !see(";")) return failed("no body behind its parameters");
    return add(std::move(kernel));
  }

  // A kernel may be declared before it is defined.
  Status add(KernelSignature kernel) {
    const auto known = std::find_if(kernels_.begin(), kernels_.end(),
                                    [&](const auto& other) { return other.name == kernel.name; });
    if (known == kernels_.end()) {
      kernels_.push_back(std::move(kernel));
      return {};
    }
    if (known->parameters.size() != kernel.parameters.size()) {
      return failed("it is declared twice, with other parameters");
    }
    *known = std::move(kernel);
    return {};
  }

  Status read_parameters(std::span<const Token> tokens, KernelSignature& kernel) {
    if (tokens.empty() || (tokens.size() == 1 && tokens[0].is("void"))) return {};
    std::size_t begin = 0;
    std::size_t depth = 0;
    for (std::size_t i = 0; i <= tokens.size(); ++i) {
      const bool end = i == tokens.size();
      if (!end && tokens[i].is("(")) ++depth;
      if (!end && tokens[i].is(")")) --depth;
      if (!end && (depth != 0 || !tokens[i].is(","))) continue;
      KernelParameter parameter;
      OB_RETURN_IF_ERROR(read_parameter(tokens.subspan(begin, i - begin), parameter));
      kernel.parameters.push_back(std::move(parameter));
      if (kernel.parameters.size() > kMostKernelArguments) {
        return failed("it has more than " + std::to_string(kMostKernelArguments) + " parameters");
      }
      begin = i + 1;
    }
    return {};
  }

  // The words of a parameter's declaration.
  struct Words {
    Space space = Space::none;
    bool read_only = false;
    std::size_t stars = 0;
    std::vector<std::string_view> names;  // the type's words and the name
  };

  Status sort_words(std::span<const Token> tokens, Words& words) const {
    for (const Token& token : tokens) {
      const std::string_view text = token.text;
      if (dialect_ == Dialect::portable && one_of(text, kShort)) return failed(long_word(text));
      if (one_of(text, kIgnored) || one_of(text, kPrivate)) continue;
      if (one_of(text, kGlobal)) {
        words.space = Space::global;
      } else if (one_of(text, kLocal)) {
        words.space = Space::local;
      } else if (one_of(text, kConstant)) {
        words.space = Space::constant;
      } else if (text == "const") {
        words.read_only = words.read_only || words.stars == 0;
      } else if (text == "*") {
        ++words.stars;
      } else if (token.type == Token::Type::name) {
        words.names.push_back(text);
      } else {
        return failed("a parameter has \"" + std::string(text) +
                      "\"; write TYPE NAME, or __global TYPE* NAME");
      }
    }
    return {};
  }

  Status read_parameter(std::span<const Token> tokens, KernelParameter& parameter) const {
    if (!tokens.empty() && tokens[0].is("OB_LOCAL_ARG")) return read_local(tokens, parameter);
    Words words;
    OB_RETURN_IF_ERROR(sort_words(tokens, words));
    if (words.names.size() < 2) return failed("a parameter has no type or no name");
    parameter.name = std::string(words.names.back());
    words.names.pop_back();
    const ParameterType type = type_of(words.names);
    parameter.bytes = type.bytes;
    parameter.type = type.name + std::string(words.stars, '*');
    OB_RETURN_IF_ERROR(check_type(type, words, parameter.name));
    if (words.stars == 0) return {};
    parameter.kind = words.space == Space::local ? ParameterKind::local : ParameterKind::buffer;
    parameter.read_only = parameter.kind == ParameterKind::buffer &&
                          (words.read_only || words.space == Space::constant);
    return {};
  }

  // OB_LOCAL_ARG(TYPE, NAME)
  Status read_local(std::span<const Token> tokens, KernelParameter& parameter) const {
    const auto comma = std::find_if(tokens.begin(), tokens.end(),
                                    [](const Token& token) { return token.is(","); });
    if (tokens.size() < 6 || tokens.end() - comma != 3 || !tokens[1].is("(") ||
        !tokens.back().is(")")) {
      return failed("write OB_LOCAL_ARG(TYPE, NAME)");
    }
    std::vector<std::string_view> words;
    for (auto at = tokens.begin() + 2; at != comma; ++at) words.push_back(at->text);
    const ParameterType type = type_of(words);
    parameter = {ParameterKind::local, false, type.bytes, type.name + "*",
                 std::string(comma[1].text)};
    return {};
  }

  Status check_type(const ParameterType& type, const Words& words, const std::string& name) const {
    const std::string what = "parameter " + name + " ";
    if (words.stars > 1) return failed(what + "is a pointer to pointers; pass one buffer");
    if (words.stars == 1 && words.space == Space::none) {
      return failed(what + "is a pointer without __global, __constant or __local");
    }
    if (words.stars == 0 && words.space != Space::none) {
      return failed(what + "is no pointer, but has an address space; remove it");
    }
    if (dialect_ == Dialect::portable && words.space == Space::local) {
      return failed(what + "is __local; write OB_LOCAL_ARG(TYPE, NAME)");
    }
    if (dialect_ == Dialect::portable && type.bytes != 0 && (type.width == 3 || type.width > 4)) {
      return failed(what + "has the type " + type.name +
                    ", which CUDA lacks or stores otherwise; use vectors of 2 or 4");
    }
    if (words.stars == 1) return {};
    if (one_of(type.name, kUnsized)) {
      return failed(what + "has the type " + type.name +
                    ", whose size differs between devices; use int, uint, long or ulong");
    }
    if (type.bytes == 0) {
      return failed(what + "has the type " + type.name +
                    ", which cannot be passed by value; pass a buffer that contains it");
    }
    return {};
  }

  ParameterType type_of(std::span<const std::string_view> words) const {
    bool is_unsigned = false;
    std::string name;
    for (const std::string_view word : words) {
      if (word == "unsigned") is_unsigned = true;
      if (word == "const" || word == "unsigned" || word == "signed") continue;
      // "long int" and "struct name"
      if (word == "int" && (name == "long" || name == "short")) continue;
      name.append(name.empty() ? "" : " ").append(word);
    }
    if (name.empty()) name = "int";
    if (const auto alias = aliases_.find(name); alias != aliases_.end()) return alias->second;
    return builtin_type((is_unsigned ? "u" : "") + name);
  }

  const std::span<const Token> tokens_;
  const Dialect dialect_;
  std::size_t at_ = 0;
  std::string kernel_;  // the one being read
  std::map<std::string, ParameterType, std::less<>> aliases_;
  std::vector<KernelSignature> kernels_;
};

}  // namespace

Result<std::vector<KernelSignature>> parse_signatures(std::string_view source, Dialect dialect,
                                                      const std::vector<Definition>& definitions) {
  OB_ASSIGN_OR_RETURN(const PreprocessedSource preprocessed, preprocess(source, definitions));
  if (preprocessed.tokens.empty()) return std::vector<KernelSignature>();
  return Parser(preprocessed.tokens, dialect).all();
}

}  // namespace ob::kernels
