// Random messages, of which some wait for the disk or for memory for a while. The oracle says which
// ones keep their order.

#include "sial/server/message_queue.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "support/random.hpp"

namespace ob::sial {
namespace {

using test::uniform;

bool concerns_nothing(MessageKind kind) {
  return kind == MessageKind::next_chunk || kind == MessageKind::ask_credit;
}

bool concerns_all(MessageKind kind) {
  return kind == MessageKind::save || kind == MessageKind::delete_array ||
         kind == MessageKind::restore || kind == MessageKind::end_program ||
         kind == MessageKind::failed;
}

// Blocks whose numbers are in `far` are on disk.
class Disk final : public MessageReadiness {
 public:
  bool ready_for(const Message& /*message*/) const override { return has_memory; }
  bool waits_for_disk(const Message& message) const override {
    return !concerns_all(message.kind) && !concerns_nothing(message.kind) &&
           far.contains(message.number);
  }
  void announce(const Message& message) const override { announced.insert(message.request); }

  bool has_memory = true;
  std::set<std::uint64_t> far;
  mutable std::set<std::uint64_t> announced;
};

Message random_message(std::mt19937_64& random, std::uint64_t request) {
  constexpr MessageKind kBlocks[] = {
      MessageKind::get, MessageKind::put,  MessageKind::touch, MessageKind::accumulate,
      MessageKind::add, MessageKind::fill, MessageKind::scale, MessageKind::prefetch};
  constexpr MessageKind kOthers[] = {MessageKind::save, MessageKind::delete_array,
                                     MessageKind::restore, MessageKind::next_chunk,
                                     MessageKind::ask_credit};
  Message message;
  message.kind =
      uniform(random, 0, 19) == 0 ? kOthers[uniform(random, 0, 4)] : kBlocks[uniform(random, 0, 7)];
  message.request = request;
  message.array = uniform<std::uint32_t>(random, 0, 1);
  message.number = uniform<std::uint64_t>(random, 0, 20);
  return message;
}

TEST(MessageQueue, KeepsTheOrderOfEachBlockAndLosesNothing) {
  std::mt19937_64 random = test::fresh_random();
  std::uint64_t overtaken = 0;
  for (int round = 0; round < 200; ++round) {
    Disk disk;
    MessageQueue queue(disk);
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> last_of_block;
    std::uint64_t pushed = 0, taken = 0, last = 0, last_of_all = 0;
    for (int event = 0; event < 4000 && taken < 300; ++event) {
      if (pushed < 300 && uniform(random, 0, 2) != 0) {
        queue.push(random_message(random, ++pushed));
        continue;
      }
      disk.has_memory = uniform(random, 0, 9) != 0;
      // The disk reads soon enough, so that no message is handled without waiting for it.
      for (int i = 0; i < 3; ++i) disk.far.erase(uniform<std::uint64_t>(random, 0, 20));
      if (uniform(random, 0, 1) == 0) disk.far.insert(uniform<std::uint64_t>(random, 0, 20));
      const auto message = queue.take();
      if (!message) continue;
      ASSERT_TRUE(disk.has_memory);
      ASSERT_FALSE(disk.waits_for_disk(*message));
      ASSERT_TRUE(disk.announced.contains(message->request));
      ++taken;
      overtaken += message->request < last ? 1 : 0;
      last = std::max(last, message->request);
      ASSERT_GT(message->request, concerns_nothing(message->kind) ? 0 : last_of_all);
      if (concerns_nothing(message->kind)) continue;
      if (concerns_all(message->kind)) {
        ASSERT_EQ(taken, message->request);  // all messages before, and none behind
        last_of_all = message->request;
        continue;
      }
      std::uint64_t& before = last_of_block[{message->array, message->number}];
      ASSERT_GT(message->request, before);
      before = message->request;
    }
    disk.has_memory = true;
    disk.far.clear();
    while (queue.take()) ++taken;
    ASSERT_EQ(taken, pushed);
  }
  EXPECT_GT(overtaken, 1000U);
}

TEST(MessageQueue, CountsTheBytesOfMessagesThatAreNotHandled) {
  Disk disk;
  MessageQueue queue(disk);
  BlockPool pool;
  Message message;
  message.kind = MessageKind::put;
  for (message.number = 0; message.number < 5; ++message.number) {
    message.block = *pool.allocate({1, {10}});
    queue.push(message);
  }
  const auto first = queue.take();
  EXPECT_EQ(queue.peak_bytes(), 400U);
  queue.push(message);  // while the first one is handled
  EXPECT_EQ(queue.peak_bytes(), 480U);
  queue.handled(*first);
  queue.push(message);
  EXPECT_EQ(queue.peak_bytes(), 480U);
}

TEST(MessageQueue, ABlockThatNeverComesNearIsWaitedFor) {
  Disk disk;
  disk.far.insert(3);
  MessageQueue queue(disk);
  Message message;
  message.kind = MessageKind::get;
  message.number = 3;
  queue.push(message);
  int looks = 0;
  while (!queue.take()) ASSERT_LT(++looks, 100000);
  EXPECT_GT(looks, 10);
}

}  // namespace
}  // namespace ob::sial
