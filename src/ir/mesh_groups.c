// SPDX-License-Identifier: Apache-2.0
// Groups of devices along axes of a mesh (see mesh_groups.h; StableHLO spec, "Collective ops").
#include "ir/mesh_groups.h"

#include <stdlib.h>
#include <string.h>

static hlo_status_t malformed(void) {
  return hlo_invalid_argument("the list of devices is malformed");
}

bool hlo_device_iota_is_valid(hlo_device_iota_t* iota) {
  uint64_t seen = 0;
  if (!hlo_dims_element_count(iota->rank, iota->dims, &iota->count)) return false;
  for (uint32_t i = 0; i < iota->rank; ++i) {
    int64_t dim = iota->perm[i];
    if (dim < 0 || dim >= iota->rank || (seen >> dim & 1)) return false;
    seen |= 1ull << dim;
  }
  return iota->count <= HLO_DEVICES_MAX;
}

hlo_status_t hlo_device_iota_ids(hlo_arena_t* arena, const hlo_device_iota_t* iota,
                                 int64_t** out_ids) {
  int64_t strides[HLO_RANK_MAX], index[HLO_RANK_MAX] = {0};
  int64_t stride = 1;
  for (uint32_t d = iota->rank; d-- > 0;) {
    strides[d] = stride;
    stride *= iota->dims[d];
  }
  int64_t* ids = hlo_arena_array(arena, (size_t)iota->count, sizeof *ids);
  if (!ids) return hlo_arena_status(arena);
  for (int64_t e = 0; e < iota->count; ++e) {
    for (uint32_t d = 0; d < iota->rank; ++d) ids[e] += index[d] * strides[iota->perm[d]];
    for (uint32_t d = iota->rank; d-- > 0;) {
      if (++index[d] < iota->dims[iota->perm[d]]) break;
      index[d] = 0;
    }
  }
  *out_ids = ids;
  return hlo_ok();
}

// ---- groups -------------------------------------------------------------------------------------

// A part of an axis that the groups use as a whole or not at all; `start` is the product of the
// earlier parts of the same axis.
typedef struct axis_part {
  int64_t axis, start, size;
  bool is_grouped;
} axis_part_t;

typedef struct axis_parts {
  axis_part_t items[HLO_RANK_MAX];
  uint32_t count;
} axis_parts_t;

// Finds the part of its axis that a reference names: from the product `*out_start` to `*out_end`.
static bool ref_range(const hlo_mesh_groups_t* groups, const hlo_mesh_axis_ref_t* ref,
                      int64_t* out_start, int64_t* out_end) {
  if (ref->axis < 0 || ref->axis >= groups->axis_count) return false;
  const int64_t size = groups->axis_sizes[ref->axis];
  *out_start = ref->size ? ref->pre_size : 1;
  *out_end = size;
  if (ref->size &&
      (*out_start < 1 || ref->size < 1 || __builtin_mul_overflow(*out_start, ref->size, out_end))) {
    return false;
  }
  return *out_end <= size;
}

// Splits an axis wherever a reference to it starts or ends.
static bool cut_axis(const hlo_mesh_groups_t* groups, int64_t axis, axis_parts_t* parts) {
  const int64_t size = groups->axis_sizes[axis];
  if (size < 1) return false;
  for (int64_t at = 1, next; at < size; at = next) {
    next = size;
    for (uint32_t i = 0; i < groups->ref_count; ++i) {
      int64_t cuts[2];
      const hlo_mesh_axis_ref_t* ref = &groups->refs[i];
      if (ref->axis != axis || !ref_range(groups, ref, &cuts[0], &cuts[1])) continue;
      for (int k = 0; k < 2; ++k) {
        if (cuts[k] > at && cuts[k] < next) next = cuts[k];
      }
    }
    if (next % at != 0 || parts->count == HLO_RANK_MAX) return false;
    parts->items[parts->count++] = (axis_part_t){axis, at, next / at, false};
  }
  return true;
}

// Marks the parts that a reference names and appends them to the order.
static bool order_grouped(const hlo_mesh_groups_t* groups, const hlo_mesh_axis_ref_t* ref,
                          axis_parts_t* parts, hlo_device_iota_t* iota, int64_t* devices) {
  int64_t start, end;
  if (!ref_range(groups, ref, &start, &end)) return false;
  for (uint32_t k = 0; k < parts->count; ++k) {
    axis_part_t* part = &parts->items[k];
    if (part->axis != ref->axis || part->start < start || part->start >= end) continue;
    if (part->is_grouped) return false;
    part->is_grouped = true;
    iota->perm[iota->rank++] = k;
    *devices *= part->size;
  }
  return true;
}

