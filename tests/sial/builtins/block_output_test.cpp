#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "sial/builtins/calls.hpp"

namespace ob::sial::test {
namespace {

namespace fs = std::filesystem;

const SuperFunctions kFunctions = builtin_functions();

class BlockOutput : public testing::Test {
 protected:
  BlockOutput() {
    context_.folder = fs::path(testing::TempDir()) / ("sial" + std::to_string(getpid())) / "state";
    context_.print = [this](const std::string& text) { printed_ += text; };
  }
  ~BlockOutput() override { fs::remove_all(context_.folder.parent_path()); }

  static CallArgument named(Operand& block) {
    CallArgument argument = block.argument();
    argument.name = "t";
    argument.segments = {2, 5};
    return argument;
  }
  static void write_text(const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  CallContext context_;
  std::string printed_;
};

TEST_F(BlockOutput, PrintsElements) {
  Operand block({2, 2}, {4, 10});
  double value = 0;
  block.for_each([&](double& element) { element = value += 1; });
  ASSERT_TRUE(call(kFunctions, "print_block", {named(block)}, context_).ok());
  EXPECT_EQ(printed_,
            "t[2,5]\n  1.00000000000000  2.00000000000000\n  3.00000000000000  4.00000000000000\n");
  printed_.clear();
  ASSERT_TRUE(call(kFunctions, "print_block_and_index", {named(block)}, context_).ok());
  EXPECT_EQ(printed_,
            "t[2,5]\n  4  10  1.00000000000000\n  5  10  2.00000000000000\n"
            "  4  11  3.00000000000000\n  5  11  4.00000000000000\n");
}

TEST_F(BlockOutput, ReadsBackWhatItWrote) {
  std::mt19937_64 random(std::random_device{}());
  Operand block({3, 4});
  block.draw(random);
  ASSERT_TRUE(call(kFunctions, "write_block_to_file", {named(block)}, context_).ok());
  EXPECT_TRUE(fs::exists(context_.folder / "t[2.5].blk"));
  Operand back({3, 4});
  back.for_each([](double& element) { element = 0; });
  ASSERT_TRUE(call(kFunctions, "read_block_from_file", {named(back)}, context_).ok());
  EXPECT_EQ(back.memory, block.memory);
  EXPECT_TRUE(back.gaps_intact());
  EXPECT_EQ(std::distance(fs::directory_iterator(context_.folder), {}), 1);
}

TEST_F(BlockOutput, RefusesFilesOfOtherBlocks) {
  Operand block({3, 4});
  block.for_each([](double& element) { element = 1; });
  Operand other({4, 3});
  const auto before = other.memory;
  EXPECT_FALSE(call(kFunctions, "read_block_from_file", {named(other)}, context_).ok());
  ASSERT_TRUE(call(kFunctions, "write_block_to_file", {named(block)}, context_).ok());
  EXPECT_FALSE(call(kFunctions, "read_block_from_file", {named(other)}, context_).ok());
  const fs::path file = context_.folder / "t[2.5].blk";
  fs::resize_file(file, fs::file_size(file) - 1);
  EXPECT_FALSE(call(kFunctions, "read_block_from_file", {named(block)}, context_).ok());
  EXPECT_EQ(other.memory, before);
}

TEST_F(BlockOutput, AFolderThatCannotBeMadeIsAnError) {
  write_text(context_.folder.parent_path() / "file", "");
  context_.folder = context_.folder.parent_path() / "file" / "state";
  Operand block({2, 2});
  EXPECT_FALSE(call(kFunctions, "write_block_to_file", {named(block)}, context_).ok());
}

TEST_F(BlockOutput, ReadsText) {
  write_text(context_.folder / "t[2.5].txt", "1 2 -0.5\n\n  3   1 2e3  \n");
  Operand block({3, 2});
  block.for_each([](double& element) { element = 0; });
  ASSERT_TRUE(call(kFunctions, "read_block_from_text_file", {named(block)}, context_).ok());
  EXPECT_EQ(block(0, 1), -0.5);
  EXPECT_EQ(block(2, 0), 2000.0);
  EXPECT_EQ(block(1, 1), 0.0);
  EXPECT_TRUE(block.gaps_intact());
}

TEST_F(BlockOutput, NamesTheLineOfTextThatIsWrong) {
  for (const char* const bad : {"4 1 1.0", "1 0 1.0", "1 1", "1 1 1.0 2.0", "1 x 1.0"}) {
    write_text(context_.folder / "t[2.5].txt", std::string("1 1 7.0\n") + bad + "\n");
    Operand block({3, 2});
    block.for_each([](double& element) { element = 0; });
    const Status read = call(kFunctions, "read_block_from_text_file", {named(block)}, context_);
    ASSERT_FALSE(read.ok()) << bad;
    EXPECT_NE(read.message().find("line 2"), std::string::npos) << read.message();
    EXPECT_EQ(block(0, 0), 0.0) << "half of the file is in the block";
  }
}

}  // namespace
}  // namespace ob::sial::test
