// SPDX-License-Identifier: Apache-2.0
// Reader and writer of Shardy's attributes (see sharding.h).
#include "ir/sharding.h"

#include <string.h>

#include "base/strbuf.h"
#include "ir/interner.h"

enum {
  AXES_MAX = 64,  // of a mesh, and of the lists of a sharding together
};

// ---- reading

// A position in the text of an attribute. Lists that are being read are on the stack of the reader,
// then copied to the module.
typedef struct sharding_reader {
  hlo_module_t* module;
  const hlo_attr_t* attr;
  const char *at, *end;
} sharding_reader_t;

static hlo_status_t read_error(const sharding_reader_t* r, const char* expected) {
  return hlo_invalid_argument("%.*s: expected %s at position %d", (int)r->attr->text_length,
                              r->attr->text, expected, (int)(r->at - r->attr->text));
}

static void skip_spaces(sharding_reader_t* r) {
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t')) ++r->at;
}

static bool take(sharding_reader_t* r, const char* text) {
  skip_spaces(r);
  size_t length = strlen(text);
  if ((size_t)(r->end - r->at) < length || memcmp(r->at, text, length) != 0) return false;
  r->at += length;
  return true;
}

static hlo_status_t expect(sharding_reader_t* r, const char* text) {
  return take(r, text) ? hlo_ok() : read_error(r, text);
}

static hlo_status_t read_int(sharding_reader_t* r, int64_t* out) {
  skip_spaces(r);
  const char* start = r->at;
  int64_t value = 0;
  for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; ++r->at) {
    if (value > (INT64_MAX - 9) / 10) return read_error(r, "a smaller number");
    value = 10 * value + (*r->at - '0');
  }
  *out = value;
  return r->at > start ? hlo_ok() : read_error(r, "a number");
}

// Reads a quoted name; names with escapes are not names of axes.
static hlo_status_t read_name(sharding_reader_t* r, const char** out_name, size_t* out_length) {
  HLO_TRY(expect(r, "\""));
  const char* close = memchr(r->at, '"', (size_t)(r->end - r->at));
  if (!close) return read_error(r, "a closing quote");
  *out_name = r->at;
  *out_length = (size_t)(close - r->at);
  r->at = close + 1;
  return hlo_ok();
}

static hlo_status_t copy_array(hlo_module_t* module, size_t count, size_t item_bytes,
                               const void* items, const void** out_copy) {
  *out_copy = NULL;
  if (!count) return hlo_ok();
  void* copy = hlo_arena_array(&module->arena, count, item_bytes);
  if (!copy) return hlo_arena_status(&module->arena);
  memcpy(copy, items, count * item_bytes);
  *out_copy = copy;
  return hlo_ok();
}

// ["x"=2, "y"=4]
static hlo_status_t read_mesh_axes(sharding_reader_t* r, hlo_mesh_t* mesh) {
  hlo_mesh_axis_t axes[AXES_MAX];
  HLO_TRY(expect(r, "["));
  mesh->device_count = 1;
  while (!take(r, "]")) {
    if (mesh->axis_count) HLO_TRY(expect(r, ","));
    if (mesh->axis_count == AXES_MAX) return read_error(r, "at most 64 axes");
    hlo_mesh_axis_t* axis = &axes[mesh->axis_count];
    size_t length;
    HLO_TRY(read_name(r, &axis->name, &length));
    axis->name = hlo_module_string(r->module, axis->name, length);
    mesh->axes = axes;
    if (hlo_mesh_axis_number(mesh, axis->name, length) < mesh->axis_count) {
      return read_error(r, "another name for the axis before");
    }
    ++mesh->axis_count;
    HLO_TRY(expect(r, "="));
    HLO_TRY(read_int(r, &axis->size));
    if (axis->size < 1 ||
        __builtin_mul_overflow(mesh->device_count, axis->size, &mesh->device_count) ||
        mesh->device_count > INT32_MAX) {
      return read_error(r, "an axis of 1 to 2^31 devices");
    }
  }
  return copy_array(r->module, mesh->axis_count, sizeof *axes, axes, (const void**)&mesh->axes);
}

