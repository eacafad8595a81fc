// A daemon with a key: all connections of a device prove who the client is.

#include <array>

#include "api/fixture.hpp"
#include "transport/security.hpp"

namespace ob::test {
namespace {

class ApiKeyTest : public testing::Test {
 protected:
  ApiKeyTest() {
    daemon::ServerConfig config;
    config.security =
        require(transport::load_key(OB_TEST_KEYS "/good", transport::Side::daemon, false));
    daemon =
        std::make_unique<InProcessDaemon>(Transport::tcp, one(null_device()), std::move(config));
    options.struct_bytes = sizeof options;
  }

  std::unique_ptr<InProcessDaemon> daemon;
  ob_device_options options{};
  ob_device device = nullptr;
};

TEST_F(ApiKeyTest, QueuesWorkOverEncryptedConnections) {
  const std::string folder = OB_TEST_KEYS "/good";
  options.key_folder = folder.c_str();
  ASSERT_TRUE(succeeds(ob_device_open(daemon->address().c_str(), &options, &device)));
  std::array<ob_queue, 2> queues{};
  ob_buffer buffer = nullptr;
  ob_event written = nullptr;
  for (ob_queue& queue : queues) ASSERT_TRUE(succeeds(ob_queue_create(device, 0, &queue)));
  const std::vector<double> elements(100000, 2.5);
  std::vector<double> back(elements.size(), -7);
  const std::uint64_t bytes = elements.size() * sizeof(double);
  ASSERT_TRUE(succeeds(ob_buffer_create(device, bytes, 0, &buffer)));
  ASSERT_TRUE(succeeds(ob_event_create(device, 0, &written)));
  ASSERT_TRUE(succeeds(ob_write(queues[0], {buffer, 0}, elements.data(), bytes, 0)));
  ASSERT_TRUE(succeeds(ob_event_record(written, queues[0])));
  ASSERT_TRUE(succeeds(ob_event_hold(written, queues[1])));
  ASSERT_TRUE(succeeds(ob_read(queues[1], back.data(), {buffer, 0}, bytes, OB_WAIT)));
  EXPECT_EQ(back, elements);
  ASSERT_TRUE(succeeds(ob_queue_synchronize(queues[0], OB_FOREVER, nullptr)));
  ASSERT_TRUE(succeeds(ob_device_close(device)));
}

TEST_F(ApiKeyTest, AClientWithoutTheKeyIsDenied) {
  EXPECT_TRUE(
      fails(ob_device_open(daemon->address().c_str(), &options, &device), OB_DENIED, "key"));
  EXPECT_EQ(last_error().origin, OB_FROM_DAEMON);
  const std::string nowhere = "/nonexistent/key";
  options.key_folder = nowhere.c_str();
  EXPECT_NE(ob_device_open(daemon->address().c_str(), &options, &device), OB_OK);
  EXPECT_EQ(device, nullptr);
}

}  // namespace
}  // namespace ob::test
