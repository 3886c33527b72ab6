// SPDX-License-Identifier: Apache-2.0
//
// From CompileOptionsProto to hlo_compile_options_t: its fields (compile_options.def), one table of
// what is refused and one of XLA's debug options.
// source: xla/pjrt/proto/compile_options.proto, xla/xla.proto, xla/xla_data.proto
#include "compiler/compile_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shape.h"
#include "base/strbuf.h"
#include "base/wire.h"

enum {
  PROCESSOR_LIMIT = 1 << 20,  // replicas times partitions
  TUPLE_TYPE = 13,            // PrimitiveType of tuples
};

// compile_options_t, the messages in it, and their tables.
#define HLO_WIRE_MESSAGES "compiler/compile_options.def"
#define HLO_WIRE_STRUCT(message, suffix) message##suffix
#include "base/wire_structs.inl"
#include "base/wire_tables.inl"

// --- Debug options -------------------------------------------------------------------------------

typedef enum option_kind {
  OPTION_BOOL,
  OPTION_INT,
  OPTION_FLOAT,
  OPTION_STRING,
  OPTION_ENUM,
  OPTION_LIST,
  OPTION_MAP,
} option_kind_t;

static const struct {
  uint32_t number;
  option_kind_t kind;
  const char* name;
} debug_options[] = {
#define DEBUG_OPTION(number, name, kind) {number, OPTION_##kind, #name},
#include "compiler/debug_options.def"
#undef DEBUG_OPTION
};

// The debug options that are honoured.
enum {
  BACKEND_OPTIMIZATION_LEVEL = 31,
  DUMP_TO = 109,
  DUMP_AS_TEXT = 112,
  DUMP_AS_PROTO = 113,
  DISABLE_ASYNC_COLLECTIVES = 289,
};

static bool text_is_bool(const char* text) {
  return strcmp(text, "true") == 0 || strcmp(text, "false") == 0 || strcmp(text, "True") == 0 ||
         strcmp(text, "False") == 0 || strcmp(text, "1") == 0 || strcmp(text, "0") == 0;
}

static bool bool_of_text(const char* text) {
  return strcmp(text, "true") == 0 || strcmp(text, "True") == 0 || strcmp(text, "1") == 0;
}

static bool text_is_int(const char* text) {
  char* end;
  errno = 0;
  (void)strtoll(text, &end, 10);
  return errno == 0 && end != text && *end == '\0';
}

static bool text_is_float(const char* text) {
  char* end;
  (void)strtod(text, &end);
  return end != text && *end == '\0';
}

/// Returns the form that a value of `kind` must have; NULL if `value` has it. `text` is its string
/// form.
static const char* kind_mismatch(option_kind_t kind, const option_value_t* value,
                                 const char* text) {
  const bool is_text = value->has_string_field;
  switch (kind) {
    case OPTION_BOOL:
      return value->has_bool_field || (is_text && text_is_bool(text)) ? NULL : "bool";
    case OPTION_INT:
      return value->has_int_field || (is_text && text_is_int(text)) ? NULL : "integer";
    case OPTION_FLOAT:
      return value->has_double_field || value->has_int_field || (is_text && text_is_float(text))
                 ? NULL
                 : "number";
    case OPTION_STRING: return is_text ? NULL : "string";
    case OPTION_ENUM: return is_text || value->has_int_field ? NULL : "enumerator";
    case OPTION_LIST:
    case OPTION_MAP: return is_text ? NULL : "list";
  }
  return NULL;
}

static void describe_value(const option_value_t* value, const char* text, char* out, size_t size) {
  if (value->has_string_field) {
    snprintf(out, size, "%s", text);
  } else if (value->has_bool_field) {
    snprintf(out, size, "%s", value->bool_field ? "true" : "false");
  } else if (value->has_int_field) {
    snprintf(out, size, "%lld", (long long)value->int_field);
  } else {
    snprintf(out, size, "%g", value->double_field);
  }
}

// --- Options of the library for one program ------------------------------------------------------

static const char kOwnPrefix[] = "hlocc_";
enum { OWN_PREFIX_LENGTH = sizeof kOwnPrefix - 1 };

