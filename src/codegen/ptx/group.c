// SPDX-License-Identifier: Apache-2.0
// Operations of the threads of a block as PTX instructions (see emit.h): waits, exchanges in a
// warp, asynchronous copies, matrix fragments.
#include <inttypes.h>

#include "codegen/ptx/atoms.h"
#include "codegen/ptx/emit_impl.h"

enum { TRANSPOSED = 8, SUM_REGISTERS = 4, LEFT_REGISTERS = 4, RIGHT_REGISTERS = 2 };

static hlo_ptx_reg_t fragment(hlo_ptx_emitter_t* e, int64_t number) {
  if (number >= e->fragment_count) e->fragment_count = (uint32_t)number + 1;
  return (hlo_ptx_reg_t){HLO_PTX_FRAGMENT, number};
}

static void print_fragments(hlo_ptx_emitter_t* e, int64_t first, uint32_t count) {
  fragment(e, first + count - 1);
  for (uint32_t i = 0; i < count; ++i) {
    hlo_strbuf_printf(&e->body, "%s%%g%" PRId64, i ? ", " : "{", first + i);
  }
  hlo_strbuf_puts(&e->body, "}");
}

static void shuffle_word(hlo_ptx_emitter_t* e, hlo_ptx_reg_t to, hlo_ptx_reg_t from, int64_t step) {
  hlo_ptx_line(e, "shfl.sync.bfly.b32 $, $, #, 31, -1", to, from, step);
}

// Words of 64 bits are exchanged in two halves.
static void emit_shuffle(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  const hlo_ptx_reg_t to = hlo_ptx_reg(value), from = hlo_ptx_reg(value->operands[0]);
  if (to.kind != HLO_PTX_B64 && to.kind != HLO_PTX_F64) {
    shuffle_word(e, to, from, value->imm);
    return;
  }
  const hlo_ptx_reg_t bits = hlo_ptx_temp(e, HLO_PTX_B64), high = hlo_ptx_temp(e, HLO_PTX_B64);
  const hlo_ptx_reg_t words[] = {hlo_ptx_temp(e, HLO_PTX_B32), hlo_ptx_temp(e, HLO_PTX_B32)};
  hlo_ptx_line(e, "mov.b64 $, $", bits, from);
  hlo_ptx_line(e, "shr.u64 $, $, 32", high, bits);
  hlo_ptx_line(e, "cvt.u32.u64 $, $", words[0], bits);
  hlo_ptx_line(e, "cvt.u32.u64 $, $", words[1], high);
  for (uint32_t i = 0; i < 2; ++i) shuffle_word(e, words[i], words[i], value->imm);
  hlo_ptx_line(e, "cvt.u64.u32 $, $", bits, words[0]);
  hlo_ptx_line(e, "cvt.u64.u32 $, $", high, words[1]);
  hlo_ptx_line(e, "shl.b64 $, $, 32", high, high);
  hlo_ptx_line(e, "or.b64 $, $, $", bits, bits, high);
  hlo_ptx_line(e, "mov.b64 $, $", to, bits);
}

static void emit_fragment_load(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  const uint32_t squares = value->flags & (TRANSPOSED - 1);
  hlo_strbuf_printf(&e->body, "  ldmatrix.sync.aligned.m8n8.x%u%s.shared.b16 ", squares,
                    value->flags & TRANSPOSED ? ".trans" : "");
  print_fragments(e, value->imm, squares);
  hlo_ptx_line(e, ", [$]", hlo_ptx_reg(value->operands[0]));
}

