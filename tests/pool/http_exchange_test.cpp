// HTTP responses: those that are read, those that are refused, however they arrive.

#include "pool/http_exchange.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support/random.hpp"
#include "transport/stream.hpp"

namespace ob::pool {
namespace {

using transport::Clock;

// Feeds the text in pieces of random sizes.
Result<std::optional<HttpResponse>> read(const std::string& text, std::mt19937_64& random,
                                         std::size_t most) {
  HttpResponseReader reader;
  for (std::size_t at = 0; at < text.size();) {
    const auto size = test::uniform<std::size_t>(random, 1, most);
    auto response = reader.take(std::string_view(text).substr(at, size));
    at += size;
    if (!response.ok() || (*response && at >= text.size())) return response;
    if (*response) return Status(Code::protocol_error, "bytes follow it");
  }
  return std::optional<HttpResponse>();
}

TEST(HttpResponseReader, ReadsWholeResponsesHoweverTheyArrive) {
  auto random = test::fresh_random();
  const std::string text =
      "HTTP/1.1 200 OK\r\ndate: now\r\nContent-LENGTH: 7 \r\nconnection: close\r\n\r\n{\"a\":1}";
  for (const std::size_t most : {std::size_t{1}, std::size_t{3}, text.size()}) {
    const auto response = read(text, random, most);
    ASSERT_TRUE(response.ok()) << response.status().message();
    ASSERT_TRUE(response->has_value());
    EXPECT_EQ((*response)->status, 200);
    EXPECT_EQ((*response)->body, "{\"a\":1}");
    EXPECT_TRUE((*response)->closes);
  }
  for (const std::string shorter :
       {"HTTP/1.1 204 \r\n\r\n", "HTTP/1.1 409\r\ncontent-length:0\r\n\r\n"}) {
    const auto response = read(shorter, random, 4);
    ASSERT_TRUE(response.ok() && response->has_value()) << shorter;
    EXPECT_EQ((*response)->body, "");
  }
}

TEST(HttpResponseReader, RefusesWhatItDoesNotRead) {
  const std::string end = "\r\n\r\n";
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  const std::string wrong[] = {
      "SSH-2.0-OpenSSH_9" + end,
      "HTTP/1.0 200 OK\r\ncontent-length: 0" + end,
      "HTTP/2 200 OK\r\ncontent-length: 0" + end,
      "HTTP/1.1 100 Continue" + end,
      "HTTP/1.1 099 x\r\ncontent-length: 0" + end,
      "HTTP/1.1 2000 x\r\ncontent-length: 0" + end,
      "HTTP/1.1 20\r\ncontent-length: 0" + end,
      "HTTP/1.1 -20 x\r\ncontent-length: 0" + end,
      "HTTP/1.1 600 x\r\ncontent-length: 0" + end,
      ok + "date: now" + end,
      ok + "content-length: 1\r\ncontent-length: 1" + end + "1",
      ok + "content-length: -1" + end,
      ok + "content-length: +1" + end + "1",
      ok + "content-length: 1x" + end + "1",
      ok + "content-length: 0x1" + end + "1",
      ok + "content-length: " + end,
      ok + "content-length: 1, 1" + end + "1",
      ok + "content-length: 65537" + end,
      ok + "content-length: 18446744073709551617" + end + "1",
      ok + "transfer-encoding: chunked" + end + "0" + end,
      ok + "content-length: 3\r\nTransfer-Encoding: chunked" + end + "0" + end,
      ok + "content-length : 1" + end + "1",
      ok + " content-length: 1" + end + "1",
      ok + "date: a\r\n b\r\ncontent-length: 1" + end + "1",
      ok + "date: a\nb\r\ncontent-length: 1" + end + "1",
      ok + std::string("date: a\0b\r\ncontent-length: 1", 28) + end + "1",
      ok + ": x\r\ncontent-length: 1" + end + "1",
      ok + "nothing\r\ncontent-length: 1" + end + "1",
      ok + "content-length: 1" + end + "12",
      "HTTP/1.1 204 \r\ncontent-length: 1" + end + "1",
      std::string(kMostHttpBytes + 1, 'x'),
      ok + "x: " + std::string(kMostHttpBytes, 'x') + end,
  };
  auto random = test::fresh_random();
  for (const std::string& text : wrong) {
    for (const std::size_t most : {std::size_t{5}, text.size()}) {
      const auto response = read(text, random, most);
      EXPECT_EQ(response.status().code(), Code::protocol_error) << text.substr(0, 100);
    }
  }
}

TEST(HttpResponseReader, TakesTheLargestResponse) {
  auto random = test::fresh_random();
  const std::string body(kMostHttpBytes, 'b');
  const std::string text =
      "HTTP/1.1 200 OK\r\ncontent-length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  const auto response = read(text, random, 5000);
  ASSERT_TRUE(response.ok() && response->has_value());
  EXPECT_EQ((*response)->body, body);
}

// A server that reads one request, up to its body, and then does what the test says.
class Server {
 public:
  explicit Server(std::function<void(transport::Stream&)> act) : act_(std::move(act)) {
    auto listener = transport::listen("127.0.0.1:0");
    EXPECT_TRUE(listener.ok());
    listener_ = std::move(*listener);
    thread_ = std::thread([this] { run(); });
  }
  ~Server() {
    listener_->close();
    thread_.join();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::unique_ptr<transport::Stream> connect() const {
    auto stream = transport::connect_plainly(listener_->address(), deadline());
    EXPECT_TRUE(stream.ok());
    return std::move(*stream);
  }
  const std::string& heard() {
    listener_->close();
    if (thread_.joinable()) thread_.join();
    thread_ = std::thread([] {});
    return heard_;
  }
  static transport::Deadline deadline() { return Clock::now() + std::chrono::seconds(20); }

 private:
  void run() {
    auto stream = listener_->accept(deadline());
    if (!stream.ok()) return;
    char bytes[4096];
    const iovec part{bytes, sizeof bytes};
    while (heard_.find("\r\n\r\n") == std::string::npos) {
      const auto received = (*stream)->try_receive({&part, 1});
      if (!received.ok()) return;
      heard_.append(bytes, *received);
      if (*received == 0 && !(*stream)->wait(true, false, deadline()).ok()) return;
    }
    act_(**stream);
  }

  const std::function<void(transport::Stream&)> act_;
  std::unique_ptr<transport::Listener> listener_;
  std::string heard_;
  std::thread thread_;
};

void say(transport::Stream& stream, const std::string& text) {
  const iovec part{const_cast<char*>(text.data()), text.size()};
  (void)stream.try_send({&part, 1});
}

TEST(HttpExchange, SendsARequestAndReadsItsResponse) {
  Server server([](transport::Stream& stream) {
    say(stream, "HTTP/1.1 200 OK\r\ncontent-le");
    say(stream, "ngth: 2\r\n\r\nok");
  });
  const auto stream = server.connect();
  const auto response =
      exchange(*stream, {"PUT", "/v1/x?y=1", "localhost:1", "{}"}, Server::deadline());
  ASSERT_TRUE(response.ok()) << response.status().message();
  EXPECT_EQ(response->body, "ok");
  EXPECT_EQ(server.heard(),
            "PUT /v1/x?y=1 HTTP/1.1\r\nhost: localhost:1\r\naccept: application/json\r\n"
            "content-type: application/json\r\ncontent-length: 2\r\n\r\n{}");
}

TEST(HttpExchange, FailsWhereTheServerStops) {
  for (const std::string begun :
       {"", "HTTP/1.1 20", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nha"}) {
    Server server([&](transport::Stream& stream) { say(stream, begun); });
    const auto stream = server.connect();
    const auto response = exchange(*stream, {"GET", "/", "x", ""}, Server::deadline());
    EXPECT_EQ(response.status().code(), Code::connection_lost) << begun;
  }
}

TEST(HttpExchange, EndsAtItsDeadlineWhileBytesTrickle) {
  Server server([](transport::Stream& stream) {
    say(stream, "HTTP/1.1 200 OK\r\n");
    while (!stream.peer_is_gone()) {
      say(stream, "x: y\r\n");
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // slower than the header's limit
    }
  });
  auto stream = server.connect();
  const auto deadline = Clock::now() + std::chrono::milliseconds(300);
  const auto response = exchange(*stream, {"GET", "/", "x", ""}, deadline);
  EXPECT_EQ(response.status().code(), Code::deadline_exceeded);
  stream.reset();
}

TEST(HttpExchange, EndsAHeaderWithoutEnd) {
  Server server([](transport::Stream& stream) {
    say(stream, "HTTP/1.1 200 OK\r\n");
    while (!stream.peer_is_gone()) say(stream, "x: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n");
  });
  auto stream = server.connect();
  const auto response = exchange(*stream, {"GET", "/", "x", ""}, Server::deadline());
  EXPECT_EQ(response.status().code(), Code::protocol_error);
  stream.reset();
}

TEST(HttpExchange, EncodesPathsAndQueries) {
  EXPECT_EQ(percent_encoded("node7-a.b_c~"), "node7-a.b_c~");
  EXPECT_EQ(percent_encoded("a/b c?\xC3\xA9"), "a%2Fb%20c%3F%C3%A9");
}

}  // namespace
}  // namespace ob::pool
