// Replaces libFuzzer where it is not linked. Runs a target on every file of its corpus, then on as
// many mutants as a short test has time for:   fuzz_TARGET FOLDER

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/random.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
// Targets without a mutator of their own get mutations of bytes.
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data,
                                                                     std::size_t size,
                                                                     std::size_t max_size,
                                                                     unsigned seed);

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kLongest = 12288;
constexpr int kMutants = 1500;  // take a second or two
constexpr int kGenerations = 8;

std::mt19937_64* generator = nullptr;

std::vector<Bytes> read_corpus(const char* folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Bytes> corpus;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    if (in.bad()) throw std::runtime_error("cannot read " + file.string());
  }
  return corpus;
}

// Runs an input in a block of exactly its size, so that sanitizers see reads beyond it.
void run(const Bytes& input) {
  const std::unique_ptr<std::uint8_t[]> exactly(new std::uint8_t[input.size()]);
  std::copy(input.begin(), input.end(), exactly.get());
  (void)LLVMFuzzerTestOneInput(exactly.get(), input.size());
}

Bytes mutant_of(Bytes input) {
  std::size_t size = std::min(input.size(), kLongest);  // mutations hit the input, not the room
  input.resize(kLongest);
  const auto seed = static_cast<unsigned>((*generator)());
  size = LLVMFuzzerCustomMutator != nullptr
             ? LLVMFuzzerCustomMutator(input.data(), size, kLongest, seed)
             : LLVMFuzzerMutate(input.data(), size, kLongest);
  input.resize(size);
  return input;
}

}  // namespace

std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size) {
  std::mt19937_64& random = *generator;
  switch (random() % 4) {
    case 0: size = std::min<std::size_t>(max_size, size + random() % 9); break;
    case 1: size -= std::min<std::size_t>(size, random() % 9); break;
    default: break;
  }
  for (int hits = 0; size > 0 && hits < 3; ++hits)
    data[random() % size] = static_cast<std::uint8_t>(random() >> (random() % 64));
  return size;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  const std::vector<Bytes> corpus = read_corpus(argv[1]);
  if (corpus.empty()) {
    std::fprintf(stderr, "no inputs in %s\n", argv[1]);
    return 1;
  }
  for (const Bytes& input : corpus) run(input);
  std::mt19937_64 random = ob::test::fresh_random();
  generator = &random;
  for (int i = 0; i < kMutants / kGenerations; ++i) {
    Bytes input = corpus[random() % corpus.size()];
    for (int generation = 0; generation < kGenerations; ++generation)
      run(input = mutant_of(std::move(input)));
  }
  std::printf("%zu inputs and %d mutants\n", corpus.size(), kMutants / kGenerations * kGenerations);
}
