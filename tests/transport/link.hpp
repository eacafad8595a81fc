#pragma once
// Two connected streams of any transport, and helpers to move bytes through them.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/temporary_folder.hpp"
#include "transport/stream.hpp"
#include "transport/striped_stream.hpp"

namespace ob::transport::test {

/// The deadline is far longer than these tests wait for; only a hang reaches it.
inline Deadline test_deadline() { return Clock::now() + std::chrono::seconds(60); }
inline Deadline soon() { return Clock::now() + std::chrono::milliseconds(20); }

class Folder : public ob::test::TemporaryFolder {
 public:
  std::string socket_path() const { return file("socket"); }
};

/// The kinds of streams; striped2 and striped3 use two and three tcp connections.
enum class Kind { tcp, shm, ucx, striped2, striped3 };

/// Returns the transports that were built.
inline std::vector<Kind> transports() {
#ifdef OB_WITH_UCX
  return {Kind::tcp, Kind::shm, Kind::ucx};
#else
  return {Kind::tcp, Kind::shm};
#endif
}

/// Returns every kind of stream over these transports.
inline std::vector<Kind> kinds() {
  std::vector<Kind> all = transports();
  all.insert(all.end(), {Kind::striped2, Kind::striped3});
  return all;
}

inline std::size_t streams_of(Kind kind) {
  return kind == Kind::striped2 ? 2 : kind == Kind::striped3 ? 3 : 1;
}

inline std::string name(const ::testing::TestParamInfo<Kind>& info) {
  switch (info.param) {
    case Kind::tcp: return "tcp";
    case Kind::shm: return "shm";
    case Kind::ucx: return "ucx";
    case Kind::striped2: return "striped2";
    case Kind::striped3: return "striped3";
  }
  return "";
}

inline std::string address_in(const Folder& folder, Kind kind) {
  if (kind == Kind::shm) return "unix:" + folder.socket_path();
  return kind == Kind::ucx ? "ucx:127.0.0.1:0" : "127.0.0.1:0";
}

template <class T>
T require(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "unexpected: %s\n", result.status().message().c_str());
    std::abort();
  }
  return std::move(result).value();
}

struct Pair {
  std::unique_ptr<Stream> client;
  std::unique_ptr<Stream> server;
};

inline Pair connect_one(Listener& listener) {
  auto client =
      std::async(std::launch::async, [&] { return connect(listener.address(), test_deadline()); });
  Pair pair;
  pair.server = require(listener.accept(test_deadline()));
  pair.client = require(client.get());
  return pair;
}

struct StripedPair {
  std::unique_ptr<StripedStream> client;
  std::unique_ptr<StripedStream> server;
};

inline StripedPair connect_striped(Listener& listener, std::size_t streams,
                                   std::uint32_t block_bytes) {
  Pair first = connect_one(listener);
  std::vector<std::unique_ptr<Stream>> ours;
  std::vector<std::unique_ptr<Stream>> theirs;
  for (std::size_t i = 1; i < streams; ++i) {
    Pair next = connect_one(listener);
    ours.push_back(std::move(next.client));
    theirs.push_back(std::move(next.server));
  }
  StripedPair pair{std::make_unique<StripedStream>(std::move(first.client)),
                   std::make_unique<StripedStream>(std::move(first.server))};
  pair.client->stripe(std::move(ours), block_bytes);
  pair.server->stripe(std::move(theirs), block_bytes);
  return pair;
}

/// A block size far below the usual one, and no power of two: transfers often reach a block's end.
inline constexpr std::uint32_t kTestBlockBytes = 1021;

inline Pair connect_to(Listener& listener, Kind kind = Kind::tcp) {
  if (streams_of(kind) == 1) return connect_one(listener);
  StripedPair pair = connect_striped(listener, streams_of(kind), kTestBlockBytes);
  return {std::move(pair.client), std::move(pair.server)};
}

/// A listener with one connection.
struct Link {
  explicit Link(Kind kind) : listener(require(listen(address_in(folder, kind)))) {
    Pair pair = connect_to(*listener, kind);
    client = std::move(pair.client);
    server = std::move(pair.server);
  }
  Folder folder;
  std::unique_ptr<Listener> listener;
  std::unique_ptr<Stream> client;
  std::unique_ptr<Stream> server;
};

inline iovec part(std::span<const std::byte> bytes) {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

inline Result<std::size_t> try_send(Stream& stream, std::span<const std::byte> bytes) {
  const iovec one = part(bytes);
  return stream.try_send(std::span(&one, 1));
}

inline Result<std::size_t> try_receive(Stream& stream, std::span<std::byte> bytes) {
  const iovec one = part(bytes);
  return stream.try_receive(std::span(&one, 1));
}

inline Status send_all(Stream& stream, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    OB_ASSIGN_OR_RETURN(const std::size_t sent, try_send(stream, bytes));
    bytes = bytes.subspan(sent);
    if (sent == 0) OB_RETURN_IF_ERROR(stream.wait(false, true, test_deadline()));
  }
  return {};
}

inline Status receive_all(Stream& stream, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    OB_ASSIGN_OR_RETURN(const std::size_t received, try_receive(stream, bytes));
    bytes = bytes.subspan(received);
    if (received == 0) OB_RETURN_IF_ERROR(stream.wait(true, false, test_deadline()));
  }
  return {};
}

inline std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

/// Returns true if a short message arrives in both directions.
inline bool talks(Stream& a, Stream& b) {
  const auto said = bytes_of("are you there?");
  std::vector<std::byte> heard(said.size());
  if (!send_all(a, said).ok() || !receive_all(b, heard).ok() || heard != said) return false;
  heard.assign(said.size(), std::byte{0xA5});
  return send_all(b, said).ok() && receive_all(a, heard).ok() && heard == said;
}

}  // namespace ob::transport::test
