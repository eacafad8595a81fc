// Tests the cut of a shared product. The entry tests run the two parts.

#include "interpose/shared_product.hpp"

#include <gtest/gtest.h>

#include "support/dgemm.hpp"

namespace ob::interpose {
namespace {

struct Columns {
  bool cut;
  std::int64_t remote;
  std::int64_t local;
  friend bool operator==(const Columns&, const Columns&) = default;
};

// Cuts the columns of a square product.
Columns columns(std::int64_t edge, double share) {
  double element = 0;  // only its address is used
  CallArguments call;
  test::square_dgemm(edge, call.items);
  for (const char* matrix : {"a", "b", "c"}) {
    test::argument_named(call.items, test::dgemm(), matrix).host = {&element, edge};
  }
  ProductParts parts = cut_product(test::dgemm(), call.items, share);
  if (!parts.cut) return {false, 0, 0};
  return {true, test::argument_named(parts.remote.items, test::dgemm(), "n").dim,
          test::argument_named(parts.local.items, test::dgemm(), "n").dim};
}

TEST(CutProduct, CutsLongEdgesAtBlocks) {
  EXPECT_EQ(columns(1000, 0.5), (Columns{true, 512, 488}));
  EXPECT_EQ(columns(100, 0.5), (Columns{true, 50, 50}));
}

TEST(CutProduct, RoundingDoesNotEmptyTheLocalPart) {
  EXPECT_EQ(columns(10, 0.99), (Columns{true, 9, 1}));
  EXPECT_EQ(columns(2, 0.9), (Columns{true, 1, 1}));
  EXPECT_EQ(columns(256, 0.99), (Columns{true, 253, 3}));
}

TEST(CutProduct, APartWithoutColumnsIsNoPart) {
  EXPECT_FALSE(columns(1, 0.99).cut);
  EXPECT_FALSE(columns(10, 0.01).cut);
}

}  // namespace
}  // namespace ob::interpose
