#include "sial/code/utf8.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace ob::sial {
namespace {

bool check(std::string_view text) { return is_text(std::as_bytes(std::span(text))); }

TEST(Utf8, TextIsAccepted) {
  for (const char* text :
       {"", "plain", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "a\xc3\xa4z"})
    EXPECT_TRUE(check(text)) << text;
}

TEST(Utf8, OtherBytesAreRefused) {
  for (const char* text :
       {"\x80", "\xbf", "\xc2", "\xc2z", "\xc1\xbf", "\xe0\x9f\xbf", "\xe2\x82", "\xed\xa0\x80",
        "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xff"})
    EXPECT_FALSE(check(text)) << text;
  EXPECT_FALSE(check(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace ob::sial
