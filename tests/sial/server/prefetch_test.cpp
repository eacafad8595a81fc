// A prefetch is no access to a block; the touch that follows when it is used is one. The oracle is
// a server that gets plain gets in place of the touches.

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "sial/server/server.hpp"

namespace ob::sial {
namespace {

class Recorder final : public Exchange {
 public:
  void send(Message message) override { answers.push_back(std::move(message)); }
  std::vector<Message> answers;
};

constexpr Rank kServer = 9;
constexpr Rank kWorkers = 3;
constexpr std::uint64_t kBlocks = 4;

Message message(MessageKind kind, Rank worker, std::uint64_t number, std::uint64_t epoch) {
  Message made;
  made.kind = kind;
  made.from = worker;
  made.to = kServer;
  made.number = number;
  made.epoch = epoch;
  made.factor = 2;
  made.shape.rank = 1;
  made.shape.extents[0] = 3;
  return made;
}

class PrefetchTest : public testing::Test {
 protected:
  static const Message& answer(BlockServer& server, Recorder& recorder, const Message& sent) {
    recorder.answers.clear();
    server.receive(sent);
    EXPECT_EQ(recorder.answers.size(), 1U);
    return recorder.answers.front();
  }

  Recorder plain_answers_, ahead_answers_;
  BlockServer plain_{{.rank = kServer}, plain_answers_};
  BlockServer ahead_{{.rank = kServer}, ahead_answers_};
};

TEST_F(PrefetchTest, TouchesMeetTheRacesOfGets) {
  const unsigned seed = std::random_device{}();
  RecordProperty("seed", static_cast<int>(seed));
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  int races = 0;
  for (std::uint64_t epoch = 0; epoch < 400; ++epoch) {
    for (int event = 0; event < 8; ++event) {
      const Rank worker = random() % kWorkers;
      const std::uint64_t number = random() % kBlocks;
      if (random() % 2 == 0) {  // somebody's look-ahead, used or not
        const auto fetched = message(MessageKind::prefetch, random() % kWorkers, number, epoch);
        const MessageKind got = answer(ahead_, ahead_answers_, fetched).kind;
        EXPECT_TRUE(got == MessageKind::data || got == MessageKind::absent);
      }
      const MessageKind kinds[] = {MessageKind::get, MessageKind::get, MessageKind::fill,
                                   MessageKind::add};
      const MessageKind kind = kinds[random() % 4];
      const MessageKind used = kind == MessageKind::get ? MessageKind::touch : kind;
      const bool race = answer(plain_, plain_answers_, message(kind, worker, number, epoch)).kind ==
                        MessageKind::failure;
      EXPECT_EQ(answer(ahead_, ahead_answers_, message(used, worker, number, epoch)).kind ==
                    MessageKind::failure,
                race);
      races += race ? 1 : 0;
    }
  }
  EXPECT_GT(races, 0);
}

TEST_F(PrefetchTest, BringsTheBlockAsItIs) {
  EXPECT_EQ(answer(ahead_, ahead_answers_, message(MessageKind::prefetch, 0, 1, 0)).kind,
            MessageKind::absent);
  answer(ahead_, ahead_answers_, message(MessageKind::fill, 1, 1, 0));
  const Message& got = answer(ahead_, ahead_answers_, message(MessageKind::prefetch, 0, 1, 0));
  ASSERT_EQ(got.kind, MessageKind::data);
  EXPECT_TRUE(got.ahead);
  EXPECT_EQ(got.block->data()[2], 2.0);
}

// The sender has not reached the delete of another worker: nothing is wrong unless it uses the
// block.
TEST_F(PrefetchTest, OfAnOlderGenerationFindsNothing) {
  answer(ahead_, ahead_answers_, message(MessageKind::fill, 1, 1, 0));
  Message deletes = message(MessageKind::delete_array, 1, 1, 1);
  deletes.generation = 1;
  answer(ahead_, ahead_answers_, deletes);
  EXPECT_EQ(answer(ahead_, ahead_answers_, message(MessageKind::prefetch, 0, 1, 1)).kind,
            MessageKind::absent);
  EXPECT_EQ(answer(ahead_, ahead_answers_, message(MessageKind::touch, 0, 1, 1)).kind,
            MessageKind::failure);
}

}  // namespace
}  // namespace ob::sial
