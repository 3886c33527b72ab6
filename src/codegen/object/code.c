// SPDX-License-Identifier: Apache-2.0
// Machine code before it is loaded (see code.h).
#include "codegen/object/code.h"

#include "base/mem.h"

void hlo_code_deinit(hlo_code_t* code) {
  hlo_mem_free(code->bytes);
  hlo_mem_free(code->funcs);
  hlo_mem_free(code->debug_ids);
  *code = (hlo_code_t){0};
}
