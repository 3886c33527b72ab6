// SPDX-License-Identifier: Apache-2.0
// Places the allocations of a kernel: the lowest address at which no allocation lies that is in use
// meanwhile.
#include "tile/ir_impl.h"

// An allocation, in use from `start` to `end`, both included, in the order of the text.
typedef struct lifetime {
  hlo_tile_op_t* op;
  uint32_t start, end;
  int64_t bytes;
} lifetime_t;

typedef struct planner {
  hlo_arena_t scratch;
  uint32_t position;  // in the text
  uint32_t count, capacity;
  lifetime_t* lifetimes;  // by start
} planner_t;

static lifetime_t* find(const planner_t* p, const hlo_tile_op_t* root) {
  for (uint32_t i = p->count; i-- > 0;) {
    if (p->lifetimes[i].op == root) return &p->lifetimes[i];
  }
  return NULL;
}

static void add(planner_t* p, hlo_tile_op_t* op) {
  if (!hlo_arena_grow(&p->scratch, &p->lifetimes, p->count, &p->capacity, sizeof *p->lifetimes)) {
    return;
  }
  int64_t bytes = hlo_tile_ref_count(op) * (int64_t)hlo_dtype_size_bytes(op->dtype);
  p->lifetimes[p->count++] = (lifetime_t){op, p->position, p->position, bytes};
}

static void extend(planner_t* p, const hlo_tile_op_t* user) {
  for (uint32_t i = 0; i < user->operand_count; ++i) {
    if (!hlo_tile_op_is_ref(user->operands[i])) continue;
    lifetime_t* used = find(p, hlo_tile_ref_root(user->operands[i]));
    if (!used || used->end == UINT32_MAX) continue;
    used->end = user->kind == HLO_TILE_OP_copy_start ? UINT32_MAX : p->position;
  }
}

// References that regions use are in use until their operation ends, since it may repeat them.
static void extend_nested(planner_t* p, const hlo_tile_op_t* op, uint32_t began) {
  for (uint32_t i = 0; i < p->count; ++i) {
    lifetime_t* l = &p->lifetimes[i];
    bool is_around = l->start < began && l->end >= began && l->end != UINT32_MAX;
    if (is_around && l->op->block == op->block) l->end = p->position;
  }
}

// The end of a block ends all that it allocated.
static void end_block(planner_t* p, const hlo_tile_block_t* block) {
  for (uint32_t i = 0; i < p->count; ++i) {
    lifetime_t* l = &p->lifetimes[i];
    if (l->op->block == block && l->end == UINT32_MAX) l->end = p->position;
  }
}

static void visit(planner_t* p, hlo_tile_block_t* block) {
  for (hlo_tile_op_t* op = block->first; op && !p->scratch.failed; op = op->next) {
    uint32_t began = ++p->position;
    if (op->kind == HLO_TILE_OP_alloc) add(p, op);
    extend(p, op);
    if (!hlo_tile_op_has_regions(op->kind)) continue;
    for (hlo_tile_block_t* region = &op->body; region; region = region->next) visit(p, region);
    ++p->position;
    extend_nested(p, op, began);
  }
  ++p->position;
  end_block(p, block);
}

// Finds the lowest free address: after each allocation that is in the way, begins again above it.
static hlo_status_t place(const planner_t* p, uint32_t number, int64_t align_bytes) {
  const lifetime_t* l = &p->lifetimes[number];
  int64_t address = 0, end;
  for (uint32_t i = 0; i < number; ++i) {
    const lifetime_t* other = &p->lifetimes[i];
    bool meets = other->op->ref.space == l->op->ref.space && other->end >= l->start &&
                 other->start <= l->end;
    if (!meets || !other->bytes || !l->bytes) continue;
    if (address >= other->op->address + other->bytes || address + l->bytes <= other->op->address) {
      continue;
    }
    address = other->op->address + other->bytes;
    address = (address + align_bytes - 1) / align_bytes * align_bytes;
    i = UINT32_MAX;  // from the first one again
  }
  if (__builtin_add_overflow(address, l->bytes + align_bytes, &end) || end > INT64_MAX / 4) {
    return hlo_resource_exhausted("its allocations are too large");
  }
  l->op->address = address;
  l->op->is_placed = true;
  return hlo_ok();
}

hlo_status_t hlo_tile_kernel_lifetimes(const hlo_tile_kernel_t* kernel, hlo_arena_t* arena,
                                       hlo_tile_lifetime_t** out_lifetimes) {
  planner_t p = {0};
  hlo_tile_lifetime_t* all = hlo_arena_array(arena, (size_t)kernel->value_count + 1, sizeof *all);
  hlo_arena_init(&p.scratch, 0);
  // Only hlo_tile_kernel_place() changes operations.
  if (all) visit(&p, (hlo_tile_block_t*)(uintptr_t)&kernel->body);
  hlo_status_t status = hlo_arena_status(all ? &p.scratch : arena);
  for (uint32_t i = 0; hlo_status_is_ok(status) && i < p.count; ++i) {
    all[p.lifetimes[i].op->number] =
        (hlo_tile_lifetime_t){p.lifetimes[i].start, p.lifetimes[i].end};
  }
  hlo_arena_deinit(&p.scratch);
  *out_lifetimes = all;
  return status;
}

hlo_status_t hlo_tile_kernel_place(hlo_tile_kernel_t* kernel, int64_t align_bytes,
                                   int64_t out_bytes[HLO_TILE_SPACE_COUNT]) {
  planner_t p = {0};
  hlo_arena_init(&p.scratch, 0);
  for (uint32_t i = 0; i < HLO_TILE_SPACE_COUNT; ++i) out_bytes[i] = 0;
  visit(&p, &kernel->body);
  hlo_status_t status = hlo_arena_status(&p.scratch);
  for (uint32_t i = 0; hlo_status_is_ok(status) && i < p.count; ++i) {
    status = place(&p, i, align_bytes);
    const hlo_tile_op_t* op = p.lifetimes[i].op;
    int64_t end = op->address + p.lifetimes[i].bytes;
    if (end > out_bytes[op->ref.space]) out_bytes[op->ref.space] = end;
  }
  hlo_arena_deinit(&p.scratch);
  return status;
}
