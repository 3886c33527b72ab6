// SPDX-License-Identifier: Apache-2.0
// Shardy's meshes and shardings in HLO, which stores them as text in the frontend attributes.
// Device groups along axes of a mesh are written out as lists.
#include "frontend/hlo/export.h"
#include "ir/mesh_groups.h"

static bool is_mesh(const hlo_node_t* node) {
  return node->op == HLO_OP_sdy_mesh;
}

hlo_status_t hlo_export_mesh_groups(const hlo_exporter_t* ex, const hlo_attr_t* attr,
                                    hlo_wire_array_t* out_groups) {
  uint32_t rows, cols;
  int64_t* ids;
  HLO_TRY(hlo_mesh_groups_read(ex->arena, ex->module, attr, &rows, &cols, &ids));
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
