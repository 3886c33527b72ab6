// SPDX-License-Identifier: Apache-2.0
// Verifies vector IR: signatures, immediates, structure, and that every value is available where it
// is used.
#include <inttypes.h>
#include <string.h>

#include "codegen/vir/tile.h"

enum { MAX_FAULTS = 20, MAX_DEPTH = 400 };

// Signature letters. T is the type that the first of `f`, `i`, `t`, `a`, `m` binds.
//   v void   x INDEX   f T, floats   i T, integers   t T, floats or integers   a T, anything
//   m a mask of T's lanes   1 one lane of T's element   s one integer lane, any width
//   d T with twice the lanes   h T with half the lanes   p integers of T's width and lanes
//   j integers of 32 or 64 bits, T's lanes   X, M: INDEX, mask, may be absent
// The result comes first.
static const char* const signatures[HLO_VIR_OPCODE_COUNT] = {
    [HLO_VIR_for] = "xxx",
    [HLO_VIR_loop] = "v",
    [HLO_VIR_break_if] = "vx",
    [HLO_VIR_if] = "vx",
    [HLO_VIR_var] = "aa",
    [HLO_VIR_set] = "vaa",
    [HLO_VIR_return] = "vx",
    [HLO_VIR_call] = "xXXXX",
    [HLO_VIR_suspend] = "v",
    [HLO_VIR_iload] = "xxX",
    [HLO_VIR_istore] = "vxxX",
    [HLO_VIR_icas] = "xxxxX",
    [HLO_VIR_load] = "txXM",
    [HLO_VIR_store] = "vtxXM",
    [HLO_VIR_load_splat] = "txX",
    [HLO_VIR_gather] = "txjM",
    [HLO_VIR_scatter] = "vtxjM",
    [HLO_VIR_prefetch] = "vxX",
    [HLO_VIR_const] = "t",
    [HLO_VIR_mask_const] = "m",
    [HLO_VIR_lane_iota] = "i",
    [HLO_VIR_splat] = "t1",
    [HLO_VIR_splat_index] = "ix",
    [HLO_VIR_to_index] = "xs",
    [HLO_VIR_mask_first] = "mx",
    [HLO_VIR_mask_bits] = "xm",
    [HLO_VIR_lower_half] = "td",
    [HLO_VIR_upper_half] = "td",
    [HLO_VIR_join] = "thh",
    [HLO_VIR_slide_up] = "tt",
    [HLO_VIR_permute] = "ttp",
    [HLO_VIR_zip_low] = "ttt",
    [HLO_VIR_zip_high] = "ttt",
    [HLO_VIR_select] = "tmtt",
    [HLO_VIR_recast] = "tr",
    [HLO_VIR_permute_pair] = "tttt",
    [HLO_VIR_fcmp] = "mff",
    [HLO_VIR_scmp] = "mii",
    [HLO_VIR_ucmp] = "mii",
    [HLO_VIR_tile_load] = "vxx",
    [HLO_VIR_tile_store] = "vxx",
    [HLO_VIR_group_shuffle] = "tt",
    [HLO_VIR_copy_async] = "vxx",
    [HLO_VIR_barrier_init] = "vx",
    [HLO_VIR_barrier_expect] = "vx",
    [HLO_VIR_barrier_arrive] = "vx",
    [HLO_VIR_barrier_wait] = "vxx",
    [HLO_VIR_copy_bulk] = "vxxxx",
    [HLO_VIR_frag_set] = "vt",
    [HLO_VIR_frag_get] = "t",
    [HLO_VIR_frag_load] = "vx",
    [HLO_VIR_warp_group_mma] = "vxx",
    [HLO_VIR_tensor_begin] = "vx",
    [HLO_VIR_tensor_mma] = "vxx",
    [HLO_VIR_tensor_commit] = "vx",
};

static const char* signature(hlo_vir_opcode_t op) {
  static const char* const of_class[] = {
      [HLO_VIR_TILE] = "v",   [HLO_VIR_INDEX_OP] = "xxxx", [HLO_VIR_FLOAT] = "ffff",
      [HLO_VIR_INT] = "iii",  [HLO_VIR_HALF] = "iii",      [HLO_VIR_DOT] = "tttt",
      [HLO_VIR_BITS] = "ttt", [HLO_VIR_MASK_OP] = "mmm",   [HLO_VIR_GROUP] = "v",
  };
  return signatures[op] ? signatures[op] : of_class[hlo_vir_opcode_class(op)];
}

