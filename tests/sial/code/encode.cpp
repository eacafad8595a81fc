#include "sial/code/encode.hpp"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <string>

namespace ob::test {
namespace {

using namespace ob::sial;

constexpr std::size_t kHeader = 32, kEntry = 32, kSections = 16;

class Bytes {
 public:
  void number(std::uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) data.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  void u8(std::uint64_t value) { number(value, 1); }
  void u32(std::uint64_t value) { number(value, 4); }
  void u64(std::uint64_t value) { number(value, 8); }
  void i64(std::int64_t value) { number(static_cast<std::uint64_t>(value), 8); }
  void f64(double value) { number(std::bit_cast<std::uint64_t>(value), 8); }
  void list(const std::vector<std::uint32_t>& numbers, std::size_t places) {
    for (std::size_t i = 0; i < places; ++i) u32(i < numbers.size() ? numbers[i] : kNone);
  }
  std::vector<std::byte> data;
};

class Encoder {
 public:
  explicit Encoder(const Program& program) : p_(program), strings_(program.strings) {}

  std::vector<std::byte> file() {
    std::vector<Bytes> sections(kSections);
    std::vector<std::size_t> counts{1,
                                    p_.sources.size(),
                                    0,
                                    p_.int_constants.size(),
                                    p_.scalar_constants.size(),
                                    p_.ints.size(),
                                    p_.scalars.size(),
                                    p_.indices.size(),
                                    p_.arrays.size(),
                                    p_.super_instructions.size(),
                                    p_.procs.size(),
                                    p_.selectors.size(),
                                    p_.loops.size(),
                                    p_.code.size(),
                                    p_.lines.size(),
                                    p_.accesses.size()};
    objects(sections);
    code(sections);
    for (const std::string& text : strings_) {
      sections[2].u32(text.size());
      for (const char c : text) sections[2].u8(static_cast<unsigned char>(c));
    }
    counts[2] = strings_.size();
    return join(sections, counts);
  }

 private:
  std::uint32_t text(const std::string& wanted) {
    const auto found = std::find(strings_.begin(), strings_.end(), wanted);
    const auto number = static_cast<std::uint32_t>(found - strings_.begin());
    if (found == strings_.end()) strings_.push_back(wanted);
    return number;
  }

  void objects(std::vector<Bytes>& to) {
    to[0].u32(text(p_.name)), to[0].u32(text(p_.compiler)), to[0].u64(p_.optimisation);
    for (const Source& source : p_.sources) {
      to[1].u32(text(source.name)), to[1].u32(0);
      for (const std::uint8_t byte : source.sha256) to[1].u8(byte);
    }
    for (const std::int64_t value : p_.int_constants) to[3].i64(value);
    for (const double value : p_.scalar_constants) to[4].f64(value);
    for (const IntVariable& variable : p_.ints)
      to[5].u32(text(variable.name)), to[5].u32(variable.predefined), to[5].i64(variable.initial);
    for (const ScalarVariable& variable : p_.scalars)
      to[6].u32(text(variable.name)), to[6].u32(variable.predefined), to[6].f64(variable.initial);
    for (const Index& index : p_.indices) {
      Bytes& at = to[7];
      at.u32(text(index.name)), at.u8(static_cast<unsigned>(index.kind));
      at.u8(index.lower.variable), at.u8(index.upper.variable), at.u8(0);
      at.u32(index.kind == IndexKind::segmented ? text(index.table) : kNone);
      at.u32(index.parent), at.i64(index.lower.value), at.i64(index.upper.value), at.u64(0);
    }
    for (const Array& array : p_.arrays) {
      Bytes& at = to[8];
      at.u32(text(array.name)), at.u8(static_cast<unsigned>(array.storage));
      at.u8((array.predefined ? 1u : 0u) | (array.contiguous ? 2u : 0u));
      at.u8(array.indices.size()), at.u8(0), at.list(array.indices, 8);
    }
    for (const SuperInstruction& instruction : p_.super_instructions)
      to[9].u32(text(instruction.name)), to[9].u32(text(instruction.intents));
    for (const Proc& proc : p_.procs)
      to[10].u32(text(proc.name)), to[10].u32(proc.begin), to[10].u32(proc.end), to[10].u32(0);
  }

