#include "sial/job/binding.hpp"

#include <gtest/gtest.h>

namespace ob::sial {
namespace {

Program program() {
  Program p;
  p.name = "scf";
  p.ints = {{"norb", true, 0}, {"n", false, 5}, {"lib.nocc", true, 0}};
  p.scalars = {{"threshold", true, 0}, {"x", false, 0.25}};
  p.indices = {{"i", IndexKind::segmented, "ao", kNone, {false, 1}, {true, 0}},
               {"o", IndexKind::segmented, "mo", kNone, {false, 1}, {true, 2}},
               {"s", IndexKind::simple, "", kNone, {false, 1}, {false, 3}}};
  Array hcore;
  hcore.name = "hcore", hcore.storage = Storage::static_, hcore.predefined = true;
  hcore.indices = {0, 2};
  Array plain = hcore;
  plain.name = "plain", plain.predefined = false;
  p.arrays = {hcore, plain};
  return p;
}

Job job() {
  Job j;
  j.ints = {{"norb", 2}, {"nocc", 1}};
  j.scalars = {{"threshold", 1e-8}};
  j.segments = {{"ao", {4, 3}}, {"mo", {5}}};
  j.arrays["hcore"] = {{7, 3}, std::vector<double>(21, 1.0)};
  j.arrays["plain"] = j.arrays["hcore"];
  return j;
}

void expect_refused(const Program& p, const Job& j, const std::string& words) {
  const auto bound = bind(p, j);
  ASSERT_FALSE(bound.ok()) << words;
  EXPECT_EQ(bound.status().code(), Code::invalid_argument);
  EXPECT_NE(bound.status().message().find(words), std::string::npos) << bound.status().message();
}

TEST(Binding, ValuesComeFromTheJobOrTheProgram) {
  const Program p = program();
  const Job j = job();
  const auto bound = bind(p, j);
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  EXPECT_EQ(bound->ints, (std::vector<std::int64_t>{2, 5, 1}));
  EXPECT_EQ(bound->scalars, (std::vector<double>{1e-8, 0.25}));
  EXPECT_EQ(bound->predefined[0], &j.arrays.at("hcore"));
  EXPECT_EQ(bound->predefined[1], nullptr);
  EXPECT_TRUE(bound->warnings.empty());
  EXPECT_EQ(bound->layout.range(1).upper, 1);
  EXPECT_EQ(shape_of(bound->layout, p.arrays[0]), (std::vector<std::int64_t>{7, 3}));
}

TEST(Binding, FullNameComesBeforeThePlainOne) {
  Job j = job();
  j.ints["lib.nocc"] = 0;
  const auto bound = bind(program(), j);
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ(bound->ints[2], 0);
}

TEST(Binding, JobDoesNotChangeOtherVariables) {
  Job j = job();
  j.ints["n"] = 99, j.scalars["x"] = 99;
  const auto bound = bind(program(), j);
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ(bound->ints[1], 5);
  EXPECT_EQ(bound->scalars[1], 0.25);
}

TEST(Binding, EverythingThatIsMissingIsNamedAtOnce) {
  Job j;
  j.ints["nrob"] = 2;
  const auto bound = bind(program(), j);
  ASSERT_FALSE(bound.ok());
  EXPECT_EQ(bound.status().message(),
            "program scf: the job lacks int norb, int lib.nocc, scalar threshold, segment table "
            "ao, segment table mo (the program needs them) add them to the job file; perhaps "
            "'nrob' means 'norb'");
}

TEST(Binding, MissingStaticIsAWarning) {
  Job j = job();
  j.arrays.clear();
  const auto bound = bind(program(), j);
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ(bound->predefined[0], nullptr);
  ASSERT_EQ(bound->warnings.size(), 1u);
  EXPECT_NE(bound->warnings[0].find("lacks array hcore"), std::string::npos);
}

TEST(Binding, ShapesFit) {
  Job j = job();
  j.arrays["hcore"].shape = {3, 7};
  expect_refused(program(), j, "error R04: array hcore has the shape [3, 7]");
  j.arrays["hcore"] = {{21}, std::vector<double>(21)};
  expect_refused(program(), j, "its declaration has [7, 3]");
}

TEST(Binding, RangesFitTheirTables) {
  Job j = job();
  j.ints["norb"] = 3;
  expect_refused(program(), j, "error R05: index i has the range 1:3");
  j.ints["norb"] = -1;
  expect_refused(program(), j, "error R05: index i has the range 1:-1");
  j.ints["norb"] = 0;  // empty, but the array then has another shape
  expect_refused(program(), j, "R04");
  Program p = program();
  p.indices[0].lower.value = 0;
  expect_refused(p, job(), "segment table ao has segments 1 to 2");
  p = program();
  p.indices[2].upper.value = INT64_MAX;
  expect_refused(p, job(), "error R05: index s");
  p.indices[2].lower.value = INT64_MIN;
  expect_refused(p, job(), "error R05: index s");
}

TEST(Binding, SizesDoNotOverflow) {
  Program p = program();
  p.indices[2] = {"s", IndexKind::simple, "", kNone, {false, 1}, {false, std::int64_t{1} << 50}};
  p.arrays = {p.arrays[1]};
  p.arrays[0].indices = {2, 2};
  expect_refused(p, job(), "array plain has too many blocks");
  p.arrays[0].indices = {2};
  expect_refused(p, job(), "array plain has too many elements");
  Job j = job();
  j.segments["ao"] = {1 << 20, 1 << 20};
  p = program();
  p.arrays = {p.arrays[1]};
  p.arrays[0].storage = Storage::temp;
  p.arrays[0].indices = {0, 0, 0};
  expect_refused(p, j, "array plain has too many elements in a block");
}

}  // namespace
}  // namespace ob::sial
