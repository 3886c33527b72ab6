// SPDX-License-Identifier: Apache-2.0
// Prints Tile IR as text (see ir.h); ir_parse.c reads it.
#include <inttypes.h>
#include <string.h>

#include "tile/ir_impl.h"
#include "tile/text.h"

static const char* const DIRECTIONS[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};

const char* hlo_tile_direction_name(int64_t direction) {
  return direction >= 0 && direction < 6 ? DIRECTIONS[direction] : "?";
}

static void print_atom(const hlo_expr_atom_t* atom, hlo_strbuf_t* out);

// Orders atoms independently of their creation, so that text read back prints the same.
static bool comes_before(const hlo_expr_atom_t* a, const hlo_expr_atom_t* b) {
  for (;;) {
    if (a->kind != b->kind) return a->kind < b->kind;
    if (a->number != b->number) return a->number < b->number;
    if (a->low != b->low) return a->low < b->low;
    if (a->high != b->high) return a->high < b->high;
    if (a->divisor != b->divisor) return a->divisor < b->divisor;
    if (!a->argument || a->argument == b->argument) return false;
    if (a->argument->term_count != b->argument->term_count || !a->argument->term_count) {
      return a->argument->term_count < b->argument->term_count;
    }
    if (a->argument->constant != b->argument->constant) {
      return a->argument->constant < b->argument->constant;
    }
    const hlo_expr_term_t *x = &a->argument->terms[0], *y = &b->argument->terms[0];
    if (x->atom == y->atom) return x->coefficient < y->coefficient;
    a = x->atom, b = y->atom;
  }
}

static uint32_t sort_terms(const hlo_expr_t* a, uint32_t* order) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < a->term_count; ++i) {
    uint32_t at = count++;
    for (; at > 0 && comes_before(a->terms[i].atom, a->terms[order[at - 1]].atom); --at) {
      order[at] = order[at - 1];
    }
    order[at] = i;
  }
  return count;
}

static void print_expr(const hlo_expr_t* a, hlo_strbuf_t* out) {
  uint32_t order[HLO_EXPR_MAX_TERMS], count = sort_terms(a, order);
  const char* separator = "";
  if (a->constant || a->term_count == 0) {
    hlo_strbuf_printf(out, "%" PRId64, a->constant);
    separator = " + ";
  }
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_expr_term_t* term = &a->terms[order[i]];
    hlo_strbuf_puts(out, separator);
    if (term->coefficient != 1) hlo_strbuf_printf(out, "%" PRId64 "*", term->coefficient);
    print_atom(term->atom, out);
    separator = " + ";
  }
}

static void print_atom(const hlo_expr_atom_t* atom, hlo_strbuf_t* out) {
  switch ((hlo_expr_atom_kind_t)atom->kind) {
    case HLO_EXPR_LOOP: hlo_strbuf_printf(out, "d%u", atom->number); return;
    case HLO_EXPR_VALUE:
      hlo_strbuf_printf(out, "clamp(%%%u, %" PRId64 ", %" PRId64 ")", atom->number, atom->low,
                        atom->high);
      return;
    default:
      hlo_strbuf_putc(out, '(');
      print_expr(atom->argument, out);
      hlo_strbuf_printf(out, " %s %" PRId64 ")", atom->kind == HLO_EXPR_QUOTIENT ? "div" : "mod",
                        atom->divisor);
  }
}

static const char* map_name(hlo_op_t op) {
  const char* name = hlo_op_info(op)->name;
  return strncmp(name, "stablehlo.", 10) == 0 ? name + 10 : name;
}

static void print_operands(const hlo_tile_op_t* op, hlo_strbuf_t* out) {
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    hlo_strbuf_printf(out, "%s%%%u", i ? ", " : " ", op->operands[i]->number);
  }
}

static void print_loops(const hlo_tile_op_t* op, hlo_strbuf_t* out) {
  for (uint32_t i = 0; i < op->loop_count; ++i) {
    const hlo_tile_loop_t* loop = &op->loops[i];
    hlo_strbuf_printf(out, "%sd%u = %" PRId64 "..%" PRId64 " by %" PRId64, i ? ", " : " ", loop->iv,
                      loop->low, loop->end, loop->step);
    for (uint32_t k = 0; k < HLO_TILE_SCHEDULE_COUNT; ++k) {
      int64_t number = hlo_tile_schedule_get(&loop->schedule, k);
      if (number) hlo_strbuf_printf(out, " %s %" PRId64, hlo_tile_schedule_fields[k].name, number);
    }
    if (loop->is_grid) hlo_strbuf_puts(out, " grid");
  }
}