typedef struct checker {
  const hlo_vir_func_t* func;
  uint32_t vector_bytes;
  uint32_t fault_count;
  hlo_strbuf_t faults;
  const hlo_vir_value_t** known;  // by number: values that may be used here
  uint8_t* seen;                  // by number: the number is taken
} checker_t;

static void fault(checker_t* c, const hlo_vir_value_t* value, const char* text) {
  if (++c->fault_count > MAX_FAULTS) return;
  hlo_strbuf_printf(&c->faults, "\n%s: %%%" PRIu32 " %s (debug id %" PRIu32 "): %s", c->func->name,
                    value->number, hlo_vir_opcode_name((hlo_vir_opcode_t)value->op),
                    value->debug_id, text);
}

static bool is_float(hlo_vir_type_t type) {
  return type.elem == HLO_VIR_F32 || type.elem == HLO_VIR_F64;
}
static bool is_int(hlo_vir_type_t type) {
  return type.elem >= HLO_VIR_I8 && type.elem <= HLO_VIR_I64;
}

static bool is_sound_type(hlo_vir_type_t type) {
  if (type.elem == HLO_VIR_VOID) return type.lanes == 0;
  if (type.elem == HLO_VIR_INDEX) return type.lanes == 1;
  return type.elem <= HLO_VIR_F64 && type.lanes >= 1 && type.lanes <= HLO_VIR_MAX_LANES &&
         (type.lanes & (type.lanes - 1)) == 0;
}

// ---- signatures --------------------------------------------------------------------------------

static bool fits_letter(char letter, hlo_vir_type_t type, hlo_vir_type_t bound) {
  uint32_t bits = hlo_vir_elem_bits((hlo_vir_elem_t)type.elem);
  bool same = hlo_vir_type_equal(type, bound);
  switch (letter) {
    case 'v': return type.elem == HLO_VIR_VOID;
    case 'x':
    case 'X': return type.elem == HLO_VIR_INDEX;
    case 'f': return same && is_float(type);
    case 'i': return same && is_int(type);
    case 't': return same && (is_int(type) || is_float(type));
    case 'a': return same && type.elem != HLO_VIR_VOID;
    case 'm':
    case 'M': return type.elem == HLO_VIR_MASK && type.lanes == bound.lanes;
    case '1': return type.elem == bound.elem && type.lanes == 1;
    case 's': return is_int(type) && type.lanes == 1;
    case 'r':
      return (is_int(type) || is_float(type)) &&
             bits * type.lanes == hlo_vir_elem_bits((hlo_vir_elem_t)bound.elem) * bound.lanes;
    case 'd': return type.elem == bound.elem && type.lanes == bound.lanes * 2;
    case 'h': return type.elem == bound.elem && type.lanes * 2 == bound.lanes;
    case 'p':
      return is_int(type) && type.lanes == bound.lanes &&
             bits == hlo_vir_elem_bits((hlo_vir_elem_t)bound.elem);
    case 'j': return is_int(type) && bits >= 32 && type.lanes == bound.lanes;
    default: return false;
  }
}

// Returns the type that binds T: the first among the result and the operands whose letter binds. A
// mask binds only the number of lanes, so it is the last choice.
static hlo_vir_type_t bound_type(const hlo_vir_value_t* value, const char* letters) {
  for (const char* binding = "fita"; *binding; ++binding) {
    const char* at = strchr(letters, *binding);
    if (!at) continue;
    uint32_t operand = (uint32_t)(at - letters);
    if (operand == 0) return value->type;
    if (operand <= value->operand_count && value->operands[operand - 1]) {
      return value->operands[operand - 1]->type;
    }
  }
  if (letters[0] == 'm') return value->type;
  return value->operand_count && value->operands[0] ? value->operands[0]->type : value->type;
}

static void check_signature(checker_t* c, const hlo_vir_value_t* value) {
  const char* letters = signature((hlo_vir_opcode_t)value->op);
  hlo_vir_type_t bound = bound_type(value, letters);
  if (!fits_letter(letters[0], value->type, bound)) fault(c, value, "type of the result");
  uint32_t most = hlo_vir_opcode_operand_count((hlo_vir_opcode_t)value->op);
  for (uint32_t i = 0; i < most; ++i) {
    const hlo_vir_value_t* operand = i < value->operand_count ? value->operands[i] : NULL;
    char letter = letters[i + 1];
    if (!operand) {
      if (letter != 'X' && letter != 'M') fault(c, value, "an operand is absent");
    } else if (!fits_letter(letter, operand->type, bound)) {
      fault(c, value, "type of an operand");
    }
  }
}

