#include "transport/address.hpp"

#include <gtest/gtest.h>

#include "transport/stream.hpp"

namespace ob::transport {
namespace {

TEST(Address, ReadsHostAndPort) {
  const auto parsed = parse_address("node17.example.org:7770");
  ASSERT_TRUE(parsed.ok());
  const auto& tcp = std::get<TcpAddress>(*parsed);
  EXPECT_EQ(tcp.host, "node17.example.org");
  EXPECT_EQ(tcp.port, "7770");
  EXPECT_EQ(tcp.text(), "node17.example.org:7770");
}

TEST(Address, ReadsBracketedIpv6) {
  const auto parsed = parse_address("[fe80::1%eth0]:65535");
  ASSERT_TRUE(parsed.ok());
  const auto& tcp = std::get<TcpAddress>(*parsed);
  EXPECT_EQ(tcp.host, "fe80::1%eth0");
  EXPECT_EQ(tcp.port, "65535");
  EXPECT_EQ(tcp.text(), "[fe80::1%eth0]:65535");
}

TEST(Address, ReadsUnixPath) {
  const auto parsed = parse_address("unix:relative/with:colon and blank");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(std::get<UnixAddress>(*parsed).path, "relative/with:colon and blank");
  EXPECT_TRUE(parse_address("unix:" + std::string(107, 'x')).ok());  // sun_path without its NUL
}

TEST(Address, ReadsUcxWithHostAndPort) {
  for (const std::string place : {"node17:7770", "[::1]:0"}) {
    const auto parsed = parse_address("ucx:" + place);
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(std::get<UcxAddress>(*parsed).control.text(), place);
    EXPECT_EQ(std::get<UcxAddress>(*parsed).text(), "ucx:" + place);
  }
}

struct Malformed {
  std::string text;
  std::string why;
};

class MalformedAddress : public ::testing::TestWithParam<Malformed> {};

TEST_P(MalformedAddress, IsRefusedWithTheReasonAndTheRightSpelling) {
  const auto [text, why] = GetParam();
  const Status status = parse_address(text).status();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.message().find(why), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("write HOST:PORT, [IPV6]:PORT, unix:PATH or ucx:HOST:PORT"),
            std::string::npos)
      << status.message();
  EXPECT_EQ(connect(text, Clock::now()).status().code(), Code::invalid_argument);
  EXPECT_EQ(listen(text).status().code(), Code::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(
    All, MalformedAddress,
    ::testing::Values(
        Malformed{"", "it is empty"}, Malformed{"localhost", "the port is missing"},
        Malformed{"localhost:", "the port is missing"}, Malformed{":7770", "the host is empty"},
        Malformed{"[]:7770", "the host is empty"}, Malformed{"host:port", "not a number"},
        Malformed{"host:-1", "not a number"}, Malformed{"host:+1", "not a number"},
        Malformed{"host:65536", "not a number from 0 to 65535"},
        Malformed{"host:100000", "not a number from 0 to 65535"},
        Malformed{"host: 80", "not a number"}, Malformed{"::1:80", "goes in brackets"},
        Malformed{"[::1]", "the port is missing"}, Malformed{"[::1]:", "the port is missing"},
        Malformed{"[::1", "the bracket is not closed"},
        Malformed{"[::1]80", "something between ] and the port"},
        Malformed{"ucx:", "the host is empty"}, Malformed{"ucx:7770", "the port is missing"},
        Malformed{"ucx:::1:80", "goes in brackets"}, Malformed{"ucx:host:x", "not a number"},
        Malformed{"tcp://host:80", "TCP has no prefix"}, Malformed{"a:b:80", "more than one colon"},
        Malformed{"tcp:127.0.0.1:80", "TCP has no prefix"}, Malformed{"unix:", "the path is empty"},
        Malformed{"unix:" + std::string(108, 'x'), "the path has 108 bytes"},
        Malformed{std::string("unix:/tmp/a\0b", 13), "NUL"},
        Malformed{std::string("ho\0st:80", 8), "NUL"}));

TEST(Address, SaysWhetherItStaysOnThisMachine) {
  for (const char* here :
       {"127.0.0.1:7770", "127.8.0.1:0", "localhost:7770", "[::1]:7770", "unix:/tmp/s",
        "ucx:127.0.0.1:7770", "ucx:localhost:7770", "ucx:[::1]:7770"}) {
    EXPECT_TRUE(stays_on_this_machine(here)) << here;
  }
  for (const char* elsewhere :
       {"10.0.0.3:7770", "0.0.0.0:7770", "[::]:7770", "127.example.org:7770", "127.0.0.1.nip.io:1",
        "localhost.example.org:7770", "ucx:10.0.0.3:7770", "127.0.0.1", "", "nonsense"}) {
    EXPECT_FALSE(stays_on_this_machine(elsewhere)) << elsewhere;
  }
}

}  // namespace
}  // namespace ob::transport
