// SPDX-License-Identifier: Apache-2.0
// Prepares modules for evaluation: slots for values, steps for nodes, constants as tensors, and the
// last use of every value, where it leaves its slot.

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "interp/eval_impl.h"

enum {
  SPLAT_SHARE_BYTES = 4096,  // larger splats are expanded at each use, not stored
  REGION_DEPTH_LIMIT = 512,
};

typedef struct drop_entry {
  hlo_code_drops_t* place;
  uint32_t slot;
} drop_entry_t;

typedef struct prepare {
  hlo_interp_program_t* program;
  uint32_t* order;  // by node->index: position in its region
  uint32_t next_slot;
  uint32_t depth;
  drop_entry_t* drops;
  size_t drop_count, drop_capacity;
  const hlo_func_t** by_name;
  uint32_t by_name_count;
} prepare_t;

static hlo_status_t out_of_memory(void) {
  return hlo_resource_exhausted("out of memory while preparing a program for the interpreter");
}

static int compare_names(const void* a, const void* b) {
  const hlo_func_t* const* lhs = a;
  const hlo_func_t* const* rhs = b;
  return strcmp((*lhs)->name, (*rhs)->name);
}

static const hlo_func_t* find_func(const prepare_t* prep, const char* name) {
  hlo_func_t key = {.name = name};
  const hlo_func_t* key_pointer = &key;
  const hlo_func_t** found = bsearch(&key_pointer, prep->by_name, prep->by_name_count,
                                     sizeof(*prep->by_name), compare_names);
  return found ? *found : NULL;
}

// ---- slots and constants ------------------------------------------------------------------------

static bool is_shared_constant(const hlo_node_t* node) {
  if (!hlo_op_has(node->op, HLO_TRAIT_CONSTANT) || node->result_count != 1) return false;
  const hlo_attr_t* value = hlo_node_attr(node, HLO_ATTR_value);
  if (!value || value->kind != HLO_ATTR_KIND_LITERAL) return false;
  return !value->literal->is_splat ||
         hlo_type_size_bytes(node->results[0].type) <= SPLAT_SHARE_BYTES;
}

static hlo_status_t add_constant(prepare_t* prep, const hlo_node_t* node) {
  hlo_interp_program_t* program = prep->program;
  if (!hlo_vec_reserve_items(&program->constants, &program->constant_capacity,
                             program->constant_count + 1, sizeof(*program->constants)))
    return out_of_memory();
  const hlo_attr_t* value = hlo_node_attr(node, HLO_ATTR_value);
  hlo_tensor_t* tensor = NULL;
  HLO_TRY(hlo_tensor_from_literal(value->literal, &tensor));
  tensor->quant = node->results[0].type->quant;
  tensor->is_read_only = true;
  program->refs[node->results[0].index] = HLO_CODE_CONSTANT | program->constant_count;
  program->constants[program->constant_count++] = tensor;
  return hlo_ok();
}

static hlo_status_t assign_region(prepare_t* prep, const hlo_region_t* region,
                                  const hlo_region_t* args_of);

// The body of a `while` takes its arguments in the slots of the condition's arguments.
static hlo_status_t assign_node(prepare_t* prep, const hlo_node_t* node) {
  for (uint32_t i = 0; i < node->result_count; ++i) {
    prep->program->refs[node->results[i].index] = prep->next_slot++;
  }
  for (uint32_t i = 0; i < node->region_count; ++i) {
    bool shares = node->op == HLO_OP_while && i == 1 &&
                  node->regions[0]->arg_count == node->regions[1]->arg_count;
    HLO_TRY(assign_region(prep, node->regions[i], shares ? node->regions[0] : NULL));
  }
  return hlo_ok();
}

