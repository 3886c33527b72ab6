// SPDX-License-Identifier: Apache-2.0
// Meshes and shardings of Shardy in HLO, which keeps them as text among the frontend attributes;
// groups of devices along axes of a mesh are written out.
#include <stdio.h>
#include <stdlib.h>

#include "frontend/hlo/export.h"

enum { AXES_MAX = 32 };

typedef struct axis {
  const char* name;  // not zero-terminated
  size_t length;
  int64_t size;
} axis_t;

static bool is_mesh(const hlo_node_t* node) { return node->op == HLO_OP_sdy_mesh; }

static const hlo_attr_t* find_mesh(const hlo_module_t* module, const char* name, size_t length) {
  for (const hlo_node_t* node = module->top ? module->top->first : NULL; node; node = node->next) {
    const char* own = is_mesh(node) ? hlo_node_attr_text(node, HLO_ATTR_sym_name) : NULL;
    if (own && strlen(own) == length && memcmp(own, name, length) == 0) {
      return hlo_node_attr(node, HLO_ATTR_mesh);
    }
  }
  return NULL;
}

// The next "name" in quotes from *p on, or false.
static bool next_quoted(const char** p, const char** out_name, size_t* out_length) {
  const char* open = strchr(*p, '"');
  const char* close = open ? strchr(open + 1, '"') : NULL;
  if (!close) return false;
  *out_name = open + 1;
  *out_length = (size_t)(close - open) - 1;
  *p = close + 1;
  return true;
}

// #sdy.mesh<["x"=4, "y"=2]>; false for a mesh with an order of devices of its own.
static bool read_axes(const char* text, axis_t* axes, uint32_t* out_count) {
  *out_count = 0;
  if (strstr(text, "device_ids")) return false;
  while (next_quoted(&text, &axes[*out_count].name, &axes[*out_count].length)) {
    if (*text != '=') return false;
    char* end;
    axes[*out_count].size = strtoll(text + 1, &end, 10);
    if (axes[*out_count].size < 1 || ++*out_count == AXES_MAX) return false;
    text = end;
  }
  return true;
}

// Which axes the groups run along, in order, as numbers of mesh axes.
static bool read_group_axes(const char* text, const axis_t* axes, uint32_t axis_count,
                            uint32_t* order, uint32_t* out_count) {
  const char* name;
  size_t length;
  *out_count = 0;
  if (strstr(text, "sub_axis")) return false;
  while (next_quoted(&text, &name, &length)) {
    uint32_t i = 0;
    while (i < axis_count &&
           (axes[i].length != length || memcmp(axes[i].name, name, length) != 0)) {
      ++i;
    }
    if (i == axis_count || *out_count == axis_count) return false;
    order[(*out_count)++] = i;
  }
  return true;
}

// Devices are numbered row-major over the axes of the mesh: one group for each place on the other
// axes.
static hlo_status_t make_groups(const hlo_exporter_t* ex, const axis_t* axes, uint32_t axis_count,
                                const uint32_t* order, uint32_t order_count,
                                hlo_wire_array_t* out_groups) {
  int64_t dims[AXES_MAX], strides[AXES_MAX], total, size = 1, stride = 1;
  for (uint32_t i = 0; i < axis_count; ++i) dims[i] = axes[i].size;
  if (!hlo_dims_element_count(axis_count, dims, &total) || total > 1 << 20) {
    return hlo_export_refuse(ex, "a mesh of too many devices");
  }
  for (uint32_t i = axis_count; i-- > 0; stride *= dims[i]) strides[i] = stride;
  for (uint32_t i = 0; i < order_count; ++i) size *= dims[order[i]];
  if (size < 1 || total % size) return hlo_export_refuse(ex, "an axis is named twice");
  hlo_desc_group_t* groups = hlo_arena_array(ex->arena, (size_t)(total / size), sizeof *groups);
  if (!groups) return hlo_arena_status(ex->arena);
  size_t count = 0;
  for (int64_t device = 0; device < total; ++device) {
    bool is_first = true;
    for (uint32_t i = 0; i < order_count; ++i) {
      is_first &= device / strides[order[i]] % dims[order[i]] == 0;
    }
    if (!is_first) continue;
    int64_t* ids = hlo_arena_array(ex->arena, (size_t)size, sizeof *ids);
    if (!ids) return hlo_arena_status(ex->arena);
    for (int64_t k = 0; k < size; ++k) {
      int64_t rest = k;
      ids[k] = device;
      for (uint32_t i = order_count; i-- > 0; rest /= dims[order[i]]) {
        ids[k] += rest % dims[order[i]] * strides[order[i]];
      }
    }
    groups[count++].replica_ids = (hlo_wire_array_t){ids, (size_t)size};
  }
  *out_groups = (hlo_wire_array_t){groups, count};
  return hlo_ok();
}

hlo_status_t hlo_export_mesh_groups(const hlo_exporter_t* ex, const hlo_attr_t* attr,
                                    hlo_wire_array_t* out_groups) {
  static const char* const refused = "replica_groups of this form";
  const char* name =
      attr->kind == HLO_ATTR_KIND_OPAQUE && strstr(attr->text, "replica_group_mesh_axes")
          ? strstr(attr->text, "mesh = @")
          : NULL;
  const char* names = name ? strstr(name, "axes = [") : NULL;
  if (!names) return hlo_export_refuse(ex, refused);
  name += strlen("mesh = @");
  const hlo_attr_t* mesh = find_mesh(ex->module, name, strcspn(name, ", >"));
  axis_t axes[AXES_MAX];
  uint32_t order[AXES_MAX], axis_count, order_count;
  if (!mesh || mesh->kind != HLO_ATTR_KIND_OPAQUE || !read_axes(mesh->text, axes, &axis_count) ||
      !read_group_axes(names, axes, axis_count, order, &order_count)) {
    return hlo_export_refuse(ex, refused);
  }
  return make_groups(ex, axes, axis_count, order, order_count, out_groups);
}

hlo_status_t hlo_export_meshes(const hlo_exporter_t* ex, hlo_desc_module_t* desc) {
  hlo_strbuf_t text = {0};
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
  hlo_strbuf_deinit(&text);
  return status;
}

// "#sdy.sharding<@mesh, [...]>" stands in lists without its prefix.
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
