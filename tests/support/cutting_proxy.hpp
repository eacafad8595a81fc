#pragma once
// A program between the two ends of TCP connections, which cuts them at a chosen byte.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <list>
#include <string>
#include <thread>

#include "base/fd.hpp"

namespace ob::test {

/// Forwards connections to a port of this machine. The first connection that begins after
/// cut_after() ends, on both sides, when it has carried so many bytes to that port.
/// Threads: any
class CuttingProxy {
 public:
  explicit CuttingProxy(const std::string& address)
      : port_(
            static_cast<std::uint16_t>(std::atoi(address.substr(address.rfind(':') + 1).c_str()))),
        listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own = loopback(0);
    socklen_t size = sizeof own;
    if (::bind(listener_.get(), as_address(own), size) != 0 || ::listen(listener_.get(), 64) != 0 ||
        ::getsockname(listener_.get(), as_address(own), &size) != 0) {
      std::abort();
    }
    address_ = "127.0.0.1:" + std::to_string(ntohs(own.sin_port));
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~CuttingProxy() {
    closing_ = true;
    acceptor_.join();
    for (std::thread& pump : pumps_) pump.join();
  }
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  const std::string& address() const { return address_; }
  void cut_after(std::uint64_t bytes) { cut_after_ = bytes; }
  std::uint64_t cut() const { return cut_; }

 private:
  static constexpr std::uint64_t kNever = UINT64_MAX;

  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
  }
  static sockaddr* as_address(sockaddr_in& address) {
    return reinterpret_cast<sockaddr*>(&address);
  }

  void accept_all() {
    while (!closing_) {
      pollfd waiting{listener_.get(), POLLIN, 0};
      if (::poll(&waiting, 1, 10) <= 0) continue;
      Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      Fd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_in target = loopback(port_);
      if (!client || ::connect(server.get(), as_address(target), sizeof target) != 0) continue;
      const std::uint64_t limit = cut_after_.exchange(kNever);
      pumps_.emplace_back([this, limit, from = std::move(client), to = std::move(server)] {
        pump(from.get(), to.get(), limit);
      });
    }
  }

  void pump(int client, int server, std::uint64_t limit) {
    std::array<char, 4096> bytes{};
    std::uint64_t carried = 0;
    while (!closing_) {
      std::array<pollfd, 2> ends{{{client, POLLIN, 0}, {server, POLLIN, 0}}};
      if (::poll(ends.data(), ends.size(), 10) <= 0) continue;
      for (const bool forth : {true, false}) {
        if (ends[forth ? 0 : 1].revents == 0) continue;
        const std::size_t most =
            forth ? std::min<std::uint64_t>(bytes.size(), limit - carried) : bytes.size();
        const ssize_t got = ::recv(forth ? client : server, bytes.data(), most, 0);
        if (got <= 0 || !send_all(forth ? server : client, bytes.data(), got)) return;
        if (forth) carried += static_cast<std::uint64_t>(got);
      }
      if (carried < limit) continue;
      ++cut_;
      return;
    }
  }
  static bool send_all(int to, const char* bytes, ssize_t count) {
    while (count > 0) {
      const ssize_t sent = ::send(to, bytes, static_cast<std::size_t>(count), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes += sent;
      count -= sent;
    }
    return true;
  }

  const std::uint16_t port_;
  const Fd listener_;
  std::string address_;
  std::atomic<bool> closing_{false};
  std::atomic<std::uint64_t> cut_after_{kNever};
  std::atomic<std::uint64_t> cut_{0};
  std::list<std::thread> pumps_;
  std::thread acceptor_;
};

}  // namespace ob::test