static hlo_status_t assign_region(prepare_t* prep, const hlo_region_t* region,
                                  const hlo_region_t* args_of) {
  if (++prep->depth > REGION_DEPTH_LIMIT) {
    return hlo_unimplemented("regions nested deeper than %d", REGION_DEPTH_LIMIT);
  }
  hlo_code_ref_t* refs = prep->program->refs;
  for (uint32_t i = 0; i < region->arg_count; ++i) {
    refs[region->args[i]->index] = args_of ? refs[args_of->args[i]->index] : prep->next_slot++;
  }
  uint32_t position = 0;
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    prep->order[node->index] = position++;
    if (is_shared_constant(node)) {
      HLO_TRY(add_constant(prep, node));
    } else {
      HLO_TRY(assign_node(prep, node));
    }
  }
  --prep->depth;
  return hlo_ok();
}

// ---- steps --------------------------------------------------------------------------------------

static bool is_plain_scalar(const hlo_type_t* type) {
  return type->kind == HLO_TYPE_TENSOR && type->rank == 0 && !type->quant;
}

static bool is_scalar_step(const hlo_node_t* node, hlo_scalar_step_t* out_scalar) {
  if (node->result_count != 1 || node->operand_count == 0 || node->operand_count > 3) return false;
  if (!(hlo_op_info(node->op)->traits & HLO_TRAIT_ELEMENTWISE)) return false;
  if (!is_plain_scalar(node->results[0].type)) return false;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (!is_plain_scalar(hlo_node_operand_type(node, i))) return false;
  }
  return hlo_scalar_step_prepare(node, out_scalar);
}

static hlo_interp_step_kind_t step_kind(const hlo_node_t* node, hlo_scalar_step_t* out_scalar) {
  if (hlo_op_has(node->op, HLO_TRAIT_CONSTANT)) return HLO_STEP_CONSTANT;
  switch (node->op) {
    case HLO_OP_call:
    case HLO_OP_composite: return HLO_STEP_CALL;
    case HLO_OP_hlo_async_start: return node->region_count ? HLO_STEP_INLINE : HLO_STEP_CALL;
    case HLO_OP_if:
    case HLO_OP_case: return HLO_STEP_BRANCH;
    case HLO_OP_while: return HLO_STEP_WHILE;
    case HLO_OP_hlo_fusion:
    case HLO_OP_async_start:
    case HLO_OP_sdy_named_computation:
    case HLO_OP_sdy_manual_computation: return HLO_STEP_INLINE;
    default:
      if (hlo_op_info(node->op)->traits & HLO_TRAIT_TERMINATOR) return HLO_STEP_RETURN;
      return is_scalar_step(node, out_scalar) ? HLO_STEP_SCALAR : HLO_STEP_REF;
  }
}

static hlo_status_t find_callee(const prepare_t* prep, const hlo_node_t* node,
                                const hlo_interp_func_t** out_callee) {
  const char* name = hlo_node_attr_text(
      node, node->op == HLO_OP_composite ? HLO_ATTR_decomposition : HLO_ATTR_callee);
  const hlo_func_t* func = name ? find_func(prep, name) : NULL;
  if (!func) return hlo_node_invalid(node, "no function @%s in the module", name ? name : "");
  if (func->body && func->body->arg_count != node->operand_count) {
    return hlo_node_invalid(node, "@%s takes %u arguments, the call has %u", name,
                            func->body->arg_count, node->operand_count);
  }
  *out_callee = &prep->program->funcs[func->index];
  return hlo_ok();
}

static hlo_status_t build_block(prepare_t* prep, const hlo_region_t* region,
                                hlo_code_block_t** out_block);

// A body per device runs here only if there is one device: then local shapes equal global shapes.
static hlo_status_t check_manual(const hlo_node_t* node) {
  for (uint32_t i = 0; node->region_count && i < node->operand_count; ++i) {
    const hlo_region_t* body = node->regions[0];
    if (i < body->arg_count && body->args[i]->type != hlo_node_operand_type(node, i)) {
      return hlo_node_unimplemented(
          node, "a computation over several devices; partition the module first");
    }
  }
  return hlo_ok();
}

