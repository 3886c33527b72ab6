// SPDX-License-Identifier: Apache-2.0
// The registry of the CustomPartitioner extension, and the translation of shardings and shapes to
// the protos that its callbacks exchange (see custom_partitioner.h).
#include "pjrt/custom_partitioner.h"

#include <stdatomic.h>

#include "frontend/frontend.h"
#include "ir/custom_call.h"
#include "ir/infer.h"
#include "pjrt/objects.h"

// --- The registry --------------------------------------------------------------------------------

/// A registered partitioner. Compilations hold it while they call it.
typedef struct partitioner {
  atomic_int count;
  struct partitioner* next;
  JAX_CustomCallPartitioner_Callbacks* callbacks;  // null: divided along leading dimensions
  char name[];
} partitioner_t;

static hlo_mutex_t registry_lock = {.level = HLO_LOCK_LEVEL_FFI};
static partitioner_t* registry;

static void release_partitioner(partitioner_t* partitioner) {
  if (partitioner == NULL ||
      atomic_fetch_sub_explicit(&partitioner->count, 1, memory_order_acq_rel) != 1) {
    return;
  }
  JAX_CustomCallPartitioner_Callbacks* callbacks = partitioner->callbacks;
  if (callbacks != NULL && callbacks->dtor != NULL) callbacks->dtor(callbacks);
  hlo_mem_free(partitioner);
}

/// Returns the partitioner of a target, retained, or null.
static partitioner_t* find_partitioner(const char* target) {
  hlo_mutex_lock(&registry_lock);
  partitioner_t* found = registry;
  while (found != NULL && strcmp(found->name, target) != 0) found = found->next;
  if (found != NULL) atomic_fetch_add_explicit(&found->count, 1, memory_order_relaxed);
  hlo_mutex_unlock(&registry_lock);
  return found;
}

/// Replaces the partitioner of the same name, which is returned.
static partitioner_t* exchange_partitioner(partitioner_t* added) {
  hlo_mutex_lock(&registry_lock);
  partitioner_t** link = &registry;
  while (*link != NULL && strcmp((*link)->name, added->name) != 0) link = &(*link)->next;
  partitioner_t* old = *link;
  added->next = old != NULL ? old->next : NULL;
  *link = added;
  hlo_mutex_unlock(&registry_lock);
  return old;
}

/// Registers a partitioner; callbacks null: calls are divided along their leading dimensions.
static hlo_status_t add_partitioner(const char* name, size_t name_size,
                                    JAX_CustomCallPartitioner_Callbacks* callbacks) {
  if (name == NULL || name_size == 0) {
    return hlo_invalid_argument("a partitioner of custom calls needs the name of their target");
  }
  partitioner_t* added = hlo_mem_alloc_zeroed(sizeof *added + name_size + 1);
  if (added == NULL) return hlo_status_out_of_memory(sizeof *added);
  atomic_init(&added->count, 1);
  added->callbacks = callbacks;
  memcpy(added->name, name, name_size);
  release_partitioner(exchange_partitioner(added));
  return hlo_ok();
}

hlo_status_t hlo_pjrt_Register_Custom_Partitioner(PJRT_Register_Custom_Partitioner_Args* args) {
  const JAX_CustomCallPartitioner_Callbacks* callbacks = args->callbacks;
  if (callbacks == NULL || callbacks->partition == NULL || callbacks->infer_sharding == NULL ||
      callbacks->propagate_user_sharding == NULL) {
    return hlo_invalid_argument("a partitioner of custom calls lacks a function");
  }
  return add_partitioner(args->name, args->name_size, args->callbacks);
}

hlo_status_t hlo_pjrt_Register_Batch_Partitionable(PJRT_Register_Batch_Partitionable_Args* args) {
  return add_partitioner(args->name, args->name_size, NULL);
}

static bool is_known(const char* target, bool has_callbacks) {
  partitioner_t* found = find_partitioner(target);
  const bool is = found != NULL && (found->callbacks != NULL) == has_callbacks;
  release_partitioner(found);
  return is;
}

static bool knows(HLO_UNUSED void* context, const char* target) {
  return is_known(target, true);
}

