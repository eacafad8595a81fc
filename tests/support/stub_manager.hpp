#pragma once
// A server that answers HTTP requests as a test says.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "transport/stream.hpp"

namespace ob::test {

inline std::string http_response(const std::string& status, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\ncontent-length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

/// Serves one connection after the other.
class StubManager {
 public:
  /// Gets a request's header, and what has come of its body. Returns the bytes of the answer;
  /// nothing: the connection is closed.
  using Answer = std::function<std::optional<std::string>(const std::string& request)>;

  explicit StubManager(Answer answer) : answer_(std::move(answer)) {
    auto listener = transport::listen("127.0.0.1:0");
    EXPECT_TRUE(listener.ok());
    listener_ = std::move(*listener);
    thread_ = std::thread([this] { run(); });
  }
  ~StubManager() {
    over_ = true;
    listener_->close();
    thread_.join();
  }
  StubManager(const StubManager&) = delete;
  StubManager& operator=(const StubManager&) = delete;

  std::string address() const { return listener_->address(); }
  std::string url() const { return "http://" + address(); }
  int connections() const { return connections_; }
  int requests() const { return requests_; }

  static transport::Deadline patience() {
    return transport::Clock::now() + std::chrono::seconds(20);
  }

 private:
  void run() {
    while (!over_) {
      auto stream = listener_->accept(patience());
      if (!stream.ok()) continue;
      ++connections_;
      while (const auto request = receive(**stream)) {
        ++requests_;
        const auto answer = answer_(*request);
        if (!answer) break;
        const iovec part{const_cast<char*>(answer->data()), answer->size()};
        (void)(*stream)->try_send({&part, 1});
      }
    }
  }
  std::optional<std::string> receive(transport::Stream& stream) const {
    std::string request;
    char bytes[4096];
    const iovec part{bytes, sizeof bytes};
    while (request.find("\r\n\r\n") == std::string::npos) {
      const auto received = stream.try_receive({&part, 1});
      if (!received.ok() || over_) return std::nullopt;
      request.append(bytes, *received);
      const auto slice = transport::Clock::now() + std::chrono::milliseconds(50);
      if (*received == 0) (void)stream.wait(true, false, slice);
    }
    return request;
  }

  const Answer answer_;
  std::unique_ptr<transport::Listener> listener_;
  std::atomic<int> connections_{0};
  std::atomic<int> requests_{0};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace ob::test