// ---- between the name and the operands of an operation

static void print_offset(const hlo_tile_op_t* op, hlo_strbuf_t* out) {
  hlo_strbuf_puts(out, " [");
  print_expr(op->offset, out);
  hlo_strbuf_putc(out, ']');
}

static void print_access(const hlo_tile_op_t* op, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, " %u", op->buffer);
  print_offset(op, out);
  if (op->alias) hlo_strbuf_printf(out, " alias %u", op->alias);
}

static void print_guard(const hlo_tile_op_t* op, hlo_strbuf_t* out) {
  print_offset(op, out);
  hlo_strbuf_printf(out, " in %" PRId64 "..%" PRId64, op->low, op->end);
}

static void print_element(const hlo_tile_op_t* op, hlo_strbuf_t* out) {
  hlo_strbuf_puts(out, " 0x");
  for (size_t i = hlo_dtype_size_bytes(op->dtype); i-- > 0;) {
    hlo_strbuf_printf(out, "%02x", op->element[i]);
  }
}

static void print_map(const hlo_tile_op_t* op, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, " %s", map_name(op->map.op));
  if (op->map.op != HLO_OP_compare) return;
  hlo_strbuf_printf(out, " %s", hlo_tile_direction_name(op->map.direction));
  if (op->map.is_total_order) hlo_strbuf_puts(out, " total");
}

static void print_reducers(const hlo_tile_op_t* op, hlo_strbuf_t* out) {
  for (uint32_t i = 0; i < op->reducer_count; ++i) {
    hlo_strbuf_printf(out, " %s%s", op->is_arg ? "arg " : "", map_name(op->reducers[i]));
  }
}

static void print_result(const hlo_tile_op_t* op, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, " %u of", op->result);
}

static void print_argument(const hlo_tile_op_t* op, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, " %u", op->result);
}

// ---- the same for references

static void print_numbers(const char* before, uint32_t count, const int64_t* numbers,
                          hlo_strbuf_t* out) {
  hlo_strbuf_puts(out, before);
  for (uint32_t i = 0; i < count; ++i) {
    hlo_strbuf_printf(out, "%s%" PRId64, i ? ", " : "", numbers[i]);
  }
  hlo_strbuf_putc(out, ']');
}

static void print_list(const char* before, uint32_t count, const uint32_t* numbers,
                       hlo_strbuf_t* out) {
  int64_t wide[HLO_TILE_MAX_RANK];
  for (uint32_t i = 0; i < count; ++i) wide[i] = numbers[i];
  print_numbers(before, count, wide, out);
}

static void print_indices(const hlo_tile_op_t* op, hlo_strbuf_t* out) {
  hlo_strbuf_puts(out, " [");
  for (uint32_t i = 0; i < op->index_count; ++i) {
    if (i) hlo_strbuf_puts(out, ", ");
    print_expr(op->indices[i], out);
  }
  hlo_strbuf_putc(out, ']');
  if (op->is_masked) hlo_strbuf_puts(out, " mask");
}

static void print_atomic(const hlo_tile_op_t* op, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, " %s", hlo_tile_atomic_name(op->atomic));
  print_indices(op, out);
}

static void print_reference(const hlo_tile_op_t* op, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, " %u", op->buffer);
}

static void print_alloc(const hlo_tile_op_t* op, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, " %s", hlo_tile_space_name(op->ref.space));
  if (op->ref.space == HLO_TILE_SPACE_barrier) {
    hlo_strbuf_printf(out, " arrivals %" PRId64, op->count);
  }
  if (op->is_placed) hlo_strbuf_printf(out, " at %" PRId64, op->address);
}

static void print_slice(const hlo_tile_op_t* op, hlo_strbuf_t* out) {
  print_indices(op, out);
  print_numbers(" sizes [", op->index_count, op->sizes, out);
  bool has_strides = false;
  for (uint32_t i = 0; i < op->index_count; ++i) has_strides |= op->strides[i] != 1;
  if (has_strides) print_numbers(" strides [", op->index_count, op->strides, out);
  if (!op->squeezed) return;
  uint32_t dropped[HLO_TILE_MAX_RANK], count = 0;
  for (uint32_t i = 0; i < op->index_count; ++i) {
    if (op->squeezed >> i & 1) dropped[count++] = i;
  }
  print_list(" squeeze [", count, dropped, out);
}