static void emit_fragment_mma(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  enum { ATOM_BITS = 6, ATOMS = (1 << ATOM_BITS) - 1 };
  hlo_tile_atom_t atoms[HLO_TILE_MAX_ATOMS];
  const bool is_scaled = value->op == HLO_VIR_frag_scaled_mma;
  const uint32_t bits = is_scaled ? 12 : 16;
  const int64_t numbers = (INT64_C(1) << bits) - 1;
  const int64_t sum = value->imm & numbers, left = value->imm >> bits & numbers;
  const int64_t right = value->imm >> 2 * bits & numbers;
  const uint32_t atom = value->flags & ATOMS;
  if (atom >= hlo_ptx_atoms(e->target, true, atoms)) {
    hlo_ptx_refuse(e, value, "the target lacks the matrix instruction");
    return;
  }
  hlo_strbuf_printf(&e->body, "  %s ", atoms[atom].name);
  print_fragments(e, sum, SUM_REGISTERS);
  hlo_strbuf_puts(&e->body, ", ");
  print_fragments(e, left, LEFT_REGISTERS);
  hlo_strbuf_puts(&e->body, ", ");
  print_fragments(e, right, RIGHT_REGISTERS);
  hlo_strbuf_puts(&e->body, ", ");
  print_fragments(e, sum, SUM_REGISTERS);
  // The first lanes of each four have the scales.
  for (uint32_t i = 3; is_scaled && i < 5; ++i) {
    hlo_strbuf_puts(&e->body, ", ");
    print_fragments(e, value->imm >> i * bits & numbers, 1);
    hlo_strbuf_printf(&e->body, ", {%d, 0}", value->flags >> ATOM_BITS);
  }
  hlo_strbuf_puts(&e->body, ";\n");
}

// The address, the distance of eight rows and the swizzle of 128 bytes, as the instruction reads
// them.
static hlo_ptx_reg_t describe(hlo_ptx_emitter_t* e, hlo_ptx_reg_t address) {
  const int64_t eight_rows = 8 * 128 / 16, swizzle_128 = 1;
  const hlo_ptx_reg_t descriptor = hlo_ptx_temp(e, HLO_PTX_B64);
  hlo_ptx_line(e, "and.b64 $, $, #", descriptor, address, INT64_C(0x3ffff));
  hlo_ptx_line(e, "shr.u64 $, $, 4", descriptor, descriptor);
  hlo_ptx_line(e, "or.b64 $, $, #", descriptor, descriptor,
               INT64_C(1) << 16 | eight_rows << 32 | swizzle_128 << 62);
  return descriptor;
}

static void emit_warp_group_mma(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  enum { NUMBER_BITS = 16, NUMBERS = (1 << NUMBER_BITS) - 1, STEP_UNITS = 32 / 16 };
  hlo_tile_atom_t atoms[HLO_TILE_MAX_ATOMS];
  const int64_t sum = value->imm & NUMBERS, columns = value->imm >> NUMBER_BITS & NUMBERS;
  const int64_t steps = value->imm >> 2 * NUMBER_BITS & NUMBERS;
  if (value->flags >= hlo_ptx_atoms(e->target, true, atoms)) {
    hlo_ptx_refuse(e, value, "the target lacks the matrix instruction");
    return;
  }
  const hlo_tile_atom_t* atom = &atoms[value->flags];
  const bool has_transposes = atom->depth == 16;  // of operands of 16 bits
  const hlo_ptx_reg_t adds = hlo_ptx_temp(e, HLO_PTX_PREDICATE);
  const hlo_ptx_reg_t left = describe(e, hlo_ptx_reg(value->operands[0]));
  const hlo_ptx_reg_t right = describe(e, hlo_ptx_reg(value->operands[1]));
  hlo_ptx_line(e, "mov.pred $, 1", adds);
  hlo_ptx_line(e, "wgmma.fence.sync.aligned");
  for (int64_t step = 0; step < steps; ++step) {
    if (step) {
      hlo_ptx_line(e, "add.s64 $, $, #", left, left, (int64_t)STEP_UNITS);
      hlo_ptx_line(e, "add.s64 $, $, #", right, right, (int64_t)STEP_UNITS);
    }
    hlo_strbuf_printf(&e->body, "  wgmma.mma_async.sync.aligned.m64n%" PRId64 "%s ", columns,
                      atom->name);
    print_fragments(e, sum, (uint32_t)columns / 2);
    hlo_ptx_line(e, ", $, $, $, 1, 1%", left, right, adds, has_transposes ? ", 0, 0" : "");
  }
  hlo_ptx_line(e, "wgmma.commit_group.sync.aligned");
  hlo_ptx_line(e, "wgmma.wait_group.sync.aligned 0");
}

// ---- barriers and copies of boxes