// device_ids=[0, 1, 2]
static hlo_status_t read_device_ids(sharding_reader_t* r, hlo_mesh_t* mesh) {
  HLO_TRY(expect(r, "["));
  // A number takes at least one character of the text.
  if (mesh->device_count > r->end - r->at) return read_error(r, "as many devices as the mesh has");
  int64_t* ids = hlo_arena_array(&r->module->arena, (size_t)mesh->device_count, sizeof *ids);
  if (!ids) return hlo_arena_status(&r->module->arena);
  bool* is_used = hlo_arena_alloc_zeroed(&r->module->arena, (size_t)mesh->device_count);
  if (!is_used) return hlo_arena_status(&r->module->arena);
  for (int64_t i = 0; i < mesh->device_count; ++i) {
    if (i) HLO_TRY(expect(r, ","));
    HLO_TRY(read_int(r, &ids[i]));
    if (mesh->axis_count && (ids[i] >= mesh->device_count || is_used[ids[i]])) {
      return read_error(r, "each device of the mesh once");
    }
    if (mesh->axis_count) is_used[ids[i]] = true;
  }
  mesh->device_ids = ids;
  return expect(r, "]");
}

// <["x"=2], device_ids=[0, 1]>
static hlo_status_t read_mesh(sharding_reader_t* r, hlo_mesh_t* mesh) {
  HLO_TRY(expect(r, "<"));
  HLO_TRY(read_mesh_axes(r, mesh));
  if (take(r, ",")) {
    HLO_TRY(expect(r, "device_ids"));
    HLO_TRY(expect(r, "="));
    HLO_TRY(read_device_ids(r, mesh));
  }
  return expect(r, ">");
}

// "x" or "x":(2)4
static hlo_status_t read_axis(sharding_reader_t* r, const hlo_mesh_t* mesh, hlo_axis_ref_t* out) {
  const char* name;
  size_t length;
  HLO_TRY(read_name(r, &name, &length));
  out->axis = hlo_mesh_axis_number(mesh, name, length);
  if (out->axis == mesh->axis_count) {
    return hlo_invalid_argument("%.*s: the mesh has no axis '%.*s'", (int)r->attr->text_length,
                                r->attr->text, (int)length, name);
  }
  int64_t size = mesh->axes[out->axis].size;
  out->pre_size = 1;
  out->size = size;
  if (!take(r, ":")) return hlo_ok();
  HLO_TRY(expect(r, "("));
  HLO_TRY(read_int(r, &out->pre_size));
  HLO_TRY(expect(r, ")"));
  HLO_TRY(read_int(r, &out->size));
  bool divides = out->pre_size > 0 && out->size > 0 && size % out->pre_size == 0 &&
                 size / out->pre_size % out->size == 0;
  return divides ? hlo_ok() : read_error(r, "a part that divides the axis");
}

static bool refs_overlap(hlo_axis_ref_t a, hlo_axis_ref_t b) {
  return a.axis == b.axis && a.pre_size < b.pre_size * b.size && b.pre_size < a.pre_size * a.size;
}

// The axes that the lists of a sharding have in common storage, each at most once.
typedef struct axis_storage {
  uint32_t count;
  hlo_axis_ref_t refs[AXES_MAX];
} axis_storage_t;

// Reads the items of a list up to `close`; the last one may be "?" if out_is_open is not NULL.
static hlo_status_t read_axes(sharding_reader_t* r, const hlo_mesh_t* mesh, const char* close,
                              axis_storage_t* storage, bool* out_is_open, hlo_axis_refs_t* out) {
  const uint32_t first = storage->count;
  for (bool is_first = true; !take(r, close); is_first = false) {
    if (!is_first) HLO_TRY(expect(r, ","));
    if (out_is_open && take(r, "?")) {
      *out_is_open = true;
      HLO_TRY(expect(r, close));
      break;
    }
    hlo_axis_ref_t ref;
    HLO_TRY(read_axis(r, mesh, &ref));
    for (uint32_t i = 0; i < storage->count; ++i) {
      if (refs_overlap(storage->refs[i], ref)) return read_error(r, "an axis only once");
    }
    if (storage->count == AXES_MAX) return read_error(r, "at most 64 axes");
    storage->refs[storage->count++] = ref;
  }
  out->count = storage->count - first;
  return copy_array(r->module, out->count, sizeof(hlo_axis_ref_t), &storage->refs[first],
                    (const void**)&out->refs);
}

