// SPDX-License-Identifier: Apache-2.0
// Shardy's meshes and shardings in HLO, which stores them as text in the frontend attributes.
// Device groups along axes of a mesh are written out as lists.
#include <stdlib.h>

#include "frontend/hlo/export.h"

enum { AXES_MAX = 64 };

static bool is_mesh(const hlo_node_t* node) {
  return node->op == HLO_OP_sdy_mesh;
}

static const hlo_attr_t* find_mesh(const hlo_module_t* module, const char* name, size_t length) {
  for (const hlo_node_t* node = module->top ? module->top->first : NULL; node; node = node->next) {
    const char* own = is_mesh(node) ? hlo_node_attr_text(node, HLO_ATTR_sym_name) : NULL;
    if (own && strlen(own) == length && memcmp(own, name, length) == 0) {
      return hlo_node_attr(node, HLO_ATTR_mesh);
    }
  }
  return NULL;
}

// Finds the next quoted "name" from *p on; false if no further one exists.
static bool next_quoted(const char** p, const char** out_name, size_t* out_length) {
  const char* open = strchr(*p, '"');
  const char* close = open ? strchr(open + 1, '"') : NULL;
  if (!close) return false;
  *out_name = open + 1;
  *out_length = (size_t)(close - open) - 1;
  *p = close + 1;
  return true;
}

// #sdy.mesh<["x"=4, "y"=2], device_ids=[1, 0]>
static bool read_mesh(const char* text, hlo_desc_mesh_axis_t* axes, int64_t* ids, size_t ids_max,
                      hlo_desc_mesh_t* mesh) {
  const char* devices = strstr(text, "device_ids=[");
  const char* name;
  size_t length;
  *mesh = (hlo_desc_mesh_t){.axes = {axes, 0}, .device_ids = {ids, 0}};
  while (next_quoted(&text, &name, &length)) {
    if (*text != '=' || mesh->axes.count == AXES_MAX) return false;
    char* end;
    axes[mesh->axes.count++] = (hlo_desc_mesh_axis_t){.name = {(const uint8_t*)name, length},
                                                      .size = strtoll(text + 1, &end, 10)};
    text = end;
  }
  for (const char* at = devices ? devices + strlen("device_ids=[") : "]"; *at != ']';) {
    char* end;
    if (mesh->device_ids.count == ids_max) return false;
    ids[mesh->device_ids.count++] = strtoll(at, &end, 10);
    if (end == at) return false;
    at = end + strspn(end, ", ");
  }
  return true;
}

// Parses the number after a word such as "pre_size = ", before `end`.
static bool number_after(const char* text, const char* end, const char* word, int64_t* out) {
  const char* found = strstr(text, word);
  if (!found || found >= end) return false;
  *out = strtoll(found + strlen(word), NULL, 10);
  return true;
}

// [#stablehlo.axis_ref<name = "x", sub_axis_info = #stablehlo.sub_axis_info<pre_size = 1, size =
// 2>>, ...]
static bool read_refs(const char* text, const hlo_desc_mesh_t* mesh, hlo_desc_axis_ref_t* refs,
                      hlo_desc_sub_axis_t* parts, size_t* out_count) {
  const char* name;
  size_t length;
  *out_count = 0;
  while (next_quoted(&text, &name, &length)) {
    const hlo_desc_mesh_axis_t* axes = mesh->axes.items;
    size_t i = 0;
    while (i < mesh->axes.count &&
           (axes[i].name.size != length || memcmp(axes[i].name.data, name, length) != 0)) {
      ++i;
    }
    if (i == mesh->axes.count || *out_count == AXES_MAX) return false;
    const char* next = strchr(text, '"');
    if (!next) next = text + strlen(text);
    hlo_desc_sub_axis_t* part = &parts[*out_count];
    bool is_part = number_after(text, next, "pre_size = ", &part->pre_size) &&
                   number_after(text, next, ", size = ", &part->size);
    refs[(*out_count)++] = (hlo_desc_axis_ref_t){(int64_t)i, is_part ? part : NULL};
  }
  return true;
}

static const hlo_attr_t* mesh_of(const hlo_exporter_t* ex, const char* text) {
  const char* name = strstr(text, "mesh = @");
  if (!name) return NULL;
  name += strlen("mesh = @");
  const hlo_attr_t* mesh = find_mesh(ex->module, name, strcspn(name, ", >"));
  return mesh && mesh->kind == HLO_ATTR_KIND_OPAQUE ? mesh : NULL;
}

