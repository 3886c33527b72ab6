// SPDX-License-Identifier: Apache-2.0
// Modules and functions of the vector IR, and accessors of its table (see vir.h).
#include "codegen/vir/vir.h"

#include <string.h>

#include "base/env.h"
#include "base/hash.h"

enum { BLOB_ALIGN = 64 };

// ---- the table ---------------------------------------------------------------------------------

#define TRAIT_NONE false
#define TRAIT_PURE true
#define CLASS_CONTROL HLO_VIR_CONTROL
#define CLASS_INDEX HLO_VIR_INDEX_OP
#define CLASS_MEMORY HLO_VIR_MEMORY
#define CLASS_CROSS HLO_VIR_CROSS
#define CLASS_TILE HLO_VIR_TILE
#define CLASS_GROUP HLO_VIR_GROUP
#define CLASS_FLOAT HLO_VIR_FLOAT
#define CLASS_INT HLO_VIR_INT
#define CLASS_DOT HLO_VIR_DOT
#define CLASS_HALF HLO_VIR_HALF
#define CLASS_BITS HLO_VIR_BITS
#define CLASS_CONVERT HLO_VIR_CONVERT
#define CLASS_COMPARE HLO_VIR_COMPARE
#define CLASS_MASK HLO_VIR_MASK_OP

const hlo_vir_opcode_info_t hlo_vir_opcodes[HLO_VIR_OPCODE_COUNT] = {
#define HLO_VIR_OP(id, operand_count, klass, traits) \
  [HLO_VIR_##id] = {#id, operand_count, CLASS_##klass, TRAIT_##traits},
#define HLO_VIR_LANE(id, operand_count, klass, traits, ...) \
  [HLO_VIR_##id] = {#id, operand_count, CLASS_##klass, TRAIT_##traits},
#include "codegen/vir/vir.def"
};

const char* hlo_vir_opcode_name(hlo_vir_opcode_t op) {
  return op < HLO_VIR_OPCODE_COUNT ? hlo_vir_opcodes[op].name : "?";
}
uint32_t hlo_vir_opcode_operand_count(hlo_vir_opcode_t op) {
  return hlo_vir_opcodes[op].operand_count;
}

uint32_t hlo_vir_base_operand(hlo_vir_opcode_t op) {
  if (op == HLO_VIR_icas) return 2;
  return op == HLO_VIR_store || op == HLO_VIR_istore || op == HLO_VIR_scatter ? 1 : 0;
}

// ---- modules -----------------------------------------------------------------------------------

static hlo_vir_func_t* new_func(hlo_vir_module_t* module, const char* name) {
  hlo_vir_func_t* func = hlo_arena_alloc_zeroed(&module->arena, sizeof *func);
  hlo_vir_block_t* body = hlo_arena_alloc_zeroed(&module->arena, sizeof *body);
  char* copy = hlo_arena_strndup(&module->arena, name, strlen(name));
  if (!func || !body || !copy) return NULL;
  func->module = module;
  func->name = copy;
  func->body = body;
  return func;
}

hlo_status_t hlo_vir_module_create(hlo_vir_module_t** out_module) {
  hlo_vir_module_t* module = hlo_mem_alloc_zeroed(sizeof *module);
  if (!module) return hlo_status_out_of_memory(sizeof *module);
  hlo_arena_init(&module->arena, 0);
  module->subnormals = hlo_env_default()->subnormals;
  module->poison = hlo_arena_alloc_zeroed(&module->arena, sizeof *module->poison);
  module->poison_func = new_func(module, "poison");
  if (!module->poison || !module->poison_func) {
    hlo_status_t status = hlo_vir_module_status(module);
    hlo_vir_module_release(module);
    return status;
  }
  module->poison->op = HLO_VIR_iconst;
  module->poison->type = hlo_vir_type(HLO_VIR_INDEX, 1);
  module->poison->parent = module->poison_func->body;
  *out_module = module;
  return hlo_ok();
}

void hlo_vir_module_release(hlo_vir_module_t* module) {
  if (!module) return;
  hlo_status_release(module->failure);
  hlo_arena_deinit(&module->arena);
  hlo_mem_free(module);
}

void hlo_vir_module_fail(hlo_vir_module_t* module, hlo_status_t status) {
  if (hlo_status_is_ok(module->failure)) {
    module->failure = status;
  } else {
    hlo_status_release(status);
  }
  module->arena.failed = true;
}

hlo_status_t hlo_vir_module_status(const hlo_vir_module_t* module) {
  if (!hlo_status_is_ok(module->failure)) return hlo_status_clone(module->failure);
  return hlo_arena_status(&module->arena);
}

uint32_t hlo_vir_module_add_blob(hlo_vir_module_t* module, const void* bytes, size_t size_bytes) {
  uint64_t hash = hlo_hash_bytes(bytes, size_bytes, 0);
  for (uint32_t i = 0; i < module->blob_count; ++i) {
    const hlo_vir_blob_t* blob = &module->blobs[i];
    if (blob->hash == hash && blob->size_bytes == size_bytes &&
        memcmp(blob->bytes, bytes, size_bytes) == 0) {
      return i;
    }
  }
  size_t room;
  if (!hlo_size_add(size_bytes, BLOB_ALIGN, &room)) {
    module->arena.failed = true;
    return 0;
  }
  uint8_t* copy = hlo_arena_alloc(&module->arena, room);
  if (!copy ||
      !HLO_ARENA_GROW(&module->arena, module->blobs, module->blob_count, module->blob_capacity)) {
    return 0;
  }
  copy += -(uintptr_t)copy % BLOB_ALIGN;
  if (size_bytes) memcpy(copy, bytes, size_bytes);
  module->blobs[module->blob_count] = (hlo_vir_blob_t){copy, size_bytes, hash};
  return module->blob_count++;
}

hlo_vir_func_t* hlo_vir_func_create(hlo_vir_module_t* module, const char* name,
                                    uint32_t param_count, bool is_entry) {
  hlo_vir_func_t* func = module->arena.failed ? NULL : new_func(module, name);
  if (!func) return module->poison_func;
  func->index = module->func_count++;
  func->param_count = param_count;
  func->is_entry = is_entry;
  if (module->last_func) {
    module->last_func->next = func;
  } else {
    module->first_func = func;
  }
  module->last_func = func;
  return func;
}
