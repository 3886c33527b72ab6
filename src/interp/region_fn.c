// SPDX-License-Identifier: Apache-2.0
// Regions of scalar arguments (reducers, comparators, scatter and map bodies) as flat lists of
// scalar instructions over preallocated values; calls are inlined. Other regions run in the
// evaluator.
#include <string.h>

#include "base/mem.h"
#include "interp/eval_impl.h"

enum {
  INSTRUCTION_LIMIT = 4096,  // longer bodies run in the evaluator
  INLINE_DEPTH_LIMIT = 16,
  SCALAR_BYTES = 16,  // the widest element
  KEPT_LIMIT = 16,    // prepared functions cached per bucket of an evaluation
  BLOCK = 256,        // elements processed at a time by call_many
};

/// A value: an argument, a constant, a captured value or the result of an instruction.
typedef struct region_value {
  void* data;          // its element
  hlo_tensor_t* view;  // the element as a tensor for reference functions; NULL until needed
  const hlo_type_t* type;
  uint32_t width;               // of an element, in bytes
  bool is_fixed;                // constant or captured: the same for all calls
  const hlo_value_t* captured;  // defined outside the region; NULL otherwise
  uint8_t storage[SCALAR_BYTES];
} region_value_t;

typedef struct instruction {
  hlo_scalar_step_t scalar;
  hlo_ref_fn_t ref;  // used if the node is not a scalar step
  const hlo_node_t* node;
  uint32_t args[3];  // numbers of values
  const uint32_t* ref_args;
  uint32_t result;  // number of the first result
} instruction_t;

struct hlo_region_fn {
  hlo_eval_t* eval;
  const hlo_region_t* region;
  bool is_in_use;
  bool is_general;  // runs in the evaluator
  bool has_captures;
  bool has_blocks;      // `blocks` holds the fixed values of this preparation
  bool has_references;  // some instruction is a reference function
  uint8_t* blocks;      // BLOCK elements per value, allocated by the first call_many
  uint32_t arg_count, result_count, value_count, instruction_count;
  region_value_t* values;  // arguments first
  instruction_t* instructions;
  uint32_t* results;       // numbers of values
  hlo_tensor_t** scratch;  // operands and results of one reference function
  hlo_arena_t arena;
  hlo_op_t binary;
  hlo_region_fn_t* next;  // next in the evaluation's cache
};

// Creates an error in a region, located at the op that holds the region (called computations have
// none).
static hlo_status_t region_error(const hlo_region_t* region, hlo_status_code_t code,
                                 const char* message) {
  if (region->parent) return hlo_node_error(region->parent, code, "its region: %s", message);
  return hlo_status_create(code, "a called computation: %s", message);
}

// ---- compiling ----------------------------------------------------------------------------------

/// Maps values of the graph to numbers: open addressing, rebuilt for each inlined body.
typedef struct value_numbers {
  const hlo_value_t** keys;
  uint32_t* numbers;
  uint32_t mask;
} value_numbers_t;

typedef struct compile {
  hlo_region_fn_t* fn;
  uint32_t value_capacity, instruction_capacity;
  uint32_t depth;
  bool is_too_hard;  // run in the evaluator instead
} compile_t;

static uint32_t hash_value(const hlo_value_t* value) {
  return value->index * 2654435761u;
}

static hlo_status_t numbers_init(hlo_arena_t* arena, uint32_t count, value_numbers_t* numbers) {
  uint32_t size = 16;
  while (size < count * 2) size *= 2;
  numbers->mask = size - 1;
  numbers->keys = hlo_arena_array(arena, size, sizeof(*numbers->keys));
  numbers->numbers = hlo_arena_array(arena, size, sizeof(*numbers->numbers));
  return hlo_arena_status(arena);
}

static void numbers_set(value_numbers_t* map, const hlo_value_t* value, uint32_t number) {
  uint32_t at = hash_value(value) & map->mask;
  while (map->keys[at] && map->keys[at] != value) at = (at + 1) & map->mask;
  map->keys[at] = value;
  map->numbers[at] = number;
}