static void print_transpose(const hlo_tile_op_t* op, hlo_strbuf_t* out) {
  print_list(" [", op->ref.rank, op->permutation, out);
}

static void print_count(const hlo_tile_op_t* op, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, " %" PRId64, op->count);
}

static void print_mma(const hlo_tile_op_t* op, hlo_strbuf_t* out) {
  const hlo_tile_dims_t* d = &op->dims;
  print_list(" [", d->contract_count, d->left_contract, out);
  print_list(" x [", d->contract_count, d->right_contract, out);
  if (!d->batch_count) return;
  print_list(" batch [", d->batch_count, d->left_batch, out);
  print_list(" x [", d->batch_count, d->right_batch, out);
}

static void print_dimension(const hlo_tile_op_t* op, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, " %u", op->dimension);
}

static void print_label(const hlo_tile_op_t* op, hlo_strbuf_t* out) {
  hlo_strbuf_putc(out, ' ');
  hlo_tile_text_print_quoted(op->label ? op->label : "", out);
}

typedef void (*details_fn_t)(const hlo_tile_op_t* op, hlo_strbuf_t* out);

static const details_fn_t DETAILS[HLO_TILE_OP_KIND_COUNT] = {
    [HLO_TILE_OP_load] = print_access,
    [HLO_TILE_OP_store] = print_access,
    [HLO_TILE_OP_index] = print_offset,
    [HLO_TILE_OP_guard] = print_guard,
    [HLO_TILE_OP_constant] = print_element,
    [HLO_TILE_OP_map] = print_map,
    [HLO_TILE_OP_reduce] = print_reducers,
    [HLO_TILE_OP_result] = print_result,
    [HLO_TILE_OP_argument] = print_argument,
    [HLO_TILE_OP_reference] = print_reference,
    [HLO_TILE_OP_alloc] = print_alloc,
    [HLO_TILE_OP_slice] = print_slice,
    [HLO_TILE_OP_transpose] = print_transpose,
    [HLO_TILE_OP_ref_load] = print_indices,
    [HLO_TILE_OP_ref_store] = print_indices,
    [HLO_TILE_OP_atomic] = print_atomic,
    [HLO_TILE_OP_semaphore_signal] = print_count,
    [HLO_TILE_OP_semaphore_wait] = print_count,
    [HLO_TILE_OP_barrier_wait] = print_indices,
    [HLO_TILE_OP_mma] = print_mma,
    [HLO_TILE_OP_scaled_mma] = print_mma,
    [HLO_TILE_OP_program_id] = print_dimension,
    [HLO_TILE_OP_num_programs] = print_dimension,
    [HLO_TILE_OP_print] = print_label,
};

// ---- operations

static void print_loc(const hlo_tile_loc_t* loc, hlo_strbuf_t* out) {
  hlo_strbuf_puts(out, " loc(");
  hlo_tile_text_print_quoted(loc->file, out);
  hlo_strbuf_printf(out, ":%u:%u)", loc->line, loc->column);
}

void hlo_tile_op_format(const hlo_tile_op_t* op, hlo_strbuf_t* out) {
  if (hlo_tile_op_has_result(op)) hlo_strbuf_printf(out, "%%%u = ", op->number);
  hlo_strbuf_puts(out, hlo_tile_op_name(op->kind));
  if (op->loc.file) {
    hlo_strbuf_printf(out, " (%s:%u:%u)", op->loc.file, op->loc.line, op->loc.column);
  } else if (op->loc.line) {
    hlo_strbuf_printf(out, " (line %u)", op->loc.line);
  }
}

static void print_block(const hlo_tile_block_t* block, uint32_t indent, hlo_strbuf_t* out) {
  for (const hlo_tile_op_t* op = block->first; op; op = op->next) {
    hlo_strbuf_printf(out, "%*s", (int)(2 * indent), "");
    bool has_result = hlo_tile_op_has_result(op);
    if (has_result) hlo_strbuf_printf(out, "%%%u = ", op->number);
    hlo_strbuf_puts(out, hlo_tile_op_name(op->kind));
    if (DETAILS[op->kind]) DETAILS[op->kind](op, out);
    print_operands(op, out);
    if (has_result && op->loop_count) hlo_strbuf_puts(out, " over");
    print_loops(op, out);
    if (has_result) hlo_strbuf_printf(out, " : %s", hlo_dtype_info(op->dtype)->hlo_name);
    if (hlo_tile_op_is_ref(op)) print_numbers("[", op->ref.rank, op->ref.dims, out);
    if (op->layout) {
      hlo_strbuf_putc(out, ' ');
      hlo_tile_layout_print(op->layout, out);
    }
    if (op->loc.file) print_loc(&op->loc, out);
    const hlo_tile_block_t* region = hlo_tile_op_has_regions(op->kind) ? &op->body : NULL;
    for (; region; region = region->next) {
      hlo_strbuf_puts(out, " {\n");
      print_block(region, indent + 1, out);
      hlo_strbuf_printf(out, "%*s}", (int)(2 * indent), "");
    }
    hlo_strbuf_putc(out, '\n');
  }
}

