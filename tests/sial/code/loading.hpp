#pragma once
// Expectations about the loader.

#include <gtest/gtest.h>

#include <string>

#include "sial/code/encode.hpp"
#include "sial/code/load_program.hpp"

namespace ob::test {

inline Result<sial::Program> load(const std::vector<std::byte>& file) {
  return sial::load_program(file, "bench.sialc");
}

inline void expect_loads(const sial::Program& program) {
  const auto loaded = load(encode(program));
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
}

/// Expects a refusal that names the file and contains `words`.
inline void expect_refused(const std::vector<std::byte>& file, const std::string& words) {
  const auto loaded = load(file);
  ASSERT_FALSE(loaded.ok()) << "expected: " << words;
  const std::string message = loaded.status().message();
  EXPECT_TRUE(message.starts_with("bench.sialc: ")) << message;
  EXPECT_NE(message.find(words), std::string::npos) << message << "\nexpected: " << words;
  EXPECT_NE(message.find(" ("), std::string::npos) << message;
}

inline void expect_refused(const sial::Program& program, const std::string& words) {
  expect_refused(encode(program), words);
}

}  // namespace ob::test