// Orders the parts of groups after those outside of groups.
static bool order_parts(const hlo_mesh_groups_t* groups, axis_parts_t* parts,
                        hlo_device_iota_t* iota, int64_t* out_devices) {
  hlo_device_iota_t grouped = {.rank = 0};
  const uint32_t rounds = groups->is_in_mesh_order ? groups->axis_count : 1;
  *out_devices = 1;
  for (uint32_t axis = 0; axis < rounds; ++axis) {
    for (uint32_t i = 0; i < groups->ref_count; ++i) {
      const hlo_mesh_axis_ref_t* ref = &groups->refs[i];
      if (groups->is_in_mesh_order && ref->axis != axis) continue;
      if (!order_grouped(groups, ref, parts, &grouped, out_devices)) return false;
    }
  }
  iota->rank = 0;
  for (uint32_t k = 0; k < parts->count; ++k) {
    iota->dims[k] = parts->items[k].size;
    if (!parts->items[k].is_grouped) iota->perm[iota->rank++] = k;
  }
  for (uint32_t k = 0; k < grouped.rank; ++k) iota->perm[iota->rank++] = grouped.perm[k];
  return hlo_device_iota_is_valid(iota);
}

hlo_status_t hlo_mesh_groups_list(hlo_arena_t* arena, const hlo_mesh_groups_t* groups,
                                  uint32_t* out_rows, uint32_t* out_cols, int64_t** out_ids) {
  axis_parts_t parts = {.count = 0};
  hlo_device_iota_t iota;
  int64_t size = 1, cols, *ids;
  if (groups->ref_count > HLO_RANK_MAX) return malformed();
  for (uint32_t i = 0; i < groups->ref_count; ++i) {
    int64_t start, end;
    if (!ref_range(groups, &groups->refs[i], &start, &end)) return malformed();
  }
  for (uint32_t i = 0; i < groups->axis_count; ++i) {
    if (__builtin_mul_overflow(size, groups->axis_sizes[i], &size) || size > HLO_DEVICES_MAX ||
        !cut_axis(groups, i, &parts)) {
      return malformed();
    }
  }
  if (!order_parts(groups, &parts, &iota, &cols)) return malformed();
  if (groups->device_count && groups->device_count != (uint64_t)iota.count) return malformed();
  HLO_TRY(hlo_device_iota_ids(arena, &iota, &ids));
  for (int64_t e = 0; groups->device_count && e < iota.count; ++e) {
    ids[e] = groups->devices[ids[e]];
  }
  *out_rows = (uint32_t)(iota.count / cols);
  *out_cols = (uint32_t)cols;
  *out_ids = ids;
  return hlo_ok();
}

// ---- the text of StableHLO ----------------------------------------------------------------------

typedef struct axis_name {
  const char* text;
  size_t length;
} axis_name_t;

// A mesh with room for the numbers of its text.
typedef struct mesh {
  uint32_t axis_count;
  axis_name_t names[HLO_RANK_MAX];
  int64_t sizes[HLO_RANK_MAX];
  size_t device_count;
  int64_t* devices;
} mesh_t;

// Finds the next quoted "name" before `end` and sets *p to what follows; returns false at the end.
static bool next_quoted(const char** p, const char* end, axis_name_t* out_name) {
  const char* open = strchr(*p, '"');
  const char* close = open ? strchr(open + 1, '"') : NULL;
  if (!close || close >= end) return false;
  *out_name = (axis_name_t){open + 1, (size_t)(close - open) - 1};
  *p = close + 1;
  return true;
}

// Reads the number that follows blanks and `c` at *p.
static bool number_after(const char** p, char c, int64_t* out_number) {
  const char* at = *p + strspn(*p, " ,");
  if (*at != c) return false;
  char* end;
  *out_number = strtoll(at + 1, &end, 10);
  if (end == at + 1) return false;
  *p = end;
  return true;
}

// Reads device_ids=[1, 0] or device_ids = dense<[1, 0]> : tensor<2xi64>.
static bool read_devices(const char* text, const char* end, hlo_arena_t* arena, mesh_t* mesh) {
  const char* at = strstr(text, "device_ids");
  if (!at || at >= end) return true;
  at = strchr(at, '[');
  if (!at || at >= end) return false;
  mesh->devices = hlo_arena_array(arena, (size_t)(end - at), sizeof *mesh->devices);
  if (!mesh->devices) return false;
  for (++at; at < end && *at != ']';) {
    char* next;
    mesh->devices[mesh->device_count++] = strtoll(at, &next, 10);
    if (next == at) return false;
    at = next + strspn(next, ", ");
  }
  return true;
}

// Reads "x"=4, "y"=2 of Shardy, or name = "x", size = 4 of StableHLO, each axis in < >.
static bool read_mesh(const char* text, const char* end, hlo_arena_t* arena, mesh_t* mesh) {
  static const char kSize[] = "size";
  axis_name_t name;
  for (const char* at = text; next_quoted(&at, end, &name);) {
    if (mesh->axis_count == HLO_RANK_MAX) return false;
    const char* after = at + strspn(at, " ,");
    if (strncmp(after, kSize, sizeof kSize - 1) == 0) at = after + sizeof kSize - 1;
    if (!number_after(&at, '=', &mesh->sizes[mesh->axis_count])) return false;
    mesh->names[mesh->axis_count++] = name;
  }
  return read_devices(text, end, arena, mesh);
}

