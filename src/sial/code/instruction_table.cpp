#include "sial/code/instruction_table.hpp"

#include <array>
#include <cstddef>

namespace ob::sial {
namespace {

using enum Operand;

constexpr std::uint8_t kAssignments = 4;   // = += -= *=
constexpr std::uint8_t kAdditions = 3;     // = += -=
constexpr std::uint8_t kComparisons = 6;   // < <= > >= == !=
constexpr std::uint8_t kEither = 2;        // print or println; the two words of a barrier; sorts
constexpr std::size_t kOperations = 0x90;  // above the highest one

struct InstructionTable {
  std::array<InstructionRow, kOperations> rows{};

  constexpr void set(Opcode op, const InstructionRow& row) {
    rows[static_cast<std::size_t>(op)] = row;
  }

  constexpr InstructionTable() {
    set_control();
    set_expressions();
    set_assignments();
    set_blocks();
    set_arrays();
    set_collectives();
    set_output();
    set_arguments();
  }

  constexpr void set_control() {
    set(Opcode::halt, {.name = "halt", .falls_through = false});
    set(Opcode::jump, {.name = "jump", .a = instruction, .falls_through = false});
    set(Opcode::jump_if_false, {.name = "jump_if_false", .a = instruction, .pops = "i"});
    set(Opcode::call, {.name = "call", .a = proc});
    set(Opcode::return_, {.name = "return", .falls_through = false});
    set(Opcode::stop, {.name = "stop", .falls_through = false});
    set(Opcode::loop_begin, {.name = "loop_begin", .a = loop});
    set(Opcode::where, {.name = "where", .a = loop, .pops = "i"});
    set(Opcode::loop_end, {.name = "loop_end", .a = loop});
    set(Opcode::loop_exit, {.name = "loop_exit", .a = loop, .falls_through = false});
    set(Opcode::loop_cycle, {.name = "loop_cycle", .a = loop, .falls_through = false});
    set(Opcode::barrier, {.name = "barrier", .variants = kEither});
    set(Opcode::section_begin, {.name = "section_begin", .a = section});
    set(Opcode::section_end, {.name = "section_end", .a = section});
    set(Opcode::gpu_on, {.name = "gpu_on"});
    set(Opcode::gpu_off, {.name = "gpu_off"});
  }

  constexpr void set_expressions() {
    set(Opcode::push_int, {.name = "push_int", .a = int_constant, .pushes = "i"});
    set(Opcode::push_int_variable, {.name = "push_int_variable", .a = int_variable, .pushes = "i"});
    set(Opcode::push_index, {.name = "push_index", .a = index, .pushes = "i"});
    set(Opcode::push_scalar, {.name = "push_scalar", .a = scalar_constant, .pushes = "s"});
    set(Opcode::push_scalar_variable,
        {.name = "push_scalar_variable", .a = scalar_variable, .pushes = "s"});
    set(Opcode::push_element, {.name = "push_element", .a = element, .pushes = "s"});
    set(Opcode::push_contraction,
        {.name = "push_contraction", .a = block, .b = block, .pushes = "s"});
    set(Opcode::int_add, {.name = "int_add", .pops = "ii", .pushes = "i"});
    set(Opcode::int_subtract, {.name = "int_subtract", .pops = "ii", .pushes = "i"});
    set(Opcode::int_multiply, {.name = "int_multiply", .pops = "ii", .pushes = "i"});
    set(Opcode::int_divide, {.name = "int_divide", .pops = "ii", .pushes = "i"});
    set(Opcode::int_negate, {.name = "int_negate", .pops = "i", .pushes = "i"});
    set(Opcode::scalar_add, {.name = "scalar_add", .pops = "ss", .pushes = "s"});
    set(Opcode::scalar_subtract, {.name = "scalar_subtract", .pops = "ss", .pushes = "s"});
    set(Opcode::scalar_multiply, {.name = "scalar_multiply", .pops = "ss", .pushes = "s"});
    set(Opcode::scalar_divide, {.name = "scalar_divide", .pops = "ss", .pushes = "s"});
    set(Opcode::scalar_negate, {.name = "scalar_negate", .pops = "s", .pushes = "s"});
    set(Opcode::scalar_power, {.name = "scalar_power", .pops = "ss", .pushes = "s"});
    set(Opcode::scalar_sqrt, {.name = "scalar_sqrt", .pops = "s", .pushes = "s"});
    set(Opcode::int_to_scalar, {.name = "int_to_scalar", .pops = "i", .pushes = "s"});
    set(Opcode::scalar_to_int, {.name = "scalar_to_int", .pops = "s", .pushes = "i"});
    set(Opcode::compare_ints,
        {.name = "compare_ints", .variants = kComparisons, .pops = "ii", .pushes = "i"});
    set(Opcode::compare_scalars,
        {.name = "compare_scalars", .variants = kComparisons, .pops = "ss", .pushes = "i"});
  }

  constexpr void set_assignments() {
    set(Opcode::store_int,
        {.name = "store_int", .variants = kAssignments, .a = int_variable, .pops = "i"});
    set(Opcode::store_scalar,
        {.name = "store_scalar", .variants = kAssignments, .a = scalar_variable, .pops = "s"});
  }