// [{"x"}, {"y", ?}p1]
static hlo_status_t read_dims(sharding_reader_t* r, axis_storage_t* storage, hlo_sharding_t* s) {
  hlo_dim_sharding_t dims[HLO_RANK_MAX];
  HLO_TRY(expect(r, "["));
  while (!take(r, "]")) {
    if (s->rank) HLO_TRY(expect(r, ","));
    if (s->rank == HLO_RANK_MAX) return read_error(r, "at most 64 dimensions");
    hlo_dim_sharding_t* dim = &dims[s->rank++];
    *dim = (hlo_dim_sharding_t){.priority = -1};
    HLO_TRY(expect(r, "{"));
    HLO_TRY(read_axes(r, s->mesh, "}", storage, &dim->is_open, &dim->axes));
    if (take(r, "p")) {
      int64_t priority;
      HLO_TRY(read_int(r, &priority));
      if (priority > INT32_MAX) return read_error(r, "a smaller priority");
      dim->priority = (int32_t)priority;
    }
  }
  return copy_array(r->module, s->rank, sizeof *dims, dims, (const void**)&s->dims);
}

static const char* const unreduced_names[] = {"", "max", "min"};

// <@mesh, [...], replicated={...}, unreduced=max{...}>
static hlo_status_t read_sharding(sharding_reader_t* r, hlo_sharding_t* s) {
  HLO_TRY(expect(r, "<"));
  if (take(r, "@")) {
    const char* name = r->at;
    while (r->at < r->end && *r->at != ',' && *r->at != ' ' && *r->at != '>') ++r->at;
    HLO_TRY(hlo_mesh_find(r->module, name, (size_t)(r->at - name), &s->mesh));
    if (!s->mesh) {
      return hlo_invalid_argument("%.*s: the module has no mesh @%.*s", (int)r->attr->text_length,
                                  r->attr->text, (int)(r->at - name), name);
    }
  } else {
    HLO_TRY(expect(r, "mesh"));
    hlo_mesh_t* mesh = hlo_arena_alloc_zeroed(&r->module->arena, sizeof *mesh);
    if (!mesh) return hlo_arena_status(&r->module->arena);
    s->mesh = mesh;
    HLO_TRY(read_mesh(r, mesh));
  }
  axis_storage_t storage = {0};
  HLO_TRY(expect(r, ","));
  HLO_TRY(read_dims(r, &storage, s));
  while (take(r, ",")) {
    hlo_axis_refs_t* list = take(r, "replicated") ? &s->replicated : &s->unreduced;
    if (list == &s->unreduced) HLO_TRY(expect(r, "unreduced"));
    HLO_TRY(expect(r, "="));
    for (uint32_t op = HLO_UNREDUCED_MAX; list == &s->unreduced && op <= HLO_UNREDUCED_MIN; ++op) {
      if (take(r, unreduced_names[op])) s->unreduced_op = op;
    }
    HLO_TRY(expect(r, "{"));
    HLO_TRY(read_axes(r, s->mesh, "}", &storage, NULL, list));
  }
  return expect(r, ">");
}

static hlo_status_t reader_init(hlo_module_t* module, const hlo_attr_t* attr,
                                sharding_reader_t* r) {
  if (!attr || attr->kind != HLO_ATTR_KIND_OPAQUE) {
    return hlo_invalid_argument("expected a sharding, \"#sdy.sharding<@mesh, [...]>\"");
  }
  *r = (sharding_reader_t){module, attr, attr->text, attr->text + attr->text_length};
  return hlo_ok();
}

hlo_status_t hlo_mesh_parse(hlo_module_t* module, const hlo_attr_t* attr, const char* name,
                            const hlo_mesh_t** out_mesh) {
  sharding_reader_t r;
  HLO_TRY(reader_init(module, attr, &r));
  hlo_mesh_t* mesh = hlo_arena_alloc_zeroed(&module->arena, sizeof *mesh);
  if (!mesh) return hlo_arena_status(&module->arena);
  HLO_TRY(expect(&r, "#sdy.mesh"));
  HLO_TRY(read_mesh(&r, mesh));
  mesh->name = name;
  mesh->attr = attr;
  *out_mesh = mesh;
  return hlo_ok();
}