static bool is_scheduled(const hlo_tile_op_t* op) {
  for (uint32_t i = 0; i < op->loop_count * HLO_TILE_SCHEDULE_COUNT; ++i) {
    const hlo_tile_loop_t* loop = &op->loops[i / HLO_TILE_SCHEDULE_COUNT];
    if (loop->is_grid) return true;
    if (hlo_tile_schedule_get(&loop->schedule, i % HLO_TILE_SCHEDULE_COUNT)) return true;
  }
  return false;
}

uint32_t hlo_tile_kernel_version(const hlo_tile_kernel_t* kernel) {
  uint32_t version = 1;
  for (uint32_t i = 0; i < kernel->buffer_count; ++i) {
    const hlo_tile_buffer_t* buffer = &kernel->buffers[i];
    if (buffer->rank > 1 || buffer->is_prefetched) version = 3;
  }
  for (const hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    uint32_t since = hlo_tile_op_infos[op->kind].since;
    bool carries = op->kind == HLO_TILE_OP_for && op->operand_count > 0;
    if (since < 2 && (op->alias || carries)) since = 2;
    if (since < 3 && (op->loc.file || is_scheduled(op))) since = 3;
    if (since > version) version = since;
  }
  return version;
}

void hlo_tile_kernel_print(const hlo_tile_kernel_t* kernel, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "kernel %s version %u {\n", kernel->name, hlo_tile_kernel_version(kernel));
  for (uint32_t i = 0; i < kernel->buffer_count; ++i) {
    const hlo_tile_buffer_t* buffer = &kernel->buffers[i];
    hlo_tile_ref_t shape = hlo_tile_buffer_ref(buffer);
    hlo_strbuf_printf(out, "  buffer %s", hlo_dtype_info(buffer->dtype)->hlo_name);
    print_numbers("[", shape.rank, shape.dims, out);
    if (buffer->is_output) hlo_strbuf_puts(out, " out");
    if (buffer->is_prefetched) hlo_strbuf_puts(out, " prefetch");
    hlo_strbuf_putc(out, '\n');
  }
  print_block(&kernel->body, 1, out);
  hlo_strbuf_puts(out, "}\n");
}

// ---- what kernels print

static void put_element(hlo_dtype_t dtype, const void* element, hlo_strbuf_t* out) {
  if (hlo_dtype_is_float(dtype)) {
    hlo_strbuf_printf(out, " %g", hlo_dtype_load_double(dtype, element));
  } else if (hlo_dtype_is_integer(dtype) || dtype == HLO_DTYPE_PRED) {
    hlo_strbuf_printf(out, " %" PRId64, hlo_dtype_load_int64(dtype, element));
  } else {
    hlo_strbuf_puts(out, " ?");
  }
}

void hlo_tile_print_line(const hlo_tile_op_t* op, const void* const* operands, int64_t count,
                         const bool* is_on, hlo_strbuf_t* out) {
  hlo_strbuf_puts(out, op->label ? op->label : "");
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    const hlo_tile_op_t* value = op->operands[i];
    const size_t bytes = hlo_dtype_size_bytes(value->dtype);
    hlo_strbuf_printf(out, " %%%u %s", value->number, hlo_dtype_info(value->dtype)->hlo_name);
    if (value->layout) {
      hlo_strbuf_putc(out, ' ');
      hlo_tile_layout_print(value->layout, out);
    }
    hlo_strbuf_putc(out, ':');
    for (int64_t p = 0; p < count && p < HLO_TILE_PRINTED_ELEMENTS; ++p) {
      if (!is_on || is_on[p]) {
        put_element(value->dtype, (const uint8_t*)operands[i] + (size_t)p * bytes, out);
      } else {
        hlo_strbuf_puts(out, " -");
      }
    }
    if (count > HLO_TILE_PRINTED_ELEMENTS) hlo_strbuf_puts(out, " ...");
  }
}
