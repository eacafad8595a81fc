#include "sial/code/sections.hpp"

#include <gtest/gtest.h>

#include "sial/code/assembler.hpp"
#include "sial/code/loading.hpp"

namespace ob::test {
namespace {

constexpr std::size_t kTable = 32, kEntry = 32;

std::vector<std::byte> sample_file() { return encode(Workbench().finish()); }

std::size_t entry(unsigned kind) { return kTable + (kind - 1) * kEntry; }

// Changes a number of the file and corrects the checksums.
std::vector<std::byte> with(std::size_t offset, std::uint64_t value, unsigned bytes) {
  auto file = sample_file();
  poke(file, offset, value, bytes);
  reseal(file);
  return file;
}

TEST(Sections, SampleIsRead) {
  const auto file = sample_file();
  const auto sections = sial::read_sections(file, "f");
  ASSERT_TRUE(sections.ok()) << sections.status().message();
  EXPECT_EQ((*sections)[sial::SectionKind::program].records, 1u);
  EXPECT_EQ((*sections)[sial::SectionKind::arrays].bytes.data() - file.data(),
            static_cast<std::ptrdiff_t>(section_offset(file, 9)));
  EXPECT_EQ((*sections)[sial::SectionKind::loops].bytes.size(), 6u * 96);
}

TEST(Sections, WrongHeaderIsRefused) {
  expect_refused(with(0, 0x88, 1), "not a file of SIAL byte code");
  expect_refused(std::vector<std::byte>(), "not a file of SIAL byte code");
  auto cut = sample_file();
  cut.resize(200);
  expect_refused(cut, "too short");
  expect_refused(with(10, 7, 2), "the highest rank is 7");
  expect_refused(with(12, 15, 4), "15 sections");
  expect_refused(with(16, 1, 8), "cut or has extra bytes");
  auto longer = sample_file();
  longer.push_back(std::byte{0});
  expect_refused(longer, "cut or has extra bytes");
}

TEST(Sections, OtherVersionSaysWhatToDo) {
  const auto newer = load(with(8, 2, 2));
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.status().code(), Code::version_mismatch);
  EXPECT_NE(newer.status().message().find("update the runtime"), std::string::npos);
  const auto older = load(with(8, 0, 2));
  EXPECT_EQ(older.status().code(), Code::version_mismatch);
  EXPECT_NE(older.status().message().find("compile the program again"), std::string::npos);
}

TEST(Sections, DamageIsFoundByChecksums) {
  const auto file = sample_file();
  for (unsigned kind = 1; kind <= 16; ++kind) {
    if (peek(file, entry(kind) + 16, 8) == 0) continue;  // empty
    auto damaged = file;
    const std::size_t at = section_offset(file, kind);
    damaged[at] ^= std::byte{1};
    expect_refused(damaged,
                   std::string(to_string(static_cast<sial::SectionKind>(kind))) + " is damaged");
  }
  auto table = file;
  table[entry(4) + 24] ^= std::byte{1};
  expect_refused(table, "the table of sections is damaged");
}

TEST(Sections, WrongTableIsRefused) {
  const auto file = sample_file();
  expect_refused(with(entry(3), 4, 4), "section strings is not at its place");
  expect_refused(with(entry(8) + 8, section_offset(file, 8) + 8, 8), "indices has a wrong place");
  expect_refused(with(entry(8) + 8, ~std::uint64_t{0}, 8), "indices has a wrong place");
  expect_refused(with(entry(16) + 16, 80, 8), "accesses has a wrong place");
  expect_refused(with(entry(8) + 16, ~std::uint64_t{0}, 8), "indices has a wrong place");
  expect_refused(with(entry(8) + 4, 5, 4), "indices has a wrong length");
  expect_refused(with(entry(14) + 4, 0xffffffff, 4), "code has a wrong length");
  expect_refused(with(entry(3) + 4, 0xffffffff, 4), "strings has a wrong length");
}

TEST(Sections, PaddingIsZeroAndNothingFollows) {
  auto file = sample_file();
  const std::size_t end =
      section_offset(file, 3) + static_cast<std::size_t>(peek(file, entry(3) + 16, 8));
  ASSERT_LT(end, section_offset(file, 4));  // there is padding
  file[end] = std::byte{1};
  expect_refused(file, "in front of section int constants are not zero");

  auto longer = sample_file();
  longer.resize(longer.size() + 8);
  poke(longer, 16, longer.size(), 8);
  expect_refused(longer, "behind its last section");
}

}  // namespace
}  // namespace ob::test