static bool is_batched(HLO_UNUSED void* context, const char* target) {
  return is_known(target, false);
}

// --- Protos --------------------------------------------------------------------------------------

typedef JAX_CustomCallPartitioner_string string_t;

/// Copies bytes to the arena.
static hlo_status_t keep(hlo_arena_t* arena, const hlo_strbuf_t* bytes, string_t* out) {
  HLO_TRY(hlo_strbuf_status(bytes));
  out->data = hlo_arena_strndup(arena, hlo_strbuf_text(bytes), bytes->length);
  out->size = bytes->length;
  return hlo_arena_status(arena);
}

/// Appends the fields of a ShapeProto.
static void put_shape(const hlo_type_t* type, hlo_strbuf_t* out) {
  enum { TOKEN = 17 };
  const bool is_tensor = hlo_type_is_tensor(type);
  hlo_wire_put_int(out, 2, is_tensor ? hlo_dtype_info(type->dtype)->primitive_type : TOKEN);
  if (!is_tensor) return;
  hlo_wire_put_packed_int64(out, 3, type->dims, type->rank);
  const size_t layout = hlo_wire_begin(out, 5);
  const size_t order = hlo_wire_begin(out, 1);
  for (uint32_t i = type->rank; i-- > 0;) hlo_wire_put_varint(out, i);
  hlo_wire_end(out, order);
  hlo_wire_end(out, layout);
}

static hlo_status_t write_operand_shape(const hlo_node_t* node, uint32_t number, hlo_arena_t* arena,
                                        string_t* out) {
  HLO_SCOPED_STRBUF bytes = {0};
  put_shape(hlo_node_operand_type(node, number), &bytes);
  return keep(arena, &bytes, out);
}

/// Several results are a tuple.
static hlo_status_t write_result_shape(const hlo_node_t* node, hlo_arena_t* arena, string_t* out) {
  enum { TUPLE = 13 };
  HLO_SCOPED_STRBUF bytes = {0};
  if (node->result_count == 1) {
    put_shape(node->results[0].type, &bytes);
    return keep(arena, &bytes, out);
  }
  hlo_wire_put_int(&bytes, 2, TUPLE);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const size_t element = hlo_wire_begin(&bytes, 4);
    put_shape(node->results[i].type, &bytes);
    hlo_wire_end(&bytes, element);
  }
  return keep(arena, &bytes, out);
}

static hlo_status_t write_sharding(const hlo_op_sharding_t* sharding, hlo_arena_t* arena,
                                   string_t* out) {
  HLO_SCOPED_STRBUF bytes = {0};
  hlo_op_sharding_encode(sharding, &bytes);
  return keep(arena, &bytes, out);
}

static hlo_status_t write_result_sharding(const hlo_node_t* node, const hlo_op_sharding_t* list,
                                          hlo_arena_t* arena, string_t* out) {
  if (node->result_count == 1) return write_sharding(list, arena, out);
  const hlo_op_sharding_t tuple = {.kind = HLO_OP_SHARDING_TUPLE,
                                   .elements = {(void*)list, node->result_count}};
  return write_sharding(&tuple, arena, out);
}

static hlo_status_t read_sharding(string_t bytes, hlo_arena_t* arena, hlo_op_sharding_t* out) {
  // The bytes are the application's, and end with the call.
  const char* copy = hlo_arena_strndup(arena, bytes.data != NULL ? bytes.data : "", bytes.size);
  if (copy == NULL) return hlo_arena_status(arena);
  return hlo_op_sharding_decode(copy, bytes.size, arena, out);
}

/// Reads the shardings of results: one for all, or a tuple.
static hlo_status_t read_result_sharding(const hlo_node_t* node, string_t bytes, hlo_arena_t* arena,
                                         const hlo_op_sharding_t** out_list) {
  hlo_op_sharding_t* list = hlo_arena_array(arena, node->result_count, sizeof *list);
  hlo_op_sharding_t whole;
  if (list == NULL) return hlo_arena_status(arena);
  HLO_TRY(read_sharding(bytes, arena, &whole));
  const bool is_tuple = whole.kind == HLO_OP_SHARDING_TUPLE;
  if (is_tuple && whole.elements.count != node->result_count) {
    return hlo_invalid_argument("the partitioner gives shardings of %zu results, expected %u",
                                whole.elements.count, node->result_count);
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    list[i] = is_tuple ? ((const hlo_op_sharding_t*)whole.elements.items)[i] : whole;
  }
  *out_list = list;
  return hlo_ok();
}

