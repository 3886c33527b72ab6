// SPDX-License-Identifier: Apache-2.0
// Text and protos of GSPMD's shardings (see op_sharding.h).
#include "ir/op_sharding.h"

#include <string.h>

#define HLO_WIRE_MESSAGES "ir/op_sharding.def"
#define HLO_WIRE_STRUCT(message, suffix) hlo_##message##suffix
#include "base/wire_tables.inl"

enum { DEVICES_MAX = 1 << 16 };

// ---- properties

static const int64_t* tile_dims(const hlo_op_sharding_t* s) {
  return s->tile_dims.items;
}

int64_t hlo_op_sharding_device_count(const hlo_op_sharding_t* sharding) {
  int64_t count = 1;
  for (size_t i = 0; i < sharding->tile_dims.count; ++i) count *= tile_dims(sharding)[i];
  return count;
}

static size_t subgroup_count(const hlo_op_sharding_t* s) {
  return s->replicates_last ? 1 : s->subgroups.count;
}

hlo_op_sharding_kind_t hlo_op_sharding_dim_kind(const hlo_op_sharding_t* sharding, size_t i) {
  const size_t data = sharding->tile_dims.count - subgroup_count(sharding);
  if (i < data) return HLO_OP_SHARDING_TILED;
  if (sharding->replicates_last) return HLO_OP_SHARDING_REPLICATED;
  return (hlo_op_sharding_kind_t)((const int32_t*)sharding->subgroups.items)[i - data];
}

// ---- validity and normal form

static hlo_status_t check_tiles(const hlo_op_sharding_t* s) {
  const size_t rank = s->tile_dims.count;
  int64_t count = 1;
  if (rank == 0 || rank > HLO_RANK_MAX)
    return hlo_invalid_argument("sharding: a bad number of tile dimensions");
  for (size_t i = 0; i < rank; ++i) {
    if (tile_dims(s)[i] < 1 || __builtin_mul_overflow(count, tile_dims(s)[i], &count) ||
        count > DEVICES_MAX) {
      return hlo_invalid_argument("sharding: a bad number of tiles");
    }
  }
  if (subgroup_count(s) > rank)
    return hlo_invalid_argument("sharding: more subgroups than dimensions");
  for (size_t i = 0; i < s->subgroups.count; ++i) {
    const int32_t kind = ((const int32_t*)s->subgroups.items)[i];
    if (kind != HLO_OP_SHARDING_REPLICATED && kind != HLO_OP_SHARDING_MANUAL &&
        kind != HLO_OP_SHARDING_UNREDUCED) {
      return hlo_invalid_argument("sharding: a bad kind of a subgroup");
    }
  }
  return hlo_ok();
}

static hlo_status_t check_devices(const hlo_op_sharding_t* s, hlo_arena_t* arena) {
  const int64_t count = hlo_op_sharding_device_count(s);
  const int64_t* devices = s->devices.items;
  if (s->devices.count != (size_t)count) {
    return hlo_invalid_argument("sharding: %zu devices for %lld tiles", s->devices.count,
                                (long long)count);
  }
  bool* is_used = hlo_arena_array(arena, (size_t)count, sizeof *is_used);
  if (!is_used) return hlo_arena_status(arena);
  for (int64_t i = 0; i < count; ++i) {
    if (devices[i] < 0 || devices[i] >= count || is_used[devices[i]]) {
      return hlo_invalid_argument("sharding: expected each of %lld devices once", (long long)count);
    }
    is_used[devices[i]] = true;
  }
  return hlo_ok();
}

static hlo_status_t check_iota(const hlo_op_sharding_t* s) {
  const int64_t* dims = s->iota_dims.items;
  const int32_t* perm = s->iota_perm.items;
  const size_t rank = s->iota_dims.count;
  int64_t count = 1;
  uint64_t seen = 0;
  bool is_valid = rank > 0 && rank <= HLO_RANK_MAX && s->iota_perm.count == rank;
  for (size_t i = 0; is_valid && i < rank; ++i) {
    is_valid = dims[i] > 0 && !__builtin_mul_overflow(count, dims[i], &count) && perm[i] >= 0 &&
               (size_t)perm[i] < rank && !(seen >> perm[i] & 1);
    if (is_valid) seen |= 1ull << perm[i];
  }
  return is_valid && count == hlo_op_sharding_device_count(s)
             ? hlo_ok()
             : hlo_invalid_argument("sharding: a bad order of devices");
}

