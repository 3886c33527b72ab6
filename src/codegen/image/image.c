// SPDX-License-Identifier: Apache-2.0
// Serializes programs (see image.h): a header of counts, records of fixed size in the order of the
// header, names, code. Nodes are numbered in the order of a walk, which depends on structure only;
// debug ids are part of the code.
#include "codegen/image/image.h"

#include <string.h>

#include "base/vec.h"
#include "ir/clone.h"

typedef struct header {
  uint32_t node_count, constant_count, call_site_count, allocation_count, copy_count;
  uint32_t func_count, code_debug_id_count, name_bytes;
  uint64_t temporary_bytes, saved_bytes, code_bytes;
} header_t;

typedef struct constant_record {
  uint32_t node, is_read;
} constant_record_t;

typedef struct call_site_record {
  uint32_t number, node;
} call_site_record_t;

typedef struct allocation_record {
  uint32_t kind, index;
  uint64_t offset_bytes;
} allocation_record_t;

typedef struct copy_record {
  allocation_record_t from, to;
  uint64_t size_bytes;
} copy_record_t;

typedef struct func_record {
  uint32_t name, offset_bytes, size_bytes, frame_bytes, saved_mask, saved_bytes;
} func_record_t;

// ---- nodes in the order of a walk --------------------------------------------------------------

typedef struct nodes {
  HLO_VEC(const hlo_node_t*) list;
} nodes_t;

static hlo_status_t add_node(void* context, hlo_node_t* node) {
  nodes_t* nodes = context;
  return hlo_vec_push(&nodes->list, node) ? hlo_ok() : hlo_status_out_of_memory(sizeof node);
}

static hlo_status_t list_nodes(const hlo_module_t* module, nodes_t* nodes) {
  return hlo_module_walk((hlo_module_t*)(uintptr_t)module, false, add_node, nodes);
}

// ---- writing -----------------------------------------------------------------------------------

static void put_bytes(hlo_strbuf_t* out, const void* bytes, size_t size_bytes) {
  if (size_bytes) hlo_strbuf_append(out, bytes, size_bytes);
}

static allocation_record_t record_of(const hlo_allocation_t* allocation) {
  return (allocation_record_t){(uint32_t)allocation->kind, allocation->index,
                               allocation->offset_bytes};
}

static void put_call_sites(const hlo_call_site_table_t* table, const nodes_t* nodes,
                           hlo_strbuf_t* out) {
  for (uint32_t i = 0; i < nodes->list.count; ++i) {
    const hlo_node_t* node = nodes->list.items[i];
    if (table->call_sites[node->index].node != node) continue;
    const call_site_record_t record = {.number = hlo_call_site_number(node), .node = i};
    put_bytes(out, &record, sizeof record);
  }
  for (uint32_t i = 0; i < nodes->list.count; ++i) {
    const hlo_node_t* node = nodes->list.items[i];
    const hlo_call_site_t* call_site = &table->call_sites[node->index];
    uint32_t count = call_site->node ? hlo_call_site_value_count(node) : 0;
    for (uint32_t v = 0; v < count; ++v) {
      const allocation_record_t record = record_of(&call_site->allocations[v]);
      put_bytes(out, &record, sizeof record);
    }
  }
}

static hlo_status_t put_constants(const hlo_call_site_table_t* table, const nodes_t* nodes,
                                  hlo_strbuf_t* out) {
  uint32_t* positions = hlo_mem_alloc_zeroed((table->node_count + 1) * sizeof *positions);
  if (!positions) return hlo_status_out_of_memory(table->node_count * sizeof *positions);
  for (uint32_t i = 0; i < nodes->list.count; ++i) positions[nodes->list.items[i]->index] = i;
  for (uint32_t c = 0; c < table->constant_count; ++c) {
    const hlo_plan_constant_t* constant = &table->constant_values[c];
    const constant_record_t record = {.node = positions[constant->value->def->index],
                                      .is_read = constant->is_read};
    put_bytes(out, &record, sizeof record);
  }
  hlo_mem_free(positions);
  return hlo_ok();
}

static void put_copies(const hlo_call_site_table_t* table, hlo_strbuf_t* out) {
  for (uint32_t i = 0; i < table->copy_count; ++i) {
    const hlo_copy_t* copy = &table->copies[i].copy;
    const copy_record_t record = {record_of(&copy->from), record_of(&copy->to), copy->size_bytes};
    put_bytes(out, &record, sizeof record);
  }
}

