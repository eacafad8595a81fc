// Random histories of a server whose memory holds a tenth of its blocks. The oracle keeps all of
// them. Elements are small integers, so all results are exact.

#include "sial/server/server.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <map>
#include <vector>

#include "spill_faults.hpp"
#include "support/random.hpp"
#include "support/temporary_folder.hpp"

namespace ob::sial {
namespace {

using test::uniform;

constexpr std::uint32_t kArrays = 3;
constexpr std::uint64_t kBlocks = 60;  // of each array
constexpr Rank kServer = 1;

using Values = std::vector<double>;
using Content = std::map<std::uint64_t, Values>;  // of an array

struct Answers final : Exchange {
  void send(Message message) override { last = std::move(message); }
  Message last;
};

// A few different sizes in one array.
Shape shape_of(std::uint64_t number) {
  Shape shape;
  shape.rank = 2;
  shape.extents = {static_cast<std::int64_t>(8 + number % 3 * 5),
                   static_cast<std::int64_t>(4 + number % 2 * 9)};
  return shape;
}

std::uint64_t bytes_of_all() {
  std::uint64_t bytes = 0;
  for (std::uint64_t number = 0; number < kBlocks; ++number)
    bytes += static_cast<std::uint64_t>(shape_of(number).elements()) * sizeof(double);
  return kArrays * bytes;
}

// A device keeps such a copy of a block that a worker in the same process has fetched, for as long
// as there is that block.
struct CopyElsewhere final : BlockCopies {
  explicit CopyElsewhere(Values values) : elements(std::move(values)) {}
  void to_host() noexcept override {}
  void forget() noexcept override { elements.clear(); }
  Values elements;
};

// A server with its oracle.
class History {
 public:
  History(std::uint64_t seed, std::uint64_t memory_bytes)
      : random_(seed),
        memory_bytes_(memory_bytes),
        server_({kServer, memory_bytes, false, folder_.file("spill")}, answers_) {}

  // Executes one random statement. Returns the text of the failure, empty if there was none.
  std::string step() {
    const auto array = uniform<std::uint32_t>(random_, 0, kArrays - 1);
    const auto number = uniform<std::uint64_t>(random_, 0, kBlocks - 1);
    const int choice = uniform(random_, 0, 999);
    if (choice < 420) return get(array, number);
    if (choice < 620) return write(MessageKind::put, array, number);
    if (choice < 820) return write(MessageKind::accumulate, array, number);
    if (choice < 870) return write(MessageKind::fill, array, number);
    if (choice < 920) return write(MessageKind::add, array, number);
    if (choice < 970) return write(MessageKind::scale, array, number);
    if (choice < 974) return remove(array);
    if (choice < 978) return save(array);
    if (choice < 985) return restore(array);
    return get(array, number);
  }

  std::string get(std::uint32_t array, std::uint64_t number) {
    Message message = about(MessageKind::get, array, number);
    handle(message);
    if (answers_.last.kind == MessageKind::failure) return answers_.last.text;
    const auto found = present_[array].find(number);
    if (found == present_[array].end()) {
      EXPECT_EQ(answers_.last.kind, MessageKind::absent);
      return "";
    }
    EXPECT_EQ(answers_.last.kind, MessageKind::data);
    EXPECT_TRUE(answers_.last.block->shape() == shape_of(number));
    held_.emplace_back(std::move(answers_.last.block), found->second);
    const Block& block = *held_.back().first;
    EXPECT_EQ(values_of(block), found->second) << array << " " << number;
    if (block.copies() == nullptr) block.set_copies(std::make_unique<CopyElsewhere>(found->second));
    EXPECT_EQ(static_cast<CopyElsewhere*>(block.copies())->elements, found->second)
        << array << " " << number;
    if (held_.size() > uniform<std::size_t>(random_, 0, 12)) release_one();
    return "";
  }

  std::string write(MessageKind kind, std::uint32_t array, std::uint64_t number) {
    Message message = about(kind, array, number);
    message.factor = uniform(random_, -1, 1);
    message.shape = shape_of(number);
    Values values(static_cast<std::size_t>(message.shape.elements()));
    if (kind == MessageKind::put || kind == MessageKind::accumulate) {
      const BlockPtr block = *pool_.allocate(message.shape);
      for (double& value : values) value = uniform(random_, -9, 9);
      std::ranges::copy(values, block->data());
      message.block = block;
    }
    const bool absent = !present_[array].contains(number);
    handle(message);
    if (kind == MessageKind::scale && absent) {
      EXPECT_TRUE(answers_.last.text.starts_with("R03"));
      return "";
    }
    if (answers_.last.kind == MessageKind::failure) return answers_.last.text;
    Values& target = present_[array][number];
    target.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      switch (kind) {
        case MessageKind::put: target[i] = values[i]; break;
        case MessageKind::accumulate: target[i] += message.factor * values[i]; break;
        case MessageKind::fill: target[i] = message.factor; break;
        case MessageKind::add: target[i] += message.factor; break;
        default: target[i] *= message.factor; break;
      }
    }
    return "";
  }

