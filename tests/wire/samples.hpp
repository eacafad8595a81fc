#pragma once
// One value of every message, and its bytes, written by hand from the tables of docs/wire.md.

#include <string_view>

#include "wire/message.hpp"

namespace ob::test {

inline constexpr std::string_view kRegionHex = R"(
  08 07 06 05 04 03 02 01   // offset_bytes
  10 00 00 00 02 08 00 00   // element_bytes, triangle lower, word_bytes, padding
  03 00 00 00 00 00 00 00   // rows
  05 00 00 00 00 00 00 00   // cols
  07 00 00 00 00 00 00 00   // ld
)";
inline const Region kRegion{0x0102030405060708, 16, Triangle::lower, 3, 5, 7, 8};

inline constexpr std::string_view kOtherRegionHex = R"(
  40 00 00 00 00 00 00 00
  08 00 00 00 03 00 00 00   // upper without diagonal, words not said
  00 01 00 00 00 00 00 00
  01 00 00 00 00 00 00 00
  ff ff ff ff ff ff ff ff
)";
inline const Region kOtherRegion{0x40, 8, Triangle::upper_strict, 0x100, 1, UINT64_MAX};

inline constexpr std::string_view kHelloHex = R"(
  01 4d 0a 0b 08 00 01 03   // magic, version, big_endian, extra_streams
  88 77 66 55 44 33 22 11   // join
  ef cd ab 89 67 45 23 01
  02 00 00 00 05 00 00 00   // device, length of client
  61 20 31 32 33 00 00 00   // "a 123", padding
  00 00 00 00 00 00 00 00   // length of identity, padding
  03 00 00 00 00 00 00 00   // flags: holds user data, wants kernels; padding
)";
inline constexpr std::string_view kOlderHelloHex = R"(
  01 4d 0a 0b 06 00 01 03   // version 6 ends behind identity
  88 77 66 55 44 33 22 11
  ef cd ab 89 67 45 23 01
  02 00 00 00 05 00 00 00
  61 20 31 32 33 00 00 00
  00 00 00 00 00 00 00 00
)";
inline constexpr std::string_view kLeasedHelloHex = R"(
  01 4d 0a 0b 08 00 01 00
  00 00 00 00 00 00 00 00   // join: a new session
  00 00 00 00 00 00 00 00
  ff ff ff ff 05 00 00 00   // device: any
  61 20 31 32 33 00 00 00
  05 00 00 00 61 2e 62 2e   // length of identity, the token "a.b.c", padding
  63 00 00 00 00 00 00 00
  00 00 00 00 00 00 00 00   // no flags
)";
inline constexpr std::string_view kFactsHex = R"(
  02 00 00 00 00 00 00 00   // two routine rates, padding
  01 00 00 00 00 00 00 00   // family lu, padding
  00 00 00 00 d0 12 63 41   // flop: 1e7
  00 00 00 00 00 00 04 40   // gflops: 2.5
  e7 03 00 00 00 00 00 00   // family 999, which nobody knows, padding
  00 00 00 00 00 00 f0 3f   // flop: 1
  00 00 00 00 00 d0 5e 40   // gflops: 123.25
)";
inline constexpr std::string_view kFillHex = R"(
  07 00 00 00 00 00 00 80   // buffer
  40 00 00 00 00 00 00 00   // region: offset_bytes
  08 00 00 00 00 04 00 00   // element_bytes, triangle full, word_bytes, padding
  03 00 00 00 00 00 00 00   // rows
  05 00 00 00 00 00 00 00   // cols
  07 00 00 00 00 00 00 00   // ld
  01 02 03 04 05 06 07 08   // element, in the sender's byte order
  00 00 00 00 00 00 00 00
)";
inline constexpr std::string_view kLoadModuleHex = R"(
  07 00 00 00 00 00 00 80   // module
  05 00 00 00 00 00 00 00   // option_bytes, padding
  02 00 00 00 00 00 00 00   // two variants, padding
  01 00 00 00 00 00 00 00   // kind portable, padding
  00 10 00 00 00 00 00 00   // bytes: 4096
  00 00 00 00 00 00 00 00   // length of architecture, padding
  05 00 00 00 00 00 00 00   // kind cubin, padding
  00 00 10 00 00 00 00 00   // bytes: 1 MiB
  05 00 00 00 73 6d 5f 39   // architecture "sm_90", padding
  30 00 00 00 00 00 00 00
)";
inline constexpr std::string_view kLaunchHex = R"(
  07 00 00 00 00 00 00 80   // module
  03 00 00 00 02 00 00 00   // groups: 3 2 1
  01 00 00 00 00 01 00 00   // group_size: 256 1 1
  01 00 00 00 01 00 00 00
  04 00 00 00 61 78 70 79   // length of kernel, "axpy"
  03 00 00 00 00 00 00 00   // three arguments, padding
  01 00 00 00 00 00 00 00   // kind buffer, reserved, bytes
  09 00 00 00 00 00 00 00   // buffer
  40 00 00 00 00 00 00 00   // offset_bytes
  00 08 00 00 00 00 00 00   // extent_bytes
  02 00 00 00 0c 00 00 00   // kind scalar, reserved, bytes: 12
  00 00 00 00 00 00 00 00
  00 00 00 00 00 00 00 00
  00 00 00 00 00 00 00 00
  03 00 00 00 00 04 00 00   // kind local, reserved, bytes: 1024
  00 00 00 00 00 00 00 00
  00 00 00 00 00 00 00 00
  00 00 00 00 00 00 00 00
  02 00 00 00 00 00 00 00   // two words of values, padding
  01 02 03 04 05 06 07 08   // the scalar, in the sender's byte order
  09 0a 0b 0c 00 00 00 00
)";
inline constexpr std::string_view kModuleHex = R"(
  0e 00 00 00 00 00 00 00   // code build_failed, reserved, kernels
  20 00 00 00 02 00 00 00   // log_bytes, length of message
  6e 6f 00 00 00 00 00 00   // "no", padding
)";
inline constexpr std::string_view kReachedHex = R"(
  88 77 66 55 44 33 22 11   // clock_ns
  03 00 00 00 80 00 00 00   // code out_of_memory, reserved, credits
  2a 00 00 00 00 00 00 00   // failed_sequence
  00 ca 9a 3b 00 00 00 00   // compute_ns: 1 s
  40 42 0f 00 00 00 00 00   // plan_ns: 1 ms
  80 84 1e 00 00 00 00 00   // waited_ns: 2 ms
  00 00 00 00 00 00 00 00   // keep_bytes: not said
  0c 00 00 00 64 65 76 69   // message "device full!"
  63 65 20 66 75 6c 6c 21
)";
inline constexpr std::string_view kWelcomeHex = R"(
  01 4d 0a 0b 08 00 00 01   // magic, version, big_endian, host_visible
  01 00 00 00 00 00 00 80   // token
  02 00 00 00 00 00 00 c0
  01 00 00 00 03 00 00 00   // device, devices
  00 00 00 00 04 00 00 00   // memory_bytes: 16 GiB
  00 00 00 00 00 d0 5e 40   // gflops_double: 123.25
  0c 00 00 00 00 00 00 00   // accuracies: fast, emulated
  88 77 66 55 44 33 22 11   // machine
  03 00 00 00 63 70 75 00   // backend "cpu", padding
  04 00 00 00 66 61 73 74   // description "fast"
  03 00 00 00 30 2d 33 00   // processors "0-3", padding
)";
inline constexpr std::string_view kRefusedHex = R"(
  06 00 08 00 02 00 00 00   // code version_mismatch, reserved, version, length of message
  6e 6f 00 00 00 00 00 00   // "no"
)";
inline constexpr std::string_view kFencedHex = R"(
  10 00 08 00 02 00 00 00   // code fenced
  6e 6f 00 00 00 00 00 00
)";
inline constexpr std::string_view kStripesHex = R"(
  03 00 00 00 00 00 04 00   // extra_streams, reserved, block_bytes: 256 KiB
  01 00 00 00 00 00 00 80   // access key
  02 00 00 00 00 00 00 c0
)";
inline constexpr std::string_view kJoinStreamHex = R"(
  01 4d 0a 0b 08 00 03 00   // magic, version, index, reserved
  01 00 00 00 00 00 00 80   // access key
  02 00 00 00 00 00 00 c0
  00 00 00 00 00 00 00 00   // length of identity, padding
)";
inline constexpr std::string_view kMailboxHex = R"(
  00 00 00 00 00 00 00 00   // code ok, padding
  01 00 00 00 00 00 00 80   // access key
  02 00 00 00 00 00 00 c0
)";
inline constexpr std::string_view kConnectPeerHex = R"(
  07 00 00 00 00 00 00 80   // peer
  01 00 00 00 00 00 00 80   // access key
  02 00 00 00 00 00 00 c0
  0d 00 00 00 31 30 2e 30   // length of address, "10.0.0.3:7770", padding
  2e 30 2e 33 3a 37 37 37
  30 00 00 00 00 00 00 00
)";
inline constexpr std::string_view kSendHex = R"(
  07 00 00 00 00 00 00 80   // peer
  11 00 00 00 00 00 00 00   // peer_message
  09 00 00 00 00 00 00 00   // buffer
  08 07 06 05 04 03 02 01   // region: offset_bytes
  10 00 00 00 02 08 00 00   // element_bytes, triangle lower, word_bytes, padding
  03 00 00 00 00 00 00 00   // rows
  05 00 00 00 00 00 00 00   // cols
  07 00 00 00 00 00 00 00   // ld
)";
inline constexpr std::string_view kReceiveHex = R"(
  11 00 00 00 00 00 00 00   // peer_message
  09 00 00 00 00 00 00 00   // buffer
  40 00 00 00 00 00 00 00   // region: offset_bytes
  08 00 00 00 03 00 00 00   // element_bytes, upper without diagonal, words not said, padding
  00 01 00 00 00 00 00 00   // rows
  01 00 00 00 00 00 00 00   // cols
  ff ff ff ff ff ff ff ff   // ld
  07 00 00 00 00 00 00 80   // next
)";
inline constexpr std::string_view kJoinPeerHex = R"(
  01 4d 0a 0b 08 00 01 00   // magic, version, big_endian, reserved
  01 00 00 00 00 00 00 80   // access key
  02 00 00 00 00 00 00 c0
  00 00 00 00 00 00 00 00   // length of identity, padding
)";
inline constexpr std::string_view kPeerMessageHex = R"(
  11 00 00 00 00 00 00 00   // peer_message
  00 00 00 00 00 00 00 00   // region: no offset
  10 00 00 00 02 08 00 00   // element_bytes, triangle lower, word_bytes, padding
  03 00 00 00 00 00 00 00   // rows
  05 00 00 00 00 00 00 00   // cols
  03 00 00 00 00 00 00 00   // ld: as if packed
)";
inline constexpr std::string_view kOutcomeHex = R"(
  03 00 00 00 80 00 00 00   // code out_of_memory, reserved, credits
  2a 00 00 00 00 00 00 00   // failed_sequence
  00 ca 9a 3b 00 00 00 00   // compute_ns: 1 s
  40 42 0f 00 00 00 00 00   // plan_ns: 1 ms
  80 84 1e 00 00 00 00 00   // waited_ns: 2 ms
  00 00 00 02 00 00 00 00   // keep_bytes: 32 MiB
  0c 00 00 00 64 65 76 69   // message "device full!"
  63 65 20 66 75 6c 6c 21
)";

