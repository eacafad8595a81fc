#include "daemon/server/stripe_group.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "daemon/io/token.hpp"
#include "wire/codec.hpp"

namespace ob::daemon {
namespace {

using transport::Clock;

// A group that waits for the other streams checks the first one at this interval.
constexpr std::chrono::milliseconds kStripePollInterval{50};

// A new stream has room for the message.
Status send_joined(transport::Stream& stream) {
  wire::Header header;
  header.opcode = wire::Opcode::joined;
  std::array<std::byte, wire::kHeaderBytes> bytes;
  wire::encode_header(header, bytes);
  const iovec part{bytes.data(), bytes.size()};
  OB_ASSIGN_OR_RETURN(const std::size_t sent, stream.try_send({&part, 1}));
  return sent == bytes.size() ? Status()
                              : Status(Code::connection_lost, "a joined stream takes no bytes");
}

// The first stream receives nothing: the client waits for an answer, or leaves.
Status check_silent(transport::Stream& first) {
  std::byte byte{};
  const iovec part{&byte, 1};
  OB_ASSIGN_OR_RETURN(const std::size_t received, first.try_receive({&part, 1}));
  if (received == 0) return {};
  return {Code::protocol_error, "client went on before all its streams had joined"};
}

}  // namespace

StripeGroup::StripeGroup(const StripingConfig& config, const wire::Stripes& terms)
    : join_timeout_(config.join_timeout),
      terms_(terms),
      streams_(terms.extra_streams),
      missing_(terms.extra_streams) {}

Status StripeGroup::join(std::uint8_t index, transport::StripedStream& from) {
  const std::lock_guard lock(mutex_);
  if (closed_) return {Code::denied, "the connection waits for streams no more"};
  if (index == 0 || index > streams_.size()) {
    return {Code::invalid_argument, "stream " + std::to_string(index) + " was not granted (1 to " +
                                        std::to_string(streams_.size()) + " were)"};
  }
  auto& place = streams_[index - 1];
  if (place) return {Code::denied, "stream " + std::to_string(index) + " has joined already"};
  place = from.release();
  if (--missing_ == 0) changed_.notify_one();
  return {};
}

Status StripeGroup::wait_for_all(transport::Stream& first) {
  const auto deadline = Clock::now() + join_timeout_;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kStripePollInterval, [&] { return missing_ == 0; })) {
    lock.unlock();
    OB_RETURN_IF_ERROR(check_silent(first));
    lock.lock();
    if (Clock::now() >= deadline) {
      return {Code::deadline_exceeded, std::to_string(missing_) + " of " +
                                           std::to_string(streams_.size()) +
                                           " further streams did not join within " +
                                           std::to_string(join_timeout_.count()) + " ms"};
    }
  }
  return {};
}

Result<std::vector<std::unique_ptr<transport::Stream>>> StripeGroup::gather(
    transport::Stream& first) {
  const Status status = wait_for_all(first);
  std::vector<std::unique_ptr<transport::Stream>> streams;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    streams = std::exchange(streams_, {});
  }
  OB_RETURN_IF_ERROR(status);
  for (const auto& stream : streams) OB_RETURN_IF_ERROR(send_joined(*stream));
  return streams;
}

Result<std::shared_ptr<StripeGroup>> StripeGroups::open(std::uint8_t extra_streams) {
  constexpr unsigned kMost = transport::StripedStream::kMaxStreams;
  const unsigned granted =
      std::min<unsigned>(extra_streams, std::clamp(config_.max_streams, 1U, kMost) - 1);
  if (granted == 0) return std::shared_ptr<StripeGroup>();
  OB_ASSIGN_OR_RETURN(const wire::Token access_key, new_token());
  const wire::Stripes terms{static_cast<std::uint8_t>(granted), config_.block_bytes, access_key};
  auto group = std::make_shared<StripeGroup>(config_, terms);
  const std::lock_guard lock(mutex_);
  std::erase_if(groups_, [](const auto& known) { return known.expired(); });
  groups_.push_back(group);
  return group;
}

Status StripeGroups::join(const wire::JoinStream& message, transport::StripedStream& from) {
  std::shared_ptr<StripeGroup> found;
  std::unique_lock lock(mutex_);
  for (const auto& known : groups_) {
    auto group = known.lock();
    if (group && same(group->terms().access_key, message.access_key)) found = std::move(group);
  }
  lock.unlock();
  if (!found)
    return {Code::denied, "no connection waits for this stream (wrong or used access key)"};
  return found->join(message.index, from);
}

}  // namespace ob::daemon
