#pragma once
// A daemon that performs a correct handshake and then runs a function of the test.

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "support/raw_client.hpp"
#include "wire/byte_swap.hpp"

namespace ob::test {

class StubServer {
 public:
  /// `serve` gets the stream after the handshake.
  explicit StubServer(std::function<void(transport::Stream&)> serve,
                      std::uint8_t big_endian = wire::kBigEndian)
      : listener_(require(transport::listen("127.0.0.1:0"))),
        serve_(std::move(serve)),
        big_endian_(big_endian) {
    thread_ = std::thread([this] { run(); });
  }
  ~StubServer() {
    over_ = true;
    listener_->close();
    thread_.join();
  }
  std::string address() const { return listener_->address(); }
  bool over() const { return over_; }

 private:
  template <class Message>
  static void say(transport::Stream& stream, wire::Opcode opcode, const Message& message) {
    wire::Body body;
    wire::encode(message, body);
    wire::Header header;
    header.opcode = opcode;
    header.body_bytes = static_cast<std::uint32_t>(body.bytes().size());
    std::array<std::byte, wire::kHeaderBytes> bytes;
    wire::encode_header(header, bytes);
    const iovec out[] = {{bytes.data(), bytes.size()},
                         {const_cast<std::byte*>(body.bytes().data()), body.bytes().size()}};
    (void)stream.try_send(out);
  }
  void run() {
    auto stream = listener_->accept(RawClient::deadline());
    if (!stream.ok()) return;
    std::array<std::byte, 4096> hello;
    const iovec in{hello.data(), hello.size()};
    (void)(*stream)->wait(true, false, RawClient::deadline());
    (void)(*stream)->try_receive({&in, 1});
    wire::Welcome welcome;
    welcome.big_endian = big_endian_;
    welcome.memory_bytes = 1 << 28;
    welcome.backend = "stub";
    say(**stream, wire::Opcode::welcome, welcome);
    say(**stream, wire::Opcode::facts, wire::Facts());
    serve_(**stream);
    while (!over_) std::this_thread::yield();
  }

  std::unique_ptr<transport::Listener> listener_;
  std::function<void(transport::Stream&)> serve_;
  std::uint8_t big_endian_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace ob::test
