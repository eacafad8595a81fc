#include "daemon/session/command_table.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

#include "daemon/session/compute_commands.hpp"
#include "daemon/session/grant_commands.hpp"
#include "daemon/session/kernel_commands.hpp"
#include "daemon/session/object_commands.hpp"
#include "daemon/session/peer_commands.hpp"
#include "daemon/session/transfer_commands.hpp"

namespace ob::daemon {
namespace {

using wire::Opcode;

constexpr Command on_connection(Opcode opcode, Command::ConnectionHandler handler) {
  return {opcode, HandledBy::connection, handler, nullptr, OnFailure::skip, false};
}

constexpr Command on_queue(Opcode opcode, Command::QueueHandler handler,
                           OnFailure on_failure = OnFailure::skip) {
  return {opcode, HandledBy::queue, nullptr, handler, on_failure, false};
}

constexpr Command on_device(Opcode opcode, Command::QueueHandler handler) {
  return {opcode, HandledBy::queue, nullptr, handler, OnFailure::skip, true};
}

constexpr std::array kCommands = {
    on_connection(Opcode::ping, on_ping),
    on_connection(Opcode::create_queue, on_create_queue),
    on_connection(Opcode::destroy_queue, on_destroy_queue),
    on_connection(Opcode::set_accuracy, on_set_accuracy),
    on_connection(Opcode::allocate, on_allocate),
    on_connection(Opcode::free, on_free),
    on_connection(Opcode::locate, on_locate),
    on_connection(Opcode::make_plan, on_make_plan),
    on_connection(Opcode::destroy_plan, on_destroy_plan),
    on_connection(Opcode::load_module, on_load_module),
    on_connection(Opcode::unload_module, on_unload_module),
    on_connection(Opcode::release, on_release),
    on_connection(Opcode::create_grant, on_create_grant),
    on_connection(Opcode::revoke_grant, on_revoke_grant),
    on_connection(Opcode::open_mailbox, on_open_mailbox),
    on_connection(Opcode::close_mailbox, on_close_mailbox),
    on_connection(Opcode::connect_peer, on_connect_peer),
    on_connection(Opcode::disconnect_peer, on_disconnect_peer),
    on_queue(Opcode::write, on_write),
    on_queue(Opcode::read, on_read, OnFailure::report),
    on_queue(Opcode::digest, on_digest, OnFailure::report),
    on_queue(Opcode::synchronize, on_synchronize, OnFailure::report),
    on_queue(Opcode::mark, on_mark, OnFailure::report),
    on_queue(Opcode::receive, on_receive, OnFailure::report),
    // The other end must learn that a message which cannot be sent is missing.
    on_queue(Opcode::send, on_send, OnFailure::run),
    // The transfer that it is about has ended with that failure.
    on_queue(Opcode::record_transfer, on_record_transfer, OnFailure::run),
    on_device(Opcode::copy, on_copy),
    on_device(Opcode::fill, on_fill),
    on_device(Opcode::call, on_call),
    on_device(Opcode::execute_plan, on_execute_plan),
    on_device(Opcode::launch, on_launch),
    on_device(Opcode::record, on_record),
    on_device(Opcode::wait, on_wait),
    on_device(Opcode::hold, on_hold),
    on_device(Opcode::await_grant, on_await_grant),
    on_device(Opcode::put, on_put),
    on_device(Opcode::get, on_get),
};

constexpr std::size_t index_of(Opcode opcode) { return static_cast<std::size_t>(opcode); }

constexpr std::size_t kIndexes = [] {
  std::size_t indexes = 0;
  for (const Command& command : kCommands) {
    if (index_of(command.opcode) >= indexes) indexes = index_of(command.opcode) + 1;
  }
  return indexes;
}();

// The rows by opcode. A row without a handler belongs to an opcode that is not a command.
constexpr std::array<Command, kIndexes> kByOpcode = [] {
  std::array<Command, kIndexes> rows{};
  for (const Command& command : kCommands) rows[index_of(command.opcode)] = command;
  return rows;
}();

constexpr bool has_handler(const Command& command) {
  return command.handled_by != HandledBy::nobody;
}

// Every command of the wire's table has a row that agrees with its facts, and no other opcode has
// one.
constexpr bool agrees_with_wire(Opcode opcode) {
  const wire::OpcodeFacts& facts = wire::facts_of(opcode);
  const Command row = index_of(opcode) < kIndexes ? kByOpcode[index_of(opcode)] : Command{};
  if (!facts.is_command() || opcode == Opcode::goodbye) return !has_handler(row);
  const bool executes = facts.queue == wire::QueueUse::executes;
  return row.handled_by == (executes ? HandledBy::queue : HandledBy::connection);
}
static_assert(std::all_of(wire::kOpcodes.begin(), wire::kOpcodes.end(),
                          [](const auto& facts) { return agrees_with_wire(facts.opcode); }));
static_assert(std::all_of(kCommands.begin(), kCommands.end(), [](const Command& command) {
  return wire::facts_of(command.opcode).is_command();
}));
static_assert(std::count_if(kByOpcode.begin(), kByOpcode.end(), has_handler) ==
                  std::ssize(kCommands),
              "each opcode has one row");

}  // namespace

const Command* find_command(Opcode opcode) noexcept {
  if (index_of(opcode) >= kIndexes) return nullptr;
  const Command& command = kByOpcode[index_of(opcode)];
  return has_handler(command) ? &command : nullptr;
}

}  // namespace ob::daemon