hlo_status_t hlo_mesh_find(hlo_module_t* module, const char* name, size_t length,
                           const hlo_mesh_t** out_mesh) {
  *out_mesh = NULL;
  for (const hlo_node_t* node = module->top ? module->top->first : NULL; node; node = node->next) {
    const char* own =
        node->op == HLO_OP_sdy_mesh ? hlo_node_attr_text(node, HLO_ATTR_sym_name) : NULL;
    if (!own || strlen(own) != length || memcmp(own, name, length) != 0) continue;
    // Interned by the op: two meshes of the same text have different names.
    const hlo_mesh_t* mesh = hlo_map_get_pointer(&module->shardings, node);
    if (!mesh) {
      HLO_TRY(hlo_mesh_parse(module, hlo_node_attr(node, HLO_ATTR_mesh), own, &mesh));
      if (!hlo_map_put_pointer(&module->shardings, node, (void*)mesh)) {
        return hlo_status_out_of_memory(sizeof(hlo_map_entry_t));
      }
    }
    *out_mesh = mesh;
    return hlo_ok();
  }
  return hlo_ok();
}

uint32_t hlo_mesh_axis_number(const hlo_mesh_t* mesh, const char* name, size_t length) {
  uint32_t i = 0;
  while (i < mesh->axis_count &&
         (strlen(mesh->axes[i].name) != length || memcmp(mesh->axes[i].name, name, length) != 0)) {
    ++i;
  }
  return i;
}

hlo_status_t hlo_mesh_parse_axes(hlo_module_t* module, const hlo_mesh_t* mesh,
                                 const hlo_attr_t* attr, hlo_axis_refs_t* out_axes) {
  sharding_reader_t r;
  HLO_TRY(reader_init(module, attr, &r));
  axis_storage_t storage = {0};
  if (!take(&r, "#sdy<axis_ref_list")) HLO_TRY(expect(&r, "#sdy<manual_axes"));
  HLO_TRY(expect(&r, "{"));
  HLO_TRY(read_axes(&r, mesh, "}", &storage, NULL, out_axes));
  return expect(&r, ">");
}

hlo_status_t hlo_mesh_parse_dim_axes(hlo_module_t* module, const hlo_mesh_t* mesh,
                                     const hlo_attr_t* attr, uint32_t* out_count,
                                     hlo_axis_refs_t out_dims[]) {
  sharding_reader_t r;
  axis_storage_t storage = {0};
  uint32_t count = 0;
  HLO_TRY(reader_init(module, attr, &r));
  HLO_TRY(expect(&r, "#sdy<list_of_axis_ref_lists"));
  HLO_TRY(expect(&r, "["));
  for (; !take(&r, "]"); ++count) {
    if (count) HLO_TRY(expect(&r, ","));
    if (count == HLO_RANK_MAX) return read_error(&r, "at most 64 lists");
    HLO_TRY(expect(&r, "{"));
    HLO_TRY(read_axes(&r, mesh, "}", &storage, NULL, &out_dims[count]));
  }
  *out_count = count;
  return expect(&r, ">");
}

hlo_status_t hlo_mesh_parse_moves(hlo_module_t* module, const hlo_mesh_t* mesh,
                                  const hlo_attr_t* attr, uint32_t* out_count,
                                  hlo_axes_move_t out_moves[]) {
  sharding_reader_t r;
  axis_storage_t storage = {0};
  uint32_t count = 0;
  HLO_TRY(reader_init(module, attr, &r));
  HLO_TRY(expect(&r, "#sdy<all_to_all_param_list"));
  HLO_TRY(expect(&r, "["));
  for (; !take(&r, "]"); ++count) {
    if (count) HLO_TRY(expect(&r, ","));
    if (count == HLO_RANK_MAX) return read_error(&r, "at most 64 lists");
    HLO_TRY(expect(&r, "{"));
    HLO_TRY(read_axes(&r, mesh, "}", &storage, NULL, &out_moves[count].axes));
    HLO_TRY(expect(&r, ":"));
    HLO_TRY(read_int(&r, &out_moves[count].from));
    HLO_TRY(expect(&r, "->"));
    HLO_TRY(read_int(&r, &out_moves[count].to));
  }
  *out_count = count;
  return expect(&r, ">");
}

