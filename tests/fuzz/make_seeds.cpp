// Writes the inputs with which fuzzing starts, made from the golden bytes of every message, a
// session of each side, hostile calls, and a few invalid inputs:   fuzz_make_seeds FOLDER

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "device/kernels/kernel_codec.hpp"
#include "fuzz/client_script.hpp"
#include "fuzz/connect_stub.hpp"
#include "fuzz/failure.hpp"
#include "fuzz/lease_samples.hpp"
#include "fuzz/scripted_daemon.hpp"
#include "fuzz/vocabulary.hpp"
#include "pool/base64.hpp"
#include "support/hostile_calls.hpp"
#include "wire/codec.hpp"
#include "wire/message_fields.hpp"

namespace ob::fuzz {
namespace {

void write(const std::filesystem::path& file, View bytes) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
  expect(static_cast<bool>(out), "the folder can be written");
}

void decode_seeds(const std::filesystem::path& folder) {
  int number = 0;
  const auto both = [&](const RawMessage& piece) {
    write(folder / ("body-" + std::to_string(number)), piece.body);
    write(folder / ("header-" + std::to_string(number++)), piece.header);
  };
  for (const RawMessage& piece : golden_messages()) both(piece);
  for (const RawMessage& piece : client_session()) both(piece);
}

void daemon_seeds(const std::filesystem::path& folder) {
  const std::vector<RawMessage> session = client_session();
  const auto seed = [&](const std::string& name, const Delivery& delivery,
                        const std::vector<RawMessage>& messages) {
    write(folder / name, assemble(delivery, {}, join(messages)));
  };
  seed("session", {}, session);
  seed("session-shared-memory", {.flags = kSharesMemory}, session);
  seed("session-in-pieces", {.pieces = 5, .sends = 6}, session);
  std::vector<RawMessage> twice(session.begin(), session.end() - 3);
  twice.push_back(joining_hello());
  twice.insert(twice.end(), session.begin() + 1, session.end());
  seed("two-connections", {.flags = kKeepsSession | kSplitsAtHello}, twice);
  seed("peers", {.flags = kKeepsSession | kSplitsAtHello}, peer_sessions());
  seed("peers-in-pieces", {.pieces = 9, .flags = kKeepsSession | kSplitsAtHello}, peer_sessions());
  std::vector<RawMessage> golden = golden_messages();
  for (std::size_t i = 0; i < golden.size(); ++i) {
    std::vector<RawMessage> one(session.begin(), session.begin() + 4);
    one.push_back(golden[i]);
    one.push_back(session[session.size() - 5]);  // synchronize
    seed("golden-" + std::to_string(i), {}, one);
  }
  // Enough commands to make the daemon grant credits unasked; then more queues than it allows.
  std::vector<RawMessage> many(session.begin(), session.begin() + 2);
  many.insert(many.end(), 150, session[15]);  // record
  seed("many-commands", {}, many);
  many.resize(2);
  for (std::uint64_t queue = 2; queue < 260; ++queue) {
    many.push_back(session[1]);
    many.back().set_number(kQueueAt, queue);
  }
  seed("many-queues", {}, many);
  std::vector<RawMessage> swapped = session;
  swapped[0].body[6] ^= std::byte{1};  // the other byte order
  seed("other-byte-order", {}, swapped);
  swapped[0].body[4] ^= std::byte{1};
  seed("other-version", {}, swapped);
}

void client_seeds(const std::filesystem::path& folder) {
  // Operations of ClientScript: 0 creates a queue, 1 a buffer, 2 frees it, 3 writes, 4 reads, 5
  // digests, 7 calls, 8 creates a plan, 9 executes it, 10 destroys it, 11 records, 12 waits, 13
  // synchronizes, 14 pings. With large arguments 14 transfers to and from other devices.
  const std::vector<std::string> scripts{
      "\x10\x01\x03\x04\x05\x0d\x02\x01",
      "\x10\x01\x01\x07\x08\x09\x0b\x0c\x0d\x0e\x0a",
      std::string("\x00\x00\x01\x13\x14\x24\x34\x44\x04\x1d\x06\x16\x0d\x4e\x0f", 15),
      std::string("\x00\x01\x44\x0d\x25\x35\x04\x14\x0d\x5e\x6e\x02\x01\x0d", 14),
      std::string("\x00\x01\x7e\x8e\x9e\xae\xbe\xce\xde\xee\x0d\xfe\x7e\xce\xee", 15),
  };
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    const View script = std::as_bytes(std::span(scripts[i]));
    for (const bool shares_memory : {false, true}) {
      Bytes said;
      set_next_stream(std::make_unique<ScriptedDaemon>(said, shares_memory));
      ClientScript().run(script);
      const Delivery delivery{
          .pieces = static_cast<std::uint8_t>(i % 2 * 5),
          .flags = static_cast<std::uint8_t>(shares_memory ? kSharesMemory : 0)};
      write(folder / ("script-" + std::to_string(i) + (shares_memory ? "-shared" : "")),
            assemble(delivery, script, said));
    }
  }
  const View script = std::as_bytes(std::span(scripts[0]));
  std::vector<RawMessage> vocabulary = daemon_messages();
  for (std::size_t i = 1; i < vocabulary.size(); ++i) {
    write(folder / ("phrase-" + std::to_string(i)),
          assemble({.flags = kFallsSilent}, script, join({vocabulary[0], vocabulary[i]})));
  }
  write(folder / "refused", assemble({}, script, join({vocabulary[1]})));
}

