// SPDX-License-Identifier: Apache-2.0
// Shrinking: each edit is tried on all of its sites at once, on halves of them and so on down to
// single ones, and from the beginning while that helps (delta debugging).
#include "dev/shrink.h"

#include "dev/shrink_impl.h"
#include "ir/clone.h"
#include "ir/infer.h"
#include "passes/runner.h"

typedef struct shrinker {
  hlo_module_t** module;
  hlo_shrink_test_t test;
  void* context;
} shrinker_t;

typedef struct edit {
  hlo_shrink_edit_t apply;
  bool is_alone;  // one site at a time: several would conflict
} edit_t;

// The edits that remove most come first.
static const edit_t kEdits[] = {
    {hlo_shrink_functions, false},        {hlo_shrink_results, false},
    {hlo_shrink_to_operands, false},      {hlo_shrink_to_arguments, false},
    {hlo_shrink_to_first_region, false},  {hlo_shrink_to_last_region, false},
    {hlo_shrink_to_first_operand, false}, {hlo_shrink_to_last_operand, false},
    {hlo_shrink_to_zeros, false},         {hlo_shrink_loops, false},
    {hlo_shrink_arguments, false},        {hlo_shrink_attributes, false},
    {hlo_shrink_constants, false},        {hlo_shrink_extents, true},
};
enum { EDIT_COUNT = sizeof kEdits / sizeof *kEdits };

// ---- weight

enum { NODE_WEIGHT = 100, CONSTANT_WEIGHT = 20, PORT_WEIGHT = 10, ATTRIBUTE_WEIGHT = 1 };

static uint64_t digits(int64_t number) {
  uint64_t count = 0;
  for (; number > 0; number /= 2) ++count;
  return count;
}

static uint64_t type_weight(const hlo_type_t* type) {
  uint64_t weight = 0;
  if (!hlo_type_is_tensor(type)) return 0;
  for (uint32_t d = 0; d < type->rank; ++d) {
    if (type->dims[d] > 1) weight += digits(type->dims[d] - 1) + 1;
  }
  return weight;
}

static hlo_status_t weigh(void* context, hlo_node_t* node) {
  uint64_t weight = node->op == HLO_OP_constant ? CONSTANT_WEIGHT : NODE_WEIGHT;
  weight += PORT_WEIGHT * (uint64_t)node->operand_count + ATTRIBUTE_WEIGHT * (node->extra != NULL);
  for (uint32_t i = 0; i < hlo_op_info(node->op)->attr_count; ++i) {
    const hlo_attr_t* attr = node->attrs[i];
    if (!attr) continue;
    weight += ATTRIBUTE_WEIGHT;
    if (attr->kind == HLO_ATTR_KIND_LITERAL && !attr->literal->is_splat) {
      weight += PORT_WEIGHT * (1 + digits(attr->literal->element_count));
    }
  }
  for (uint32_t i = 0; i < node->result_count; ++i) weight += type_weight(node->results[i].type);
  *(uint64_t*)context += weight;
  return hlo_ok();
}

uint64_t hlo_shrink_weight(const hlo_module_t* module) {
  uint64_t weight = ATTRIBUTE_WEIGHT * (uint64_t)(module->extra != NULL);
  for (const hlo_func_t* f = module->first_func; f; f = f->next) {
    weight += NODE_WEIGHT + PORT_WEIGHT * (uint64_t)f->type->element_count +
              ATTRIBUTE_WEIGHT *
                  ((f->extra != NULL) + (f->arg_attrs != NULL) + (f->result_attrs != NULL));
    for (uint32_t i = 0; i < f->type->input_count; ++i) weight += type_weight(f->type->elements[i]);
  }
  hlo_status_release(hlo_module_walk((hlo_module_t*)module, false, weigh, &weight));
  return weight;
}

// ---- attempts

static hlo_status_t collect(void* context, hlo_node_t* node) {
  hlo_shrink_nodes_t* nodes = context;
  if (nodes->items) nodes->items[nodes->count] = node;
  ++nodes->count;
  return hlo_ok();
}

