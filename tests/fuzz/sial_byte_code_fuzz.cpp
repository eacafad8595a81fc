// Loads arbitrary files of byte code, as they are and with right checksums. The sanitizers check
// memory. A program that loads must also come back from its own bytes, and walking through it with
// random branches must not meet what the loader rules out.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "fuzz/failure.hpp"
#include "sial/code/encode.hpp"
#include "sial/code/load_program.hpp"
#include "sial/code/walk.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace ob::fuzz {
namespace {

void check(const sial::Program& program, std::span<const std::byte> choices) {
  const auto file = test::encode(program);
  const auto again = sial::load_program(file, "again");
  expect(again.ok(), "a program that loads comes back from its bytes");
  expect(test::encode(*again) == file, "bytes have one reading");
  for (std::size_t start = 0; start < 4; ++start) {
    std::size_t at = start * 101;
    const auto choose = [&](unsigned below) {
      return static_cast<unsigned>(choices[at++ % choices.size()]) % below;
    };
    const auto problem = test::walk(program, 300, choose);
    if (problem) fail(problem->c_str());
  }
}

void load(std::span<const std::byte> bytes) {
  const auto loaded = sial::load_program(bytes, "fuzz");
  if (loaded.ok()) {
    check(*loaded, bytes);
  } else {
    expect(loaded.status().message().starts_with("fuzz: "), "a refusal names its file");
  }
}

// Changes one of the 4-byte numbers of which most records consist, to one that may name a record.
void change_number(std::uint8_t* data, std::size_t size, unsigned seed) {
  constexpr std::size_t kBody = 544;
  const std::size_t numbers = (size - kBody) / 4;
  std::uint8_t* const number = data + kBody + (seed >> 8) % numbers * 4;
  switch (seed >> 2 & 3) {
    case 0: ++number[0]; break;
    case 1: --number[0]; break;
    case 2: number[0] = static_cast<std::uint8_t>(seed >> 4 & 15); break;
    default: std::copy_n(data + kBody + (seed >> 16) % numbers * 4, 4, number); break;
  }
}

}  // namespace
}  // namespace ob::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  ob::fuzz::load(bytes);
  std::vector<std::byte> sealed(bytes.begin(), bytes.end());
  ob::test::reseal(sealed);
  ob::fuzz::load(sealed);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  if (size < 600 || seed % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  ob::fuzz::change_number(data, size, seed);
  return size;
}