static bool numbers_get(const value_numbers_t* map, const hlo_value_t* value,
                        uint32_t* out_number) {
  for (uint32_t at = hash_value(value) & map->mask; map->keys[at]; at = (at + 1) & map->mask) {
    if (map->keys[at] != value) continue;
    *out_number = map->numbers[at];
    return true;
  }
  return false;
}

static bool is_scalar_type(const hlo_type_t* type) {
  return type->kind == HLO_TYPE_TENSOR && type->rank == 0 &&
         hlo_dtype_size_bytes(type->dtype) <= SCALAR_BYTES;
}

static hlo_status_t add_value(compile_t* c, const hlo_type_t* type, uint32_t* out_number) {
  hlo_region_fn_t* fn = c->fn;
  if (!is_scalar_type(type)) c->is_too_hard = true;
  if (!HLO_ARENA_GROW(&fn->arena, fn->values, fn->value_count, c->value_capacity))
    return hlo_arena_status(&fn->arena);
  fn->values[fn->value_count] =
      (region_value_t){.type = type, .width = (uint32_t)hlo_dtype_size_bytes(type->dtype)};
  *out_number = fn->value_count++;
  return hlo_ok();
}

static hlo_status_t add_instruction(compile_t* c, instruction_t** out_instruction) {
  hlo_region_fn_t* fn = c->fn;
  if (fn->instruction_count >= INSTRUCTION_LIMIT) c->is_too_hard = true;
  if (!HLO_ARENA_GROW(&fn->arena, fn->instructions, fn->instruction_count, c->instruction_capacity))
    return hlo_arena_status(&fn->arena);
  *out_instruction = &fn->instructions[fn->instruction_count++];
  return hlo_ok();
}

// Adds a constant of the body or a captured one.
static hlo_status_t add_constant(compile_t* c, const hlo_node_t* node, uint32_t* out_number) {
  const hlo_attr_t* value = hlo_node_attr(node, HLO_ATTR_value);
  HLO_TRY(add_value(c, node->results[0].type, out_number));
  if (!value || value->kind != HLO_ATTR_KIND_LITERAL || c->is_too_hard) {
    c->is_too_hard = true;
    return hlo_ok();
  }
  region_value_t* place = &c->fn->values[*out_number];
  place->is_fixed = true;
  memcpy(place->storage, value->literal->data, place->width);
  return hlo_ok();
}

static hlo_status_t number_of(compile_t* c, value_numbers_t* map, const hlo_value_t* value,
                              uint32_t* out_number) {
  if (numbers_get(map, value, out_number)) return hlo_ok();
  // Not defined in the body, so it is captured (inlined functions have no captures).
  if (value->def && hlo_op_has(value->def->op, HLO_TRAIT_CONSTANT)) {
    return add_constant(c, value->def, out_number);
  }
  c->fn->has_captures = true;
  HLO_TRY(add_value(c, value->type, out_number));
  c->fn->values[*out_number].captured = value;
  c->fn->values[*out_number].is_fixed = true;
  return hlo_ok();
}

static hlo_status_t compile_body(compile_t* c, const hlo_region_t* region, const uint32_t* args,
                                 uint32_t* results);

static hlo_status_t compile_constant(compile_t* c, value_numbers_t* map, const hlo_node_t* node) {
  uint32_t number;
  HLO_TRY(add_constant(c, node, &number));
  numbers_set(map, &node->results[0], number);
  return hlo_ok();
}