  constexpr void set_blocks() {
    set(Opcode::block_fill,
        {.name = "block_fill", .variants = kAssignments, .a = written_block, .pops = "s"});
    set(Opcode::block_copy,
        {.name = "block_copy", .variants = kAdditions, .a = written_block, .b = block});
    set(Opcode::block_add, {.name = "block_add", .a = written_block, .b = block, .c = block});
    set(Opcode::block_subtract,
        {.name = "block_subtract", .a = written_block, .b = block, .c = block});
    set(Opcode::block_scale, {.name = "block_scale",
                              .variants = kAdditions,
                              .a = written_block,
                              .b = block,
                              .pops = "s"});
    set(Opcode::block_contract, {.name = "block_contract",
                                 .variants = kAdditions,
                                 .a = written_block,
                                 .b = block,
                                 .c = block});
    set(Opcode::block_outer, {.name = "block_outer",
                              .variants = kAdditions,
                              .a = written_block,
                              .b = block,
                              .c = block});
    set(Opcode::block_slice, {.name = "block_slice", .a = written_block, .b = part});
    set(Opcode::block_insert, {.name = "block_insert", .a = written_part, .b = block});
    set(Opcode::static_fill,
        {.name = "static_fill", .variants = kAssignments, .a = static_array, .pops = "s"});
    set(Opcode::static_copy,
        {.name = "static_copy", .variants = kAdditions, .a = static_array, .b = static_array});
    set(Opcode::region_fill, {.name = "region_fill", .a = contiguous_array, .pops = "Rs"});
    set(Opcode::region_store,
        {.name = "region_store", .a = contiguous_array, .b = block, .pops = "R"});
    set(Opcode::region_load,
        {.name = "region_load", .a = written_block, .b = contiguous_array, .pops = "R"});
    set(Opcode::block_release, {.name = "block_release", .a = temp_block});
  }

  constexpr void set_arrays() {
    set(Opcode::get, {.name = "get", .a = stored_block, .b = access});
    set(Opcode::put_block,
        {.name = "put_block", .variants = kAdditions, .a = stored_block, .b = block});
    set(Opcode::put_scalar,
        {.name = "put_scalar", .variants = kAssignments, .a = stored_block, .pops = "s"});
    set(Opcode::create, {.name = "create", .a = stored_array});
    set(Opcode::delete_, {.name = "delete", .a = stored_array});
    set(Opcode::allocate, {.name = "allocate", .a = allocated_block});
    set(Opcode::deallocate, {.name = "deallocate", .a = allocated_block});
    set(Opcode::deallocate_array, {.name = "deallocate_array", .a = local_array});
    set(Opcode::allocate_contiguous,
        {.name = "allocate_contiguous", .a = contiguous_array, .pops = "R"});
    set(Opcode::deallocate_contiguous,
        {.name = "deallocate_contiguous", .a = contiguous_array, .pops = "R"});
  }

  constexpr void set_collectives() {
    set(Opcode::collective_scalar,
        {.name = "collective_scalar", .a = scalar_variable, .pops = "s"});
    set(Opcode::collective_int, {.name = "collective_int", .a = int_variable, .pops = "i"});
    set(Opcode::collective_static,
        {.name = "collective_static", .a = static_array, .b = static_array});
    set(Opcode::assert_same_scalar, {.name = "assert_same_scalar", .a = scalar_variable});
    set(Opcode::assert_same_int, {.name = "assert_same_int", .a = int_variable});
    set(Opcode::assert_same_static, {.name = "assert_same_static", .a = static_array});
    set(Opcode::broadcast_static, {.name = "broadcast_static", .a = static_array, .pops = "i"});
    set(Opcode::set_persistent,
        {.name = "set_persistent", .variants = kEither, .a = persistent, .b = string});
    set(Opcode::restore_persistent,
        {.name = "restore_persistent", .variants = kEither, .a = persistent, .b = string});
  }

  constexpr void set_output() {
    set(Opcode::print_string, {.name = "print_string", .variants = kEither, .a = string});
    set(Opcode::print_int_variable,
        {.name = "print_int_variable", .variants = kEither, .a = int_variable});
    set(Opcode::print_index, {.name = "print_index", .variants = kEither, .a = index});
    set(Opcode::print_scalar_variable,
        {.name = "print_scalar_variable", .variants = kEither, .a = scalar_variable});
    set(Opcode::print_int, {.name = "print_int", .variants = kEither, .pops = "i"});
    set(Opcode::print_scalar, {.name = "print_scalar", .variants = kEither, .pops = "s"});
    set(Opcode::print_block, {.name = "print_block", .variants = kEither, .a = block});
    set(Opcode::print_static, {.name = "print_static", .variants = kEither, .a = static_array});
  }

  constexpr void set_arguments() {
    set(Opcode::argument_block, {.name = "argument_block", .a = block});
    set(Opcode::argument_array, {.name = "argument_array", .a = whole_array});
    set(Opcode::argument_scalar, {.name = "argument_scalar", .a = scalar_variable});
    set(Opcode::argument_int, {.name = "argument_int", .a = int_variable});
    set(Opcode::argument_index, {.name = "argument_index", .a = index});
    set(Opcode::argument_scalar_constant,
        {.name = "argument_scalar_constant", .a = scalar_constant});
    set(Opcode::argument_int_constant, {.name = "argument_int_constant", .a = int_constant});
    set(Opcode::argument_string, {.name = "argument_string", .a = string});
    set(Opcode::argument_region, {.name = "argument_region", .a = contiguous_array, .pops = "R"});
    set(Opcode::execute, {.name = "execute", .a = super_instruction, .b = argument_count});
  }
};

constexpr InstructionTable kInstructionTable;

}  // namespace

const InstructionRow* find_row(Opcode op) noexcept {
  const auto number = static_cast<std::size_t>(op);
  if (number >= kOperations || kInstructionTable.rows[number].name == nullptr) return nullptr;
  return &kInstructionTable.rows[number];
}

}  // namespace ob::sial
