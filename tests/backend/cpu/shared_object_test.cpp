#include "backend/cpu/shared_object.hpp"

#include <gtest/gtest.h>

namespace ob::cpu {
namespace {

TEST(SharedObjectTest, SaysWhyALibraryDoesNotOpen) {
  const auto none = SharedObject::open("libno_such_thing.so.77");
  EXPECT_EQ(none.status().code(), Code::unavailable);
  EXPECT_NE(none.status().message().find("libno_such_thing.so.77"), std::string::npos);
}

TEST(SharedObjectTest, FindsSymbols) {
  auto libm = SharedObject::open("libm.so.6");
  ASSERT_TRUE(libm.ok()) << libm.status().message();
  double (*cosine)(double) = nullptr;
  libm->load("cos", cosine);
  ASSERT_NE(cosine, nullptr);
  EXPECT_EQ(cosine(0), 1);
  EXPECT_EQ(libm->symbol("no_such_symbol"), nullptr);
}

TEST(SharedObjectTest, ACopyIsAnotherInstance) {
  auto original = SharedObject::open("libm.so.6");
  ASSERT_TRUE(original.ok());
  auto copy = SharedObject::open_copy(*original);
  ASSERT_TRUE(copy.ok()) << copy.status().message();
  EXPECT_NE(copy->symbol("cos"), nullptr);
  EXPECT_NE(copy->symbol("cos"), original->symbol("cos"));
}

}  // namespace
}  // namespace ob::cpu