static hlo_status_t compile_call(compile_t* c, value_numbers_t* map, const hlo_node_t* node) {
  const char* name =
      hlo_node_attr_text(node, node->op == HLO_OP_call ? HLO_ATTR_callee : HLO_ATTR_decomposition);
  const hlo_func_t* func =
      name ? hlo_module_find_func(hlo_region_module(node->parent), name) : NULL;
  if (!func || !func->body || c->depth >= INLINE_DEPTH_LIMIT ||
      func->body->arg_count != node->operand_count) {
    c->is_too_hard = true;
    return hlo_ok();
  }
  uint32_t* args = hlo_arena_array(&c->fn->arena, node->operand_count, sizeof(*args));
  uint32_t* results = hlo_arena_array(&c->fn->arena, node->result_count, sizeof(*results));
  HLO_TRY(hlo_arena_status(&c->fn->arena));
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    HLO_TRY(number_of(c, map, hlo_node_operand(node, i), &args[i]));
  }
  const hlo_node_t* ret = hlo_region_terminator(func->body);
  if (!ret || ret->operand_count != node->result_count) {
    c->is_too_hard = true;
    return hlo_ok();
  }
  ++c->depth;
  HLO_TRY(compile_body(c, func->body, args, results));
  --c->depth;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    numbers_set(map, &node->results[i], results[i]);
  }
  return hlo_ok();
}

static hlo_status_t compile_op(compile_t* c, value_numbers_t* map, const hlo_node_t* node) {
  instruction_t instruction = {.node = node};
  hlo_arena_t* arena = &c->fn->arena;
  uint32_t* args = hlo_arena_array(arena, node->operand_count, sizeof(*args));
  HLO_TRY(hlo_arena_status(arena));
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    HLO_TRY(number_of(c, map, hlo_node_operand(node, i), &args[i]));
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    uint32_t number;
    HLO_TRY(add_value(c, node->results[i].type, &number));
    if (i == 0) instruction.result = number;
    numbers_set(map, &node->results[i], number);
  }
  bool is_plain = node->result_count == 1 && !node->results[0].type->quant;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    is_plain &= !hlo_node_operand_type(node, i)->quant;
  }
  instruction.ref_args = args;
  if (is_plain && node->operand_count >= 1 && node->operand_count <= 3 &&
      (hlo_op_info(node->op)->traits & HLO_TRAIT_ELEMENTWISE) &&
      hlo_scalar_step_prepare(node, &instruction.scalar)) {
    memcpy(instruction.args, args, node->operand_count * sizeof(*args));
  } else {
    instruction.ref = node->region_count == 0 ? hlo_ref_function(node->op) : NULL;
    if (!instruction.ref) c->is_too_hard = true;
  }
  instruction_t* place = NULL;
  HLO_TRY(add_instruction(c, &place));
  *place = instruction;
  return hlo_ok();
}

static hlo_status_t compile_body(compile_t* c, const hlo_region_t* region, const uint32_t* args,
                                 uint32_t* results) {
  uint32_t count = region->arg_count;
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    count += node->result_count;
  }
  value_numbers_t map;
  HLO_TRY(numbers_init(&c->fn->arena, count, &map));
  for (uint32_t i = 0; i < region->arg_count; ++i) numbers_set(&map, region->args[i], args[i]);
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    if (c->is_too_hard) return hlo_ok();
    if (hlo_op_info(node->op)->traits & HLO_TRAIT_TERMINATOR) {
      for (uint32_t i = 0; i < node->operand_count; ++i) {
        HLO_TRY(number_of(c, &map, hlo_node_operand(node, i), &results[i]));
      }
      return hlo_ok();
    }
    if (hlo_op_has(node->op, HLO_TRAIT_CONSTANT)) {
      HLO_TRY(compile_constant(c, &map, node));
    } else if (node->op == HLO_OP_call || node->op == HLO_OP_composite) {
      HLO_TRY(compile_call(c, &map, node));
    } else {
      HLO_TRY(compile_op(c, &map, node));
    }
  }
  return hlo_ok();
}

// ---- recognising --------------------------------------------------------------------------------