/// Reads the value as the environment variable would be read.
static hlo_status_t read_own_override(const char* name, const char* text, hlo_arena_t* arena,
                                      hlo_option_override_t* out) {
  hlo_config_t scratch = {0};
  hlo_arena_init(&scratch.arena, 0);
  hlo_status_t status = hlo_config_set(&scratch, name, text, HLO_CONFIG_SOURCE_OPTION);
  if (hlo_status_is_ok(status)) {
    out->index = hlo_config_find(name);
    const bool is_text = hlo_config_info(out->index)->kind == HLO_CONFIG_KIND_STRING;
    out->number = is_text ? 0 : hlo_config_number(&scratch, out->index);
    out->text = is_text ? hlo_arena_strndup(arena, text, strlen(text)) : NULL;
    status = hlo_arena_status(arena);
  }
  hlo_config_deinit(&scratch);
  return status;
}

static hlo_status_t add_own_override(const char* key, const char* text, hlo_arena_t* arena,
                                     hlo_option_override_t* out) {
  hlo_status_t status = read_own_override(key + OWN_PREFIX_LENGTH, text, arena, out);
  if (hlo_status_code(status) == HLO_STATUS_NOT_FOUND) {
    hlo_status_release(status);
    return hlo_invalid_argument("No such compile option: '%s'", key);
  }
  HLO_TRY_MSG(status, "compile option %s", key);
  hlo_compile_config_t ignored;
  hlo_compile_config_init(&ignored);
  if (hlo_compile_config_set(&ignored, out->index, out->number, out->text)) return hlo_ok();
  return hlo_invalid_argument("compile option %s is one of clients, not of programs", key);
}

/// Takes XLA's list of collectives that are never asynchronous, as option sync_collectives.
static hlo_status_t take_sync_collectives(const char* key, const char* text, hlo_arena_t* arena,
                                          hlo_compile_options_t* out) {
  static const char* const names[][2] = {{"ALLREDUCE", "all_reduce"},
                                         {"ALLGATHER", "all_gather"},
                                         {"REDUCESCATTER", "reduce_scatter"},
                                         {"COLLECTIVEBROADCAST", "collective_broadcast"},
                                         {"ALLTOALL", "all_to_all"},
                                         {"COLLECTIVEPERMUTE", "collective_permute"},
                                         {"RAGGEDALLTOALL", "ragged_all_to_all"},
                                         {"ALLCOLLECTIVES", "all"}};
  enum { COUNT = sizeof names / sizeof *names };
  HLO_SCOPED_STRBUF list = {0};
  while (*text) {
    const size_t length = strcspn(text, ",");
    const bool is_nothing = length == strlen("NOOP") && memcmp(text, "NOOP", length) == 0;
    uint32_t i = 0;
    while (i < COUNT && (strlen(names[i][0]) != length || memcmp(names[i][0], text, length) != 0)) {
      ++i;
    }
    if (i == COUNT && !is_nothing) {
      return hlo_invalid_argument("compile option %s: '%.*s' is no kind of collectives", key,
                                  (int)length, text);
    }
    if (i < COUNT) hlo_strbuf_printf(&list, "%s%s", list.length ? "," : "", names[i][1]);
    text += length + (text[length] == ',');
  }
  HLO_TRY(hlo_strbuf_status(&list));
  return add_own_override("hlocc_sync_collectives", hlo_strbuf_text(&list), arena,
                          &out->overrides[out->override_count++]);
}

/// Takes an option that has a meaning.
static void take_debug_option(uint32_t number, const option_value_t* value, const char* text,
                              hlo_compile_options_t* out) {
  const bool is_set = value->has_bool_field ? value->bool_field : bool_of_text(text);
  switch (number) {
    case BACKEND_OPTIMIZATION_LEVEL: {
      const int64_t level = value->has_int_field ? value->int_field : strtoll(text, NULL, 10);
      out->optimization_level = level < 0 ? 0 : level > 3 ? 3 : (int32_t)level;
      break;
    }
    case DUMP_TO: out->hlo_dump.directory = *text ? text : NULL; break;
    case DUMP_AS_TEXT: out->hlo_dump.is_text = is_set; break;
    case DUMP_AS_PROTO: out->hlo_dump.is_proto = is_set; break;
    default: break;
  }
}

