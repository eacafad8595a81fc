#include "faults.hpp"

#include <cstdlib>

namespace standin {

std::string plain_name(const char* call) {
  std::string name = call;
  for (const char* suffix : {"_64", "_v2"}) {
    if (name.size() > 3 && name.ends_with(suffix)) name.resize(name.size() - 3);
  }
  return name;
}

Faults& Faults::instance() {
  static auto* const kFaults = new Faults;  // lives longer than callers at exit
  return *kFaults;
}

Faults::Faults() {
  if (const char* rules = std::getenv("STANDIN_CUDA_FAIL")) add(rules);
  if (const char* n = std::getenv("STANDIN_CUDA_FAIL_MALLOC")) add(std::string("cudaMalloc:") + n);
}

void Faults::add(const std::string& rules) {
  const std::lock_guard lock(mutex_);
  std::size_t at = 0;
  while (at < rules.size()) {
    const std::size_t end = std::min(rules.find(',', at), rules.size());
    const std::string text = rules.substr(at, end - at);
    at = end + 1;
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos) continue;
    Rule rule;
    rule.call = plain_name(text.substr(0, colon).c_str());
    const char* n = text.c_str() + colon + 1;
    const bool each = *n == '/';
    char* rest = nullptr;
    const std::uint64_t count = std::strtoull(n + (each ? 1 : 0), &rest, 10);
    rule.from = calls_[rule.call] + count;
    if (each) rule.every = count;
    if (*rest == '+') {
      rule.every = 1;
      ++rest;
    }
    if (*rest == ':') rule.error = std::atoi(rest + 1);
    rules_.push_back(rule);
  }
}

void Faults::clear() {
  const std::lock_guard lock(mutex_);
  rules_.clear();
}

int Faults::next(const char* call) {
  const std::string name = plain_name(call);
  const std::lock_guard lock(mutex_);
  const std::uint64_t count = ++calls_[name];
  for (const Rule& rule : rules_) {
    if (rule.call != name || count < rule.from) continue;
    const std::uint64_t past = count - rule.from;
    if (rule.every == 0 ? past == 0 : past % rule.every == 0) return rule.error;
  }
  return 0;
}

std::uint64_t Faults::calls(const std::string& call) {
  const std::lock_guard lock(mutex_);
  return calls_[plain_name(call.c_str())];
}

}  // namespace standin