// Control flow relies on the shapes that the verifier guarantees; this rechecks what memory safety
// needs.
static hlo_status_t check_step(const hlo_interp_step_t* step) {
  const hlo_node_t* node = step->node;
  bool is_ok = true;
  if (node->op == HLO_OP_sdy_manual_computation) HLO_TRY(check_manual(node));
  switch (step->kind) {
    case HLO_STEP_CONSTANT: {
      const hlo_attr_t* value = hlo_node_attr(node, HLO_ATTR_value);
      is_ok = node->result_count == 1 && value && value->kind == HLO_ATTR_KIND_LITERAL;
      break;
    }
    case HLO_STEP_BRANCH:
      is_ok = step->operand_count == 1 && step->block_count >= (node->op == HLO_OP_if ? 2 : 1);
      for (uint32_t i = 0; is_ok && i < step->block_count; ++i) {
        is_ok = step->blocks[i]->arg_count == 0;
      }
      break;
    case HLO_STEP_INLINE:
      is_ok = step->block_count == 1 && step->blocks[0]->arg_count == step->operand_count;
      break;
    case HLO_STEP_WHILE:
      is_ok = step->block_count == 2 && step->result_count == step->operand_count &&
              step->blocks[0]->arg_count == step->operand_count &&
              step->blocks[1]->arg_count == step->operand_count;
      break;
    default: break;
  }
  return is_ok ? hlo_ok() : hlo_node_invalid(node, "operands, results and regions do not match");
}

static hlo_status_t build_step(prepare_t* prep, const hlo_node_t* node, hlo_interp_step_t* step) {
  hlo_interp_program_t* program = prep->program;
  hlo_arena_t* arena = &program->arena;
  step->node = node;
  step->operand_count = node->operand_count;
  step->result_count = node->result_count;
  step->block_count = node->region_count;
  step->result_slot = node->result_count ? program->refs[node->results[0].index] : 0;
  step->operands = hlo_arena_array(arena, node->operand_count, sizeof(*step->operands));
  step->blocks = hlo_arena_array(arena, node->region_count, sizeof(*step->blocks));
  if (arena->failed) return out_of_memory();
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    step->operands[i] = program->refs[hlo_node_operand(node, i)->index];
  }
  for (uint32_t i = 0; i < node->region_count; ++i) {
    HLO_TRY(build_block(prep, node->regions[i], &step->blocks[i]));
  }
  step->kind = step_kind(node, &step->scalar);
  if (step->kind == HLO_STEP_CALL) HLO_TRY(find_callee(prep, node, &step->callee));
  if (step->kind == HLO_STEP_REF) {
    step->ref = hlo_ref_function(node->op);
    if (!step->ref) {
      return hlo_node_unimplemented(node, "the interpreter does not implement this op");
    }
  }
  if (node->operand_count > program->max_operands) program->max_operands = node->operand_count;
  if (node->result_count > program->max_results) program->max_results = node->result_count;
  program->steps[node->index] = step;
  return check_step(step);
}

static hlo_status_t build_block(prepare_t* prep, const hlo_region_t* region,
                                hlo_code_block_t** out_block) {
  hlo_interp_program_t* program = prep->program;
  uint32_t count = 0;
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    count += !is_shared_constant(node);
  }
  hlo_code_block_t* block = hlo_arena_alloc_zeroed(&program->arena, sizeof(*block));
  hlo_interp_step_t* steps = hlo_arena_array(&program->arena, count, sizeof(*steps));
  if (!block || !steps) return out_of_memory();
  block->region = region;
  block->arg_count = region->arg_count;
  block->arg_slot = region->arg_count ? program->refs[region->args[0]->index] : 0;
  block->steps = steps;
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    if (is_shared_constant(node)) continue;
    HLO_TRY(build_step(prep, node, &steps[block->step_count++]));
  }
  if (!count || steps[count - 1].kind != HLO_STEP_RETURN) {
    return hlo_invalid_argument("a region does not end in a return");
  }
  if (steps[count - 1].operand_count > program->max_results) {
    program->max_results = steps[count - 1].operand_count;
  }
  *out_block = block;
  return hlo_ok();
}

// ---- last uses ----------------------------------------------------------------------------------