// Checks widths and kinds of both sides of a conversion.
static bool is_sound_convert(hlo_vir_opcode_t op, hlo_vir_type_t to, hlo_vir_type_t from) {
  uint32_t to_bits = hlo_vir_elem_bits((hlo_vir_elem_t)to.elem);
  uint32_t from_bits = hlo_vir_elem_bits((hlo_vir_elem_t)from.elem);
  if (to.lanes != from.lanes) return false;
  switch (op) {
    case HLO_VIR_bitcast:
      return (is_int(to) || is_float(to)) && (is_int(from) || is_float(from)) &&
             to_bits == from_bits;
    case HLO_VIR_sext:
    case HLO_VIR_zext: return is_int(to) && is_int(from) && to_bits > from_bits;
    case HLO_VIR_trunc: return is_int(to) && is_int(from) && to_bits < from_bits;
    case HLO_VIR_fext: return to.elem == HLO_VIR_F64 && from.elem == HLO_VIR_F32;
    case HLO_VIR_ftrunc: return to.elem == HLO_VIR_F32 && from.elem == HLO_VIR_F64;
    case HLO_VIR_stof:
    case HLO_VIR_utof: return is_float(to) && is_int(from) && from_bits >= 32;
    case HLO_VIR_ftos:
    case HLO_VIR_ftou: return is_float(from) && is_int(to) && to_bits >= 32;
    case HLO_VIR_half_to_f32: return to.elem == HLO_VIR_F32 && from.elem == HLO_VIR_I16;
    case HLO_VIR_f32_to_half: return to.elem == HLO_VIR_I16 && from.elem == HLO_VIR_F32;
    default: return false;
  }
}

static void check_types(checker_t* c, const hlo_vir_value_t* value) {
  if (!is_sound_type(value->type)) fault(c, value, "no such type");
  uint32_t bits = hlo_vir_elem_bits((hlo_vir_elem_t)value->type.elem);
  if (c->vector_bytes && bits / 8 * value->type.lanes > c->vector_bytes) {
    fault(c, value, "wider than a vector register");
  }
  if (hlo_vir_opcode_class((hlo_vir_opcode_t)value->op) != HLO_VIR_CONVERT) {
    check_signature(c, value);
  } else if (value->operand_count != 1 || !value->operands[0]) {
    fault(c, value, "an operand is absent");
  } else if (!is_sound_convert((hlo_vir_opcode_t)value->op, value->type,
                               value->operands[0]->type)) {
    fault(c, value, "conversion between these types");
  }
}

// ---- immediates --------------------------------------------------------------------------------

static bool is_inside(const hlo_vir_value_t* value, hlo_vir_opcode_t op) {
  for (const hlo_vir_value_t* at = value->parent->owner; at; at = at->parent->owner) {
    if (at->op == op) return true;
  }
  return false;
}

static bool has_var_operand(const hlo_vir_value_t* value) {
  for (uint32_t i = 0; i < value->operand_count; ++i) {
    if (value->operands[i] && value->operands[i]->op == HLO_VIR_var) return true;
  }
  return false;
}

// Returns true if the number is a function of the module that never suspends.
static bool is_callable(const hlo_vir_module_t* module, int64_t number) {
  const hlo_vir_func_t* func = module->first_func;
  while (func && func->index != number) func = func->next;
  return func && !func->is_entry;
}

static bool is_tile_config(int64_t imm) {
  for (uint32_t i = 0; i < HLO_VIR_TILE_COUNT; ++i) {
    if (hlo_vir_tile_config_rows(imm, i) > HLO_VIR_TILE_ROWS) return false;
  }
  return true;
}

// Returns true if the operands are three different tiles.
static bool is_tile_dot(const hlo_vir_value_t* value) {
  uint32_t sum = hlo_vir_tile_operand(value->imm, 0), a = hlo_vir_tile_operand(value->imm, 1);
  uint32_t b = hlo_vir_tile_operand(value->imm, 2);
  return value->flags < HLO_VIR_TILE_KIND_COUNT && value->imm >> 12 == 0 &&
         sum < HLO_VIR_TILE_COUNT && a < HLO_VIR_TILE_COUNT && b < HLO_VIR_TILE_COUNT && sum != a &&
         sum != b && a != b;
}