void hlo_op_sharding_merge_iota(hlo_op_sharding_t* s) {
  int64_t* dims = s->iota_dims.items;
  int32_t* perm = s->iota_perm.items;
  int32_t
      order[HLO_RANK_MAX];  // old dimensions that begin a new one, by position after the transpose
  int64_t sizes[HLO_RANK_MAX];
  size_t count = 0;
  int32_t last = -1;  // dropped dimensions are neighbours of any
  for (size_t i = 0; i < s->iota_dims.count; ++i) {
    if (dims[perm[i]] == 1) continue;
    int32_t next = last + 1;
    while (last >= 0 && (size_t)next < s->iota_dims.count && dims[next] == 1) ++next;
    if (last >= 0 && perm[i] == next) {
      sizes[count - 1] *= dims[perm[i]];
    } else {
      order[count] = perm[i];
      sizes[count++] = dims[perm[i]];
    }
    last = perm[i];
  }
  if (count == 0) {
    order[0] = 0;
    sizes[count++] = 1;
  }
  for (size_t i = 0; i < count; ++i) {
    int32_t place = 0;
    for (size_t j = 0; j < count; ++j) place += order[j] < order[i];
    perm[i] = place;
  }
  for (size_t i = 0; i < count; ++i) dims[perm[i]] = sizes[i];
  s->iota_dims.count = s->iota_perm.count = count;
}

// Copies are described in one way: by replicates_last, or, if nothing is divided, REPLICATED.
static void simplify_copies(hlo_op_sharding_t* s) {
  if (s->subgroups.count == 1 &&
      ((const int32_t*)s->subgroups.items)[0] == HLO_OP_SHARDING_REPLICATED) {
    s->replicates_last = true;
  }
  if (s->replicates_last) s->subgroups = (hlo_wire_array_t){0};
  if (!s->replicates_last) return;
  const size_t last = s->tile_dims.count - 1;
  const int64_t copies = tile_dims(s)[last];
  if (copies == 1 && last > 0) {
    s->tile_dims.count = last;
    s->replicates_last = false;
  } else if (hlo_op_sharding_device_count(s) == copies) {
    const hlo_op_sharding_t fields = *s;
    *s = (hlo_op_sharding_t){.kind = HLO_OP_SHARDING_REPLICATED,
                             .is_grouped = fields.is_grouped,
                             .group = fields.group,
                             .is_group_hint = fields.is_group_hint};
  }
}

static hlo_status_t normalise(hlo_op_sharding_t* s, hlo_arena_t* arena) {
  switch ((hlo_op_sharding_kind_t)s->kind) {
    case HLO_OP_SHARDING_REPLICATED:
    case HLO_OP_SHARDING_MANUAL:
    case HLO_OP_SHARDING_UNKNOWN:
    case HLO_OP_SHARDING_UNREDUCED: return hlo_ok();
    case HLO_OP_SHARDING_TUPLE: {
      hlo_op_sharding_t* elements = s->elements.items;
      for (size_t i = 0; i < s->elements.count; ++i) {
        if (elements[i].kind == HLO_OP_SHARDING_TUPLE) {
          return hlo_invalid_argument("sharding: a tuple in a tuple");
        }
        HLO_TRY(normalise(&elements[i], arena));
      }
      return hlo_ok();
    }
    case HLO_OP_SHARDING_MAXIMAL:
      return s->devices.count == 1 && *(const int64_t*)s->devices.items >= 0
                 ? hlo_ok()
                 : hlo_invalid_argument("sharding: a maximal one is on one device");
    case HLO_OP_SHARDING_TILED: break;
    default: return hlo_invalid_argument("sharding: unknown kind %d", s->kind);
  }
  HLO_TRY(check_tiles(s));
  if (s->devices.count || !s->iota_dims.count) {
    HLO_TRY(check_devices(s, arena));
  } else {
    HLO_TRY(check_iota(s));
    hlo_op_sharding_merge_iota(s);
  }
  simplify_copies(s);
  return hlo_ok();
}

// ---- text

