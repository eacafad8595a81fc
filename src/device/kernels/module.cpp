#include "device/kernels/module.hpp"

#include <algorithm>
#include <cctype>

namespace ob {
namespace {

bool is_name(std::string_view text) {
  const auto letter = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(), letter);
}

bool is_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '+' || c == '-' ||
           c == '.';
  });
}

// Cuts the next word off.
std::string_view next_word(std::string_view& text) {
  constexpr std::string_view kBlanks = " \t\n";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
  text.remove_prefix(word.size());
  return word;
}

Status check_variant(const ModuleVariant& variant) {
  if (variant.kind < SourceKind::portable || variant.kind > SourceKind::cubin) {
    return {Code::invalid_argument, "the kind of a module's variant is unknown (" +
                                        std::to_string(static_cast<unsigned>(variant.kind)) +
                                        "); use OB_PORTABLE or another one of outboard/device.h"};
  }
  const std::size_t most = variant.kind == SourceKind::cubin ? kMostBinaryBytes : kMostSourceBytes;
  if (variant.text.empty() || variant.text.size() > most) {
    return {Code::invalid_argument, "a " + std::string(to_string(variant.kind)) + " module of " +
                                        std::to_string(variant.text.size()) +
                                        " bytes; it has 1 to " + std::to_string(most) + " bytes"};
  }
  if (variant.kind != SourceKind::cubin && variant.text.find('\0') != std::string::npos) {
    return {Code::invalid_argument,
            "the source of a module contains a zero byte (is its length right?)"};
  }
  return {};
}

}  // namespace

const char* to_string(SourceKind kind) noexcept {
  switch (kind) {
    case SourceKind::portable: return "portable";
    case SourceKind::opencl: return "OpenCL C";
    case SourceKind::cuda: return "CUDA C++";
    case SourceKind::ptx: return "PTX";
    case SourceKind::cubin: return "cubin";
  }
  return "unknown";
}

Result<std::vector<Definition>> parse_options(std::string_view options) {
  std::vector<Definition> definitions;
  for (std::string_view word = next_word(options); !word.empty(); word = next_word(options)) {
    const std::string_view option = word;
    std::string_view text = word;
    const bool defines = text.starts_with("-D");
    if (defines) text.remove_prefix(2);
    if (defines && text.empty()) text = next_word(options);
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view("1") : text.substr(equals + 1);
    if (!defines || !is_name(name) || !is_value(value)) {
      return Status(Code::invalid_argument,
                    "the option \"" + std::string(option) +
                        "\" of a module is not accepted; write -D NAME or -D NAME=VALUE with "
                        "letters, digits and + - . _");
    }
    definitions.push_back({std::string(name), std::string(value)});
  }
  return definitions;
}

Status check_source(const ModuleSource& source) {
  if (source.variants.empty() || source.variants.size() > kMostVariants) {
    return {Code::invalid_argument, std::to_string(source.variants.size()) +
                                        " variants of a module; it has 1 to " +
                                        std::to_string(kMostVariants)};
  }
  for (const ModuleVariant& variant : source.variants) OB_RETURN_IF_ERROR(check_variant(variant));
  constexpr std::size_t kMostOptionBytes = 4096;
  if (source.options.size() > kMostOptionBytes) {
    return {Code::invalid_argument, "options of " + std::to_string(source.options.size()) +
                                        " bytes; a module has at most " +
                                        std::to_string(kMostOptionBytes)};
  }
  return parse_options(source.options).status();
}

Status no_such_kernel(std::string_view name, const std::vector<KernelFacts>& kernels) {
  std::string names;
  for (const KernelFacts& kernel : kernels) {
    names.append(names.empty() ? "" : ", ").append(kernel.signature.name);
  }
  return {Code::invalid_argument, "the module has no kernel \"" + std::string(name) +
                                      "\" (it has " + (names.empty() ? "none" : names) + ")"};
}

std::string first_error(const std::string& log) {
  const std::size_t error = log.find("error");
  std::size_t begin = 0;
  if (error != std::string::npos) {
    const std::size_t before = log.rfind('\n', error);
    begin = before == std::string::npos ? 0 : before + 1;
  }
  constexpr std::size_t kMostBytes = 300;
  return log.substr(begin, std::min(log.find('\n', begin) - begin, kMostBytes));
}

std::string shorten_log(std::string log) {
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  if (log.size() <= kMostLogBytes) return log;
  constexpr std::string_view kCut = "\n[...]\n";
  constexpr std::size_t kHalf = (kMostLogBytes - kCut.size()) / 2;
  return log.substr(0, kHalf).append(kCut).append(log, log.size() - kHalf, kHalf);
}

}  // namespace ob