static void check_imm(checker_t* c, const hlo_vir_value_t* value) {
  int64_t imm = value->imm;
  uint32_t bits = hlo_vir_elem_bits((hlo_vir_elem_t)value->type.elem);
  const hlo_vir_module_t* module = c->func->module;
  bool sound = true;
  switch (value->op) {
    case HLO_VIR_for: sound = imm > 0 && !has_var_operand(value); break;
    case HLO_VIR_suspend: sound = imm > 0 && imm <= INT32_MAX && c->func->is_entry; break;
    case HLO_VIR_call:
      sound = value->flags & HLO_VIR_LOCAL ? is_callable(module, imm)
                                           : imm >= 0 && imm % (int64_t)sizeof(void*) == 0;
      break;
    case HLO_VIR_break_if: sound = is_inside(value, HLO_VIR_loop); break;
    case HLO_VIR_set: sound = value->operand_count && value->operands[0]->op == HLO_VIR_var; break;
    case HLO_VIR_param: sound = imm >= 0 && imm < c->func->param_count; break;
    case HLO_VIR_rodata: sound = imm >= 0 && imm < module->blob_count; break;
    case HLO_VIR_func_address: sound = imm >= 0 && imm < module->func_count; break;
    case HLO_VIR_stack: sound = imm > 0 && imm <= INT32_MAX; break;
    case HLO_VIR_ishl:
    case HLO_VIR_ishr:
    case HLO_VIR_shli:
    case HLO_VIR_lshri:
    case HLO_VIR_ashri: sound = imm >= 0 && imm < bits; break;
    case HLO_VIR_rotli: sound = imm > 0 && imm < bits; break;
    case HLO_VIR_isext: sound = imm == 8 || imm == 16 || imm == 32; break;
    case HLO_VIR_icmp: sound = value->flags <= HLO_VIR_GE; break;
    case HLO_VIR_scmp:
    case HLO_VIR_ucmp: sound = imm >= 0 && imm <= HLO_VIR_GE; break;
    case HLO_VIR_fcmp: sound = imm >= 0 && imm <= HLO_VIR_ORDERED; break;
    case HLO_VIR_fround: sound = imm >= 0 && imm <= HLO_VIR_TOWARD_ZERO; break;
    case HLO_VIR_slide_up: sound = imm >= 0; break;
    case HLO_VIR_zip_low:
    case HLO_VIR_zip_high:
    case HLO_VIR_permute: sound = imm == 0 || (imm < value->type.lanes && imm * bits == 128); break;
    case HLO_VIR_permute_pair:
      sound = value->type.elem == HLO_VIR_I8 && value->type.lanes >= 16;
      break;
    case HLO_VIR_dot_u8s8:
    case HLO_VIR_dot_bf16:
      sound = value->type.elem == hlo_vir_dot_elem((hlo_vir_opcode_t)value->op);
      break;
    case HLO_VIR_tile_config: sound = is_tile_config(imm); break;
    case HLO_VIR_tile_zero: sound = imm >= 0 && imm < HLO_VIR_TILE_COUNT; break;
    case HLO_VIR_tile_load:
    case HLO_VIR_tile_store:
      sound = imm == (int32_t)imm && hlo_vir_tile_rows(value->flags) <= HLO_VIR_TILE_ROWS;
      break;
    case HLO_VIR_tile_dot: sound = is_tile_dot(value); break;
    case HLO_VIR_group_shuffle: sound = imm > 0 && imm < 32 && value->type.lanes == 1; break;
    case HLO_VIR_copy_async: sound = imm == 4 || imm == 8 || imm == 16; break;
    case HLO_VIR_copy_wait:
    case HLO_VIR_frag_load: sound = imm >= 0; break;
    case HLO_VIR_group_sync:
    case HLO_VIR_copy_bulk:
    case HLO_VIR_frag_set: sound = imm >= 0; break;
    case HLO_VIR_tensor_end:
    case HLO_VIR_tensor_begin:
    case HLO_VIR_barrier_init:
    case HLO_VIR_barrier_expect: sound = imm > 0; break;
    case HLO_VIR_tensor_load:
    case HLO_VIR_tensor_store: sound = imm >= 0 && __builtin_popcount(value->flags) == 1; break;
    case HLO_VIR_frag_get: sound = imm >= 0 && bits == 32; break;
    case HLO_VIR_half_add:
    case HLO_VIR_half_sub:
    case HLO_VIR_half_mul:
    case HLO_VIR_half_div:
    case HLO_VIR_half_sqrt: sound = value->type.elem == HLO_VIR_I16; break;
    case HLO_VIR_sdiv:
    case HLO_VIR_srem:
    case HLO_VIR_udiv:
    case HLO_VIR_urem: sound = value->type.lanes == 1; break;
    default: break;
  }
  const bool is_group = hlo_vir_opcode_class((hlo_vir_opcode_t)value->op) == HLO_VIR_GROUP;
  if (is_group && !module->has_groups) fault(c, value, "no threads run in groups");
  if (!sound) fault(c, value, "immediate, flags or position");
}

