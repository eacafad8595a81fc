#include "client/join_streams.hpp"

#include "session/join.hpp"
#include "wire/codec.hpp"

namespace ob::client {
namespace {

using Streams = std::vector<std::unique_ptr<transport::Stream>>;

}  // namespace

Result<Streams> join_streams(const std::string& address, const wire::Stripes& terms,
                             transport::Deadline deadline) {
  Streams streams;
  for (std::uint8_t index = 1; index <= terms.extra_streams; ++index) {
    OB_ASSIGN_OR_RETURN(auto stream, transport::connect(address, deadline));
    wire::Body body;
    wire::encode(wire::JoinStream{wire::kVersion, index, terms.access_key, ""}, body);
    OB_RETURN_IF_ERROR(session::ask_to_join(*stream, wire::Opcode::join_stream, body.bytes()));
    streams.push_back(std::move(stream));
  }
  for (const auto& stream : streams) OB_RETURN_IF_ERROR(session::take_joined(*stream, deadline));
  return streams;
}

}  // namespace ob::client