/// The part of for_each_sample() about other devices.
template <class Visit>
void for_each_device_sample(Visit visit) {
  using namespace wire;
  const std::string id7 = "07 00 00 00 00 00 00 80 ";
  constexpr std::uint64_t k7 = 0x8000000000000007;
  visit("hold", Hold{{k7}}, id7);
  visit("release", Release{{k7}, Code::connection_lost}, id7 + "08 00 00 00 00 00 00 00");
  visit("create_grant", CreateGrant{{17}, {k7}, 0x1000, 0x2000, 3, 3600, 2, "ada"}, R"(
          11 00 00 00 00 00 00 00   07 00 00 00 00 00 00 80
          00 10 00 00 00 00 00 00   00 20 00 00 00 00 00 00
          03 00 00 00 10 0e 00 00   02 00 00 00 03 00 00 00   61 64 61 00 00 00 00 00)");
  visit("granted", Granted{Code::ok, {0x8000000000000001, 0xc000000000000002}, ""}, R"(
          00 00 00 00 00 00 00 00   01 00 00 00 00 00 00 80   02 00 00 00 00 00 00 c0
          00 00 00 00 00 00 00 00)");
  visit("revoke_grant", RevokeGrant{{17}}, "11 00 00 00 00 00 00 00");
  visit("await_grant", AwaitGrant{{17}, 5}, "11 00 00 00 00 00 00 00  05 00 00 00 00 00 00 00");
  visit("put",  // and get

        GrantCopy{{0x8000000000000001, 0xc000000000000002}, 0x10, {k7}, 0x20, 0x30, "h:1"}, R"(
          01 00 00 00 00 00 00 80   02 00 00 00 00 00 00 c0   10 00 00 00 00 00 00 00
          07 00 00 00 00 00 00 80   20 00 00 00 00 00 00 00   30 00 00 00 00 00 00 00
          03 00 00 00 68 3a 31 00)");
  visit("store", GrantRange{{0x8000000000000001, 0xc000000000000002}, 0x10, 0x30}, R"(
          01 00 00 00 00 00 00 80   02 00 00 00 00 00 00 c0
          10 00 00 00 00 00 00 00   30 00 00 00 00 00 00 00)");
  visit("mailbox", Mailbox{Code::ok, {0x8000000000000001, 0xc000000000000002}}, kMailboxHex);
  visit("connect_peer",
        ConnectPeer{{k7}, {0x8000000000000001, 0xc000000000000002}, "10.0.0.3:7770"},
        kConnectPeerHex);
  visit("disconnect_peer", DisconnectPeer{{k7}}, id7);
  visit("send", Send{{k7}, {17}, {9}, kRegion}, kSendHex);
  visit("receive", Receive{{17}, {9}, kOtherRegion, {k7}}, kReceiveHex);
  visit("join_peer", JoinPeer{8, 1, {0x8000000000000001, 0xc000000000000002}, ""}, kJoinPeerHex);
  visit("peer_message", PeerMessage{{17}, {0, 16, Triangle::lower, 3, 5, 3, 8}}, kPeerMessageHex);
}

