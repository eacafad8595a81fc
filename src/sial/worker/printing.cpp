// The statements that print.

#include <array>
#include <cstdio>

#include "sial/worker/worker.hpp"

namespace ob::sial {
namespace {

constexpr std::int64_t kMostPrinted = 1'000'000;  // elements of one statement

std::string fixed(double value) {
  std::array<char, 400> text{};  // the longest double has 309 digits before the point
  std::snprintf(text.data(), text.size(), "%.14f", value);
  return text.data();
}

}  // namespace

// Returns the line of the statement, behind the name of its file if that is an imported one.
std::string Worker::line_text() const {
  const Line& line = program_.lines[at_];
  const std::string file = line.source == 0 ? "" : program_.sources[line.source].name + ":";
  return file + std::to_string(line.line) + ":  ";
}

void Worker::print_named(const std::string& name, const std::string& value) {
  setting_.print(line_text() + name + " = " + value + "\n");
}

void Worker::finish_print() {
  if (instruction().x != 0) setting_.print("\n");
}

Worker::Step Worker::execute_print() {
  const Instruction& now = instruction();
  if (!prints() || !setting_.print) {
    if (now.op == Opcode::print_int || now.op == Opcode::print_scalar) --depth_;
    return Step::next;
  }
  switch (now.op) {
    case Opcode::print_string: setting_.print(program_.strings[now.a] + "\n"); break;
    case Opcode::print_int_variable:
      print_named(program_.ints[now.a].name, std::to_string(ints_[now.a]));
      break;
    case Opcode::print_index:
      print_named(program_.indices[now.a].name, std::to_string(values_[now.a]));
      break;
    case Opcode::print_scalar_variable:
      print_named(program_.scalars[now.a].name, fixed(scalars_[now.a]));
      break;
    case Opcode::print_int: setting_.print(std::to_string(pop_int())); break;
    case Opcode::print_scalar: setting_.print(fixed(pop_scalar()) + "\n"); break;
    case Opcode::print_static: {
      const Block& whole = *store_.whole_static(now.a);
      print_elements(program_.arrays[now.a].name, view_of(whole));
      break;
    }
    default:
      if (const Step printed = print_block(); printed != Step::next) return printed;
  }
  finish_print();
  return Step::next;
}

Worker::Step Worker::print_block() {
  BlockPlace place;
  if (const Status found = geometry_.resolve(instruction().a, values_, place); !found.ok()) {
    return fail(found);
  }
  ConstView view;
  if (const Step found = operand_at(place, view); found != Step::next) return found;
  const std::string name = name_of(place);
  if (view.elements() == 1) {
    print_named(name, fixed(*view.data));
  } else {
    print_elements(name, view);
  }
  return Step::next;
}

// Prints matrices of the first two dimensions, one row of the first dimension per line.
void Worker::print_elements(const std::string& title, const ConstView& view) {
  const std::int64_t all = view.elements();
  const std::int64_t shown = std::min(all, kMostPrinted);
  std::string text = line_text() + title + ", " + std::to_string(shown) + " of " +
                     std::to_string(all) + " elements\n";
  const std::int64_t rows = view.rank > 0 ? view.extents[0] : 1;
  const std::int64_t columns = view.rank > 1 ? view.extents[1] : 1;
  std::int64_t printed = 0;
  std::array<std::int64_t, kMaxRank> at{};
  while (printed < shown) {
    std::int64_t offset = 0;
    std::string behind;
    for (unsigned d = 2; d < view.rank; ++d) {
      offset += at[d] * view.strides[d];
      behind += ",";
      behind += std::to_string(at[d] + 1);
    }
    if (!behind.empty()) text += "  (*,*" + behind + ")\n";
    for (std::int64_t row = 0; row < rows && printed < shown; ++row) {
      for (std::int64_t column = 0; column < columns && printed < shown; ++column, ++printed) {
        const std::int64_t element =
            offset + row * view.strides[0] + (view.rank > 1 ? column * view.strides[1] : 0);
        text += "  " + fixed(view.data[element]);
      }
      text += "\n";
      setting_.print(text);
      text.clear();
    }
    unsigned d = 2;
    while (d < view.rank && ++at[d] == view.extents[d]) at[d++] = 0;
    if (d >= view.rank) break;
  }
  if (!text.empty()) setting_.print(text);
}

}  // namespace ob::sial