typedef struct reader {
  const char *start, *at, *end;
  hlo_arena_t* arena;
} reader_t;

static hlo_status_t fault(const reader_t* r, const char* expected) {
  const int length = r->end - r->start < 200 ? (int)(r->end - r->start) : 200;
  return hlo_invalid_argument("sharding %.*s: expected %s at position %d", length, r->start,
                              expected, (int)(r->at - r->start));
}

static void skip_spaces(reader_t* r) {
  while (r->at < r->end && *r->at == ' ') ++r->at;
}

static bool take(reader_t* r, const char* text) {
  const size_t length = strlen(text);
  skip_spaces(r);
  if ((size_t)(r->end - r->at) < length || memcmp(r->at, text, length) != 0) return false;
  r->at += length;
  return true;
}

static hlo_status_t expect(reader_t* r, const char* text) {
  return take(r, text) ? hlo_ok() : fault(r, text);
}

static bool is_at_number(reader_t* r) {
  skip_spaces(r);
  return r->at < r->end && *r->at >= '0' && *r->at <= '9';
}

static hlo_status_t read_number(reader_t* r, int64_t* out) {
  if (!is_at_number(r)) return fault(r, "a number");
  int64_t value = 0;
  while (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
    value = 10 * value + (*r->at++ - '0');
    if (value > INT32_MAX) return fault(r, "a smaller number");
  }
  *out = value;
  return hlo_ok();
}

// 1,2,3
static hlo_status_t read_numbers(reader_t* r, hlo_wire_array_t* out) {
  int64_t* items = NULL;
  uint32_t count = 0, capacity = 0;
  do {
    if (!HLO_ARENA_GROW(r->arena, items, count, capacity)) return hlo_arena_status(r->arena);
    HLO_TRY(read_number(r, &items[count++]));
  } while (take(r, ","));
  *out = (hlo_wire_array_t){items, count};
  return hlo_ok();
}

static hlo_status_t set_perm(reader_t* r, const hlo_wire_array_t* numbers, hlo_op_sharding_t* s) {
  const size_t count = numbers ? numbers->count : s->iota_dims.count;
  int32_t* perm = hlo_arena_array(r->arena, count, sizeof *perm);
  if (!perm) return hlo_arena_status(r->arena);
  for (size_t i = 0; i < count; ++i) {
    perm[i] = numbers ? (int32_t)((const int64_t*)numbers->items)[i] : (int32_t)i;
  }
  s->iota_perm = (hlo_wire_array_t){perm, count};
  return hlo_ok();
}

// devices=[2,4]<=[4,2]T(1,0), or devices=[2,2]0,1,2,3
static hlo_status_t read_tiles(reader_t* r, hlo_op_sharding_t* s) {
  s->kind = HLO_OP_SHARDING_TILED;
  HLO_TRY(expect(r, "["));
  HLO_TRY(read_numbers(r, &s->tile_dims));
  HLO_TRY(expect(r, "]"));
  if (!take(r, "<=")) return read_numbers(r, &s->devices);
  HLO_TRY(expect(r, "["));
  HLO_TRY(read_numbers(r, &s->iota_dims));
  HLO_TRY(expect(r, "]"));
  if (!take(r, "T")) return set_perm(r, NULL, s);
  hlo_wire_array_t perm;
  HLO_TRY(expect(r, "("));
  HLO_TRY(read_numbers(r, &perm));
  HLO_TRY(expect(r, ")"));
  return set_perm(r, &perm, s);
}

// The words of text; kinds without one are not written so.
static const char* const kWords[] = {
    [HLO_OP_SHARDING_REPLICATED] = "replicated",
    [HLO_OP_SHARDING_MANUAL] = "manual",
    [HLO_OP_SHARDING_UNKNOWN] = "unknown",
    [HLO_OP_SHARDING_UNREDUCED] = "unreduced",
};
enum { WORD_COUNT = sizeof kWords / sizeof *kWords };

static bool take_kind(reader_t* r, int32_t* out_kind) {
  for (int32_t i = 0; i < WORD_COUNT; ++i) {
    if (!kWords[i] || !take(r, kWords[i])) continue;
    *out_kind = i;
    return true;
  }
  return false;
}