static void recognise_binary(hlo_region_fn_t* fn) {
  fn->binary = HLO_OP_COUNT;
  if (fn->is_general || fn->instruction_count != 1 || fn->arg_count != 2 || fn->result_count != 1) {
    return;
  }
  const instruction_t* only = &fn->instructions[0];
  const hlo_node_t* node = only->node;
  if (only->ref || node->operand_count != 2 || fn->results[0] != only->result ||
      node->results[0].type->dtype != hlo_node_operand_type(node, 0)->dtype ||
      node->op == HLO_OP_compare) {
    return;
  }
  bool is_straight = only->args[0] == 0 && only->args[1] == 1;
  bool is_swapped = only->args[0] == 1 && only->args[1] == 0;
  if (is_straight || (is_swapped && (hlo_op_info(node->op)->traits & HLO_TRAIT_COMMUTATIVE))) {
    fn->binary = node->op;
  }
}

// ---- creation -----------------------------------------------------------------------------------

static void region_fn_free(hlo_region_fn_t* fn) {
  for (uint32_t i = 0; i < fn->value_count; ++i) hlo_tensor_release(fn->values[i].view);
  hlo_mem_free(fn->blocks);
  hlo_arena_deinit(&fn->arena);
  hlo_mem_free(fn);
}

// Creates a view over an element for reference functions, which never overwrite lent storage.
static hlo_status_t make_view(region_value_t* value) {
  if (value->view) return hlo_ok();
  HLO_TRY(hlo_tensor_create_lent(value->type->dtype, 0, NULL, value->data, true, NULL, NULL,
                                 &value->view));
  value->view->quant = value->type->quant;
  return hlo_ok();
}

static hlo_status_t prepare_references(hlo_region_fn_t* fn) {
  uint32_t room = 0;
  for (uint32_t i = 0; i < fn->instruction_count; ++i) {
    const instruction_t* instruction = &fn->instructions[i];
    if (!instruction->ref) continue;
    fn->has_references = true;
    const hlo_node_t* node = instruction->node;
    if (node->operand_count + node->result_count > room) {
      room = node->operand_count + node->result_count;
    }
    for (uint32_t k = 0; k < node->operand_count; ++k) {
      HLO_TRY(make_view(&fn->values[instruction->ref_args[k]]));
    }
  }
  fn->scratch = hlo_arena_array(&fn->arena, room, sizeof(*fn->scratch));
  return hlo_arena_status(&fn->arena);
}

static hlo_status_t compile_region(hlo_region_fn_t* fn) {
  compile_t c = {.fn = fn};
  const hlo_region_t* region = fn->region;
  const hlo_node_t* ret = hlo_region_terminator(region);
  if (!ret) {
    return region_error(region, HLO_STATUS_INVALID_ARGUMENT, "it does not end in a return");
  }
  fn->arg_count = region->arg_count;
  fn->result_count = ret->operand_count;
  fn->results = hlo_arena_array(&fn->arena, fn->result_count, sizeof(*fn->results));
  uint32_t* args = hlo_arena_array(&fn->arena, fn->arg_count, sizeof(*args));
  HLO_TRY(hlo_arena_status(&fn->arena));
  for (uint32_t i = 0; i < fn->arg_count; ++i) {
    HLO_TRY(add_value(&c, region->args[i]->type, &args[i]));
  }
  HLO_TRY(compile_body(&c, region, args, fn->results));
  fn->is_general = c.is_too_hard;
  for (uint32_t i = 0; i < fn->value_count; ++i) fn->values[i].data = fn->values[i].storage;
  if (!fn->is_general) HLO_TRY(prepare_references(fn));
  recognise_binary(fn);
  return hlo_ok();
}

static hlo_status_t load_captures(hlo_region_fn_t* fn) {
  for (uint32_t i = fn->arg_count; i < fn->value_count; ++i) {
    region_value_t* value = &fn->values[i];
    if (!value->captured) continue;
    const hlo_tensor_t* tensor = hlo_eval_captured(fn->eval, value->captured);
    if (!tensor || tensor->size_bytes > SCALAR_BYTES) {
      return region_error(fn->region, HLO_STATUS_INTERNAL,
                          "a captured value has not been computed");
    }
    memcpy(value->storage, tensor->data, tensor->size_bytes);
  }
  fn->has_blocks = false;
  return hlo_ok();
}

