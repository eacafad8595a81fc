// Every opcode number, known or not, has its own handler or is refused.

#include "daemon/session/command_table.hpp"

#include <set>

#include "support/raw_client.hpp"

namespace ob::test {
namespace {

using daemon::Command;
using daemon::find_command;
using wire::Opcode;

constexpr unsigned kNumbers = 1 << 16;

TEST(CommandTable, FindsARowForEachCommandOfAClientAndForNoOtherNumber) {
  for (unsigned number = 0; number < kNumbers; ++number) {
    const auto opcode = static_cast<Opcode>(number);
    const bool expected = wire::facts_of(opcode).is_command() && opcode != Opcode::goodbye;
    const Command* const row = find_command(opcode);
    ASSERT_EQ(row != nullptr, expected) << number;
    if (row == nullptr) continue;
    EXPECT_EQ(row->opcode, opcode) << number;
    EXPECT_NE(row->on_connection != nullptr, row->on_queue != nullptr) << number;
    EXPECT_EQ(row->on_queue != nullptr, wire::uses_credit(opcode)) << number;
  }
}

TEST(CommandTable, NoTwoRowsShareAHandler) {
  std::set<Command::ConnectionHandler> on_connection;
  std::set<Command::QueueHandler> on_queue;
  for (unsigned number = 0; number < kNumbers; ++number) {
    const Command* const row = find_command(static_cast<Opcode>(number));
    if (row == nullptr) continue;
    if (row->on_connection != nullptr) {
      EXPECT_TRUE(on_connection.insert(row->on_connection).second) << number;
    } else {
      EXPECT_TRUE(on_queue.insert(row->on_queue).second) << number;
    }
  }
}

// The numbers next to and beyond those of the protocol.
TEST(CommandTable, ADaemonCutsOffAClientThatSendsAnythingElse) {
  const InProcessDaemon daemon(Transport::tcp);
  std::set<unsigned> numbers = {255, 256, 1023, 4096, 0x7FFF, 0x8000, kNumbers - 1};
  for (unsigned number = 0; number < 100; ++number) numbers.insert(number);
  for (const unsigned number : numbers) {
    const auto opcode = static_cast<Opcode>(number);
    if (find_command(opcode) != nullptr || opcode == Opcode::goodbye) continue;
    SCOPED_TRACE("opcode " + std::to_string(number));
    RawClient client(daemon.address());
    client.shake_hands();
    const Bytes body(wire::facts_of(opcode).has_body() ? 8 : 0);
    client.send({.opcode = opcode, .queue = QueueId{1}, .sequence = 1}, body);
    const Received failed = client.receive();
    ASSERT_TRUE(failed.end.ok()) << failed.end.message();
    ASSERT_EQ(failed.opcode(), Opcode::failed);
    EXPECT_EQ(failed.as<wire::Outcome>().code, Code::protocol_error);
  }
}

}  // namespace
}  // namespace ob::test