// {manual, replicated}
static hlo_status_t read_subgroups(reader_t* r, hlo_op_sharding_t* s) {
  int32_t* items = NULL;
  uint32_t count = 0, capacity = 0;
  HLO_TRY(expect(r, "{"));
  while (!take(r, "}")) {
    if (count) HLO_TRY(expect(r, ","));
    if (!HLO_ARENA_GROW(r->arena, items, count, capacity)) return hlo_arena_status(r->arena);
    if (!take_kind(r, &items[count++])) return fault(r, "a kind of a subgroup");
  }
  s->subgroups = (hlo_wire_array_t){items, count};
  return hlo_ok();
}

// Skips {op_name="..."}, or a list of such.
static hlo_status_t skip_metadata(reader_t* r) {
  int depth = 0;
  bool is_quoted = false;
  skip_spaces(r);
  if (r->at == r->end || *r->at != '{') return fault(r, "{");
  do {
    if (r->at == r->end) return fault(r, "}");
    const char c = *r->at++;
    if (is_quoted) {
      if (c == '\\' && r->at < r->end) ++r->at;
      is_quoted = c != '"';
    } else {
      is_quoted = c == '"';
      depth += (c == '{') - (c == '}');
    }
  } while (depth);
  return hlo_ok();
}

static hlo_status_t read_group(reader_t* r, bool is_hint, hlo_op_sharding_t* s) {
  s->is_grouped = true;
  s->is_group_hint = is_hint;
  return read_number(r, &s->group);
}

// ---- text that refers to the axes of a mesh

// Reads the name of an axis, perhaps in quotes.
static hlo_status_t read_name(reader_t* r, hlo_wire_bytes_t* out) {
  skip_spaces(r);
  const char* start = r->at;
  while (r->at < r->end && !strchr("=,:{}[] ", *r->at)) ++r->at;
  *out = (hlo_wire_bytes_t){(const uint8_t*)start, (size_t)(r->at - start)};
  return out->size ? hlo_ok() : fault(r, "the name of an axis");
}

// x or x:(2)4
static hlo_status_t read_ref(reader_t* r, const hlo_named_mesh_t* mesh, hlo_named_ref_t* out) {
  const hlo_named_axis_t* axes = mesh->axes.items;
  hlo_wire_bytes_t name;
  HLO_TRY(read_name(r, &name));
  *out = (hlo_named_ref_t){0};
  while ((size_t)out->axis < mesh->axes.count &&
         (axes[out->axis].name.size != name.size ||
          memcmp(axes[out->axis].name.data, name.data, name.size) != 0)) {
    ++out->axis;
  }
  if ((size_t)out->axis == mesh->axes.count) return fault(r, "an axis of the mesh");
  if (!take(r, ":")) return hlo_ok();
  hlo_named_part_t* part = hlo_arena_alloc_zeroed(r->arena, sizeof *part);
  if (!part) return hlo_arena_status(r->arena);
  out->part = part;
  HLO_TRY(expect(r, "("));
  HLO_TRY(read_number(r, &part->pre_size));
  HLO_TRY(expect(r, ")"));
  return read_number(r, &part->size);
}

// {x, y:(1)2}; the last item may be ? if is_closed is not NULL.
static hlo_status_t read_refs(reader_t* r, const hlo_named_mesh_t* mesh, bool* is_closed,
                              hlo_wire_array_t* out) {
  hlo_named_ref_t* items = NULL;
  uint32_t count = 0, capacity = 0;
  HLO_TRY(expect(r, "{"));
  for (bool is_first = true; !take(r, "}"); is_first = false) {
    if (!is_first) HLO_TRY(expect(r, ","));
    if (is_closed && take(r, "?")) {
      *is_closed = false;
      HLO_TRY(expect(r, "}"));
      break;
    }
    if (!HLO_ARENA_GROW(r->arena, items, count, capacity)) return hlo_arena_status(r->arena);
    HLO_TRY(read_ref(r, mesh, &items[count++]));
  }
  *out = (hlo_wire_array_t){items, count};
  return hlo_ok();
}

