"""The operations of byte code, version 1.   Source: docs/sial/bytecode.md, "Instructions"."""

from __future__ import annotations

from enum import IntEnum


class Op(IntEnum):
    """An operation."""

    HALT = 0x00
    JUMP = 0x01
    JUMP_IF_FALSE = 0x02
    CALL = 0x03
    RETURN = 0x04
    STOP = 0x05
    LOOP_BEGIN = 0x06
    WHERE = 0x07
    LOOP_END = 0x08
    LOOP_EXIT = 0x09
    LOOP_CYCLE = 0x0A
    BARRIER = 0x0B
    SECTION_BEGIN = 0x0C
    SECTION_END = 0x0D
    GPU_ON = 0x0E
    GPU_OFF = 0x0F
    PUSH_INT = 0x10
    PUSH_INT_VARIABLE = 0x11
    PUSH_INDEX = 0x12
    PUSH_SCALAR = 0x13
    PUSH_SCALAR_VARIABLE = 0x14
    PUSH_ELEMENT = 0x15
    PUSH_CONTRACTION = 0x16
    INT_ADD = 0x17
    INT_SUBTRACT = 0x18
    INT_MULTIPLY = 0x19
    INT_DIVIDE = 0x1A
    INT_NEGATE = 0x1B
    SCALAR_ADD = 0x1C
    SCALAR_SUBTRACT = 0x1D
    SCALAR_MULTIPLY = 0x1E
    SCALAR_DIVIDE = 0x1F
    SCALAR_NEGATE = 0x20
    SCALAR_POWER = 0x21
    SCALAR_SQRT = 0x22
    INT_TO_SCALAR = 0x23
    SCALAR_TO_INT = 0x24
    COMPARE_INTS = 0x25
    COMPARE_SCALARS = 0x26
    STORE_INT = 0x27
    STORE_SCALAR = 0x28
    BLOCK_FILL = 0x30
    BLOCK_COPY = 0x31
    BLOCK_ADD = 0x32
    BLOCK_SUBTRACT = 0x33
    BLOCK_SCALE = 0x34
    BLOCK_CONTRACT = 0x35
    BLOCK_OUTER = 0x36
    BLOCK_SLICE = 0x37
    BLOCK_INSERT = 0x38
    STATIC_FILL = 0x39
    STATIC_COPY = 0x3A
    REGION_FILL = 0x3B
    REGION_STORE = 0x3C
    REGION_LOAD = 0x3D
    BLOCK_RELEASE = 0x3E
    GET = 0x40
    PUT_BLOCK = 0x41
    PUT_SCALAR = 0x42
    CREATE = 0x43
    DELETE = 0x44
    ALLOCATE = 0x50
    DEALLOCATE = 0x51
    DEALLOCATE_ARRAY = 0x52
    ALLOCATE_CONTIGUOUS = 0x53
    DEALLOCATE_CONTIGUOUS = 0x54
    COLLECTIVE_SCALAR = 0x60
    COLLECTIVE_INT = 0x61
    COLLECTIVE_STATIC = 0x62
    ASSERT_SAME_SCALAR = 0x63
    ASSERT_SAME_INT = 0x64
    ASSERT_SAME_STATIC = 0x65
    BROADCAST_STATIC = 0x66
    SET_PERSISTENT = 0x67
    RESTORE_PERSISTENT = 0x68
    PRINT_STRING = 0x70
    PRINT_INT_VARIABLE = 0x71
    PRINT_INDEX = 0x72
    PRINT_SCALAR_VARIABLE = 0x73
    PRINT_INT = 0x74
    PRINT_SCALAR = 0x75
    PRINT_BLOCK = 0x76
    PRINT_STATIC = 0x77
    ARGUMENT_BLOCK = 0x80
    ARGUMENT_ARRAY = 0x81
    ARGUMENT_SCALAR = 0x82
    ARGUMENT_INT = 0x83
    ARGUMENT_INDEX = 0x84
    ARGUMENT_SCALAR_CONSTANT = 0x85
    ARGUMENT_INT_CONSTANT = 0x86
    ARGUMENT_STRING = 0x87
    ARGUMENT_REGION = 0x88
    EXECUTE = 0x8F

    @property
    def text(self) -> str:
        """The name on the page and in the text of the assembler."""
        return self.name.lower()


ASSIGNMENTS = {"=": 0, "+=": 1, "-=": 2, "*=": 3}
COMPARISONS = {"<": 0, "<=": 1, ">": 2, ">=": 3, "==": 4, "!=": 5}