// ---- structure ---------------------------------------------------------------------------------

static void check_operands_known(checker_t* c, const hlo_vir_value_t* value) {
  if (value->operand_count > hlo_vir_opcode_operand_count((hlo_vir_opcode_t)value->op)) {
    fault(c, value, "too many operands");
  }
  for (uint32_t i = 0; i < value->operand_count && i < HLO_VIR_MAX_OPERANDS; ++i) {
    const hlo_vir_value_t* operand = value->operands[i];
    if (operand &&
        (operand->number >= c->func->value_count || c->known[operand->number] != operand)) {
      fault(c, value, "an operand is not known here");
    }
  }
}

static void check_links(checker_t* c, const hlo_vir_value_t* value, const hlo_vir_block_t* block) {
  if (value->parent != block || (value->prev ? value->prev->next : block->first) != value ||
      (value->next ? value->next->prev : block->last) != value) {
    fault(c, value, "links");
  }
  if (c->seen[value->number]) fault(c, value, "its number is used twice");
  c->seen[value->number] = 1;
  bool has_body = value->op == HLO_VIR_for || value->op == HLO_VIR_loop || value->op == HLO_VIR_if;
  if (has_body != (value->body != NULL) ||
      (value->op == HLO_VIR_if) != (value->other_body != NULL)) {
    fault(c, value, "bodies");
  }
}

static void check_block(checker_t* c, const hlo_vir_block_t* block);

static void check_body(checker_t* c, const hlo_vir_value_t* value, const hlo_vir_block_t* body) {
  if (!body) return;
  if (body->owner != value || body->parent != value->parent ||
      body->depth != value->parent->depth + 1) {
    fault(c, value, "a body's owner, parent or depth");
  } else if (body->depth > MAX_DEPTH) {
    fault(c, value, "nested too deep");
  } else {
    check_block(c, body);
  }
}

static void check_block(checker_t* c, const hlo_vir_block_t* block) {
  for (const hlo_vir_value_t* value = block->first; value; value = value->next) {
    if (value->op >= HLO_VIR_OPCODE_COUNT || value->number >= c->func->value_count) {
      ++c->fault_count;
      hlo_strbuf_printf(&c->faults, "\n%s: no such op or number", c->func->name);
      return;
    }
    check_links(c, value, block);
    check_operands_known(c, value);
    check_types(c, value);
    check_imm(c, value);
    if (value->op == HLO_VIR_for) c->known[value->number] = value;
    check_body(c, value, value->body);
    check_body(c, value, value->other_body);
    c->known[value->number] = value->op == HLO_VIR_for ? NULL : value;
  }
  for (const hlo_vir_value_t* value = block->first; value; value = value->next) {
    c->known[value->number] = NULL;
  }
}

static void check_func(checker_t* c, const hlo_vir_func_t* func) {
  c->func = func;
  if (func->param_count > HLO_VIR_MAX_PARAMS || func->param_count < 1) {
    ++c->fault_count;
    hlo_strbuf_printf(&c->faults, "\n%s: %" PRIu32 " parameters", func->name, func->param_count);
  }
  check_block(c, func->body);
  if (!func->body->last || func->body->last->op != HLO_VIR_return) {
    ++c->fault_count;
    hlo_strbuf_printf(&c->faults, "\n%s: does not end with return", func->name);
  }
}

hlo_status_t hlo_vir_verify(const hlo_vir_module_t* module, uint32_t vector_bytes) {
  HLO_TRY(hlo_vir_module_status(module));
  checker_t c = {.vector_bytes = vector_bytes};
  hlo_status_t status = hlo_ok();
  for (const hlo_vir_func_t* func = module->first_func; func; func = func->next) {
    c.known = hlo_mem_alloc_zeroed(func->value_count * sizeof *c.known);
    c.seen = hlo_mem_alloc_zeroed(func->value_count);
    if (c.known && c.seen) {
      check_func(&c, func);
    } else {
      status = hlo_status_out_of_memory(func->value_count * sizeof *c.known);
    }
    hlo_mem_free(c.known);
    hlo_mem_free(c.seen);
    if (!hlo_status_is_ok(status)) break;
  }
  if (hlo_status_is_ok(status) && c.fault_count) {
    status = hlo_internal_error("vector IR with %" PRIu32 " faults:%s", c.fault_count,
                                hlo_strbuf_text(&c.faults));
  }
  hlo_strbuf_deinit(&c.faults);
  return status;
}