// [{x}, {y, ?}]
static hlo_status_t read_dims(reader_t* r, hlo_named_sharding_t* named) {
  hlo_named_dim_t* items = NULL;
  uint32_t count = 0, capacity = 0;
  while (!take(r, "]")) {
    if (count) HLO_TRY(expect(r, ","));
    if (!HLO_ARENA_GROW(r->arena, items, count, capacity)) return hlo_arena_status(r->arena);
    items[count] = (hlo_named_dim_t){.is_closed = true};
    HLO_TRY(read_refs(r, named->mesh, &items[count].is_closed, &items[count].axes));
    ++count;
  }
  named->dims = (hlo_wire_array_t){items, count};
  return hlo_ok();
}

// ([4,2]T(1,0)) or (0,2,1,3)
static hlo_status_t read_mesh_devices(reader_t* r, hlo_named_mesh_t* mesh) {
  HLO_TRY(expect(r, "("));
  if (!take(r, "[")) {
    HLO_TRY(read_numbers(r, &mesh->device_ids));
    return expect(r, ")");
  }
  hlo_named_iota_t* iota = hlo_arena_alloc_zeroed(r->arena, sizeof *iota);
  if (!iota) return hlo_arena_status(r->arena);
  HLO_TRY(read_numbers(r, &iota->dims));
  HLO_TRY(expect(r, "]"));
  if (take(r, "T(")) {
    HLO_TRY(read_numbers(r, &iota->perm));
    HLO_TRY(expect(r, ")"));
    mesh->iota = iota;
  }
  return expect(r, ")");
}

// x=2,y=4], device_ids=(...)
static hlo_status_t read_mesh(reader_t* r, hlo_named_mesh_t* mesh) {
  hlo_named_axis_t* items = NULL;
  uint32_t count = 0, capacity = 0;
  do {
    if (!HLO_ARENA_GROW(r->arena, items, count, capacity)) return hlo_arena_status(r->arena);
    HLO_TRY(read_name(r, &items[count].name));
    HLO_TRY(expect(r, "="));
    HLO_TRY(read_number(r, &items[count++].size));
  } while (take(r, ","));
  mesh->axes = (hlo_wire_array_t){items, count};
  HLO_TRY(expect(r, "]"));
  return take(r, ", device_ids=") ? read_mesh_devices(r, mesh) : hlo_ok();
}

// x=2,y=4], [{x}, {}], replicated={y}, up to the brace. Axes that must stay free are not stated in
// tiles.
static hlo_status_t read_named(reader_t* r, hlo_op_sharding_t* s) {
  hlo_named_mesh_t* mesh = hlo_arena_alloc_zeroed(r->arena, sizeof *mesh);
  hlo_named_sharding_t* named = hlo_arena_alloc_zeroed(r->arena, sizeof *named);
  if (!mesh || !named) return hlo_arena_status(r->arena);
  named->mesh = mesh;
  HLO_TRY(read_mesh(r, mesh));
  bool is_stated = false;
  for (; take(r, ","); is_stated = true) {
    if (take(r, "[")) {
      HLO_TRY(read_dims(r, named));
      s->named = named;
    } else if (take(r, "replicated=")) {
      HLO_TRY(read_refs(r, mesh, NULL, &named->replicated));
    } else if (take(r, "unreduced=")) {
      HLO_TRY(read_refs(r, mesh, NULL, &named->unreduced));
    } else if (take(r, "manual=")) {
      HLO_TRY(read_refs(r, mesh, NULL, &named->manual));
    } else if (take(r, "metadata=")) {
      HLO_TRY(skip_metadata(r));
    } else if (!take_kind(r, &s->kind)) {
      return fault(r, "a part of a sharding");
    }
  }
  return is_stated ? hlo_ok() : fault(r, "dimensions");
}

// ---- text of all shardings