static hlo_status_t remember(hlo_module_t* module, const hlo_attr_t* attr,
                             const hlo_sharding_t* fields, const hlo_sharding_t** out_sharding) {
  hlo_sharding_t* sharding = hlo_arena_alloc(&module->arena, sizeof *sharding);
  if (!sharding) return hlo_arena_status(&module->arena);
  *sharding = *fields;
  sharding->attr = attr;
  if (!hlo_map_put_pointer(&module->shardings, attr, sharding)) {
    return hlo_status_out_of_memory(sizeof(hlo_map_entry_t));
  }
  *out_sharding = sharding;
  return hlo_ok();
}

// Reads one item of a list, whose text may differ from the printed form, and interns it.
static hlo_status_t read_interned(sharding_reader_t* r, const hlo_sharding_t** out_sharding) {
  hlo_sharding_t fields = {0};
  HLO_TRY(read_sharding(r, &fields));
  return hlo_sharding_intern(r->module, &fields, out_sharding);
}

hlo_status_t hlo_sharding_parse_list(hlo_module_t* module, const hlo_attr_t* attr,
                                     uint32_t* out_count,
                                     const hlo_sharding_t* const** out_shardings) {
  sharding_reader_t r;
  HLO_TRY(reader_init(module, attr, &r));
  HLO_TRY(expect(&r, "#sdy.sharding_per_value"));
  HLO_TRY(expect(&r, "<"));
  HLO_TRY(expect(&r, "["));
  const hlo_sharding_t** list = NULL;
  uint32_t count = 0, capacity = 0;
  while (!take(&r, "]")) {
    if (count) HLO_TRY(expect(&r, ","));
    if (!HLO_ARENA_GROW(&module->arena, list, count, capacity)) {
      return hlo_arena_status(&module->arena);
    }
    HLO_TRY(read_interned(&r, &list[count++]));
  }
  HLO_TRY(expect(&r, ">"));
  *out_count = count;
  *out_shardings = list;
  return hlo_ok();
}

hlo_status_t hlo_sharding_parse(hlo_module_t* module, const hlo_attr_t* attr,
                                const hlo_sharding_t** out_sharding) {
  const hlo_sharding_t* known = attr ? hlo_map_get_pointer(&module->shardings, attr) : NULL;
  sharding_reader_t r;
  if (!known) {
    HLO_TRY(reader_init(module, attr, &r));
    if (take(&r, "#sdy.sharding_per_value")) {
      uint32_t count;
      const hlo_sharding_t* const* list;
      HLO_TRY(hlo_sharding_parse_list(module, attr, &count, &list));
      if (count != 1) return read_error(&r, "one sharding");
      known = list[0];
    } else {
      hlo_sharding_t fields = {0};
      HLO_TRY(expect(&r, "#sdy.sharding"));
      HLO_TRY(read_sharding(&r, &fields));
      HLO_TRY(remember(module, attr, &fields, &known));
    }
  }
  *out_sharding = known;
  return hlo_ok();
}

// ---- writing

void hlo_axis_refs_print(const hlo_mesh_t* mesh, hlo_axis_refs_t axes, hlo_strbuf_t* out) {
  for (uint32_t i = 0; i < axes.count; ++i) {
    hlo_axis_ref_t ref = axes.refs[i];
    hlo_strbuf_printf(out, "%s\"%s\"", i ? ", " : "", mesh->axes[ref.axis].name);
    if (hlo_axis_ref_is_whole(mesh, ref)) continue;
    hlo_strbuf_printf(out, ":(%lld)%lld", (long long)ref.pre_size, (long long)ref.size);
  }
}

void hlo_factor_print(int64_t factor, hlo_strbuf_t* out) {
  const int64_t last = 'z' - 'i';
  hlo_strbuf_putc(out, (char)('i' + (factor < last ? factor : last)));
  if (factor > last) hlo_strbuf_printf(out, "_%lld", (long long)(factor - last));
}

static void put_mesh(hlo_strbuf_t* text, const hlo_mesh_t* mesh) {
  hlo_strbuf_puts(text, "<[");
  for (uint32_t i = 0; i < mesh->axis_count; ++i) {
    hlo_strbuf_printf(text, "%s\"%s\"=%lld", i ? ", " : "", mesh->axes[i].name,
                      (long long)mesh->axes[i].size);
  }
  hlo_strbuf_putc(text, ']');
  for (int64_t i = 0; mesh->device_ids && i < mesh->device_count; ++i) {
    hlo_strbuf_printf(text, "%s%lld", i ? ", " : ", device_ids=[", (long long)mesh->device_ids[i]);
  }
  hlo_strbuf_puts(text, mesh->device_ids ? "]>" : ">");
}