/// The part of for_each_sample() about kernels.
template <class Visit>
void for_each_kernel_sample(Visit visit) {
  using namespace wire;
  const std::string id7 = "07 00 00 00 00 00 00 80 ";
  constexpr std::uint64_t k7 = 0x8000000000000007;
  visit("load_module", LoadModule{{k7}, 5, {{1, 4096, ""}, {5, 1 << 20, "sm_90"}}}, kLoadModuleHex);
  visit("unload_module", UnloadModule{{k7}}, id7);
  const auto word = [](int first, int count) {
    LaunchWord word;
    for (int i = 0; i < count; ++i) word.bytes[static_cast<std::size_t>(i)] = std::byte(first + i);
    return word;
  };
  visit("launch",
        Launch{{k7},
               {3, 2, 1},
               {256, 1, 1},
               "axpy",
               {{ArgumentKind::buffer, 0, {9}, 64, 2048},
                {ArgumentKind::scalar, 12, {}, 0, 0},
                {ArgumentKind::local, 1024, {}, 0, 0}},
               {word(1, 8), word(9, 4)}},
        kLaunchHex);
  visit("module", ModuleAnswer{Code::build_failed, 0, 32, "no"}, kModuleHex);
  visit("kernel_support", KernelSupport{6, 60000, 0, ""}, R"(
          06 00 00 00 60 ea 00 00   00 00 00 00 00 00 00 00)");
  visit("kernel_support", KernelSupport{0, 0, kNoPeers, "off"}, R"(
          00 00 00 00 00 00 00 00   01 00 00 00 03 00 00 00
          6f 66 66 00 00 00 00 00)");
}