static void emit_group_sync(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  const int64_t threads = value->imm / 4;
  const bool has_tensor = value->imm & 2;
  if (value->imm & 1) hlo_ptx_line(e, "fence.proxy.async.shared::cta");
  if (has_tensor) hlo_ptx_line(e, "tcgen05.fence::before_thread_sync");
  if (threads) {
    hlo_ptx_line(e, "bar.sync 1, #", threads);
  } else {
    hlo_ptx_line(e, "bar.sync 0");
  }
  if (has_tensor) hlo_ptx_line(e, "tcgen05.fence::after_thread_sync");
}

static hlo_ptx_reg_t narrow(hlo_ptx_emitter_t* e, hlo_ptx_reg_t index) {
  const hlo_ptx_reg_t wide = hlo_ptx_temp(e, HLO_PTX_B64), word = hlo_ptx_temp(e, HLO_PTX_B32);
  hlo_ptx_line(e, "mov.b64 $, $", wide, index);
  hlo_ptx_line(e, "cvt.u32.u64 $, $", word, wide);
  return word;
}

// The instruction itself waits for a while only.
static void emit_barrier_wait(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  const hlo_ptx_reg_t is_done = hlo_ptx_temp(e, HLO_PTX_PREDICATE);
  const hlo_ptx_reg_t parity = narrow(e, hlo_ptx_reg(value->operands[1]));
  const int64_t number = is_done.number;
  hlo_strbuf_printf(&e->body, "$wait_%" PRId64 ":\n", number);
  hlo_ptx_line(e, "mbarrier.try_wait.parity.shared::cta.b64 $, [$], $", is_done,
               hlo_ptx_reg(value->operands[0]), parity);
  hlo_ptx_line(e, "@$ bra %passed_#", is_done, "$", number);
  hlo_ptx_line(e, "bra %wait_#", "$", number);
  hlo_strbuf_printf(&e->body, "$passed_%" PRId64 ":\n", number);
  if (value->imm) hlo_ptx_line(e, "tcgen05.fence::after_thread_sync");
}

// Coordinates are given innermost first.
static void emit_copy_bulk(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  const hlo_ptx_reg_t map = hlo_ptx_temp(e, HLO_PTX_B64);
  const hlo_ptx_reg_t row = narrow(e, hlo_ptx_reg(value->operands[2]));
  const hlo_ptx_reg_t column = narrow(e, hlo_ptx_reg(value->operands[3]));
  hlo_ptx_line(e, "mov.b64 $, map_#", map, value->imm);
  hlo_ptx_line(e, "cvta.param.u64 $, $", map, map);
  hlo_ptx_line(e,
               "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [$], "
               "[$, {$, $}], [$]",
               hlo_ptx_reg(value->operands[0]), map, column, row, hlo_ptx_reg(value->operands[1]));
}

static void emit_barrier(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  const hlo_ptx_reg_t barrier = hlo_ptx_reg(value->operands[0]);
  switch (value->op) {
    case HLO_VIR_barrier_init:
      hlo_ptx_line(e, "mbarrier.init.shared::cta.b64 [$], #", barrier, value->imm);
      return;
    case HLO_VIR_barrier_expect:
      hlo_ptx_line(e, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$], #", barrier, value->imm);
      return;
    case HLO_VIR_barrier_arrive:
      hlo_ptx_line(e, "mbarrier.arrive.shared::cta.b64 _, [$]", barrier);
      return;
    default: emit_barrier_wait(e, value); return;
  }
}

// ---- tensor memory

enum { TENSOR_BITS = 16, TENSOR_NUMBERS = (1 << TENSOR_BITS) - 1 };

static int64_t tensor_field(const hlo_vir_value_t* value, uint32_t field) {
  return value->imm >> field * TENSOR_BITS & TENSOR_NUMBERS;
}

// Begins what the first warp does; returns the number of the label after it.
static int64_t begin_first_warp(hlo_ptx_emitter_t* e) {
  const hlo_ptx_reg_t thread = hlo_ptx_temp(e, HLO_PTX_B32);
  const hlo_ptx_reg_t is_other = hlo_ptx_temp(e, HLO_PTX_PREDICATE);
  hlo_ptx_line(e, "mov.u32 $, %", thread, "%tid.x");
  hlo_ptx_line(e, "setp.ge.u32 $, $, 32", is_other, thread);
  hlo_ptx_line(e, "@$ bra %others_#", is_other, "$", is_other.number);
  return is_other.number;
}

