#pragma once
// The real daemon inside the test program, reached over either transport.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/backend.hpp"
#include "backend/null/backend.hpp"
#include "daemon/server/server.hpp"
#include "device/device.hpp"
#include "support/temporary_folder.hpp"

namespace ob::test {

enum class Transport { tcp, shm };

inline std::string name(const testing::TestParamInfo<Transport>& info) {
  return info.param == Transport::tcp ? "tcp" : "shm";
}

template <class T>
T require(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "unexpected: %s\n", result.status().message().c_str());
    std::abort();
  }
  return std::move(result).value();
}

inline std::vector<std::unique_ptr<Device>> one(std::unique_ptr<Device> device) {
  std::vector<std::unique_ptr<Device>> devices;
  devices.push_back(std::move(device));
  return devices;
}

inline std::unique_ptr<Device> null_device(std::uint64_t memory_bytes = 1 << 28,
                                           double rate_gflops = 0) {
  return require(null::create({.memory_bytes = memory_bytes, .rate_gflops = rate_gflops}));
}

class InProcessDaemon {
 public:
  explicit InProcessDaemon(Transport transport,
                           std::vector<std::unique_ptr<Device>> devices = one(null_device()),
                           std::size_t max_connections = 256,
                           const daemon::StripingConfig& striping = {})
      : InProcessDaemon(transport, std::move(devices), [&] {
          daemon::ServerConfig config;
          config.max_connections = max_connections;
          config.striping = striping;
          return config;
        }()) {}
  /// @param config all settings except the address to listen on
  InProcessDaemon(Transport transport, std::vector<std::unique_ptr<Device>> devices,
                  daemon::ServerConfig config) {
    config.listen = {transport == Transport::tcp ? "127.0.0.1:0"
                                                 : "unix:" + folder_.file("socket")};
    server_ = require(daemon::Server::create(std::move(config), std::move(devices)));
    address_ = server_->addresses().front();
  }
  InProcessDaemon(const InProcessDaemon&) = delete;
  InProcessDaemon& operator=(const InProcessDaemon&) = delete;

  const std::string& address() const { return address_; }
  daemon::Server& server() { return *server_; }
  void stop() { server_.reset(); }

 private:
  const TemporaryFolder folder_;
  std::string address_;
  std::unique_ptr<daemon::Server> server_;
};

}  // namespace ob::test
