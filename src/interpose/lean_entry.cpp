#include "interpose/lean_entry.hpp"

#if OB_LEAN_ENTRIES

#include <cstddef>

static_assert(offsetof(ob::interpose::LeanFrame, floating) == 48);
static_assert(offsetof(ob::interpose::LeanFrame, value) == 112);
static_assert(offsetof(ob::interpose::LeanFrame, frame_pointer) == 128);

// At the start of both bodies rax has the record, the return address is the caller's, and all
// arguments are in their places. The bodies build a LeanFrame, and unwinders may pass through it.
// ob_lean_slow returns to the caller. ob_lean_find puts every argument back and jumps to the
// original, or to ob_lean_slow if ob_find_lean_original returns null.
asm(R"(
  .macro ob_lean_begin name
  .globl \name
  .hidden \name
  .type \name, @function
  .balign 16
\name:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  subq $128, %rsp
  movq %rdi, 0(%rsp)
  movq %rsi, 8(%rsp)
  movq %rdx, 16(%rsp)
  movq %rcx, 24(%rsp)
  movq %r8, 32(%rsp)
  movq %r9, 40(%rsp)
  movsd %xmm0, 48(%rsp)
  movsd %xmm1, 56(%rsp)
  movsd %xmm2, 64(%rsp)
  movsd %xmm3, 72(%rsp)
  movsd %xmm4, 80(%rsp)
  movsd %xmm5, 88(%rsp)
  movsd %xmm6, 96(%rsp)
  movsd %xmm7, 104(%rsp)
  movq %rax, %rdi
  movq %rsp, %rsi
  .endm

  .text
  ob_lean_begin ob_lean_slow
  call ob_take_lean_call
  movsd 112(%rsp), %xmm0
  movsd 120(%rsp), %xmm1
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size ob_lean_slow, .-ob_lean_slow

  ob_lean_begin ob_lean_find
  movq %rax, 112(%rsp)
  call ob_find_lean_original
  movq %rax, %r11
  movq 112(%rsp), %rax
  movq 0(%rsp), %rdi
  movq 8(%rsp), %rsi
  movq 16(%rsp), %rdx
  movq 24(%rsp), %rcx
  movq 32(%rsp), %r8
  movq 40(%rsp), %r9
  movsd 48(%rsp), %xmm0
  movsd 56(%rsp), %xmm1
  movsd 64(%rsp), %xmm2
  movsd 72(%rsp), %xmm3
  movsd 80(%rsp), %xmm4
  movsd 88(%rsp), %xmm5
  movsd 96(%rsp), %xmm6
  movsd 104(%rsp), %xmm7
  leave
  .cfi_def_cfa %rsp, 8
  testq %r11, %r11
  je ob_lean_slow
  jmp *%r11
  .cfi_endproc
  .size ob_lean_find, .-ob_lean_find
  .purgem ob_lean_begin
)");

namespace ob::interpose {
namespace {

// Room for the arguments, which is not cleared first.
union Arguments {
  Arguments() noexcept {}
  Raw raw[kMaxRaw];
};

template <class Target>
Target* at(const LeanEntry& record, std::int32_t distance) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(&record);
  return reinterpret_cast<Target*>(begin + static_cast<std::intptr_t>(distance));
}

}  // namespace

void read_arguments(const char* types, const LeanFrame& frame, Raw* arguments) noexcept {
  const Raw* integer = frame.integers;
  const Raw* floating = frame.floating;
  const Raw* stack = frame.stack;
  for (char type; (type = *types) != '\0'; ++types, ++arguments) {
    if (type == 'f' || type == 'd') {
      *arguments = floating != frame.floating + kFloatingRegisters ? *floating++ : *stack++;
      continue;
    }
    *arguments = integer != frame.integers + kIntegerRegisters ? *integer++ : *stack++;
    // The upper part of a register that holds a shorter value is undefined.
    if (type == 'i') *arguments = static_cast<int>(arguments->integer);
    if (type == 'c') *arguments = static_cast<char>(arguments->integer);
  }
}

}  // namespace ob::interpose

/// Returns the value for rax. The value in the frame goes to xmm0 and xmm1.
extern "C" [[gnu::visibility("hidden"), gnu::used]] std::int64_t ob_take_lean_call(
    const ob::interpose::LeanEntry& record, ob::interpose::LeanFrame& frame) {
  using namespace ob::interpose;
  const char* const types = at<const char>(record, record.types);
  Arguments memory;
  Raw* const raw = memory.raw;
  read_arguments(types + 1, frame, raw);
  const Entry entry{*at<Symbol>(record, record.symbol),
                    *at<const EntryRow>(record, record.row),
                    record.precision,
                    record.abi,
                    record.integers,
                    reinterpret_cast<Invoke>(at<void>(record, record.invoke))};
  const bool has_value = *types != 'v' && *types != 'i';
  frame.value[0] = frame.value[1] = 0;
  const std::int64_t info = take_call(entry, raw, frame.caller, has_value ? frame.value : nullptr);
  return *types == 'i' ? info : static_cast<Raw>(frame.value[0]).integer;
}

/// Finds the original, to which ob_lean_find jumps. Null if the slow path must take the call,
/// because the call uses an alias and is not small.
extern "C" [[gnu::visibility("hidden"), gnu::used]] void* ob_find_lean_original(
    const ob::interpose::LeanEntry& record, const ob::interpose::LeanFrame& frame) {
  using namespace ob::interpose;
  Symbol& symbol = *at<Symbol>(record, record.symbol);
  void* const function = original(symbol, frame.caller);
  if (record.operations == 0) return function;
  if (!is_alias(symbol, function, at<const char>(record, record.fortran_name))) return function;
  Arguments memory;
  Raw* const raw = memory.raw;
  read_arguments(at<const char>(record, record.types) + 1, frame, raw);
  const auto operations =
      reinterpret_cast<double (*)(const Raw*)>(at<void>(record, record.operations));
  return is_small(operations(raw)) ? function : nullptr;
}

#endif