hlo_status_t hlo_shrink_list_nodes(hlo_module_t* module, hlo_shrink_nodes_t* out) {
  *out = (hlo_shrink_nodes_t){0};
  HLO_TRY(hlo_module_walk(module, false, collect, out));
  out->items = hlo_arena_array(&module->arena, out->count + 1, sizeof(hlo_node_t*));
  if (!out->items) return hlo_module_status(module);
  out->count = 0;
  return hlo_module_walk(module, false, collect, out);
}

// Verifies an edited module and removes unused nodes. Returns false if the module is invalid.
static bool clean(hlo_module_t* module) {
  for (hlo_func_t* f = module->first_func; f; f = f->next) hlo_func_update_type(f);
  hlo_status_t status = hlo_module_verify(module, NULL);
  if (hlo_status_is_ok(status)) status = hlo_passes_run(module, "dce", NULL);
  bool is_right = hlo_status_is_ok(status);
  hlo_status_release(status);
  return is_right;
}

// Keeps one of the modules and releases the other.
static void replace(shrinker_t* s, hlo_module_t* module, bool is_taken) {
  hlo_module_release(is_taken ? *s->module : module);
  if (is_taken) *s->module = module;
}

// Keeps the module if it is smaller and fails.
static hlo_status_t judge(shrinker_t* s, hlo_module_t* module, bool* out_taken) {
  *out_taken = false;
  hlo_status_t status = hlo_ok();
  if (clean(module) && hlo_shrink_weight(module) < hlo_shrink_weight(*s->module)) {
    status = s->test(s->context, module, out_taken);
  }
  replace(s, module, *out_taken);
  return status;
}

static hlo_status_t attempt(shrinker_t* s, const edit_t* edit, hlo_shrink_pick_t* pick,
                            bool* out_taken) {
  hlo_module_t* copy = NULL;
  HLO_TRY(hlo_module_clone(*s->module, &copy));
  hlo_status_t status = edit->apply(copy, pick);
  if (hlo_status_is_ok(status)) return judge(s, copy, out_taken);
  hlo_module_release(copy);
  return status;
}

static hlo_status_t count_places(const shrinker_t* s, const edit_t* edit, uint32_t* out_count) {
  hlo_shrink_pick_t none = {0};
  hlo_module_t* copy = NULL;
  HLO_TRY(hlo_module_clone(*s->module, &copy));
  hlo_status_t status = edit->apply(copy, &none);
  hlo_module_release(copy);
  *out_count = none.count;
  return status;
}

static hlo_status_t try_edit(shrinker_t* s, const edit_t* edit, bool* out_changed) {
  uint32_t count;
  HLO_TRY(count_places(s, edit, &count));
  for (uint32_t size = edit->is_alone ? 1 : count; size && count; size /= 2) {
    for (uint32_t first = 0; first < count;) {
      hlo_shrink_pick_t pick = {.first = first, .end = first + size};
      bool is_taken;
      HLO_TRY(attempt(s, edit, &pick, &is_taken));
      if (is_taken) {  // the next sites have taken over the numbers
        *out_changed = true;
        HLO_TRY(count_places(s, edit, &count));
      } else {
        first += size;
      }
    }
  }
  return hlo_ok();
}

// Inlines calls, which obstruct all edits. A module that a pass refuses is unchanged.
static hlo_status_t inline_with(shrinker_t* s, const char* passes, bool* out_taken) {
  hlo_module_t* copy = NULL;
  HLO_TRY(hlo_module_clone(*s->module, &copy));
  hlo_status_t refusal = hlo_passes_run(copy, passes, NULL);
  *out_taken = false;
  hlo_status_t status = hlo_status_is_ok(refusal) ? s->test(s->context, copy, out_taken) : hlo_ok();
  hlo_status_release(refusal);
  replace(s, copy, *out_taken);
  return status;
}

static hlo_status_t inline_calls(shrinker_t* s) {
  bool is_taken = false;
  HLO_TRY(inline_with(s, "lower_composite,inline,dce", &is_taken));
  return is_taken ? hlo_ok() : inline_with(s, "inline,dce", &is_taken);
}

hlo_status_t hlo_shrink(hlo_module_t** module, hlo_shrink_test_t test, void* context) {
  shrinker_t s = {.module = module, .test = test, .context = context};
  HLO_TRY(inline_calls(&s));
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < EDIT_COUNT; ++i) HLO_TRY(try_edit(&s, &kEdits[i], &changed));
  }
  return hlo_ok();
}