static hlo_status_t add_drop(prepare_t* prep, hlo_code_drops_t* place, uint32_t slot) {
  if (!hlo_vec_reserve_items(&prep->drops, &prep->drop_capacity, prep->drop_count + 1,
                             sizeof(*prep->drops)))
    return out_of_memory();
  prep->drops[prep->drop_count++] = (drop_entry_t){place, slot};
  ++place->count;
  return hlo_ok();
}

static void set_move(hlo_interp_step_t* step, uint32_t slot) {
  for (uint32_t i = step->operand_count; i-- > 0;) {
    if (step->operands[i] == slot) {
      step->operands[i] |= HLO_CODE_MOVE;
      return;
    }
  }
}

// Marks the last use of `value` among the nodes of `region`, entering branches, which run at most
// once. If it has no use here, *out_found is false and the caller marks it.
static hlo_status_t mark_last_use(prepare_t* prep, const hlo_value_t* value,
                                  const hlo_region_t* region, bool* out_found) {
  const hlo_node_t* last = NULL;
  bool is_nested = false;
  for (const hlo_use_t* use = value->uses; use; use = use->next) {
    const hlo_node_t* node = hlo_region_ancestor(region, use->user);
    if (!node || (last && prep->order[node->index] < prep->order[last->index])) continue;
    if (node != last) is_nested = false;
    last = node;
    is_nested |= use->user != node;
  }
  *out_found = last != NULL;
  if (!last) return hlo_ok();
  hlo_interp_step_t* step = prep->program->steps[last->index];
  uint32_t slot = prep->program->refs[value->index];
  if (!is_nested) {
    set_move(step, slot);
    return hlo_ok();
  }
  if (step->kind == HLO_STEP_BRANCH) {
    for (uint32_t i = 0; i < last->region_count; ++i) {
      bool found;
      HLO_TRY(mark_last_use(prep, value, last->regions[i], &found));
    }
  }
  return add_drop(prep, &step->drops, slot);
}

static hlo_status_t mark_region(prepare_t* prep, const hlo_region_t* region) {
  bool found;
  const hlo_node_t* parent = region->parent;
  // The arguments of a loop's condition stay in their slots for the body.
  bool is_condition = parent && parent->op == HLO_OP_while && parent->regions[0] == region;
  for (uint32_t i = 0; !is_condition && i < region->arg_count; ++i) {
    HLO_TRY(mark_last_use(prep, region->args[i], region, &found));
    if (found) continue;
    hlo_code_block_t* block = hlo_interp_block(prep->program, region);
    HLO_TRY(add_drop(prep, &block->drops, prep->program->refs[region->args[i]->index]));
  }
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    if (is_shared_constant(node)) continue;
    hlo_interp_step_t* step = prep->program->steps[node->index];
    for (uint32_t i = 0; i < node->result_count; ++i) {
      HLO_TRY(mark_last_use(prep, &node->results[i], region, &found));
      if (!found) HLO_TRY(add_drop(prep, &step->drops, step->result_slot + i));
    }
    for (uint32_t i = 0; i < node->region_count; ++i) {
      HLO_TRY(mark_region(prep, node->regions[i]));
    }
  }
  return hlo_ok();
}

// Converts the collected pairs into one array per step.
static hlo_status_t finish_drops(prepare_t* prep) {
  for (size_t i = 0; i < prep->drop_count; ++i) {
    hlo_code_drops_t* place = prep->drops[i].place;
    if (!place->slots) {
      place->slots = hlo_arena_array(&prep->program->arena, place->count, sizeof(uint32_t));
      if (!place->slots) return out_of_memory();
      place->count = 0;
    }
    place->slots[place->count++] = prep->drops[i].slot;
  }
  prep->drop_count = 0;
  return hlo_ok();
}

// ---- programs -----------------------------------------------------------------------------------

