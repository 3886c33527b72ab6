// SPDX-License-Identifier: Apache-2.0
// Elements of 2 or 4 bits share bytes on GPUs: a copy of the kernel counts bytes of them instead of
// elements along the last dimension of every reference, so that copies, swizzles and addresses are
// those of bytes. Nothing but copies and products by atoms accesses such elements.
#include "codegen/tiles/group_impl.h"

int64_t hlo_tile_packing(hlo_dtype_t dtype) {
  enum { BITS = 8 };
  const int64_t bytes = (int64_t)hlo_dtype_packed_size_bytes(dtype, BITS);
  return bytes < BITS ? BITS / bytes : 1;
}

static bool is_packed_ref(const hlo_tile_op_t* op) {
  return hlo_tile_op_is_ref(op) && hlo_tile_packing(op->dtype) > 1;
}

static hlo_status_t refuse_packed(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op,
                                  const char* why) {
  HLO_SCOPED_STRBUF text = {0};
  hlo_tile_op_format(op, &text);
  HLO_TRY(hlo_strbuf_status(&text));
  return hlo_unimplemented("%s: %s: elements of fewer than 8 bits share bytes on GPUs: %s",
                           kernel->name, hlo_strbuf_text(&text), why);
}

static bool is_multiple(const hlo_expr_t* expr, int64_t of) {
  if (expr->constant % of) return false;
  for (uint32_t i = 0; i < expr->term_count; ++i) {
    if (expr->terms[i].coefficient % of) return false;
  }
  return true;
}

static hlo_status_t check_packed_ref(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op) {
  const int64_t per = hlo_tile_packing(op->dtype);
  const uint32_t rank = op->ref.rank;
  if (!rank || op->ref.dims[rank - 1] % per) {
    return refuse_packed(kernel, op, "its rows are no whole bytes");
  }
  if (op->kind == HLO_TILE_OP_reference || op->kind == HLO_TILE_OP_alloc) return hlo_ok();
  if (op->kind != HLO_TILE_OP_slice) {
    return refuse_packed(kernel, op, "only slices are parts of their references");
  }
  const uint32_t last = op->index_count - 1;
  if (!is_multiple(op->indices[last], per) || op->sizes[last] % per || op->strides[last] != 1 ||
      op->squeezed >> last & 1) {
    return refuse_packed(kernel, op, "its rows do not begin and end between bytes");
  }
  return hlo_ok();
}

static bool contracts_last(const hlo_tile_op_t* mma) {
  const hlo_tile_dims_t* d = &mma->dims;
  return d->contract_count == 1 && d->left_contract[0] + 1 == mma->operands[1]->ref.rank &&
         d->right_contract[0] + 1 == mma->operands[2]->ref.rank;
}

static hlo_status_t check_packed(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op) {
  if (is_packed_ref(op)) HLO_TRY(check_packed_ref(kernel, op));
  const bool is_access = op->kind == HLO_TILE_OP_load || op->kind == HLO_TILE_OP_store;
  if (is_access && hlo_tile_packing(kernel->buffers[op->buffer].dtype) > 1) {
    return refuse_packed(kernel, op, "single ones are not accessed");
  }
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    if (!is_packed_ref(op->operands[i]) || hlo_tile_op_is_ref(op)) continue;
    if (op->kind == HLO_TILE_OP_copy) continue;
    if (op->kind != HLO_TILE_OP_scaled_mma) {
      return refuse_packed(kernel, op, "only copies and scaled products access them");
    }
    if (i > 2 || !contracts_last(op)) {
      return refuse_packed(kernel, op, "rows of operands run along the contraction");
    }
  }
  return hlo_ok();
}

static void pack_op(hlo_tile_kernel_t* kernel, hlo_tile_op_t* op) {
  const int64_t per = hlo_tile_packing(op->dtype);
  op->ref.dims[op->ref.rank - 1] /= per;
  if (op->kind != HLO_TILE_OP_slice) return;
  const uint32_t last = op->index_count - 1;
  op->sizes[last] /= per;
  op->indices[last] = hlo_expr_div(&kernel->exprs, op->indices[last], per);
}

hlo_status_t hlo_tile_pack_elements(const hlo_tile_kernel_t* kernel, hlo_arena_t* arena,
                                    const hlo_tile_kernel_t** out_kernel) {
  HLO_SCOPED_STRBUF text = {0};
  hlo_tile_kernel_t* packed;
  bool has_packed = false;
  for (uint32_t i = 0; i < kernel->buffer_count; ++i) {
    has_packed |= hlo_tile_packing(kernel->buffers[i].dtype) > 1;
  }
  for (const hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) {
    has_packed |= is_packed_ref(op);
    HLO_TRY(check_packed(kernel, op));
  }
  *out_kernel = kernel;
  if (!has_packed) return hlo_ok();
  hlo_tile_kernel_print(kernel, &text);
  HLO_TRY(hlo_strbuf_status(&text));
  HLO_TRY(hlo_tile_kernel_parse(arena, hlo_strbuf_text(&text), &packed));
  for (uint32_t i = 0; i < packed->buffer_count; ++i) {
    hlo_tile_buffer_t* buffer = &packed->buffers[i];
    const int64_t per = hlo_tile_packing(buffer->dtype);
    if (buffer->rank) buffer->dims[buffer->rank - 1] /= per;
    buffer->element_count /= per;
  }
  for (hlo_tile_op_t* op = hlo_tile_first_op(packed); op; op = hlo_tile_next_op(op)) {
    if (is_packed_ref(op)) pack_op(packed, op);
  }
  HLO_TRY(hlo_arena_status(arena));
  *out_kernel = packed;
  return hlo_ok();
}