  std::string remove(std::uint32_t array) {
    ++generations_[array];
    present_[array].clear();
    return answer_to(about(MessageKind::delete_array, array, 0));
  }

  std::string save(std::uint32_t array) {
    Message message = about(MessageKind::save, array, 0);
    message.text = folder_.file("saved" + std::to_string(saved_.size()));
    std::string failure = answer_to(message);
    if (failure.empty()) saved_.emplace_back(message.text, present_[array]);
    return failure;
  }

  std::string restore(std::uint32_t array) {
    if (saved_.empty()) return "";
    const auto& [file, content] = saved_[uniform<std::size_t>(random_, 0, saved_.size() - 1)];
    Message message = about(MessageKind::restore, array, 0);
    message.text = file;
    message.words = {0, 1};
    present_[array] = content;
    return answer_to(message);
  }

  // Puts all blocks. Returns the failures.
  std::vector<std::string> put_all() {
    std::vector<std::string> failures;
    for (std::uint32_t array = 0; array < kArrays; ++array) {
      for (std::uint64_t number = 0; number < kBlocks; ++number) {
        const std::string failure = write(MessageKind::put, array, number);
        if (!failure.empty()) failures.push_back(failure);
      }
    }
    return failures;
  }

  // Compares all blocks. Returns the failures.
  std::vector<std::string> get_all() {
    std::vector<std::string> failures;
    for (std::uint32_t array = 0; array < kArrays; ++array) {
      for (std::uint64_t number = 0; number < kBlocks; ++number) {
        const std::string failure = get(array, number);
        if (!failure.empty()) failures.push_back(failure);
      }
    }
    return failures;
  }

  std::string folder() const { return folder_.file("spill"); }
  const SpillStore& store() const { return server_.store(); }
  std::mt19937_64& random() { return random_; }

 private:
  static Values values_of(const Block& block) {
    return {block.data(), block.data() + block.elements()};
  }

  Message about(MessageKind kind, std::uint32_t array, std::uint64_t number) {
    Message message;
    message.kind = kind;
    message.to = kServer;
    message.array = array;
    message.generation = generations_[array];
    message.number = number;
    message.epoch = ++epoch_ / 10;
    return message;
  }

  // A block on its way to a worker does not change.
  void release_one() {
    EXPECT_EQ(values_of(*held_.front().first), held_.front().second);
    held_.pop_front();
  }

  void handle(const Message& message) {
    while (!server_.ready_for(message)) {
      ASSERT_FALSE(held_.empty()) << "a server waits for nothing";
      release_one();
    }
    answers_.last = {};
    server_.announce(message);
    server_.receive(message);
    if (memory_bytes_ != 0) {
      EXPECT_LE(server_.store().peak_bytes(), memory_bytes_);
    }
  }

  std::string answer_to(const Message& message) {
    handle(message);
    if (answers_.last.kind == MessageKind::failure) return answers_.last.text;
    EXPECT_EQ(answers_.last.kind, MessageKind::done);
    return "";
  }