// --- Calls ---------------------------------------------------------------------------------------

static void free_answer(JAX_CustomCallPartitioner_version_and_error* header) {
  if (header->cleanup_fn != NULL) header->cleanup_fn(header->data);
}

static hlo_status_t status_of(const JAX_CustomCallPartitioner_version_and_error* header) {
  if (!header->has_error) return hlo_ok();
  hlo_status_t status =
      hlo_pjrt_foreign_status(header->code, header->error_msg.data, header->error_msg.size);
  return hlo_status_is_ok(status) ? hlo_internal_error("the partitioner failed without a code")
                                  : status;
}

static string_t config_of(const hlo_node_t* node) {
  const char* text = hlo_node_attr_text(node, HLO_ATTR_backend_config);
  return text != NULL ? (string_t){text, strlen(text)} : (string_t){"", 0};
}

static hlo_status_t describe_operands(const hlo_node_t* node, const hlo_op_sharding_t* shardings,
                                      hlo_arena_t* arena,
                                      JAX_CustomCallPartitioner_aval** out_avals) {
  JAX_CustomCallPartitioner_aval* avals =
      hlo_arena_array(arena, node->operand_count, sizeof *avals);
  if (avals == NULL) return hlo_arena_status(arena);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    avals[i].has_sharding = true;
    HLO_TRY(write_operand_shape(node, i, arena, &avals[i].shape));
    HLO_TRY(write_sharding(&shardings[i], arena, &avals[i].sharding));
  }
  *out_avals = avals;
  return hlo_ok();
}

static hlo_status_t read_module(string_t bytes, hlo_module_t** out_module) {
  hlo_module_t* module = NULL;
  HLO_TRY(hlo_frontend_load(bytes.data, bytes.size, NULL, NULL, NULL, &module));
  hlo_status_t status = hlo_module_verify(module, NULL);
  if (!hlo_status_is_ok(status)) {
    hlo_module_release(module);
    return status;
  }
  *out_module = module;
  return hlo_ok();
}

static hlo_status_t read_part(const hlo_node_t* node,
                              const JAX_CustomCallPartitioner_Partition_Args* args,
                              hlo_arena_t* arena, hlo_custom_part_t* out) {
  HLO_TRY(status_of(&args->header));
  if (args->mlir_module.data == NULL || (args->num_args != 0 && args->args_sharding == NULL)) {
    return hlo_invalid_argument("the partitioner returns no program");
  }
  hlo_op_sharding_t* operands = hlo_arena_array(arena, node->operand_count, sizeof *operands);
  if (operands == NULL) return hlo_arena_status(arena);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    HLO_TRY(read_sharding(args->args_sharding[i], arena, &operands[i]));
  }
  HLO_TRY(read_result_sharding(node, args->result_sharding, arena, &out->results));
  out->operands = operands;
  return read_module(args->mlir_module, &out->module);
}

/// A partitioner that was replaced in the meantime.
static hlo_status_t forgotten(partitioner_t* partitioner) {
  release_partitioner(partitioner);
  return hlo_not_found("its partitioner is not registered any more");
}

static hlo_status_t partition(void* context, const hlo_node_t* node,
                              const hlo_op_sharding_t* operands, const hlo_op_sharding_t* results,
                              hlo_arena_t* arena, hlo_custom_part_t* out_part) {
  (void)context;
  JAX_CustomCallPartitioner_Partition_Args args = {
      .num_args = node->operand_count,
      .op_result = {.has_sharding = true},
      .backend_config = config_of(node),
  };
  HLO_TRY(describe_operands(node, operands, arena, &args.op_args));
  HLO_TRY(write_result_shape(node, arena, &args.op_result.shape));
  HLO_TRY(write_result_sharding(node, results, arena, &args.op_result.sharding));
  partitioner_t* partitioner = find_partitioner(hlo_custom_call_target(node));
  if (partitioner == NULL || partitioner->callbacks == NULL) return forgotten(partitioner);
  partitioner->callbacks->partition(partitioner->callbacks, &args);
  hlo_status_t status = read_part(node, &args, arena, out_part);
  free_answer(&args.header);
  release_partitioner(partitioner);
  return hlo_status_annotate(status, "in its partitioner");
}