hlo_status_t hlo_export_mesh_groups(const hlo_exporter_t* ex, const hlo_attr_t* attr,
                                    hlo_wire_array_t* out_groups) {
  bool is_axes =
      attr->kind == HLO_ATTR_KIND_OPAQUE && strstr(attr->text, "replica_group_mesh_axes");
  const char* names = is_axes ? strstr(attr->text, "axes = [") : NULL;
  const hlo_attr_t* text = names ? mesh_of(ex, attr->text) : NULL;
  size_t ids_max = text ? text->text_length : 0;  // a number has at least one character
  hlo_desc_mesh_axis_t axes[AXES_MAX];
  hlo_desc_axis_ref_t refs[AXES_MAX];
  hlo_desc_sub_axis_t parts[AXES_MAX];
  hlo_desc_mesh_t mesh;
  hlo_desc_mesh_list_t list = {.mesh = &mesh, .axes = {refs, 0}};
  int64_t* devices = hlo_arena_array(ex->arena, ids_max, sizeof *devices);
  if (!devices) return hlo_arena_status(ex->arena);
  if (!text || !read_mesh(text->text, axes, devices, ids_max, &mesh) ||
      !read_refs(names, &mesh, refs, parts, &list.axes.count)) {
    return hlo_export_refuse(ex, "replica_groups of this form");
  }
  uint32_t rows, cols;
  int64_t* ids;
  HLO_TRY(hlo_desc_mesh_groups(ex->arena, &list, &rows, &cols, &ids));
  hlo_desc_group_t* groups = hlo_arena_array(ex->arena, rows, sizeof *groups);
  if (!groups) return hlo_arena_status(ex->arena);
  for (uint32_t r = 0; r < rows; ++r) {
    groups[r].replica_ids = (hlo_wire_array_t){ids + (size_t)r * cols, cols};
  }
  *out_groups = (hlo_wire_array_t){groups, rows};
  return hlo_ok();
}

hlo_status_t hlo_export_meshes(const hlo_exporter_t* ex, hlo_desc_module_t* desc) {
  HLO_SCOPED_STRBUF text = {0};
  const hlo_module_t* module = ex->module;
  for (const hlo_node_t* node = module->top ? module->top->first : NULL; node; node = node->next) {
    const hlo_attr_t* mesh = is_mesh(node) ? hlo_node_attr(node, HLO_ATTR_mesh) : NULL;
    if (!mesh || mesh->kind != HLO_ATTR_KIND_OPAQUE) continue;
    hlo_strbuf_printf(&text, "%s%s = %s", text.length ? ", " : "{",
                      hlo_node_attr_text(node, HLO_ATTR_sym_name), mesh->text);
  }
  hlo_status_t status = hlo_strbuf_status(&text);
  if (hlo_status_is_ok(status) && text.length) {
    hlo_strbuf_putc(&text, '}');
    char* copy = hlo_arena_strndup(ex->arena, hlo_strbuf_text(&text), text.length);
    status = copy ? hlo_export_frontend(ex, "xla.sdy.meshes", copy, text.length,
                                        &desc->frontend_attributes)
                  : hlo_arena_status(ex->arena);
  }
  return status;
}

// Lists contain "#sdy.sharding<@mesh, [...]>" without its prefix.
static const char* without_prefix(const char* text) {
  static const char prefix[] = "#sdy.sharding<";
  return strncmp(text, prefix, sizeof prefix - 1) == 0 ? text + sizeof prefix - 2 : text;
}

hlo_status_t hlo_export_sharding_text(const hlo_exporter_t* ex, const hlo_attr_t* attr,
                                      const char* wrapper, const char** out_text) {
  if (!attr || attr->kind != HLO_ATTR_KIND_OPAQUE) {
    return hlo_export_refuse(ex, "a sharding of this form");
  }
  bool is_one = strncmp(attr->text, "#sdy.sharding<", strlen("#sdy.sharding<")) == 0;
  *out_text = is_one ? hlo_arena_printf(ex->arena, "%s<[%s]>", wrapper, without_prefix(attr->text))
                     : attr->text;
  return *out_text ? hlo_ok() : hlo_arena_status(ex->arena);
}