  void code(std::vector<Bytes>& to) {
    for (const Selector& selector : p_.selectors) {
      std::vector<std::uint32_t> places;
      for (const Selected& selected : selector.dimensions) {
        const std::uint32_t cast = selected.as_simple ? 0x80000000u : 0u;
        places.push_back(selected.index == kNone ? 0xfffffffeu : selected.index | cast);
      }
      to[11].u32(selector.array), to[11].u32(0), to[11].list(places, 8);
    }
    for (const Loop& loop : p_.loops) {
      Bytes& at = to[12];
      at.u8(static_cast<unsigned>(loop.kind)), at.u8(loop.indices.size()), at.number(0, 2);
      at.u32(loop.schedule.empty() ? kNone : text(loop.schedule));
      at.u32(loop.begin), at.u32(loop.body), at.u32(loop.end), at.u32(loop.section);
      at.list(loop.indices, 16), at.u64(0);
    }
    for (const Instruction& one : p_.code) {
      to[13].number(static_cast<std::uint16_t>(one.op), 2), to[13].number(one.x, 2);
      to[13].u32(one.a), to[13].u32(one.b), to[13].u32(one.c);
    }
    for (const Line& line : p_.lines)
      to[14].u32(line.source), to[14].u32(line.line), to[14].u32(line.column);
    for (const Access& access : p_.accesses) {
      Bytes& at = to[15];
      at.u32(access.instruction), at.u32(access.selector);
      at.u32((access.guarded ? 1u : 0u) | (access.predictable ? 2u : 0u) |
             (access.in_open_loop ? 4u : 0u));
      at.u32(access.loops.size()), at.list(access.loops, 16);
    }
  }

  static std::vector<std::byte> join(const std::vector<Bytes>& sections,
                                     const std::vector<std::size_t>& counts) {
    Bytes table, body;
    const std::size_t begin = kHeader + kSections * kEntry;
    for (std::size_t i = 0; i < kSections; ++i) {
      while (body.data.size() % 8 != 0) body.u8(0);
      table.u32(i + 1), table.u32(counts[i]), table.u64(begin + body.data.size());
      table.u64(sections[i].data.size()), table.u64(0);
      body.data.insert(body.data.end(), sections[i].data.begin(), sections[i].data.end());
    }
    Bytes file;
    for (const unsigned byte : {0x89, 0x53, 0x49, 0x41, 0x4c, 0x0d, 0x0a, 0x1a}) file.u8(byte);
    file.number(1, 2), file.number(8, 2), file.u32(kSections);
    file.u64(begin + body.data.size()), file.u64(0);
    file.data.insert(file.data.end(), table.data.begin(), table.data.end());
    file.data.insert(file.data.end(), body.data.begin(), body.data.end());
    reseal(file.data);
    return file.data;
  }

  const Program& p_;
  std::vector<std::string> strings_;
};

}  // namespace

std::vector<std::byte> encode(const Program& program) { return Encoder(program).file(); }

void poke(std::vector<std::byte>& file, std::size_t offset, std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i)
    file.at(offset + i) = static_cast<std::byte>(value >> (8 * i));
}

std::uint64_t peek(const std::vector<std::byte>& file, std::size_t offset, unsigned bytes) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i)
    value |= static_cast<std::uint64_t>(file.at(offset + i)) << (8 * i);
  return value;
}

std::size_t section_offset(const std::vector<std::byte>& file, unsigned kind) {
  return peek(file, kHeader + (kind - 1) * kEntry + 8, 8);
}

void reseal(std::vector<std::byte>& file) {
  if (file.size() < kHeader + kSections * kEntry) return;
  for (std::size_t i = 0; i < kSections; ++i) {
    const std::size_t entry = kHeader + i * kEntry;
    const std::uint64_t offset = peek(file, entry + 8, 8), length = peek(file, entry + 16, 8);
    if (offset > file.size() || length > file.size() - offset) continue;
    poke(file, entry + 24, XXH3_64bits(file.data() + offset, length), 8);
  }
  poke(file, 24, XXH3_64bits(file.data() + kHeader, kSections * kEntry), 8);
}

}  // namespace ob::test