static const hlo_attr_t* find_mesh(const hlo_module_t* module, const char* name, size_t length) {
  for (const hlo_node_t* node = module->top ? module->top->first : NULL; node; node = node->next) {
    const char* own =
        node->op == HLO_OP_sdy_mesh ? hlo_node_attr_text(node, HLO_ATTR_sym_name) : NULL;
    if (own && strlen(own) == length && memcmp(own, name, length) == 0) {
      return hlo_node_attr(node, HLO_ATTR_mesh);
    }
  }
  return NULL;
}

// Reads the mesh between `text` and `axes`: a symbol of the module, or written out.
static bool find_and_read_mesh(const hlo_module_t* module, const char* text, const char* axes,
                               hlo_arena_t* arena, mesh_t* mesh) {
  const char* name = strchr(text, '@');
  if (!name || name >= axes) return read_mesh(text, axes, arena, mesh);
  const bool is_quoted = *++name == '"';
  name += is_quoted;
  const hlo_attr_t* attr = find_mesh(module, name, strcspn(name, is_quoted ? "\"" : ", >"));
  if (!attr || attr->kind != HLO_ATTR_KIND_OPAQUE) return false;
  return read_mesh(attr->text, attr->text + attr->text_length, arena, mesh);
}

// The part of an axis in one of the forms (1)2, <(1)2> and <pre_size = 1, size = 2> before `end`.
static bool read_part(const char* text, const char* end, hlo_mesh_axis_ref_t* ref) {
  const char* open = strchr(text, '(');
  const char* pre_size = strstr(text, "pre_size");
  if (open && open < end)
    return number_after(&open, '(', &ref->pre_size) && *open == ')' &&
           (ref->size = strtoll(open + 1, NULL, 10)) > 0;
  const char* size = pre_size && pre_size < end ? strstr(pre_size, ", size") : NULL;
  if (!size || size >= end) return true;
  pre_size += strlen("pre_size");
  size += strlen(", size");
  return number_after(&pre_size, '=', &ref->pre_size) && number_after(&size, '=', &ref->size) &&
         ref->size > 0;
}

static bool read_refs(const char* text, const mesh_t* mesh, hlo_mesh_axis_ref_t* refs,
                      uint32_t* out_count) {
  const char* end = text + strlen(text);
  axis_name_t name;
  while (next_quoted(&text, end, &name)) {
    uint32_t axis = 0;
    while (axis < mesh->axis_count &&
           (mesh->names[axis].length != name.length ||
            memcmp(mesh->names[axis].text, name.text, name.length) != 0)) {
      ++axis;
    }
    if (axis == mesh->axis_count || *out_count == HLO_RANK_MAX) return false;
    const char* next = strchr(text, '"');
    hlo_mesh_axis_ref_t* ref = &refs[(*out_count)++];
    *ref = (hlo_mesh_axis_ref_t){.axis = axis};
    if (!read_part(text, next ? next : end, ref)) return false;
  }
  return true;
}

hlo_status_t hlo_mesh_groups_read(hlo_arena_t* arena, const hlo_module_t* module,
                                  const hlo_attr_t* attr, uint32_t* out_rows, uint32_t* out_cols,
                                  int64_t** out_ids) {
  const bool is_mesh =
      attr->kind == HLO_ATTR_KIND_OPAQUE && strstr(attr->text, "replica_group_mesh_axes");
  // The last list of axes: a mesh that is written out has one too.
  const char *axes = NULL, *next = is_mesh ? attr->text : NULL;
  while (next && (next = strstr(next, "axes"))) {
    const char* open = next + strlen("axes");
    open += strspn(open, " =");
    if (*open == '[') axes = next;
    next = open;
  }
  mesh_t mesh = {.axis_count = 0};
  hlo_mesh_axis_ref_t refs[HLO_RANK_MAX];
  hlo_mesh_groups_t groups = {.refs = refs, .axis_sizes = mesh.sizes};
  if (!axes || !find_and_read_mesh(module, attr->text, axes, arena, &mesh) ||
      !read_refs(axes, &mesh, refs, &groups.ref_count)) {
    HLO_TRY(hlo_arena_status(arena));
    return hlo_invalid_argument(
        "replica_groups: %s is malformed, or its mesh or an axis is "
        "unknown",
        is_mesh ? attr->text : "the attribute");
  }
  groups.axis_count = mesh.axis_count;
  groups.device_count = mesh.device_count;
  groups.devices = mesh.devices;
  return hlo_mesh_groups_list(arena, &groups, out_rows, out_cols, out_ids);
}
