#include "bench/conversation.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace ob::bench {
namespace {

enum class Order : std::uint64_t { stream_to_peer, stream_from_peer, ping_pong };

struct Command {
  Order order{};
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

[[noreturn]] void give_up(const char* why) {
  std::fprintf(stderr, "benchmark stopped (%s)\n", why);
  std::abort();
}

bool obey(Channel& channel, const Command& command, std::vector<std::byte>& buffer) {
  const std::size_t size_bytes = command.bytes;
  for (std::uint64_t i = 0; i < command.count; ++i) {
    const bool receives = command.order != Order::stream_from_peer;
    const bool sends = command.order != Order::stream_to_peer;
    if (receives && !channel.receive(buffer.data(), size_bytes)) return false;
    if (sends && !channel.send(buffer.data(), size_bytes)) return false;
  }
  const std::byte arrived{1};
  return command.order != Order::stream_to_peer || channel.send(&arrived, 1);
}

void serve(Channel& channel, std::vector<std::byte>& buffer) {
  Command command;
  while (channel.receive(reinterpret_cast<std::byte*>(&command), sizeof command)) {
    if (!obey(channel, command, buffer)) return;
  }
}

}  // namespace

Conversation::Conversation(std::size_t largest_bytes, const Connect& there, const Connect& here) {
  std::fflush(stdout);  // otherwise the child prints the buffer again
  child_ = ::fork();
  if (child_ < 0) give_up("cannot start a process");
  buffer_.assign(largest_bytes, std::byte{1});  // touches after the fork, so no page is shared
  if (child_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (auto channel = there(); channel != nullptr) serve(*channel, buffer_);
    ::_exit(0);
  }
  channel_ = here();
  if (channel_ == nullptr) give_up("no connection");
}

Conversation::~Conversation() {
  channel_.reset();
  ::waitpid(child_, nullptr, 0);
}

double Conversation::stream(std::size_t message_bytes, Direction direction,
                            std::uint64_t messages) {
  const bool away = direction == Direction::to_peer;
  const Command command{away ? Order::stream_to_peer : Order::stream_from_peer, message_bytes,
                        messages};
  const auto start = std::chrono::steady_clock::now();
  bool ok = channel_->send(reinterpret_cast<const std::byte*>(&command), sizeof command);
  for (std::uint64_t i = 0; ok && i < messages; ++i) {
    ok = away ? channel_->send(buffer_.data(), message_bytes)
              : channel_->receive(buffer_.data(), message_bytes);
  }
  std::byte arrived{};
  if (ok && away) ok = channel_->receive(&arrived, 1);
  if (!ok) give_up("the connection broke");
  return static_cast<double>(message_bytes) * static_cast<double>(messages) / seconds_since(start) *
         1e-9;
}

double Conversation::ping_pong(std::size_t message_bytes, std::uint64_t rounds) {
  const Command command{Order::ping_pong, message_bytes, rounds};
  bool ok = channel_->send(reinterpret_cast<const std::byte*>(&command), sizeof command);
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; ok && i < rounds; ++i) {
    ok = channel_->send(buffer_.data(), message_bytes) &&
         channel_->receive(buffer_.data(), message_bytes);
  }
  if (!ok) give_up("the connection broke");
  return seconds_since(start) / static_cast<double>(rounds) * 1e6;
}

std::uint64_t messages_for(std::size_t message_bytes) noexcept {
  return std::clamp<std::uint64_t>((std::uint64_t{256} << 20) / message_bytes, 1, 20'000);
}

std::uint64_t rounds_for(std::size_t message_bytes) noexcept {
  return std::clamp<std::uint64_t>((std::uint64_t{64} << 20) / message_bytes, 4, 5'000);
}

}  // namespace ob::bench