static hlo_region_fn_t** bucket_of(hlo_eval_t* eval, const hlo_region_t* region) {
  return &eval->region_fns[(uintptr_t)region / sizeof(hlo_region_t) % HLO_REGION_FN_BUCKETS];
}

static hlo_region_fn_t* find_kept(hlo_eval_t* eval, const hlo_region_t* region) {
  for (hlo_region_fn_t* fn = *bucket_of(eval, region); fn; fn = fn->next) {
    if (fn->region == region && !fn->is_in_use) return fn;
  }
  return NULL;
}

// Caches a prepared function; a full bucket evicts the oldest one that is not in use.
static void cache_fn(hlo_eval_t* eval, hlo_region_fn_t* fn) {
  hlo_region_fn_t** bucket = bucket_of(eval, fn->region);
  fn->next = *bucket;
  *bucket = fn;
  uint32_t count = 1;
  hlo_region_fn_t** last = bucket;
  for (; (*last)->next; last = &(*last)->next) ++count;
  if (count <= KEPT_LIMIT || (*last)->is_in_use) return;
  region_fn_free(*last);
  *last = NULL;
}

hlo_status_t hlo_region_fn_create(hlo_eval_t* eval, const hlo_region_t* region,
                                  hlo_region_fn_t** out_fn) {
  hlo_region_fn_t* fn = find_kept(eval, region);
  if (!fn) {
    fn = hlo_mem_alloc_zeroed(sizeof(*fn));
    if (!fn) return hlo_status_out_of_memory(sizeof(*fn));
    fn->eval = eval;
    fn->region = region;
    hlo_arena_init(&fn->arena, 0);
    hlo_status_t status = compile_region(fn);
    if (!hlo_status_is_ok(status)) {
      region_fn_free(fn);
      return status;
    }
    cache_fn(eval, fn);
  }
  if (fn->has_captures && !fn->is_general) HLO_TRY(load_captures(fn));
  fn->is_in_use = true;
  *out_fn = fn;
  return hlo_ok();
}

void hlo_region_fn_release(hlo_region_fn_t* fn) {
  if (fn) fn->is_in_use = false;
}

void hlo_region_fn_free_all(hlo_eval_t* eval) {
  for (uint32_t i = 0; i < HLO_REGION_FN_BUCKETS; ++i) {
    while (eval->region_fns[i]) {
      hlo_region_fn_t* fn = eval->region_fns[i];
      eval->region_fns[i] = fn->next;
      region_fn_free(fn);
    }
  }
}

hlo_op_t hlo_region_fn_binary(const hlo_region_fn_t* fn) {
  return fn->binary;
}

// ---- calling ------------------------------------------------------------------------------------

static hlo_status_t run_reference(hlo_region_fn_t* fn, const instruction_t* instruction) {
  const hlo_node_t* node = instruction->node;
  hlo_tensor_t** operands = fn->scratch;
  hlo_tensor_t** results = fn->scratch + node->operand_count;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    region_value_t* value = &fn->values[instruction->ref_args[i]];
    value->view->data = value->data;
    operands[i] = value->view;
  }
  for (uint32_t i = 0; i < node->result_count; ++i) results[i] = NULL;
  HLO_TRY(instruction->ref(fn->eval, node, operands, results));
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (!results[i]) return hlo_node_unimplemented(node, "it cannot run inside a reducer");
    region_value_t* value = &fn->values[instruction->result + i];
    memcpy(value->storage, results[i]->data, results[i]->size_bytes);
    hlo_tensor_release(results[i]);
  }
  return hlo_ok();
}

