// SPDX-License-Identifier: Apache-2.0
// Reference functions of StableHLO's test dialects: check.* and interpreter.*.
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "interp/custom_call.h"
#include "interp/eval_impl.h"
#include "interp/simgrid.h"
#include "ir/check.h"
#include "ir/print.h"

// ---- check --------------------------------------------------------------------------------------

static hlo_status_t check_tensor(const hlo_node_t* node, const hlo_check_t* check,
                                 const hlo_tensor_t* actual, const hlo_tensor_t* expected) {
  const hlo_literal_t* literal = check->expected;
  const int64_t* dims = expected ? expected->dims : literal ? literal->dims : NULL;
  if (!literal && !expected) {
    return hlo_node_invalid(node, "the expected value must be a literal");
  }
  if (actual->kind != HLO_TYPE_TENSOR || (expected && expected->kind != HLO_TYPE_TENSOR) ||
      actual->dtype != (expected ? expected->dtype : literal->dtype) ||
      actual->rank != (expected ? expected->rank : literal->rank) ||
      memcmp(actual->dims, dims, actual->rank * sizeof *dims) != 0) {
    return hlo_node_invalid(node, "the compared values differ in type or shape");
  }
  return hlo_node_annotate(
      node, hlo_check_elements(check, actual->dtype, actual->rank, actual->dims, actual->data,
                               expected ? expected->data : NULL));
}

hlo_status_t hlo_check_operands(const hlo_node_t* node, hlo_tensor_t* const* operands) {
  hlo_check_t check;
  if (!hlo_check_of(node, &check)) return hlo_ok();
  return check_tensor(node, &check, operands[0], node->operand_count > 1 ? operands[1] : NULL);
}

hlo_status_t hlo_ref_check_expect_eq(HLO_REF_ARGUMENTS) {
  return hlo_check_operands(node, operands);
}

HLO_REF_AS(check_expect_eq_const, hlo_ref_check_expect_eq)
HLO_REF_AS(check_expect_almost_eq, hlo_ref_check_expect_eq)
HLO_REF_AS(check_expect_almost_eq_const, hlo_ref_check_expect_eq)
HLO_REF_AS(check_expect_close, hlo_ref_check_expect_eq)

// ---- probes -------------------------------------------------------------------------------------

hlo_status_t hlo_ref_check_expect_serialized_eq(HLO_REF_ARGUMENTS) {
  const char* id = hlo_node_attr_text(node, HLO_ATTR_probe_id);
  int64_t left = hlo_node_attr_int(node, HLO_ATTR_iteration, 0);
  for (const hlo_probe_t* probe = eval->first_probe; id && probe; probe = probe->next) {
    if (strcmp(probe->id, id) != 0 || left-- > 0) continue;
    hlo_check_t check = {.kind = HLO_CHECK_EQUAL};
    return check_tensor(node, &check, operands[0], probe->tensor);
  }
  return hlo_node_error(node, HLO_STATUS_NOT_FOUND, "no value was recorded as \"%s\" that often",
                        id ? id : "");
}

// NumPy's file format, version 1.0: magic, header length, a Python dict padded to 64 bytes, data.
static void append_npy(const hlo_tensor_t* tensor, hlo_strbuf_t* out) {
  static const char magic[] = "\x93NUMPY\x01";
  HLO_SCOPED_STRBUF head = {0};
  const hlo_dtype_info_t* info = hlo_dtype_info(tensor->dtype);
  char kind = tensor->dtype == HLO_DTYPE_PRED                     ? 'b'
              : info->klass == HLO_DTYPE_CLASS_SIGNED             ? 'i'
              : info->klass == HLO_DTYPE_CLASS_UNSIGNED           ? 'u'
              : info->klass == HLO_DTYPE_CLASS_COMPLEX            ? 'c'
              : tensor->dtype == HLO_DTYPE_F16 || info->bits > 16 ? 'f'
                                                                  : 'V';
  size_t width = hlo_dtype_size_bytes(tensor->dtype);
  hlo_strbuf_printf(&head, "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (",
                    width == 1 ? '|' : '<', kind, width);
  for (uint32_t d = 0; d < tensor->rank; ++d) {
    hlo_strbuf_printf(&head, "%lld,", (long long)tensor->dims[d]);
  }
  hlo_strbuf_puts(&head, "), }");
  while ((head.length + 11) % 64) hlo_strbuf_putc(&head, ' ');
  hlo_strbuf_putc(&head, '\n');
  hlo_strbuf_append(out, magic, sizeof(magic));  // including its null terminator: the minor version
  hlo_strbuf_putc(out, (char)(head.length & 255));
  hlo_strbuf_putc(out, (char)(head.length >> 8));
  hlo_strbuf_append(out, hlo_strbuf_text(&head), head.length);
  hlo_strbuf_append(out, tensor->data, tensor->size_bytes);
}