// The text after "#sdy.sharding".
static void put_sharding(hlo_strbuf_t* text, const hlo_sharding_t* s) {
  if (s->mesh->name) {
    hlo_strbuf_printf(text, "<@%s, [", s->mesh->name);
  } else {
    hlo_strbuf_puts(text, "<mesh");
    put_mesh(text, s->mesh);
    hlo_strbuf_puts(text, ", [");
  }
  for (uint32_t d = 0; d < s->rank; ++d) {
    const hlo_dim_sharding_t* dim = &s->dims[d];
    hlo_strbuf_puts(text, d ? ", {" : "{");
    hlo_axis_refs_print(s->mesh, dim->axes, text);
    if (dim->is_open) hlo_strbuf_puts(text, dim->axes.count ? ", ?" : "?");
    hlo_strbuf_putc(text, '}');
    if (dim->priority >= 0) hlo_strbuf_printf(text, "p%d", dim->priority);
  }
  hlo_strbuf_putc(text, ']');
  if (s->replicated.count) {
    hlo_strbuf_puts(text, ", replicated={");
    hlo_axis_refs_print(s->mesh, s->replicated, text);
    hlo_strbuf_putc(text, '}');
  }
  if (s->unreduced.count) {
    hlo_strbuf_printf(text, ", unreduced=%s{", unreduced_names[s->unreduced_op]);
    hlo_axis_refs_print(s->mesh, s->unreduced, text);
    hlo_strbuf_putc(text, '}');
  }
  hlo_strbuf_putc(text, '>');
}

hlo_status_t hlo_sharding_intern(hlo_module_t* module, const hlo_sharding_t* fields,
                                 const hlo_sharding_t** out_sharding) {
  HLO_SCOPED_STRBUF text = {0};
  hlo_strbuf_puts(&text, "#sdy.sharding");
  put_sharding(&text, fields);
  HLO_TRY(hlo_strbuf_status(&text));
  const hlo_attr_t* attr = hlo_attr_opaque(module, hlo_strbuf_text(&text), text.length);
  if (!attr) return hlo_module_status(module);
  *out_sharding = hlo_map_get_pointer(&module->shardings, attr);
  if (*out_sharding) return hlo_ok();
  hlo_sharding_t copy = *fields;
  hlo_dim_sharding_t* dims = hlo_arena_array(&module->arena, fields->rank, sizeof *dims);
  if (!dims) return hlo_arena_status(&module->arena);
  if (fields->rank) memcpy(dims, fields->dims, fields->rank * sizeof *dims);
  copy.dims = dims;
  for (uint32_t d = 0; d < copy.rank + 2; ++d) {
    hlo_axis_refs_t* list = d < copy.rank    ? &dims[d].axes
                            : d == copy.rank ? &copy.replicated
                                             : &copy.unreduced;
    HLO_TRY(
        copy_array(module, list->count, sizeof *list->refs, list->refs, (const void**)&list->refs));
  }
  return remember(module, attr, &copy, out_sharding);
}

const hlo_attr_t* hlo_sharding_list_attr(hlo_module_t* module, uint32_t count,
                                         const hlo_sharding_t* const* shardings) {
  HLO_SCOPED_STRBUF text = {0};
  hlo_strbuf_puts(&text, "#sdy.sharding_per_value<[");
  for (uint32_t i = 0; i < count; ++i) {
    if (i) hlo_strbuf_puts(&text, ", ");
    put_sharding(&text, shardings[i]);
  }
  hlo_strbuf_puts(&text, "]>");
  return text.failed ? NULL : hlo_attr_opaque(module, hlo_strbuf_text(&text), text.length);
}

static bool is_sharding_attr(const char* key) {
  return strncmp(key, "sdy.", 4) == 0 || strcmp(key, "mhlo.sharding") == 0;
}

const hlo_attr_t* hlo_sharding_drop_attrs(hlo_module_t* module, const hlo_attr_t* extra) {
  const hlo_attr_t* rest = extra;
  for (uint32_t i = 0; extra && i < extra->count; ++i) {
    if (rest && is_sharding_attr(extra->keys[i])) {
      rest = hlo_attr_dict_with(module, rest, extra->keys[i], NULL);
    }
  }
  return rest && rest->count ? rest : NULL;
}