static hlo_status_t call_general(hlo_region_fn_t* fn, const void* const* args,
                                 void* const* results) {
  uint32_t count = fn->arg_count + fn->result_count;
  hlo_tensor_t** tensors = hlo_mem_alloc_zeroed(count * sizeof(*tensors));
  if (!tensors) return hlo_status_out_of_memory(count * sizeof(*tensors));
  hlo_tensor_t** found = tensors + fn->arg_count;
  hlo_status_t status = hlo_ok();
  for (uint32_t i = 0; i < fn->arg_count && hlo_status_is_ok(status); ++i) {
    const hlo_type_t* type = fn->region->args[i]->type;
    if (hlo_type_element_count(type) != 1) {
      status = region_error(fn->region, HLO_STATUS_UNIMPLEMENTED, "an argument is not a scalar");
      break;
    }
    status = hlo_tensor_create(type->dtype, type->rank, type->dims, &tensors[i]);
    if (!hlo_status_is_ok(status)) break;
    tensors[i]->quant = type->quant;
    memcpy(tensors[i]->data, args[i], tensors[i]->size_bytes);
  }
  if (hlo_status_is_ok(status)) {
    status = hlo_eval_run_region(fn->eval, fn->region, tensors, found);
  }
  for (uint32_t i = 0; i < fn->result_count && hlo_status_is_ok(status); ++i) {
    size_t width = hlo_dtype_size_bytes(found[i]->dtype);
    if (found[i]->size_bytes != width) {
      status = region_error(fn->region, HLO_STATUS_UNIMPLEMENTED, "a result is not a scalar");
      break;
    }
    memcpy(results[i], found[i]->data, width);
  }
  for (uint32_t i = 0; i < count; ++i) hlo_tensor_release(tensors[i]);
  hlo_mem_free(tensors);
  return status;
}

static inline void copy_element(void* out, const void* in, size_t width) {
  switch (width) {
    case 1: memcpy(out, in, 1); break;
    case 2: memcpy(out, in, 2); break;
    case 4: memcpy(out, in, 4); break;
    case 8: memcpy(out, in, 8); break;
    default: memcpy(out, in, width);
  }
}

hlo_status_t hlo_region_fn_call(hlo_region_fn_t* fn, const void* const* args,
                                void* const* results) {
  if (HLO_UNLIKELY(fn->is_general)) return call_general(fn, args, results);
  region_value_t* values = fn->values;
  for (uint32_t i = 0; i < fn->arg_count; ++i) values[i].data = (void*)(uintptr_t)args[i];
  for (uint32_t i = 0; i < fn->instruction_count; ++i) {
    const instruction_t* instruction = &fn->instructions[i];
    if (HLO_UNLIKELY(instruction->ref != NULL)) {
      HLO_TRY(run_reference(fn, instruction));
      continue;
    }
    // Unused argument numbers are 0, which is a valid value.
    const void* operands[3] = {values[instruction->args[0]].data, values[instruction->args[1]].data,
                               values[instruction->args[2]].data};
    hlo_scalar_step_run(&instruction->scalar, operands, values[instruction->result].storage);
  }
  // A result that is an argument may be where another result goes, so such arguments are saved
  // first.
  for (uint32_t i = 0; i < fn->result_count; ++i) {
    region_value_t* value = &values[fn->results[i]];
    if (value->data == value->storage) continue;
    copy_element(value->storage, value->data, value->width);
  }
  for (uint32_t i = 0; i < fn->result_count; ++i) {
    const region_value_t* value = &values[fn->results[i]];
    copy_element(results[i], value->storage, value->width);
  }
  return hlo_ok();
}

// ---- many calls at once -------------------------------------------------------------------------

static uint8_t* block_of(const hlo_region_fn_t* fn, uint32_t number) {
  return fn->blocks + (size_t)number * BLOCK * SCALAR_BYTES;
}

