#pragma once
// The tests of entries share these parts: names in every affix, the library to compare with, and
// the expected counts of the preloaded stand-in.
//
// OB_PATTERNS: affixes ("%s_ scipy_%s_"; %S: upper case); OB_ILP64=1: integers have 64 bits;
// OB_REFERENCE: the library to compare with.

#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "interpose/foreign_call.hpp"
#include "interpose/standin_counts.hpp"

namespace ob::test {

inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

inline std::vector<std::string> patterns() {
  std::istringstream words(environment("OB_PATTERNS"));
  std::vector<std::string> result;
  for (std::string word; words >> word;) result.push_back(word);
  EXPECT_FALSE(result.empty()) << "OB_PATTERNS says nothing";
  return result;
}

inline std::string applied(const std::string& pattern, std::string_view name) {
  const std::size_t at = pattern.find('%');
  std::string middle(name);
  if (pattern[at + 1] == 'S') {
    for (char& c : middle) c = static_cast<char>(std::toupper(c));
  }
  return pattern.substr(0, at) + middle + pattern.substr(at + 2);
}

/// Returns 1 if integers have 64 bits: the index into ForeignCalls.
inline std::size_t wide() { return environment("OB_ILP64") == "1" ? 1 : 0; }

/// Returns the library that results are compared with; the test fails without it.
inline void* reference() {
  static void* const handle = [] {
    void* opened = dlopen(environment("OB_REFERENCE").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) ADD_FAILURE() << "OB_REFERENCE: " << dlerror();
    return opened;
  }();
  return handle;
}

/// The reference's functions. A comparison leaves out only functions that the reference lacks or
/// cannot carry out itself. The test prints their names at the end.
class Natives {
 public:
  explicit Natives(void* library) : library_(library) {}
  ~Natives() {
    print("the reference library lacks them", absent_);
    print("the reference library cannot carry them out", broken_);
    // Newer routines and extensions may be absent. More absent routines mean that this is no BLAS.
    EXPECT_LT(absent_.size(), 20U);
  }
  Natives(const Natives&) = delete;
  Natives& operator=(const Natives&) = delete;

  /// Returns nullptr if there is no such function, and remembers the name.
  void* find(const std::string& symbol) {
    void* found = library_ != nullptr ? dlsym(library_, symbol.c_str()) : nullptr;
    if (found == nullptr) absent_.insert(symbol);
    return found;
  }
  void leave_out(const std::string& symbol) { broken_.insert(symbol); }

 private:
  static void print(const char* why, const std::set<std::string>& symbols) {
    if (symbols.empty()) return;
    std::printf("left out, since %s (%zu):", why, symbols.size());
    for (const std::string& name : symbols) std::printf(" %s", name.c_str());
    std::printf("\n");
  }

  void* library_;
  std::set<std::string> absent_;
  std::set<std::string> broken_;
};

/// Returns the position of `routine` in routines::all().
inline std::size_t index_of(const Descriptor& routine) {
  return static_cast<std::size_t>(&routine - routines::all().data());
}

/// Expects that a call on a device changed only the results. Operands that a library may destroy
/// stay as they were, too.
inline void expect_only_results(const Problem& given, const Problem& actual) {
  EXPECT_EQ(intrusion(given, actual), "");
  for (const Operand& o : given.operands.span()) {
    if (!o.consumed) continue;
    EXPECT_EQ(actual.memory[o.argument], given.memory[o.argument])
        << given.text() << ": " << given.name_of(o);
  }
}

/// The number of shared products in all calls of this program.
inline int g_shared = 0;

/// The changes of the stand-in's counters by calls of one routine since this object was made.
class Counted {
 public:
  explicit Counted(const Descriptor& routine)
      : index_(index_of(routine)), calls_before_(calls_of(index_)), done_before_(done_of(index_)) {}
  bool went_out() const { return done_of(index_) > done_before_; }
  /// Expects that a legal call was remote if the stand-in computes and the call has operands to
  /// send and results to return. Otherwise the original ran. Parts of shared products stay local if
  /// they are too small to be cut or if they are lost.
  void expect(const Problem& given, const Problem& expected) const {
    if (mode_is("small")) return;  // all calls but the first one jump to the original
    const bool failed = given.routine->rerun && expected.info() > 0;
    const bool trivial = given.routine->trivial(given.arguments);
    EXPECT_EQ(calls_of(index_) - calls_before_, 1) << given.text();
    if (mode_is("share") && given.routine->base == "gemm") {
      if (went_out()) ++g_shared;
      return;
    }
    EXPECT_EQ(went_out(), mode_is("compute") && !trivial && !failed) << given.text();
  }
  /// Expects that the entry did not count the call before it went to the original.
  void expect_none() const { EXPECT_EQ(calls_of(index_), calls_before_); }

 private:
  std::size_t index_;
  int calls_before_;
  int done_before_;
};

}  // namespace ob::test