static void put_code(const hlo_code_t* code, hlo_strbuf_t* out) {
  uint32_t name = 0;
  for (uint32_t i = 0; i < code->func_count; ++i) {
    const hlo_code_func_t* func = &code->funcs[i];
    const func_record_t record = {name,
                                  func->offset_bytes,
                                  func->size_bytes,
                                  func->frame_bytes,
                                  func->saved_mask,
                                  func->saved_bytes};
    put_bytes(out, &record, sizeof record);
    name += (uint32_t)strlen(func->name) + 1;
  }
  put_bytes(out, code->debug_ids, code->debug_id_count * sizeof *code->debug_ids);
  for (uint32_t i = 0; i < code->func_count; ++i) {
    put_bytes(out, code->funcs[i].name, strlen(code->funcs[i].name) + 1);
  }
  put_bytes(out, code->bytes, code->size_bytes);
}

static void count_call_sites(const hlo_call_site_table_t* table, const nodes_t* nodes,
                             header_t* header) {
  for (uint32_t i = 0; i < nodes->list.count; ++i) {
    const hlo_call_site_t* call_site = &table->call_sites[nodes->list.items[i]->index];
    if (!call_site->node) continue;
    ++header->call_site_count;
    header->allocation_count += hlo_call_site_value_count(call_site->node);
  }
}

hlo_status_t hlo_image_write(const hlo_code_t* code, const hlo_call_site_table_t* table,
                             size_t temporary_bytes, size_t saved_bytes, hlo_strbuf_t* out) {
  nodes_t nodes = {0};
  hlo_status_t status = list_nodes(table->module, &nodes);
  if (hlo_status_is_ok(status)) {
    header_t header = {.node_count = table->node_count,
                       .constant_count = table->constant_count,
                       .copy_count = table->copy_count,
                       .func_count = code->func_count,
                       .code_debug_id_count = code->debug_id_count,
                       .temporary_bytes = temporary_bytes,
                       .saved_bytes = saved_bytes,
                       .code_bytes = code->size_bytes};
    count_call_sites(table, &nodes, &header);
    for (uint32_t i = 0; i < code->func_count; ++i) {
      header.name_bytes += (uint32_t)strlen(code->funcs[i].name) + 1;
    }
    put_bytes(out, &header, sizeof header);
    status = put_constants(table, &nodes, out);
    put_call_sites(table, &nodes, out);
    put_copies(table, out);
    put_code(code, out);
    if (hlo_status_is_ok(status)) status = hlo_strbuf_status(out);
  }
  hlo_vec_deinit(&nodes.list);
  return status;
}

// ---- reading -----------------------------------------------------------------------------------

typedef struct reader {
  const uint8_t* at;
  header_t header;
  const hlo_func_t* func;
  hlo_arena_t* arena;
  hlo_image_t* image;
  nodes_t nodes;
} reader_t;

static hlo_status_t damaged_image(const char* what) {
  return hlo_status_create(HLO_STATUS_DATA_LOSS, "damaged compiled program: %s", what);
}

static void take_bytes(reader_t* r, void* out, size_t size_bytes) {
  if (size_bytes) memcpy(out, r->at, size_bytes);
  r->at += size_bytes;
}

// The header's counts must add up to the exact size: nothing is read past the end after this check.
static hlo_status_t take_header(reader_t* r, size_t size_bytes) {
  header_t* h = &r->header;
  if (size_bytes < sizeof *h) return damaged_image("shorter than its header");
  take_bytes(r, h, sizeof *h);
  const struct {
    uint64_t count;
    size_t width;
  } parts[] = {{h->constant_count, sizeof(constant_record_t)},
               {h->call_site_count, sizeof(call_site_record_t)},
               {h->allocation_count, sizeof(allocation_record_t)},
               {h->copy_count, sizeof(copy_record_t)},
               {h->func_count, sizeof(func_record_t)},
               {h->code_debug_id_count, sizeof(hlo_code_debug_id_t)},
               {h->name_bytes, 1},
               {h->code_bytes, 1}};
  size_t total = sizeof *h, part = 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
    if (!hlo_size_mul(parts[i].count, parts[i].width, &part) ||
        !hlo_size_add(total, part, &total)) {
      return damaged_image("the counts do not match the size");
    }
  }
  if (total != size_bytes || h->func_count == 0)
    return damaged_image("the counts do not match the size");
  // The compiler numbers call sites densely; sparse numbers would only cost memory.
  enum { SPARE = 1024, FACTOR = 16 };
  if (h->node_count / FACTOR > (uint64_t)r->func->module->node_count + SPARE) {
    return damaged_image("call site numbers out of range");
  }
  if (h->temporary_bytes > SIZE_MAX / 2 || h->saved_bytes > UINT32_MAX)
    return damaged_image("sizes of memory out of range");
  r->image->temporary_bytes = h->temporary_bytes;
  r->image->saved_bytes = h->saved_bytes;
  return hlo_ok();
}