static hlo_status_t make_blocks(hlo_region_fn_t* fn) {
  if (!fn->blocks) {
    size_t bytes = (size_t)fn->value_count * BLOCK * SCALAR_BYTES;
    fn->blocks = hlo_mem_alloc_aligned(bytes, 64);
    if (!fn->blocks) return hlo_status_out_of_memory(bytes);
  }
  for (uint32_t v = 0; v < fn->value_count; ++v) {
    const region_value_t* value = &fn->values[v];
    for (uint32_t i = 0; value->is_fixed && i < BLOCK; ++i) {
      memcpy(block_of(fn, v) + (size_t)i * value->width, value->storage, value->width);
    }
  }
  return hlo_ok();
}

// Returns the elements of a value from `start` on.
static void* elements_of(const hlo_region_fn_t* fn, const void* const* args, size_t start,
                         uint32_t number) {
  if (number >= fn->arg_count) return block_of(fn, number);
  return (uint8_t*)(uintptr_t)args[number] + start * fn->values[number].width;
}

static void run_block(const hlo_region_fn_t* fn, size_t start, size_t count,
                      const void* const* args, void* const* results) {
  for (uint32_t i = 0; i < fn->instruction_count; ++i) {
    const instruction_t* instruction = &fn->instructions[i];
    const void* operands[3];
    for (uint32_t k = 0; k < instruction->scalar.arity; ++k) {
      operands[k] = elements_of(fn, args, start, instruction->args[k]);
    }
    hlo_scalar_step_run_many(&instruction->scalar, operands, block_of(fn, instruction->result),
                             count);
  }
  for (uint32_t i = 0; i < fn->result_count; ++i) {
    uint32_t number = fn->results[i];
    if (number >= fn->arg_count) continue;
    memcpy(block_of(fn, number), elements_of(fn, args, start, number),
           count * fn->values[number].width);
  }
  for (uint32_t i = 0; i < fn->result_count; ++i) {
    size_t width = fn->values[fn->results[i]].width;
    memcpy((uint8_t*)results[i] + start * width, block_of(fn, fn->results[i]), count * width);
  }
}

static hlo_status_t call_one_by_one(hlo_region_fn_t* fn, size_t count, const void* const* args,
                                    void* const* results) {
  enum { FEW = 64 };
  uint32_t words = fn->arg_count + fn->result_count;
  const void* few[FEW];
  const void** places = words <= FEW ? few : hlo_mem_alloc(words * sizeof(*places));
  if (!places) return hlo_status_out_of_memory(words * sizeof(*places));
  void** outs = (void**)(places + fn->arg_count);
  const hlo_node_t* ret = hlo_region_terminator(fn->region);
  hlo_status_t status = hlo_ok();
  for (size_t i = 0; i < count && hlo_status_is_ok(status); ++i) {
    for (uint32_t k = 0; k < fn->arg_count; ++k) {
      size_t width = hlo_dtype_size_bytes(fn->region->args[k]->type->dtype);
      places[k] = (const uint8_t*)args[k] + i * width;
    }
    for (uint32_t k = 0; k < fn->result_count; ++k) {
      size_t width = hlo_dtype_size_bytes(hlo_node_operand_type(ret, k)->dtype);
      outs[k] = (uint8_t*)results[k] + i * width;
    }
    status = hlo_region_fn_call(fn, places, outs);
  }
  if (places != few) hlo_mem_free(places);
  return status;
}

hlo_status_t hlo_region_fn_call_many(hlo_region_fn_t* fn, size_t count, const void* const* args,
                                     void* const* results) {
  if (fn->is_general || fn->has_references || count < 4) {
    return call_one_by_one(fn, count, args, results);
  }
  if (!fn->has_blocks) HLO_TRY(make_blocks(fn));
  fn->has_blocks = true;
  for (size_t start = 0; start < count; start += BLOCK) {
    run_block(fn, start, count - start < BLOCK ? count - start : BLOCK, args, results);
  }
  return hlo_ok();
}