// Writes probe<n>.npy and appends a line "id,type,path" to index.csv, which the first probe
// recreates.
static hlo_status_t write_probe(const hlo_eval_t* eval, const hlo_node_t* node, const char* id,
                                const hlo_tensor_t* tensor) {
  HLO_SCOPED_STRBUF path = {0}, file = {0}, line = {0}, index = {0};
  hlo_strbuf_printf(&path, "%s/probe%u.npy", eval->options.probe_directory, eval->probe_count);
  append_npy(tensor, &file);
  hlo_strbuf_printf(&line, "%s,", id);
  hlo_print_type(node->results[0].type, &line);
  hlo_strbuf_printf(&line, ",%s\n", hlo_strbuf_text(&path));
  hlo_strbuf_printf(&index, "%s/index.csv", eval->options.probe_directory);
  if (file.failed) return hlo_strbuf_status(&file);
  HLO_TRY(hlo_os_file_write(hlo_strbuf_text(&path), hlo_strbuf_text(&file), file.length));
  hlo_os_stream_t* stream = NULL;
  HLO_TRY(hlo_os_stream_open(hlo_strbuf_text(&index), eval->probe_count > 1, &stream));
  hlo_status_t status = hlo_os_stream_write(stream, hlo_strbuf_text(&line), line.length);
  hlo_os_stream_close(stream);
  return status;
}

hlo_status_t hlo_ref_interpreter_probe(HLO_REF_ARGUMENTS) {
  const char* id = hlo_node_attr_text(node, HLO_ATTR_probe_id);
  if (!id || operands[0]->kind != HLO_TYPE_TENSOR) {
    return hlo_node_invalid(node, "needs a tensor and a probe_id");
  }
  hlo_probe_t* probe = hlo_mem_alloc_zeroed(sizeof(*probe));
  if (!probe) return hlo_status_out_of_memory(sizeof(*probe));
  probe->id = id;
  probe->tensor = hlo_tensor_retain(operands[0]);
  if (eval->last_probe) {
    eval->last_probe->next = probe;
  } else {
    eval->first_probe = probe;
  }
  eval->last_probe = probe;
  ++eval->probe_count;
  if (eval->options.probe_directory) {
    hlo_status_t status = write_probe(eval, node, id, operands[0]);
    if (!hlo_status_is_ok(status)) return hlo_node_annotate(node, status);
  }
  results[0] = hlo_tensor_retain(operands[0]);
  return hlo_ok();
}

hlo_status_t hlo_ref_interpreter_print(HLO_REF_ARGUMENTS) {
  const hlo_tensor_t* tensor = operands[0];
  if (!eval->options.print || tensor->kind != HLO_TYPE_TENSOR) return hlo_ok();
  hlo_literal_t* literal = NULL;
  HLO_TRY(hlo_literal_create(tensor->dtype, tensor->rank, tensor->dims, false, &literal));
  if (tensor->size_bytes) {
    memcpy(hlo_literal_mutable_data(literal), tensor->data, tensor->size_bytes);
  }
  HLO_SCOPED_STRBUF text = {0};
  hlo_print_literal(literal, &text);
  hlo_strbuf_puts(&text, " : ");
  hlo_print_type(hlo_node_operand_type(node, 0), &text);
  hlo_strbuf_putc(&text, '\n');
  hlo_literal_release(literal);
  eval->options.print(eval->options.print_context, hlo_strbuf_text(&text), text.length);
  return hlo_strbuf_status(&text);
}

