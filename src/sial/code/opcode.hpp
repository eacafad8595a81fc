#pragma once
// The operations of SIAL byte code, version 1.   Source: docs/sial/bytecode.md, "Instructions"

#include <cstdint>

namespace ob::sial {

enum class Opcode : std::uint16_t {
  halt = 0x00,
  jump = 0x01,
  jump_if_false = 0x02,
  call = 0x03,
  return_ = 0x04,
  stop = 0x05,
  loop_begin = 0x06,
  where = 0x07,
  loop_end = 0x08,
  loop_exit = 0x09,
  loop_cycle = 0x0a,
  barrier = 0x0b,
  section_begin = 0x0c,
  section_end = 0x0d,
  gpu_on = 0x0e,
  gpu_off = 0x0f,

  push_int = 0x10,
  push_int_variable = 0x11,
  push_index = 0x12,
  push_scalar = 0x13,
  push_scalar_variable = 0x14,
  push_element = 0x15,
  push_contraction = 0x16,
  int_add = 0x17,
  int_subtract = 0x18,
  int_multiply = 0x19,
  int_divide = 0x1a,
  int_negate = 0x1b,
  scalar_add = 0x1c,
  scalar_subtract = 0x1d,
  scalar_multiply = 0x1e,
  scalar_divide = 0x1f,
  scalar_negate = 0x20,
  scalar_power = 0x21,
  scalar_sqrt = 0x22,
  int_to_scalar = 0x23,
  scalar_to_int = 0x24,
  compare_ints = 0x25,
  compare_scalars = 0x26,
  store_int = 0x27,
  store_scalar = 0x28,

  block_fill = 0x30,
  block_copy = 0x31,
  block_add = 0x32,
  block_subtract = 0x33,
  block_scale = 0x34,
  block_contract = 0x35,
  block_outer = 0x36,
  block_slice = 0x37,
  block_insert = 0x38,
  static_fill = 0x39,
  static_copy = 0x3a,
  region_fill = 0x3b,
  region_store = 0x3c,
  region_load = 0x3d,
  block_release = 0x3e,

  get = 0x40,
  put_block = 0x41,
  put_scalar = 0x42,
  create = 0x43,
  delete_ = 0x44,

  allocate = 0x50,
  deallocate = 0x51,
  deallocate_array = 0x52,
  allocate_contiguous = 0x53,
  deallocate_contiguous = 0x54,

  collective_scalar = 0x60,
  collective_int = 0x61,
  collective_static = 0x62,
  assert_same_scalar = 0x63,
  assert_same_int = 0x64,
  assert_same_static = 0x65,
  broadcast_static = 0x66,
  set_persistent = 0x67,
  restore_persistent = 0x68,

  print_string = 0x70,
  print_int_variable = 0x71,
  print_index = 0x72,
  print_scalar_variable = 0x73,
  print_int = 0x74,
  print_scalar = 0x75,
  print_block = 0x76,
  print_static = 0x77,

  argument_block = 0x80,
  argument_array = 0x81,
  argument_scalar = 0x82,
  argument_int = 0x83,
  argument_index = 0x84,
  argument_scalar_constant = 0x85,
  argument_int_constant = 0x86,
  argument_string = 0x87,
  argument_region = 0x88,
  execute = 0x8f,
};

/// Variant of an assignment.
enum class Assign : std::uint8_t { set = 0, add = 1, subtract = 2, multiply = 3 };

/// Variant of a comparison.
enum class Relation : std::uint8_t {
  less = 0,
  less_equal = 1,
  greater = 2,
  greater_equal = 3,
  equal = 4,
  not_equal = 5
};

}  // namespace ob::sial