/// Checks one entry of env_option_overrides and takes what has a meaning.
static hlo_status_t apply_override(const option_override_t* override, hlo_arena_t* arena,
                                   hlo_compile_options_t* out) {
  static const option_value_t no_value;
  const option_value_t* value = override->value != NULL ? override->value : &no_value;
  const char* key = hlo_arena_strndup(arena, (const char*) override->key.data, override->key.size);
  const char* text =
      hlo_arena_strndup(arena, (const char*)value->string_field.data, value->string_field.size);
  HLO_TRY(hlo_arena_status(arena));
  if (strncmp(key, kOwnPrefix, OWN_PREFIX_LENGTH) == 0) {
    char number[64];
    describe_value(value, text, number, sizeof number);
    return add_own_override(key, value->has_string_field ? text : number, arena,
                            &out->overrides[out->override_count++]);
  }
  for (size_t i = 0; i < sizeof debug_options / sizeof debug_options[0]; ++i) {
    if (strcmp(debug_options[i].name, key) != 0) continue;
    const char* wanted = kind_mismatch(debug_options[i].kind, value, text);
    if (wanted != NULL) {
      char found[64];
      describe_value(value, text, found, sizeof found);
      return hlo_invalid_argument("compile option %s: '%s' is not a valid %s value.", key, found,
                                  wanted);
    }
    if (debug_options[i].number == DISABLE_ASYNC_COLLECTIVES) {
      return take_sync_collectives(key, text, arena, out);
    }
    take_debug_option(debug_options[i].number, value, text, out);
    return hlo_ok();
  }
  return hlo_invalid_argument("No such compile option: '%s'", key);
}

// The table ascends by number, and so do most messages: looking goes on where it ended.
static bool is_known_debug_option(uint32_t number, size_t* at) {
  const size_t count = sizeof debug_options / sizeof debug_options[0];
  if (*at && debug_options[*at - 1].number >= number) *at = 0;
  while (*at < count && debug_options[*at].number < number) ++*at;
  return *at < count && debug_options[*at].number == number;
}

/// Takes what has a meaning from a serialized DebugOptions; the rest is XLA's own business.
static hlo_status_t apply_debug_options(hlo_wire_bytes_t bytes, hlo_compile_options_t* out) {
  hlo_wire_reader_t reader;
  hlo_wire_reader_init(&reader, bytes.data, bytes.size);
  size_t at = 0;
  for (;;) {
    hlo_wire_field_t field;
    if (!hlo_wire_next_small(&reader, &field)) {
      bool done;
      HLO_TRY_MSG(hlo_wire_next(&reader, &field, &done), "in debug_options of the compile options");
      if (done) return hlo_ok();
    }
    if (field.number == BACKEND_OPTIMIZATION_LEVEL && field.type == HLO_WIRE_TYPE_VARINT) {
      out->optimization_level = field.value > 3 ? 3 : (int32_t)field.value;
    }
    if (!is_known_debug_option(field.number, &at)) ++out->unknown_debug_option_count;
  }
}

// --- What is refused -----------------------------------------------------------------------------

static hlo_status_t refused(const char* field, const char* why) {
  return hlo_unimplemented("compile option %s is not supported: %s", field, why);
}