// ---- run_parallel -------------------------------------------------------------------------------

static hlo_status_t find_program(const hlo_eval_t* eval, const hlo_node_t* node,
                                 const hlo_attr_t* symbol, const hlo_func_t** out_func) {
  *out_func = symbol->kind == HLO_ATTR_KIND_SYMBOL
                  ? hlo_module_find_func(hlo_interp_program_module(eval->program), symbol->text)
                  : NULL;
  if (*out_func && (*out_func)->body) return hlo_ok();
  return hlo_node_invalid(node, "no function @%s to run", symbol->text ? symbol->text : "");
}

// Reads the grid of functions in row-major order.
static hlo_status_t collect_programs(const hlo_eval_t* eval, const hlo_node_t* node,
                                     const hlo_attr_t* programs, hlo_simgrid_run_t* run,
                                     const hlo_func_t** funcs) {
  for (uint32_t r = 0; r < programs->count; ++r) {
    const hlo_attr_t* row = programs->items[r];
    if (row->kind != HLO_ATTR_KIND_ARRAY || row->count != run->partition_count) {
      return hlo_node_invalid(node, "programs must be a grid of functions");
    }
    for (uint32_t p = 0; p < row->count; ++p) {
      HLO_TRY(find_program(eval, node, row->items[p], &funcs[r * row->count + p]));
    }
  }
  return hlo_ok();
}

// Runs the infeed functions; their results become the queue that infeed ops read.
static hlo_status_t fill_infeed(const hlo_eval_t* eval, const hlo_node_t* node,
                                const hlo_attr_t* symbols, hlo_tensor_t** infeed) {
  for (uint32_t i = 0; i < symbols->count; ++i) {
    const hlo_func_t* func;
    HLO_TRY(find_program(eval, node, symbols->items[i], &func));
    HLO_TRY(hlo_interp_call(eval->program, func, 0, NULL, 1, &infeed[i], NULL));
  }
  return hlo_ok();
}

hlo_status_t hlo_ref_interpreter_run_parallel(HLO_REF_ARGUMENTS) {
  const hlo_attr_t* programs = hlo_node_attr(node, HLO_ATTR_programs);
  const hlo_attr_t* symbols = hlo_node_attr(node, HLO_ATTR_infeed);
  if (!eval->program || !programs || programs->kind != HLO_ATTR_KIND_ARRAY || !programs->count ||
      programs->items[0]->kind != HLO_ATTR_KIND_ARRAY || !programs->items[0]->count ||
      (symbols && symbols->kind != HLO_ATTR_KIND_ARRAY)) {
    return hlo_node_invalid(node, "programs must be a grid of functions");
  }
  hlo_interp_options_t options = eval->options;
  hlo_simgrid_run_t run = {.replica_count = programs->count,
                           .partition_count = programs->items[0]->count,
                           .input_count = node->operand_count,
                           .output_count = node->result_count,
                           .inputs = operands,
                           .infeed_count = symbols ? symbols->count : 0,
                           .options = &options};
  size_t words = (size_t)run.replica_count * run.partition_count + run.infeed_count;
  void** room = hlo_mem_alloc_zeroed(words * sizeof(*room));
  if (!room) return hlo_status_out_of_memory(words * sizeof(*room));
  hlo_tensor_t** infeed = (hlo_tensor_t**)room;
  const hlo_func_t** funcs = (const hlo_func_t**)(room + run.infeed_count);
  run.infeed = infeed;
  run.funcs = funcs;
  hlo_status_t status = collect_programs(eval, node, programs, &run, funcs);
  if (hlo_status_is_ok(status) && symbols) status = fill_infeed(eval, node, symbols, infeed);
  if (hlo_status_is_ok(status)) status = hlo_simgrid_run(eval->program, &run, results);
  for (uint32_t i = 0; i < run.infeed_count; ++i) hlo_tensor_release(infeed[i]);
  hlo_mem_free(room);
  return status;
}