static void emit_tensor_begin(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  const hlo_ptx_reg_t place = hlo_ptx_reg(value->operands[0]);
  const int64_t number = begin_first_warp(e);
  hlo_ptx_line(e, "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [$], #", place,
               tensor_field(value, 1));
  hlo_ptx_line(e, "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned");
  hlo_strbuf_printf(&e->body, "$others_%" PRId64 ":\n", number);
  hlo_ptx_line(e, "fence.proxy.async.shared::cta");
  hlo_ptx_line(e, "tcgen05.fence::before_thread_sync");
  hlo_ptx_line(e, "bar.sync 0");
  hlo_ptx_line(e, "tcgen05.fence::after_thread_sync");
  hlo_ptx_line(e, "ld.shared.u32 $, [$+0]", fragment(e, tensor_field(value, 0)), place);
}

static void emit_tensor_end(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  hlo_ptx_line(e, "tcgen05.fence::before_thread_sync");
  hlo_ptx_line(e, "bar.sync 0");
  const int64_t number = begin_first_warp(e);
  hlo_ptx_line(e, "tcgen05.fence::after_thread_sync");
  hlo_ptx_line(e, "tcgen05.dealloc.cta_group::1.sync.aligned.b32 $, #",
               fragment(e, tensor_field(value, 0)), tensor_field(value, 1));
  hlo_strbuf_printf(&e->body, "$others_%" PRId64 ":\n", number);
}

// Rows are in the high half of an address; the first one of a warp is that of its first thread.
static void emit_tensor_access(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  enum { ROWS_OF_WARPS = 96, ROW_SHIFT = 16 };
  const bool is_load = value->op == HLO_VIR_tensor_load;
  const int64_t first = tensor_field(value, 2);
  const hlo_ptx_reg_t address = hlo_ptx_temp(e, HLO_PTX_B32);
  hlo_ptx_line(e, "mov.u32 $, %", address, "%tid.x");
  hlo_ptx_line(e, "and.b32 $, $, #", address, address, (int64_t)ROWS_OF_WARPS);
  hlo_ptx_line(e, "shl.b32 $, $, #", address, address, (int64_t)ROW_SHIFT);
  hlo_ptx_line(e, "add.u32 $, $, $", address, address, fragment(e, tensor_field(value, 0)));
  hlo_ptx_line(e, "add.u32 $, $, #", address, address, tensor_field(value, 1));
  hlo_strbuf_printf(&e->body, "  tcgen05.%s.sync.aligned.32x32b.x%u.b32 ", is_load ? "ld" : "st",
                    value->flags);
  if (is_load) {
    print_fragments(e, first, value->flags);
    hlo_ptx_line(e, ", [$]", address);
    hlo_ptx_line(e, "tcgen05.wait::ld.sync.aligned");
    return;
  }
  hlo_strbuf_printf(&e->body, "[%%r%" PRId64 "], ", address.number);
  print_fragments(e, first, value->flags);
  hlo_strbuf_puts(&e->body, ";\n");
  hlo_ptx_line(e, "tcgen05.wait::st.sync.aligned");
}

// As the instruction reads it: sums of f32, the operands' type, eighths of the columns, sixteenths
// of the rows.
static int64_t describe_product(const hlo_tile_atom_t* atom, int64_t columns) {
  const bool is_second = atom->operand == HLO_DTYPE_BF16 || atom->operand == HLO_DTYPE_F8E5M2;
  return 1 << 4 | is_second << 7 | is_second << 10 | columns / 8 << 17 | atom->rows / 16 << 24;
}