  std::mt19937_64 random_;
  test::TemporaryFolder folder_;
  const std::uint64_t memory_bytes_;
  Answers answers_;
  BlockServer server_;
  BlockPool pool_;
  std::array<Content, kArrays> present_;
  std::array<std::uint32_t, kArrays> generations_{};
  std::vector<std::pair<std::string, Content>> saved_;
  std::deque<std::pair<ConstBlockPtr, Values>> held_;
  std::uint64_t epoch_ = 0;
};

std::uint64_t largest_block() {
  std::uint64_t bytes = 0;
  for (std::uint64_t number = 0; number < kBlocks; ++number) {
    bytes = std::max(bytes, static_cast<std::uint64_t>(shape_of(number).elements()) * 8);
  }
  return bytes;
}

TEST(Server, ATenthOfTheMemoryGivesTheSameResults) {
  const std::uint64_t seed = test::test_seed();
  for (std::uint64_t number = seed; number < seed + 8; ++number) {
    History history(number, bytes_of_all() / 10);
    for (int step = 0; step < 3000; ++step) ASSERT_EQ(history.step(), "") << "seed " << number;
    EXPECT_EQ(history.get_all(), std::vector<std::string>()) << "seed " << number;
    EXPECT_GT(history.store().traffic().written_bytes, bytes_of_all());
    EXPECT_GT(history.store().traffic().read_bytes, bytes_of_all());
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Server, OneBlockOfMemoryIsEnough) {
  const std::uint64_t seed = test::test_seed();
  History history(seed, largest_block());
  for (int step = 0; step < 3000; ++step) ASSERT_EQ(history.step(), "");
  EXPECT_EQ(history.get_all(), std::vector<std::string>());
}

// Answers that are on their way keep the block as it was, and servers without a limit lend many.
TEST(Server, NoLimitGivesTheSameResults) {
  const std::uint64_t seed = test::test_seed();
  for (std::uint64_t number = seed; number < seed + 4; ++number) {
    History history(number, 0);
    for (int step = 0; step < 3000; ++step) ASSERT_EQ(history.step(), "") << "seed " << number;
    EXPECT_EQ(history.get_all(), std::vector<std::string>()) << "seed " << number;
    EXPECT_EQ(history.store().traffic().written_bytes, 0U);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Server, ABlockThatIsLargerThanTheMemoryIsAnError) {
  History history(test::test_seed(), largest_block() - 8);
  const std::vector<std::string> failures = history.put_all();
  ASSERT_FALSE(failures.empty());
  for (const std::string& failure : failures) EXPECT_TRUE(failure.starts_with("R10")) << failure;
}

TEST(Server, LeavesNothingInTheFolder) {
  const std::uint64_t seed = test::test_seed();
  std::string folder;
  {
    History history(seed, bytes_of_all() / 10);
    folder = history.folder();
    EXPECT_FALSE(std::filesystem::exists(folder));
    history.put_all();
    EXPECT_EQ(testing::spill_files(folder).size(), kArrays);
    EXPECT_TRUE(std::filesystem::is_empty(folder));
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_TRUE(testing::spill_files(folder).empty());
}

void expect_disk_errors(const std::vector<std::string>& failures, const std::string& folder,
                        const std::string& reason) {
  for (const std::string& failure : failures) {
    EXPECT_TRUE(failure.starts_with("R11 " + folder + "/server1-array")) << failure;
    EXPECT_NE(failure.find(reason), std::string::npos) << failure;
    EXPECT_NE(failure.find("block number "), std::string::npos) << failure;
  }
}

// get() has compared each block that was handed out.
TEST(Server, DamagedBlocksAreNotHandedOut) {
  const std::uint64_t seed = test::test_seed();
  std::size_t found = 0;
  for (std::uint64_t number = seed; number < seed + 30; ++number) {
    History history(number, bytes_of_all() / 10);
    history.put_all();
    for (const int file : testing::spill_files(history.folder())) {
      testing::flip_bit(file, history.random());
    }
    const std::vector<std::string> failures = history.get_all();
    expect_disk_errors(failures, history.folder(), "its checksum is wrong");
    EXPECT_LE(failures.size(), kArrays);
    found += failures.size();
  }
  EXPECT_GT(found, 30U);  // a few of the 90 bits lie between blocks
}

TEST(Server, AShortFileIsAnError) {
  History history(test::test_seed(), bytes_of_all() / 10);
  history.put_all();
  for (const int file : testing::spill_files(history.folder())) ASSERT_EQ(::ftruncate(file, 0), 0);
  const std::vector<std::string> failures = history.get_all();
  EXPECT_GT(failures.size(), kArrays * kBlocks / 2);
  // Later blocks that are written leave zeros in front of them.
  expect_disk_errors({failures.front()}, history.folder(), "the file is shorter than it was");
  expect_disk_errors(failures, history.folder(), "");
}

TEST(Server, ABrokenDiskIsAnError) {
  History history(test::test_seed(), bytes_of_all() / 10);
  history.put_all();
  for (const int file : testing::spill_files(history.folder())) testing::break_file(file);
  std::vector<std::string> failures = history.get_all();
  EXPECT_GT(failures.size(), kArrays * kBlocks / 2);
  expect_disk_errors(failures, history.folder(), "Input/output error");
  failures = history.put_all();
  EXPECT_FALSE(failures.empty());
  expect_disk_errors(failures, history.folder(), "Input/output error");
  const std::string failure = history.save(0);
  EXPECT_TRUE(failure.starts_with("R11")) << failure;
}

TEST(Server, AFullDiskIsAnErrorAndBlocksStay) {
  History history(test::test_seed(), bytes_of_all() / 10);
  std::vector<std::string> failures;
  {
    const testing::FileSizeLimit limit(bytes_of_all() / 10);
    failures = history.put_all();
  }
  EXPECT_FALSE(failures.empty());
  expect_disk_errors(failures, history.folder(), "File too large");
  EXPECT_EQ(history.get_all(), std::vector<std::string>());
}

TEST(Server, AFolderThatCannotBeMadeIsAnError) {
  test::TemporaryFolder folder;
  std::ofstream(folder.file("spill")) << "a file";
  Answers answers;
  BlockServer server({kServer, largest_block(), false, folder.file("spill")}, answers);
  BlockPool pool;
  for (std::uint64_t number = 0; number < 8; ++number) {
    Message message;
    message.kind = MessageKind::put;
    message.number = number;
    const BlockPtr block = *pool.allocate(shape_of(0));
    std::fill_n(block->data(), block->elements(), 1.0);
    message.block = block;
    server.receive(message);
  }
  EXPECT_EQ(answers.last.kind, MessageKind::failure);
  EXPECT_TRUE(answers.last.text.starts_with("R11 " + folder.file("spill") + ": cannot make"))
      << answers.last.text;
}

}  // namespace
}  // namespace ob::sial