// The parts of a sharding that is no tuple, after its brace.
static hlo_status_t read_fields(reader_t* r, hlo_op_sharding_t* s) {
  bool has_kind = false;
  while (!take(r, "}")) {
    if (!has_kind && take_kind(r, &s->kind)) {
      has_kind = true;
    } else if (!has_kind && (take(r, "maximal device=") || take(r, "device="))) {
      has_kind = true;
      s->kind = HLO_OP_SHARDING_MAXIMAL;
      HLO_TRY(read_numbers(r, &s->devices));
    } else if (!has_kind && take(r, "maximal_mesh[device_id=")) {
      has_kind = true;
      s->kind = HLO_OP_SHARDING_MAXIMAL;
      HLO_TRY(read_numbers(r, &s->devices));
      HLO_TRY(expect(r, "]"));
      take(r, ",");
    } else if (!has_kind && take(r, "mesh[")) {
      has_kind = true;
      HLO_TRY(read_named(r, s));
    } else if (!has_kind && take(r, "devices=")) {
      has_kind = true;
      HLO_TRY(read_tiles(r, s));
    } else if (take(r, "last_tile_dim_replicate")) {
      s->replicates_last = true;
    } else if (take(r, "last_tile_dims=")) {
      HLO_TRY(read_subgroups(r, s));
    } else if (take(r, "metadata=")) {
      HLO_TRY(skip_metadata(r));
    } else if (take(r, "shard_as ")) {
      HLO_TRY(read_group(r, false, s));
    } else if (take(r, "shard_like ")) {
      HLO_TRY(read_group(r, true, s));
    } else {
      return fault(r, "a part of a sharding");
    }
  }
  return has_kind ? hlo_ok() : fault(r, "devices");
}

static hlo_status_t read_tuple(reader_t* r, hlo_op_sharding_t* s) {
  hlo_op_sharding_t* items = NULL;
  uint32_t count = 0, capacity = 0;
  s->kind = HLO_OP_SHARDING_TUPLE;
  while (!take(r, "}")) {
    if (count) HLO_TRY(expect(r, ","));
    while (take(r, "/")) {  // an index: /*index=5*/
      const char* close = memchr(r->at, '/', (size_t)(r->end - r->at));
      if (!close) return fault(r, "the end of the comment");
      r->at = close + 1;
    }
    HLO_TRY(expect(r, "{"));
    if (!HLO_ARENA_GROW(r->arena, items, count, capacity)) return hlo_arena_status(r->arena);
    items[count] = (hlo_op_sharding_t){0};
    HLO_TRY(read_fields(r, &items[count++]));
  }
  s->elements = (hlo_wire_array_t){items, count};
  return hlo_ok();
}

// Replaces shardings over axes of a mesh by tiles.
static hlo_status_t replace_named(hlo_op_sharding_t* s, hlo_arena_t* arena);

hlo_status_t hlo_op_sharding_parse(const char* text, size_t length, hlo_arena_t* arena,
                                   hlo_op_sharding_t* out) {
  reader_t r = {text, text, text + length, arena};
  hlo_op_sharding_t s = {0};
  HLO_TRY(expect(&r, "{"));
  skip_spaces(&r);
  const bool is_tuple = r.at < r.end && (*r.at == '{' || *r.at == '}' || *r.at == '/');
  HLO_TRY(is_tuple ? read_tuple(&r, &s) : read_fields(&r, &s));
  skip_spaces(&r);
  if (r.at != r.end) return fault(&r, "the end");
  HLO_TRY(replace_named(&s, arena));
  HLO_TRY(normalise(&s, arena));
  *out = s;
  return hlo_ok();
}

static void put_numbers(hlo_strbuf_t* out, const hlo_wire_array_t* numbers) {
  const int64_t* items = numbers->items;
  for (size_t i = 0; i < numbers->count; ++i) {
    hlo_strbuf_printf(out, i ? ",%lld" : "%lld", (long long)items[i]);
  }
}

static void put_tiles(hlo_strbuf_t* out, const hlo_op_sharding_t* s) {
  hlo_strbuf_puts(out, "devices=[");
  put_numbers(out, &s->tile_dims);
  hlo_strbuf_putc(out, ']');
  if (s->devices.count) {
    put_numbers(out, &s->devices);
  } else {
    hlo_strbuf_puts(out, "<=[");
    put_numbers(out, &s->iota_dims);
    hlo_strbuf_putc(out, ']');
    const int32_t* perm = s->iota_perm.items;
    for (size_t i = 0; s->iota_dims.count > 1 && i < s->iota_dims.count; ++i) {
      hlo_strbuf_printf(out, i ? ",%d" : "T(%d", perm[i]);
    }
    if (s->iota_dims.count > 1) hlo_strbuf_putc(out, ')');
  }
  if (s->replicates_last) hlo_strbuf_puts(out, " last_tile_dim_replicate");
  const int32_t* kinds = s->subgroups.items;
  for (size_t i = 0; i < s->subgroups.count; ++i) {
    hlo_strbuf_puts(out, i ? ", " : " last_tile_dims={");
    hlo_strbuf_puts(out, kWords[kinds[i]]);
  }
  if (s->subgroups.count) hlo_strbuf_putc(out, '}');
}