static hlo_status_t infer(void* context, const hlo_node_t* node, const hlo_op_sharding_t* operands,
                          hlo_arena_t* arena, const hlo_op_sharding_t** out_results) {
  (void)context;
  JAX_CustomCallPartitioner_InferShardingFromOperands_Args args = {
      .num_args = node->operand_count, .backend_config = config_of(node)};
  HLO_TRY(describe_operands(node, operands, arena, &args.op_args));
  HLO_TRY(write_result_shape(node, arena, &args.result_shape));
  partitioner_t* partitioner = find_partitioner(hlo_custom_call_target(node));
  if (partitioner == NULL || partitioner->callbacks == NULL) return forgotten(partitioner);
  partitioner->callbacks->infer_sharding(partitioner->callbacks, &args);
  *out_results = NULL;
  hlo_status_t status = status_of(&args.header);
  if (hlo_status_is_ok(status) && args.has_result_sharding) {
    status = read_result_sharding(node, args.result_sharding, arena, out_results);
  }
  free_answer(&args.header);
  release_partitioner(partitioner);
  return hlo_status_annotate(status, "in its partitioner");
}

static hlo_status_t adapt(void* context, const hlo_node_t* node, const hlo_op_sharding_t* wanted,
                          hlo_arena_t* arena, const hlo_op_sharding_t** out_results) {
  (void)context;
  JAX_CustomCallPartitioner_PropagateUserSharding_Args args = {.backend_config = config_of(node)};
  HLO_TRY(write_result_shape(node, arena, &args.result_shape));
  HLO_TRY(write_result_sharding(node, wanted, arena, &args.result_sharding));
  partitioner_t* partitioner = find_partitioner(hlo_custom_call_target(node));
  if (partitioner == NULL || partitioner->callbacks == NULL) return forgotten(partitioner);
  partitioner->callbacks->propagate_user_sharding(partitioner->callbacks, &args);
  hlo_status_t status = status_of(&args.header);
  if (hlo_status_is_ok(status)) {
    status = read_result_sharding(node, args.result_sharding, arena, out_results);
  }
  free_answer(&args.header);
  release_partitioner(partitioner);
  return hlo_status_annotate(status, "in its partitioner");
}

/// The program carries the function's address, so only the process that made it may compile it.
static hlo_status_t inspect(void* context, const hlo_node_t* node, const hlo_op_sharding_t* operand,
                            hlo_arena_t* arena) {
  (void)context;
  const hlo_attr_t* config = hlo_node_attr(node, HLO_ATTR_backend_config);
  JAX_InspectSharding_Callback callback = {0};
  if (config != NULL && config->kind == HLO_ATTR_KIND_STRING &&
      config->text_length == sizeof callback) {
    memcpy(&callback, config->text, sizeof callback);
  }
  if (callback.call == NULL) return hlo_invalid_argument("its backend_config is no function");
  string_t sharding;
  HLO_TRY(write_sharding(operand, arena, &sharding));
  JAX_InspectSharding_Callback_Args args = {.sharding_spec = (char*)(uintptr_t)sharding.data,
                                            .sharding_spec_size = sharding.size};
  callback.call(callback.data, &args);
  if (args.error_txt == NULL) return hlo_ok();
  hlo_status_t status = hlo_internal_error("%s", args.error_txt);
  if (args.free_error != NULL) args.free_error(&args);
  return status;
}

const hlo_custom_partitioner_t* hlo_pjrt_custom_partitioners(void) {
  static const hlo_custom_partitioner_t partitioners = {.knows = knows,
                                                        .is_batched = is_batched,
                                                        .partition = partition,
                                                        .infer = infer,
                                                        .adapt = adapt,
                                                        .inspect = inspect};
  return &partitioners;
}