static hlo_status_t prepare_func(prepare_t* prep, const hlo_func_t* func) {
  hlo_interp_func_t* code = &prep->program->funcs[func->index];
  code->func = func;
  if (!func->body) return hlo_ok();
  prep->next_slot = 0;
  prep->depth = 0;
  HLO_TRY(assign_region(prep, func->body, NULL));
  if (prep->next_slot > HLO_CODE_INDEX) {
    return hlo_unimplemented("too many values in @%s", func->name);
  }
  code->slot_count = prep->next_slot;
  HLO_TRY(build_block(prep, func->body, &code->body));
  HLO_TRY(mark_region(prep, func->body));
  return finish_drops(prep);
}

static hlo_status_t prepare_module(prepare_t* prep, const hlo_module_t* module) {
  hlo_interp_program_t* program = prep->program;
  uint32_t count = 0;
  for (const hlo_func_t* func = module->first_func; func; func = func->next) {
    ++count;
    if (func->index >= program->func_limit) program->func_limit = func->index + 1;
  }
  hlo_arena_t* arena = &program->arena;
  program->node_limit = module->node_count;
  program->value_limit = module->value_count;
  program->funcs = hlo_arena_array(arena, program->func_limit, sizeof(*program->funcs));
  program->steps = hlo_arena_array(arena, program->node_limit, sizeof(*program->steps));
  program->refs = hlo_arena_array(arena, program->value_limit, sizeof(*program->refs));
  prep->order = hlo_mem_alloc_zeroed((size_t)program->node_limit * sizeof(*prep->order));
  prep->by_name = hlo_mem_alloc_zeroed((size_t)count * sizeof(*prep->by_name));
  if (arena->failed || !prep->order || !prep->by_name) return out_of_memory();
  for (const hlo_func_t* func = module->first_func; func; func = func->next) {
    prep->by_name[prep->by_name_count++] = func;
  }
  qsort(prep->by_name, count, sizeof(*prep->by_name), compare_names);
  for (const hlo_func_t* func = module->first_func; func; func = func->next) {
    HLO_TRY_MSG(prepare_func(prep, func), "while preparing @%s", func->name);
  }
  return hlo_ok();
}

hlo_status_t hlo_interp_program_create(const hlo_module_t* module,
                                       hlo_interp_program_t** out_program) {
  hlo_interp_program_t* program = hlo_mem_alloc_zeroed(sizeof(*program));
  if (!program) return hlo_status_out_of_memory(sizeof(*program));
  hlo_arena_init(&program->arena, 0);
  program->module = module;
  prepare_t prep = {.program = program};
  hlo_status_t status = prepare_module(&prep, module);
  hlo_mem_free(prep.order);
  hlo_mem_free(prep.drops);
  hlo_mem_free(prep.by_name);
  if (!hlo_status_is_ok(status)) {
    hlo_interp_program_release(program);
    return status;
  }
  *out_program = program;
  return hlo_ok();
}

void hlo_interp_program_release(hlo_interp_program_t* program) {
  if (!program) return;
  for (uint32_t i = 0; i < program->constant_count; ++i) {
    hlo_tensor_release(program->constants[i]);
  }
  hlo_mem_free(program->constants);
  hlo_arena_deinit(&program->arena);
  hlo_mem_free(program);
}

const hlo_module_t* hlo_interp_program_module(const hlo_interp_program_t* program) {
  return program->module;
}

hlo_code_block_t* hlo_interp_block(const hlo_interp_program_t* program,
                                   const hlo_region_t* region) {
  if (!region->parent) {
    return region->func && region->func->index < program->func_limit
               ? program->funcs[region->func->index].body
               : NULL;
  }
  if (region->parent->index >= program->node_limit) return NULL;
  const hlo_interp_step_t* step = program->steps[region->parent->index];
  for (uint32_t i = 0; step && i < step->block_count; ++i) {
    if (step->blocks[i]->region == region) return step->blocks[i];
  }
  return NULL;
}

const hlo_interp_func_t* hlo_interp_func(const hlo_interp_program_t* program,
                                         const hlo_func_t* func) {
  return func->index < program->func_limit ? &program->funcs[func->index] : NULL;
}
