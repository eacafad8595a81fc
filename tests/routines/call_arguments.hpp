#pragma once
// Arguments of calls written by hand, and the expected operands of a descriptor.

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "routines/descriptor.hpp"

namespace ob::test {

/// Arguments in the order of the table.
struct Arguments {
  Argument values[kMaxArguments];
  std::int64_t lds[kMaxArguments] = {};
  int count = 0;

  Arguments& flag(char f) {
    values[count++].flag = f;
    return *this;
  }
  Arguments& dim(std::int64_t d) {
    values[count++].dim = d;
    return *this;
  }
  Arguments& scalar(double re, double im = 0) {
    values[count++].scalar = {re, im};
    return *this;
  }
  Arguments& matrix(std::int64_t ld) {
    lds[count] = ld;
    values[count++].host = {nullptr, ld};
    return *this;
  }
  /// Adds a vector like x of the BLAS.
  Arguments& strided(std::int64_t increment) { return matrix(increment); }
  Arguments& memory() { return matrix(0); }
};

inline const Descriptor& row(std::string_view name) {
  const Descriptor* found = routines::find(name);
  if (found == nullptr) throw std::runtime_error("no row " + std::string(name));
  return *found;
}

inline void expect_operand(const Operand& o, int argument, bool read, bool written,
                           Triangle triangle, std::uint64_t rows, std::uint64_t cols,
                           std::uint32_t bytes) {
  EXPECT_EQ(o.argument, argument);
  EXPECT_EQ(o.read, read);
  EXPECT_EQ(o.written, written);
  EXPECT_EQ(o.triangle, triangle);
  EXPECT_EQ(o.rows, rows);
  EXPECT_EQ(o.cols, cols);
  EXPECT_EQ(o.element_bytes, bytes);
}

}  // namespace ob::test