static hlo_status_t take_constants(reader_t* r) {
  uint32_t count = r->header.constant_count;
  hlo_plan_constant_t* constants = hlo_arena_array(r->arena, count, sizeof *constants);
  HLO_TRY(hlo_arena_status(r->arena));
  for (uint32_t i = 0; i < count; ++i) {
    constant_record_t record;
    take_bytes(r, &record, sizeof record);
    const hlo_node_t* node =
        record.node < r->nodes.list.count ? r->nodes.list.items[record.node] : NULL;
    if (!node || node->result_count != 1 || !hlo_call_site_literal(&node->results[0]))
      return damaged_image("a constant is not a literal of the module");
    constants[i] = (hlo_plan_constant_t){&node->results[0], record.is_read != 0};
  }
  return hlo_call_site_table_begin(r->func, r->header.node_count, count, constants, r->arena,
                                   &r->image->table);
}

// Returns the bytes that code reads and writes; tokens have none.
static uint64_t memory_bytes(const hlo_type_t* type) {
  return type->kind == HLO_TYPE_TENSOR ? hlo_type_size_bytes(type) : 0;
}

static bool fits_buffer(const hlo_type_t* type, uint32_t first, uint32_t end,
                        const allocation_record_t* allocation, uint64_t size_bytes) {
  if (allocation->index >= end - first) return false;
  const uint64_t room = memory_bytes(type->elements[first + allocation->index]);
  return allocation->offset_bytes <= room && size_bytes <= room - allocation->offset_bytes;
}

// Returns true if the allocation exists and has room for size_bytes.
static bool fits_allocation(const reader_t* r, const allocation_record_t* allocation,
                            uint64_t size_bytes) {
  const hlo_type_t* type = r->func->type;
  const hlo_call_site_table_t* table = &r->image->table;
  uint32_t inputs = type->input_count;
  switch ((hlo_allocation_kind_t)allocation->kind) {
    case HLO_ALLOCATION_NONE: return size_bytes == 0;
    case HLO_ALLOCATION_ARGUMENT: return fits_buffer(type, 0, inputs, allocation, size_bytes);
    case HLO_ALLOCATION_RESULT:
      return fits_buffer(type, inputs, type->element_count, allocation, size_bytes);
    case HLO_ALLOCATION_CONSTANT:
      return allocation->index < table->constant_count &&
             size_bytes <=
                 hlo_type_size_bytes(table->constant_values[allocation->index].value->type);
    case HLO_ALLOCATION_TEMPORARY:
      return allocation->offset_bytes <= r->header.temporary_bytes &&
             size_bytes <= r->header.temporary_bytes - allocation->offset_bytes;
    case HLO_ALLOCATION_REGISTER: break;
  }
  return false;
}

static hlo_allocation_t allocation_of(const allocation_record_t* record) {
  return (hlo_allocation_t){(hlo_allocation_kind_t)record->kind, record->index,
                            record->offset_bytes};
}

static bool is_callable(const hlo_node_t* node) {
  return !hlo_op_has(node->op, HLO_TRAIT_CONTROL | HLO_TRAIT_TERMINATOR);
}

static hlo_status_t take_allocations(reader_t* r, const hlo_call_site_t* call_site,
                                     hlo_allocation_t* allocations, uint32_t* left) {
  const hlo_call_site_table_t* table = &r->image->table;
  uint32_t count = hlo_call_site_value_count(call_site->node);
  if (count > *left) return damaged_image("a call has more values than allocations");
  *left -= count;
  for (uint32_t i = 0; i < count; ++i) {
    allocation_record_t record;
    take_bytes(r, &record, sizeof record);
    const hlo_type_t* type = hlo_node_type(call_site->node, i);
    bool is_filled = record.kind == HLO_ALLOCATION_CONSTANT &&
                     record.index < table->constant_count && !table->constants[record.index];
    if (is_filled || !fits_allocation(r, &record, memory_bytes(type))) {
      return damaged_image("an allocation of a call is outside its buffer");
    }
    allocations[i] = allocation_of(&record);
  }
  return hlo_ok();
}