static hlo_status_t check_refusals(const compile_options_t* options, const build_options_t* build) {
  const struct {
    bool asked;
    const char* field;
    const char* why;
  } rows[] = {
      {options->parameter_is_tupled_arguments, "parameter_is_tupled_arguments",
       "arguments are always passed one by one"},
      {options->serialized_multi_slice_config.size != 0, "serialized_multi_slice_config",
       "there are no slices"},
      {options->target_config.size != 0, "target_config", "it describes a GPU"},
      {options->compiler_variant.size != 0, "compiler_variant", "there is one compiler"},
      {build->use_auto_spmd_partitioning, "use_auto_spmd_partitioning",
       "shardings come from the program"},
      {build->process_count > 1, "process_count", "a program runs in one process"},
      {build->gpu_topology.size != 0, "gpu_topology", "it describes GPUs"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    if (rows[i].asked) return refused(rows[i].field, rows[i].why);
  }
  return hlo_ok();
}

// --- Counts, device assignment, layouts ----------------------------------------------------------

static hlo_status_t take_counts(const build_options_t* build, hlo_compile_options_t* out) {
  const int64_t replicas = build->num_replicas != 0 ? build->num_replicas : 1;
  const int64_t partitions = build->num_partitions != 0 ? build->num_partitions : 1;
  if (replicas < 1 || partitions < 1 || replicas > PROCESSOR_LIMIT ||
      partitions > PROCESSOR_LIMIT || replicas * partitions > PROCESSOR_LIMIT) {
    return hlo_invalid_argument(
        "compile options ask for %lld replicas of %lld partitions; the product must be between 1 "
        "and %d",
        (long long)replicas, (long long)partitions, PROCESSOR_LIMIT);
  }
  out->replica_count = (int32_t)replicas;
  out->partition_count = (int32_t)partitions;
  return hlo_ok();
}

static hlo_status_t take_device_assignment(const device_assignment_t* assignment,
                                           hlo_arena_t* arena, hlo_compile_options_t* out) {
  const size_t replicas = (size_t)out->replica_count, partitions = (size_t)out->partition_count;
  if (assignment->replica_count != out->replica_count ||
      assignment->computation_count != out->partition_count ||
      assignment->computation_devices.count != partitions) {
    return hlo_invalid_argument(
        "device_assignment is for %d replicas of %d partitions (%zu listed), the program for %zu "
        "of %zu",
        assignment->replica_count, assignment->computation_count,
        assignment->computation_devices.count, replicas, partitions);
  }
  int32_t* ids = hlo_arena_array(arena, replicas * partitions, sizeof *ids);
  HLO_TRY(hlo_arena_status(arena));
  const computation_device_t* devices = assignment->computation_devices.items;
  for (size_t partition = 0; partition < partitions; ++partition) {
    const hlo_wire_array_t* column = &devices[partition].replica_device_ids;
    if (column->count != replicas) {
      return hlo_invalid_argument("device_assignment lists %zu devices for partition %zu, not %zu",
                                  column->count, partition, replicas);
    }
    for (size_t replica = 0; replica < replicas; ++replica) {
      const int64_t id = ((const int64_t*)column->items)[replica];
      if (id < 0 || id > INT32_MAX) {
        return hlo_invalid_argument("device_assignment holds the device id %lld", (long long)id);
      }
      ids[replica * partitions + partition] = (int32_t)id;
    }
  }
  out->device_assignment = ids;
  return hlo_ok();
}

static hlo_status_t refuse_tiles(const layout_proto_t* layout, hlo_arena_t* arena) {
  const tile_proto_t* tiles = layout->tiles.items;
  size_t* ranks = hlo_arena_array(arena, layout->tiles.count, sizeof *ranks);
  size_t total = 0, at = 0;
  for (size_t i = 0; i < layout->tiles.count; ++i) total += tiles[i].dimensions.count;
  int64_t* dims = hlo_arena_array(arena, total, sizeof *dims);
  HLO_TRY(hlo_arena_status(arena));
  for (size_t i = 0; i < layout->tiles.count; at += ranks[i++]) {
    ranks[i] = tiles[i].dimensions.count;
    if (ranks[i]) memcpy(dims + at, tiles[i].dimensions.items, ranks[i] * sizeof *dims);
  }
  return hlo_dim_order_refuse_tiles(layout->minor_to_major.count, layout->minor_to_major.items,
                                    layout->tiles.count, ranks, dims);
}

static hlo_status_t take_layout(const shape_proto_t* shape, hlo_arena_t* arena,
                                hlo_array_layout_t* out) {
  *out = (hlo_array_layout_t){.dtype = hlo_dtype_from_primitive(shape->element_type),
                              .rank = shape->dimensions.count,
                              .dimensions = shape->dimensions.items};
  if (out->dtype == HLO_DTYPE_INVALID) {
    return hlo_invalid_argument("element type %d is unknown", shape->element_type);
  }
  if (shape->layout == NULL) return hlo_ok();
  const hlo_wire_array_t* order = &shape->layout->minor_to_major;
  if (order->count != out->rank || !hlo_dim_order_is_valid(out->rank, order->items)) {
    HLO_SCOPED_STRBUF text = {0};
    hlo_dim_order_print(order->count, order->items, &text);
    return hlo_invalid_argument("layout %s is no order of %zu dimensions", hlo_strbuf_text(&text),
                                out->rank);
  }
  if (shape->layout->tiles.count != 0) return refuse_tiles(shape->layout, arena);
  out->minor_to_major = order->items;
  return hlo_ok();
}

static hlo_status_t take_layouts(const shape_proto_t* shapes, size_t count, const char* field,
                                 const char* what, hlo_arena_t* arena,
                                 const hlo_array_layout_t** out_layouts, size_t* out_count) {
  hlo_array_layout_t* layouts = hlo_arena_array(arena, count, sizeof *layouts);
  HLO_TRY(hlo_arena_status(arena));
  for (size_t i = 0; i < count; ++i) {
    HLO_TRY_MSG(take_layout(&shapes[i], arena, &layouts[i]), "%s of the compile options: %s %zu",
                field, what, i);
  }
  *out_layouts = layouts;
  *out_count = count;
  return hlo_ok();
}

static hlo_status_t take_build_options(const build_options_t* build, hlo_arena_t* arena,
                                       hlo_compile_options_t* out) {
  HLO_TRY(take_counts(build, out));
  if (build->has_device_ordinal && build->device_ordinal >= 0 &&
      build->device_ordinal <= INT32_MAX) {
    out->device_ordinal = (int32_t)build->device_ordinal;
  }
  if (build->device_assignment != NULL) {
    HLO_TRY(take_device_assignment(build->device_assignment, arena, out));
  }
  const shape_proto_t* result = build->result_layout;
  if (result != NULL && result->element_type == TUPLE_TYPE) {
    HLO_TRY(take_layouts(result->tuple_shapes.items, result->tuple_shapes.count, "result_layout",
                         "result", arena, &out->result_layouts, &out->result_layout_count));
  } else if (result != NULL && result->element_type != 0) {
    HLO_TRY(take_layouts(result, 1, "result_layout", "result", arena, &out->result_layouts,
                         &out->result_layout_count));
  }
  out->use_spmd_partitioning = build->use_spmd_partitioning;
  out->use_shardy_partitioner = build->use_shardy_partitioner;
  out->alias_passthrough_params = build->alias_passthrough_params;
  out->propagate_to_parameters = build->allow_spmd_sharding_propagation_to_parameters.items;
  out->propagate_to_parameter_count = build->allow_spmd_sharding_propagation_to_parameters.count;
  out->propagate_to_results = build->allow_spmd_sharding_propagation_to_output.items;
  out->propagate_to_result_count = build->allow_spmd_sharding_propagation_to_output.count;
  HLO_TRY(apply_debug_options(build->debug_options, out));
  if (build->device_memory_size > 0) out->device_memory_bytes = (uint64_t)build->device_memory_size;
  // EFFORT_O0 to EFFORT_O3 are 9, 19, 29, 39; 0 leaves the choice to us. O2, what JAX sends unless
  // told otherwise, does not override the debug option.
  const int32_t effort = build->optimization_level;
  if (effort != 0 && effort != 29) out->optimization_level = effort < 39 ? effort / 10 : 3;
  return hlo_ok();
}

// Options of a program for one device.
static hlo_compile_options_t default_options(void) {
  return (hlo_compile_options_t){
      .replica_count = 1, .partition_count = 1, .device_ordinal = -1, .optimization_level = 3};
}

hlo_status_t hlo_compile_options_parse(const void* data, size_t size_bytes, hlo_arena_t* arena,
                                       hlo_compile_options_t* out) {
  hlo_compile_options_t result = default_options();
  static const build_options_t no_build_options;
  compile_options_t options;
  // Decoded arrays of bytes are lent from the input, so parse the copy that is kept.
  const char* copy = hlo_arena_strndup(arena, data, size_bytes);
  HLO_TRY(hlo_arena_status(arena));
  HLO_TRY_MSG(hlo_wire_decode(&compile_options_table, copy, size_bytes, arena, &options),
              "in the compile options");
  const build_options_t* build = options.executable_build_options != NULL
                                     ? options.executable_build_options
                                     : &no_build_options;
  HLO_TRY(check_refusals(&options, build));
  HLO_TRY(take_build_options(build, arena, &result));
  HLO_TRY(take_layouts(options.argument_layouts.items, options.argument_layouts.count,
                       "argument_layouts", "argument", arena, &result.argument_layouts,
                       &result.argument_layout_count));
  const option_override_t* overrides = options.env_option_overrides.items;
  result.overrides =
      hlo_arena_array(arena, options.env_option_overrides.count, sizeof *result.overrides);
  HLO_TRY(hlo_arena_status(arena));
  for (size_t i = 0; i < options.env_option_overrides.count; ++i) {
    HLO_TRY(apply_override(&overrides[i], arena, &result));
  }
  result.portable = options.compile_portable_executable;
  result.serialized = (const uint8_t*)copy;
  result.serialized_bytes = size_bytes;
  *out = result;
  return hlo_ok();
}

void hlo_compile_options_apply(const hlo_compile_options_t* options, hlo_compile_config_t* config) {
  config->replica_count = options->replica_count;
  config->partition_count = options->partition_count;
  config->device_memory_bytes = options->device_memory_bytes;
  config->layouts = options;
  config->hlo_dump = options->hlo_dump;
  config->hlo_dump.is_text |= !options->hlo_dump.is_proto;  // unless another form is wanted
  for (size_t i = 0; i < options->override_count; ++i) {
    const hlo_option_override_t* override = &options->overrides[i];
    hlo_compile_config_set(config, override->index, override->number, override->text);
  }
}

static void put_layout(const hlo_array_layout_t* layout, uint32_t number, hlo_strbuf_t* out) {
  const size_t shape = hlo_wire_begin(out, number);
  hlo_wire_put_int(out, 2, hlo_dtype_info(layout->dtype)->primitive_type);
  hlo_wire_put_packed_int64(out, 3, layout->dimensions, layout->rank);
  if (layout->minor_to_major) {
    const size_t order = hlo_wire_begin(out, 5);
    hlo_wire_put_packed_int64(out, 1, layout->minor_to_major, layout->rank);
    hlo_wire_end(out, order);
  }
  hlo_wire_end(out, shape);
}

static void put_result_layouts(const hlo_compile_options_t* from, hlo_strbuf_t* out) {
  const size_t build = hlo_wire_begin(out, 3);
  const size_t tuple = hlo_wire_begin(out, 2);
  hlo_wire_put_int(out, 2, TUPLE_TYPE);
  for (size_t i = 0; i < from->result_layout_count; ++i) {
    put_layout(&from->result_layouts[i], 4, out);
  }
  hlo_wire_end(out, tuple);
  hlo_wire_end(out, build);
}

hlo_status_t hlo_compile_options_take_layouts(const hlo_compile_options_t* from, hlo_arena_t* arena,
                                              hlo_compile_options_t* options) {
  const bool takes_arguments = !options->argument_layout_count && from->argument_layout_count;
  const bool takes_results = !options->result_layout_count && from->result_layout_count;
  if (!takes_arguments && !takes_results) return hlo_ok();
  // Fields that follow in a message add to those before them.
  HLO_SCOPED_STRBUF bytes = {0};
  hlo_strbuf_append(&bytes, (const char*)options->serialized, options->serialized_bytes);
  for (size_t i = 0; takes_arguments && i < from->argument_layout_count; ++i) {
    put_layout(&from->argument_layouts[i], 1, &bytes);
  }
  if (takes_results) put_result_layouts(from, &bytes);
  HLO_TRY(hlo_strbuf_status(&bytes));
  return hlo_compile_options_parse(bytes.data, bytes.length, arena, options);
}

void hlo_device_assignment_write(const int32_t* ids, int32_t replica_count, int32_t partition_count,
                                 hlo_strbuf_t* out) {
  hlo_wire_put_int(out, 1, replica_count);
  hlo_wire_put_int(out, 2, partition_count);
  for (int32_t partition = 0; partition < partition_count; ++partition) {
    const size_t device = hlo_wire_begin(out, 3);
    const size_t column = hlo_wire_begin(out, 1);  // packed
    for (int32_t replica = 0; replica < replica_count; ++replica) {
      hlo_wire_put_varint(out, (uint64_t)ids[replica * partition_count + partition]);
    }
    hlo_wire_end(out, column);
    hlo_wire_end(out, device);
  }
}