void hlo_op_sharding_print(const hlo_op_sharding_t* sharding, hlo_strbuf_t* out) {
  hlo_strbuf_putc(out, '{');
  if (sharding->kind == HLO_OP_SHARDING_TUPLE) {
    const hlo_op_sharding_t* elements = sharding->elements.items;
    for (size_t i = 0; i < sharding->elements.count; ++i) {
      if (i) hlo_strbuf_puts(out, ", ");
      hlo_op_sharding_print(&elements[i], out);
    }
  } else if (sharding->kind == HLO_OP_SHARDING_TILED) {
    put_tiles(out, sharding);
  } else if (sharding->kind == HLO_OP_SHARDING_MAXIMAL) {
    hlo_strbuf_puts(out, "maximal device=");
    put_numbers(out, &sharding->devices);
  } else {
    hlo_strbuf_puts(out, kWords[sharding->kind]);
  }
  if (sharding->is_grouped) {
    hlo_strbuf_printf(out, " %s %lld", sharding->is_group_hint ? "shard_like" : "shard_as",
                      (long long)sharding->group);
  }
  hlo_strbuf_putc(out, '}');
}

// ---- protos that refer to the axes of a mesh

static hlo_status_t convert_refs(const hlo_mesh_t* mesh, const hlo_wire_array_t* refs,
                                 hlo_arena_t* arena, hlo_axis_refs_t* out) {
  const hlo_named_ref_t* from = refs->items;
  hlo_axis_ref_t* to = hlo_arena_array(arena, refs->count, sizeof *to);
  if (!to) return hlo_arena_status(arena);
  for (size_t i = 0; i < refs->count; ++i) {
    if (from[i].axis < 0 || from[i].axis >= mesh->axis_count) {
      return hlo_invalid_argument("sharding: the mesh has no axis %lld", (long long)from[i].axis);
    }
    const int64_t size = mesh->axes[from[i].axis].size;
    to[i] = (hlo_axis_ref_t){(uint32_t)from[i].axis, 1, size};
    if (!from[i].part) continue;
    to[i].pre_size = from[i].part->pre_size;
    to[i].size = from[i].part->size;
    if (to[i].pre_size < 1 || to[i].size < 1 || size % to[i].pre_size ||
        size / to[i].pre_size % to[i].size) {
      return hlo_invalid_argument("sharding: a part that does not divide its axis");
    }
  }
  *out = (hlo_axis_refs_t){(uint32_t)refs->count, to};
  return hlo_ok();
}

// Lists the devices of a mesh that are a transposed iota.
static hlo_status_t convert_mesh_iota(const hlo_named_iota_t* iota, hlo_arena_t* arena,
                                      hlo_mesh_t* mesh) {
  reader_t r = {.arena = arena};
  hlo_op_sharding_t tiles = {.kind = HLO_OP_SHARDING_TILED,
                             .tile_dims = {&mesh->device_count, 1},
                             .iota_dims = iota->dims};
  HLO_TRY(set_perm(&r, &iota->perm, &tiles));
  HLO_TRY(check_iota(&tiles));
  return hlo_op_sharding_devices(&tiles, arena, &mesh->device_ids);
}

static hlo_status_t convert_mesh(const hlo_named_mesh_t* from, hlo_arena_t* arena,
                                 hlo_mesh_t* out) {
  const hlo_named_axis_t* axes = from->axes.items;
  hlo_mesh_axis_t* to = hlo_arena_array(arena, from->axes.count, sizeof *to);
  if (!to) return hlo_arena_status(arena);
  *out = (hlo_mesh_t){.axis_count = (uint32_t)from->axes.count, .axes = to, .device_count = 1};
  for (size_t i = 0; i < from->axes.count; ++i) {
    to[i].size = axes[i].size;
    if (axes[i].size < 1 ||
        __builtin_mul_overflow(out->device_count, axes[i].size, &out->device_count) ||
        out->device_count > DEVICES_MAX) {
      return hlo_invalid_argument("sharding: a bad size of an axis");
    }
  }
  if (from->iota) return convert_mesh_iota(from->iota, arena, out);
  if (from->device_ids.count == 0) return hlo_ok();
  const bool fits = from->device_ids.count == (size_t)out->device_count;
  out->device_ids = from->device_ids.items;
  return fits ? hlo_ok() : hlo_invalid_argument("sharding: a bad number of devices of the mesh");
}