/// Calls visit(name, message, hex) for every message with a body of its own.
template <class Visit>
void for_each_sample(Visit visit) {
  using namespace wire;
  const std::string region(kRegionHex);
  const std::string id7 = "07 00 00 00 00 00 00 80 ";
  constexpr std::uint64_t k7 = 0x8000000000000007;
  visit("hello", Hello{8, 1, {0x1122334455667788, 0x0123456789abcdef}, 2, "a 123", "", 3, 3},
        kHelloHex);
  visit("hello", Hello{6, 1, {0x1122334455667788, 0x0123456789abcdef}, 2, "a 123", "", 3},
        kOlderHelloHex);
  visit("hello", Hello{8, 1, {}, UINT32_MAX, "a 123", "a.b.c", 0, 0}, kLeasedHelloHex);
  visit("facts", Facts{{{RateFamily::lu, 1e7, 2.5}, {static_cast<RateFamily>(999), 1, 123.25}}},
        kFactsHex);
  visit("welcome",
        Welcome{8,
                0,
                1,
                {0x8000000000000001, 0xc000000000000002},
                1,
                3,
                1ULL << 34,
                123.25,
                0x0c,
                "cpu",
                "fast",
                0x1122334455667788,
                "0-3"},
        kWelcomeHex);
  visit("refused", Refused{Code::version_mismatch, 8, "no"}, kRefusedHex);
  visit("refused", Refused{Code::fenced, 8, "no"}, kFencedHex);
  visit("stripes", Stripes{3, 1 << 18, {0x8000000000000001, 0xc000000000000002}}, kStripesHex);
  visit("join_stream", JoinStream{8, 3, {0x8000000000000001, 0xc000000000000002}, ""},
        kJoinStreamHex);
  visit("set_accuracy", SetAccuracy{Accuracy::fast}, "02 00 00 00 00 00 00 00");
  visit("allocate", Allocate{{k7}, 1ULL << 40}, id7 + "00 00 00 00 00 01 00 00");
  visit("free", Free{{k7}}, id7), visit("locate", Locate{{k7}}, id7);
  visit("write", Write{{k7}, kRegion}, id7 + region);
  visit("read", Read{{k7}, kRegion}, id7 + region);
  visit("digest", Digest{{k7}, kRegion, 1 << 20}, id7 + region + "00 00 10 00 00 00 00 00");
  visit("copy", Copy{{k7}, {9}, kRegion, kOtherRegion},
        id7 + "09 00 00 00 00 00 00 00" + region + std::string(kOtherRegionHex));
  Fill fill{{k7}, {0x40, 8, Triangle::full, 3, 5, 7, 4}, {}};
  for (int i = 0; i < 8; ++i) fill.element[static_cast<std::size_t>(i)] = std::byte(i + 1);
  visit("fill", fill, kFillHex);
  for_each_device_sample(visit);
  for_each_kernel_sample(visit);
  visit("destroy_plan", DestroyPlan{{k7}}, id7);
  visit("execute_plan", ExecutePlan{{k7}, {2}, {3}, 0x1000, 0x2000}, id7 + R"(
          02 00 00 00 00 00 00 00   03 00 00 00 00 00 00 00
          00 10 00 00 00 00 00 00   00 20 00 00 00 00 00 00)");
  visit("record", Record{{k7}}, id7);
  visit("wait", Wait{{k7}}, id7);
  visit("location", Location{Code::ok, 0x1000, 0x3000}, R"(
          00 00 00 00 00 00 00 00   00 10 00 00 00 00 00 00   00 30 00 00 00 00 00 00)");
  visit(
      "outcome",
      Outcome{Code::out_of_memory, 128, 42, 1000000000, 1000000, 2000000, 1 << 25, "device full!"},
      kOutcomeHex);
  visit("reached",
        Reached{0x1122334455667788,
                {Code::out_of_memory, 128, 42, 1000000000, 1000000, 2000000, 0, "device full!"}},
        kReachedHex);
  visit("credit", Credit{0x01020304}, "04 03 02 01 00 00 00 00");
}

}  // namespace ob::test