static void emit_tensor_mma(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  enum { STEP_UNITS = 32 / 16 };
  const int64_t eight_rows = 8 * 128 / 16, swizzle_128 = 2;
  hlo_tile_atom_t atoms[HLO_TILE_MAX_ATOMS];
  if (value->flags >= hlo_ptx_atoms(e->target, true, atoms)) {
    hlo_ptx_refuse(e, value, "the target lacks the matrix instruction");
    return;
  }
  const hlo_ptx_reg_t operands[] = {hlo_ptx_temp(e, HLO_PTX_B64), hlo_ptx_temp(e, HLO_PTX_B64)};
  const hlo_ptx_reg_t adds = hlo_ptx_temp(e, HLO_PTX_PREDICATE);
  const hlo_ptx_reg_t form = hlo_ptx_temp(e, HLO_PTX_B32), sums = hlo_ptx_temp(e, HLO_PTX_B32);
  for (uint32_t i = 0; i < 2; ++i) {
    hlo_ptx_line(e, "and.b64 $, $, #", operands[i], hlo_ptx_reg(value->operands[i]),
                 INT64_C(0x3ffff));
    hlo_ptx_line(e, "shr.u64 $, $, 4", operands[i], operands[i]);
    hlo_ptx_line(e, "or.b64 $, $, #", operands[i], operands[i],
                 INT64_C(1) << 16 | eight_rows << 32 | INT64_C(1) << 46 | swizzle_128 << 61);
  }
  hlo_ptx_line(e, "mov.pred $, 1", adds);
  hlo_ptx_line(e, "mov.u32 $, #", form,
               describe_product(&atoms[value->flags], tensor_field(value, 2)));
  hlo_ptx_line(e, "add.u32 $, $, #", sums, fragment(e, tensor_field(value, 0)),
               tensor_field(value, 1));
  for (int64_t step = 0; step < tensor_field(value, 3); ++step) {
    for (uint32_t i = 0; step && i < 2; ++i) {
      hlo_ptx_line(e, "add.s64 $, $, #", operands[i], operands[i], (int64_t)STEP_UNITS);
    }
    hlo_ptx_line(e, "% [$], $, $, $, $", atoms[value->flags].name, sums, operands[0], operands[1],
                 form, adds);
  }
}

static void emit_tensor(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  switch (value->op) {
    case HLO_VIR_tensor_begin: emit_tensor_begin(e, value); return;
    case HLO_VIR_tensor_end: emit_tensor_end(e, value); return;
    case HLO_VIR_tensor_mma: emit_tensor_mma(e, value); return;
    case HLO_VIR_tensor_commit:
      hlo_ptx_line(e, "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [$]",
                   hlo_ptx_reg(value->operands[0]));
      return;
    default: emit_tensor_access(e, value); return;
  }
}

void hlo_ptx_emit_group(hlo_ptx_emitter_t* e, const hlo_vir_value_t* value) {
  enum { WHOLE_LINE_BYTES = 16 };
  switch (value->op) {
    case HLO_VIR_group_sync: emit_group_sync(e, value); return;
    case HLO_VIR_warp_sync: hlo_ptx_line(e, "bar.warp.sync -1"); return;
    case HLO_VIR_barrier_init:
    case HLO_VIR_barrier_expect:
    case HLO_VIR_barrier_arrive:
    case HLO_VIR_barrier_wait: emit_barrier(e, value); return;
    case HLO_VIR_tensor_begin:
    case HLO_VIR_tensor_end:
    case HLO_VIR_tensor_load:
    case HLO_VIR_tensor_store:
    case HLO_VIR_tensor_mma:
    case HLO_VIR_tensor_commit: emit_tensor(e, value); return;
    case HLO_VIR_copy_bulk: emit_copy_bulk(e, value); return;
    case HLO_VIR_warp_group_mma: emit_warp_group_mma(e, value); return;
    case HLO_VIR_group_shuffle: emit_shuffle(e, value); return;
    case HLO_VIR_copy_async:
      hlo_ptx_line(e, "cp.async.%.shared.global [$], [$], #",
                   value->imm == WHOLE_LINE_BYTES ? "cg" : "ca", hlo_ptx_reg(value->operands[0]),
                   hlo_ptx_reg(value->operands[1]), value->imm);
      return;
    case HLO_VIR_copy_commit: hlo_ptx_line(e, "cp.async.commit_group"); return;
    case HLO_VIR_copy_wait: hlo_ptx_line(e, "cp.async.wait_group #", value->imm); return;
    case HLO_VIR_frag_set:
      hlo_ptx_line(e, "mov.b32 $, $", fragment(e, value->imm), hlo_ptx_reg(value->operands[0]));
      return;
    case HLO_VIR_frag_get:
      hlo_ptx_line(e, "mov.b32 $, $", hlo_ptx_reg(value), fragment(e, value->imm));
      return;
    case HLO_VIR_frag_load: emit_fragment_load(e, value); return;
    default: emit_fragment_mma(e, value); return;
  }
}
