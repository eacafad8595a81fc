/* A plug-in in C: it adds a number to a block. */
#include <outboard/sial.h>

static int shift(ob_sial_call* call, ob_sial_argument* arguments, int32_t count) {
  ob_sial_argument* block = &arguments[0];
  int64_t i;
  (void)count;
  if (block->kind != OB_SIAL_BLOCK || arguments[1].kind != OB_SIAL_SCALAR) {
    call->fail(call, "shift_block takes a block and a scalar");
    return 1;
  }
  for (i = 0; i < block->elements; ++i) block->data[i] += *arguments[1].scalar;
  return 0;
}

static const ob_sial_entry entries[] = {{"shift_block", "ur", shift, 0}};
static const ob_sial_table table = {OB_SIAL_VERSION, sizeof(ob_sial_entry), 1, entries};

const ob_sial_table* ob_sial_plugin(void) { return &table; }