// Returns true if a part of an axis is in two lists, or twice in one. Few parts of more than one
// device fit in a mesh before two of them overlap, so that the work is about linear.
static bool are_refs_repeated(const hlo_axis_refs_t* lists, uint32_t count) {
  for (uint32_t l = 0; l < count; ++l) {
    for (uint32_t i = 0; i < lists[l].count; ++i) {
      const hlo_axis_ref_t a = lists[l].refs[i];
      if (a.size == 1) continue;
      for (uint32_t m = l; m < count; ++m) {
        for (uint32_t k = m == l ? i + 1 : 0; k < lists[m].count; ++k) {
          const hlo_axis_ref_t b = lists[m].refs[k];
          if (a.axis == b.axis && a.pre_size < b.pre_size * b.size &&
              b.pre_size < a.pre_size * a.size) {
            return true;
          }
        }
      }
    }
  }
  return false;
}

static hlo_status_t convert_named(const hlo_named_sharding_t* named, hlo_arena_t* arena,
                                  hlo_op_sharding_t* out) {
  static const hlo_named_mesh_t none = {0};
  hlo_mesh_t mesh;
  HLO_TRY(convert_mesh(named->mesh ? named->mesh : &none, arena, &mesh));
  const hlo_named_dim_t* from = named->dims.items;
  if (named->dims.count > HLO_RANK_MAX)
    return hlo_invalid_argument("sharding: too many dimensions");
  hlo_dim_sharding_t dims[HLO_RANK_MAX];
  hlo_sharding_t s = {.mesh = &mesh, .rank = (uint32_t)named->dims.count, .dims = dims};
  for (uint32_t d = 0; d < s.rank; ++d) {
    dims[d] = (hlo_dim_sharding_t){.is_open = !from[d].is_closed, .priority = -1};
    HLO_TRY(convert_refs(&mesh, &from[d].axes, arena, &dims[d].axes));
  }
  hlo_axis_refs_t manual;
  HLO_TRY(convert_refs(&mesh, &named->unreduced, arena, &s.unreduced));
  HLO_TRY(convert_refs(&mesh, &named->manual, arena, &manual));
  hlo_axis_refs_t lists[HLO_RANK_MAX + 2];
  for (uint32_t d = 0; d < s.rank; ++d) lists[d] = dims[d].axes;
  lists[s.rank] = s.unreduced;
  lists[s.rank + 1] = manual;
  if (are_refs_repeated(lists, s.rank + 2)) {
    return hlo_invalid_argument("sharding: an axis is used twice");
  }
  return hlo_op_sharding_from_sharding(&s, &manual, arena, out);
}

static hlo_status_t replace_named(hlo_op_sharding_t* s, hlo_arena_t* arena) {
  hlo_op_sharding_t* elements = s->elements.items;
  for (size_t i = 0; i < s->elements.count; ++i) HLO_TRY(replace_named(&elements[i], arena));
  return s->named ? convert_named(s->named, arena, s) : hlo_ok();
}

hlo_status_t hlo_op_sharding_decode(const void* bytes, size_t size_bytes, hlo_arena_t* arena,
                                    hlo_op_sharding_t* out) {
  hlo_op_sharding_t s;
  HLO_TRY(hlo_wire_decode(&hlo_op_sharding_table, bytes, size_bytes, arena, &s));
  HLO_TRY(replace_named(&s, arena));
  HLO_TRY(normalise(&s, arena));
  *out = s;
  return hlo_ok();
}

void hlo_op_sharding_encode(const hlo_op_sharding_t* sharding, hlo_strbuf_t* out) {
  hlo_wire_encode(&hlo_op_sharding_table, sharding, out);
}