static hlo_status_t take_call_sites(reader_t* r) {
  uint32_t left = r->header.allocation_count;
  const uint8_t* records = r->at;
  r->at += r->header.call_site_count * sizeof(call_site_record_t);
  for (uint32_t i = 0; i < r->header.call_site_count; ++i) {
    call_site_record_t record;
    memcpy(&record, records + i * sizeof record, sizeof record);
    const hlo_node_t* node =
        record.node < r->nodes.list.count ? r->nodes.list.items[record.node] : NULL;
    if (!node || !is_callable(node) || record.number - 1 >= r->header.node_count ||
        r->image->table.call_sites[record.number - 1].node) {
      return damaged_image("a call site is not an op of the module, or is listed twice");
    }
    hlo_allocation_t* allocations = NULL;
    HLO_TRY(hlo_call_site_table_add(&r->image->table, record.number, node, r->arena, &allocations));
    HLO_TRY(
        take_allocations(r, &r->image->table.call_sites[record.number - 1], allocations, &left));
  }
  return left ? damaged_image("allocations without a call") : hlo_ok();
}

// Returns true if the copied bytes are a multiple of the element with which a constant fills
// memory.
static bool fills_evenly(const hlo_call_site_table_t* table, const copy_record_t* copy) {
  if (copy->from.kind != HLO_ALLOCATION_CONSTANT || table->constants[copy->from.index]) return true;
  const hlo_type_t* type = table->constant_values[copy->from.index].value->type;
  return copy->size_bytes % hlo_dtype_size_bytes(type->dtype) == 0;
}

static hlo_status_t take_copies(reader_t* r) {
  for (uint32_t i = 0; i < r->header.copy_count; ++i) {
    copy_record_t record;
    take_bytes(r, &record, sizeof record);
    if (record.to.kind == HLO_ALLOCATION_CONSTANT ||
        !fits_allocation(r, &record.from, record.size_bytes) ||
        !fits_allocation(r, &record.to, record.size_bytes) ||
        !fills_evenly(&r->image->table, &record)) {
      return damaged_image("a copy is outside its buffers");
    }
    const hlo_copy_t copy = {allocation_of(&record.from), allocation_of(&record.to),
                             record.size_bytes};
    if (!hlo_call_site_table_add_copy(&r->image->table, &copy, r->arena)) break;
  }
  return hlo_arena_status(r->arena);
}

static hlo_status_t take_code(reader_t* r) {
  const header_t* h = &r->header;
  hlo_code_func_t* funcs = hlo_arena_array(r->arena, h->func_count, sizeof *funcs);
  hlo_code_debug_id_t* debug_ids =
      hlo_arena_array(r->arena, h->code_debug_id_count, sizeof *debug_ids);
  HLO_TRY(hlo_arena_status(r->arena));
  const uint8_t* records = r->at;
  r->at += h->func_count * sizeof(func_record_t);
  take_bytes(r, debug_ids, h->code_debug_id_count * sizeof *debug_ids);
  const char* names = (const char*)r->at;
  r->at += h->name_bytes;
  if (!h->name_bytes || names[h->name_bytes - 1]) return damaged_image("unterminated names");
  for (uint32_t i = 0; i < h->func_count; ++i) {
    func_record_t record;
    memcpy(&record, records + i * sizeof record, sizeof record);
    if (record.name >= h->name_bytes || record.offset_bytes > h->code_bytes ||
        record.size_bytes > h->code_bytes - record.offset_bytes || record.saved_mask >> 16 ||
        record.saved_bytes > h->saved_bytes) {
      return damaged_image("a function is outside the code");
    }
    funcs[i] = (hlo_code_func_t){.name = names + record.name,
                                 .offset_bytes = record.offset_bytes,
                                 .size_bytes = record.size_bytes,
                                 .frame_bytes = record.frame_bytes,
                                 .saved_mask = record.saved_mask,
                                 .saved_bytes = record.saved_bytes};
  }
  r->image->code = (hlo_code_t){.bytes = (uint8_t*)(uintptr_t)r->at,
                                .size_bytes = h->code_bytes,
                                .func_count = h->func_count,
                                .debug_id_count = h->code_debug_id_count,
                                .funcs = funcs,
                                .debug_ids = debug_ids};
  return hlo_ok();
}

static hlo_status_t take_all(reader_t* r, size_t size_bytes) {
  HLO_TRY(take_header(r, size_bytes));
  if (r->header.constant_count || r->header.call_site_count) {
    HLO_TRY(list_nodes(r->func->module, &r->nodes));
  }
  HLO_TRY(take_constants(r));
  HLO_TRY(take_call_sites(r));
  HLO_TRY(take_copies(r));
  return take_code(r);
}

hlo_status_t hlo_image_read(const void* bytes, size_t size_bytes, const hlo_func_t* func,
                            hlo_arena_t* arena, hlo_image_t* out_image) {
  *out_image = (hlo_image_t){0};
  reader_t r = {.at = bytes, .func = func, .arena = arena, .image = out_image};
  hlo_status_t status = take_all(&r, size_bytes);
  hlo_vec_deinit(&r.nodes.list);
  return status;
}