// Each byte is an action of shm_fuzz.cpp; odd bytes are the peer's actions.
void shm_seeds(const std::filesystem::path& folder) {
  const std::vector<std::string> scripts{
      std::string("\x02\x40\x00\x00\x00\x01\x10\x20\x00\x00\x00\x07", 12),
      std::string("\x03\x10\x20\x00\x00\x00\x04\x07", 8),
      std::string("\x06\x07\x05\x06\x13\x05\x06\x17\x05\x08\x65garbage\x05", 18),
      std::string("\x00\x00\xff\xff\xff\xff\x01\x01\x01\x01\x01\x01", 12),
      std::string("\x0a\x07\x01\x10\x10\x00\x00\x00", 8),
      std::string("\x09\x05\x0b\x05\x03\x10\x10\x00\x00\x00", 10),
  };
  for (std::size_t i = 0; i < scripts.size(); ++i)
    write(folder / ("script-" + std::to_string(i)), std::as_bytes(std::span(scripts[i])));
}

// Bytes of two calls each (support/hostile_calls.hpp): all bytes are valid. The generator gives the
// same ones everywhere.
void calls_seeds(const std::filesystem::path& folder) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 32; ++i) {
    Bytes calls(2 * test::kHostileCallBytes);
    for (std::byte& byte : calls) byte = static_cast<std::byte>(random());
    calls[0] = static_cast<std::byte>(i % 8 == 0 ? 0 : 255);  // 0: the first one is a transform
    write(folder / ("calls-" + std::to_string(i)), calls);
  }
}

// The first byte chooses what the others are (kernel_codec_fuzz.cpp).
void kernel_codec_seeds(const std::filesystem::path& folder) {
  const auto number = [](std::size_t value) {
    return Bytes{static_cast<std::byte>(value), static_cast<std::byte>(value >> 8)};
  };
  const auto seed = [&](const std::string& name, std::uint8_t what,
                        const std::vector<Bytes>& parts) {
    Bytes all{std::byte{what}};
    for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
    write(folder / name, all);
  };
  KernelFacts kernel;
  kernel.signature = {"axpy",
                      {{ParameterKind::scalar, false, 8, "double", "a"},
                       {ParameterKind::buffer, true, 8, "double*", "x"},
                       {ParameterKind::local, false, 4, "float*", "tile"}},
                      {8, 4, 1}};
  kernel.largest_group = 4096;
  ModuleReport report;
  report.log = "a warning";
  report.kernels = {kernel, kernel};
  seed("report", 0, {number(2), number(report.log.size()), report_payload(report).value()});
  report.kernels.clear();
  seed("report-of-a-failure", 0,
       {number(0), number(report.log.size()), report_payload(report).value()});
  const ModuleSource source{
      {{SourceKind::portable, "__kernel void f() {}", ""}, {SourceKind::cubin, "ELF", "sm_90"}},
      "-D N=4"};
  wire::Body module, launch;
  wire::encode(describe_module(ModuleId{1}, source).value(), module);
  const Bytes said(module.bytes().begin(), module.bytes().end());
  seed("module", 1, {number(said.size()), said, module_payload(source)});
  const double value = 2;
  const std::vector<KernelArgument> arguments{
      {ParameterKind::scalar, 8, &value, {}, 0},
      {ParameterKind::buffer, 0, nullptr, {BufferId{3}, 64}, 128},
      {ParameterKind::local, 256, nullptr, {}, 0},
      {ParameterKind::scalar, 1, &value, {}, 0}};
  wire::encode(describe_launch({ModuleId{1}, "axpy", {4, 2, 1}, {64, 1, 1}, arguments}).value(),
               launch);
  seed("launch", 2, {Bytes(launch.bytes().begin(), launch.bytes().end())});
}

// The first byte chooses what the others are (lease_token_fuzz.cpp).
void lease_token_seeds(const std::filesystem::path& folder) {
  const auto seed = [&](const std::string& name, char what, std::string_view rest) {
    const std::string bytes = what + std::string(rest);
    write(folder / name, std::as_bytes(std::span(bytes)));
  };
  const std::string token(kLeaseToken);
  const std::string header = token.substr(0, token.find('.'));
  const std::string signature = token.substr(token.rfind('.'));
  seed("token", '\0', token);
  seed("token-without-claims", '\0', header + "." + signature);
  seed("token-of-claims-that-are-text", '\0',
       header + "." + pool::encode_base64url("\"text\"") + signature);
  seed("claims", '\1', kLeaseClaims);
  seed("claims-without-end", '\1', kLeaseClaims.substr(0, 200));
  seed("claims-deep", '\1', "{\"a\":" + std::string(400, '[') + std::string(400, ']') + "}");
  seed("key", '\2', pool::decode_base64(kLeaseKeyDer).value());
  seed("base64", '\3', kLeaseKeyDer);
  seed("base64url", '\3', header);
}

// Bytes make the choices of a history: all bytes are valid.
void lease_gate_seeds(const std::filesystem::path& folder) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 16; ++i) {
    Bytes choices(64 << i / 3);
    for (std::byte& byte : choices) byte = static_cast<std::byte>(random());
    write(folder / ("choices-" + std::to_string(i)), choices);
  }
}

}  // namespace
}  // namespace ob::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  ob::fuzz::decode_seeds(folder / "decode");
  ob::fuzz::daemon_seeds(folder / "daemon");
  ob::fuzz::client_seeds(folder / "client");
  ob::fuzz::shm_seeds(folder / "shm");
  ob::fuzz::calls_seeds(folder / "calls");
  ob::fuzz::kernel_codec_seeds(folder / "kernel_codec");
  ob::fuzz::lease_token_seeds(folder / "lease_token");
  ob::fuzz::lease_gate_seeds(folder / "lease_gate");
}
