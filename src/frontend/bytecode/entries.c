// SPDX-License-Identifier: Apache-2.0
// Attributes and types of a bytecode file, decoded on first use, and the helpers for decoders.
#include <string.h>

#include "frontend/bytecode/reader.h"
#include "ir/parse.h"

// ---- Entries

static hlo_bc_cursor_t entry_cursor(const hlo_bc_reader_t* reader, const hlo_bc_entry_t* entry) {
  const hlo_bc_cursor_t* section = &reader->sections[HLO_BC_SECTION_ATTR_TYPE];
  return (hlo_bc_cursor_t){section->file, entry->data, entry->data + entry->size, section->where};
}

// Parses "#chlo<precision HIGH>" and "#stablehlo<precision HIGH>"; returns NULL for other text.
static const hlo_attr_t* enum_of_text(hlo_module_t* module, const char* text, size_t length) {
  const char* open = memchr(text, '<', length);
  const char* space = open ? memchr(open, ' ', length - (size_t)(open - text)) : NULL;
  if (!space || text[0] != '#' || text[length - 1] != '>') return NULL;
  const char *name = open + 1, *value = space + 1;
  for (int kind = 0; kind < HLO_ENUM_KIND_COUNT; ++kind) {
    const char* mnemonic = hlo_enum_mnemonic((hlo_enum_kind_t)kind);
    if (strlen(mnemonic) != (size_t)(space - name) ||
        memcmp(mnemonic, name, (size_t)(space - name)) != 0) {
      continue;
    }
    int64_t number =
        hlo_enum_case_value((hlo_enum_kind_t)kind, value, length - 1 - (size_t)(value - text));
    return number < 0 ? NULL : hlo_attr_enum(module, (hlo_enum_kind_t)kind, number);
  }
  return NULL;
}

// Text that cannot be parsed is carried unchanged; the module reports exhausted memory.
static hlo_status_t read_text_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                   hlo_bc_attr_t* out) {
  const char* text;
  size_t length;
  HLO_TRY(hlo_bc_text(c, &text, &length));
  const hlo_attr_t* attr = enum_of_text(reader->module, text, length);
  if (!attr && !hlo_status_take_ok(hlo_parse_attr(reader->module, text, length, &attr))) {
    HLO_TRY(hlo_module_status(reader->module));
    attr = hlo_attr_opaque(reader->module, text, length);
  }
  hlo_bc_set_attr(out, attr);
  return hlo_ok();
}

// Parses an element type as the elements of a tensor type.
static bool parse_element_type(hlo_bc_reader_t* reader, const char* text, size_t length,
                               hlo_bc_type_t* out) {
  char* tensor = hlo_arena_printf(&reader->scratch, "tensor<%.*s>", (int)length, text);
  const hlo_type_t* type;
  if (!tensor ||
      !hlo_status_take_ok(hlo_parse_type(reader->module, tensor, strlen(tensor), &type)) ||
      type->kind != HLO_TYPE_TENSOR || type->rank != 0 || type->encoding) {
    return false;
  }
  *out = (hlo_bc_type_t){.kind = HLO_BC_TYPE_ELEMENT,
                         .dtype = type->dtype,
                         .is_index = type->is_index,
                         .quant = type->quant};
  return true;
}

static hlo_status_t read_text_type(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                   hlo_bc_type_t* out) {
  const char* text;
  size_t length;
  HLO_TRY(hlo_bc_text(c, &text, &length));
  if (length > HLO_BC_TEXT_MAX_BYTES)
    return hlo_bc_error(c, "a type of %zu characters is too long", length);
  if (parse_element_type(reader, text, length, out)) return hlo_ok();
  const hlo_type_t* type;
  if (hlo_status_take_ok(hlo_parse_type(reader->module, text, length, &type))) {
    hlo_bc_set_type(out, type);
    return hlo_ok();
  }
  HLO_TRY(hlo_module_status(reader->module));
  *out = (hlo_bc_type_t){.kind = HLO_BC_TYPE_FOREIGN,
                         .text = hlo_module_string(reader->module, text, length)};
  return hlo_ok();
}

static hlo_status_t decode_entry(hlo_bc_reader_t* reader, hlo_bc_entry_t* entry, bool is_type) {
  hlo_bc_cursor_t c = entry_cursor(reader, entry);
  const hlo_bc_dialect_t* hooks = reader->dialects[entry->dialect].hooks;
  size_t bytes = is_type ? sizeof(hlo_bc_type_t) : sizeof(hlo_bc_attr_t);
  HLO_TRY(hlo_bc_scratch(reader, 1, bytes, &entry->value));
  if (!entry->is_custom) {
    HLO_TRY(is_type ? read_text_type(reader, &c, entry->value)
                    : read_text_attr(reader, &c, entry->value));
  } else if (!hooks || (is_type ? !hooks->read_type : !hooks->read_attr)) {
    return hlo_unimplemented("byte %zu (%s): %s of dialect '%.64s', whose encoding is unknown",
                             (size_t)(c.pos - c.file), c.where, is_type ? "a type" : "an attribute",
                             reader->dialects[entry->dialect].name.text);
  } else {
    HLO_TRY(is_type ? hooks->read_type(reader, &c, entry->value)
                    : hooks->read_attr(reader, &c, entry->value));
  }
  if (!hlo_bc_at_end(&c)) return hlo_bc_error(&c, "bytes after the end of an entry");
  return hlo_module_status(reader->module);
}

// Counts an entry as part of the one being decoded (or of an op, which has no bound).
static hlo_status_t add_weight(hlo_bc_reader_t* reader, const hlo_bc_cursor_t* place,
                               uint32_t weight) {
  reader->weight += weight;  // both are at most HLO_BC_WEIGHT_MAX
  if (reader->depth == 0) reader->weight = 0;
  if (reader->weight <= HLO_BC_WEIGHT_MAX) return hlo_ok();
  reader->weight = HLO_BC_WEIGHT_MAX;
  return hlo_bc_error(place, "an attribute or type with more than %d parts", HLO_BC_WEIGHT_MAX);
}

static hlo_status_t get_entry(hlo_bc_reader_t* reader, const hlo_bc_cursor_t* place,
                              hlo_bc_entry_t* entries, uint32_t count, uint64_t index, bool is_type,
                              void** out) {
  const char* what = is_type ? "type" : "attribute";
  if (index >= count) {
    return hlo_bc_error(place, "reference to %s %llu, but the file has only %u", what,
                        (unsigned long long)index, count);
  }
  hlo_bc_entry_t* entry = &entries[index];
  if (entry->state == HLO_BC_READ) {
    *out = entry->value;
    return add_weight(reader, place, entry->weight);
  }
  if (entry->state == HLO_BC_READING) {
    return hlo_bc_error(place, "%s %llu contains itself", what, (unsigned long long)index);
  }
  if (reader->depth >= HLO_BC_DEPTH_MAX) {
    return hlo_bc_error(place, "attributes and types are nested deeper than %d", HLO_BC_DEPTH_MAX);
  }
  uint32_t outer_weight = reader->weight;
  entry->state = HLO_BC_READING;
  reader->weight = 1;
  ++reader->depth;
  hlo_status_t status = decode_entry(reader, entry, is_type);
  --reader->depth;
  entry->weight = reader->weight;
  reader->weight = outer_weight;
  if (!hlo_status_is_ok(status)) return status;
  entry->state = HLO_BC_READ;
  *out = entry->value;
  return add_weight(reader, place, entry->weight);
}

// Gets an entry by its index, which is checked, and decodes it on first use.
static hlo_status_t get_attr(hlo_bc_reader_t* reader, const hlo_bc_cursor_t* place, uint64_t index,
                             const hlo_bc_attr_t** out) {
  void* value;
  HLO_TRY(get_entry(reader, place, reader->attrs, reader->attr_count, index, false, &value));
  *out = value;
  return hlo_ok();
}

hlo_status_t hlo_bc_get_type(hlo_bc_reader_t* reader, const hlo_bc_cursor_t* place, uint64_t index,
                             const hlo_bc_type_t** out) {
  void* value;
  HLO_TRY(get_entry(reader, place, reader->types, reader->type_count, index, true, &value));
  *out = value;
  return hlo_ok();
}

// ---- References to entries

hlo_status_t hlo_bc_read_any(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                             const hlo_bc_attr_t** out) {
  uint64_t index;
  HLO_TRY(hlo_bc_varint(c, &index));
  return get_attr(reader, c, index, out);
}

static hlo_status_t plain_attr(const hlo_bc_cursor_t* c, const hlo_bc_attr_t* any,
                               const hlo_attr_t** out) {
  if (any->kind != HLO_BC_ATTR_PLAIN) {
    return hlo_bc_error(c, "expected an attribute, found a location or encoding");
  }
  *out = any->attr;
  return hlo_ok();
}

hlo_status_t hlo_bc_read_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, const hlo_attr_t** out) {
  const hlo_bc_attr_t* any;
  HLO_TRY(hlo_bc_read_any(reader, c, &any));
  return plain_attr(c, any, out);
}

hlo_status_t hlo_bc_read_optional_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                       const hlo_attr_t** out) {
  uint64_t index;
  bool present;
  HLO_TRY(hlo_bc_varint_flag(c, &index, &present));
  *out = NULL;
  if (!present) return hlo_ok();
  const hlo_bc_attr_t* any;
  HLO_TRY(get_attr(reader, c, index, &any));
  return plain_attr(c, any, out);
}

hlo_status_t hlo_bc_read_attr_of(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_attr_kind_t kind,
                                 const char* what, const hlo_attr_t** out) {
  HLO_TRY(hlo_bc_read_attr(reader, c, out));
  if ((*out)->kind != kind) return hlo_bc_error(c, "the %s does not have the expected kind", what);
  return hlo_ok();
}

hlo_status_t hlo_bc_read_loc(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_loc_t* out) {
  const hlo_bc_attr_t* any;
  HLO_TRY(hlo_bc_read_any(reader, c, &any));
  // Locations of dialects that are carried as text become unknown.
  bool is_opaque = any->kind == HLO_BC_ATTR_PLAIN && any->attr->kind == HLO_ATTR_KIND_OPAQUE;
  if (any->kind != HLO_BC_ATTR_LOCATION && !is_opaque) {
    return hlo_bc_error(c, "expected a location, found an attribute");
  }
  *out = is_opaque ? 0 : any->loc;
  return hlo_ok();
}

hlo_status_t hlo_bc_read_type(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                              const hlo_bc_type_t** out) {
  uint64_t index;
  HLO_TRY(hlo_bc_varint(c, &index));
  return hlo_bc_get_type(reader, c, index, out);
}

hlo_status_t hlo_bc_read_ir_type(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                 const hlo_type_t** out) {
  const hlo_bc_type_t* type;
  HLO_TRY(hlo_bc_read_type(reader, c, &type));
  if (type->kind == HLO_BC_TYPE_IR) {
    *out = type->type;
    return hlo_ok();
  }
  return hlo_unimplemented(
      "byte %zu (%s): values of type %s are not supported", (size_t)(c->pos - c->file), c->where,
      type->kind == HLO_BC_TYPE_FOREIGN ? type->text : hlo_dtype_info(type->dtype)->mlir_name);
}

// ---- Lists

hlo_status_t hlo_bc_read_ir_types(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, uint32_t* out_count,
                                  const hlo_type_t*** out) {
  HLO_TRY(hlo_bc_count(c, 1, out_count));
  HLO_TRY(hlo_bc_scratch(reader, *out_count, sizeof **out, out));
  for (uint32_t i = 0; i < *out_count; ++i) HLO_TRY(hlo_bc_read_ir_type(reader, c, &(*out)[i]));
  return hlo_ok();
}

hlo_status_t hlo_bc_read_attrs(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, uint32_t* out_count,
                               const hlo_attr_t*** out) {
  HLO_TRY(hlo_bc_count(c, 1, out_count));
  HLO_TRY(hlo_bc_scratch(reader, *out_count, sizeof **out, out));
  for (uint32_t i = 0; i < *out_count; ++i) HLO_TRY(hlo_bc_read_attr(reader, c, &(*out)[i]));
  return hlo_ok();
}

hlo_status_t hlo_bc_read_svarints(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, uint32_t* out_count,
                                  int64_t** out) {
  HLO_TRY(hlo_bc_count(c, 1, out_count));
  HLO_TRY(hlo_bc_scratch(reader, *out_count, sizeof **out, out));
  for (uint32_t i = 0; i < *out_count; ++i) HLO_TRY(hlo_bc_svarint(c, &(*out)[i]));
  return hlo_ok();
}

// ---- Numbers and bytes

// Reads an integer of a known width (at most 64), sign-extended.
static hlo_status_t read_int(HLO_UNUSED hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, unsigned bits,
                             int64_t* out) {
  if (bits == 0 || bits > 64) return hlo_bc_error(c, "integers of %u bits are not supported", bits);
  if (bits > 8) return hlo_bc_svarint(c, out);
  uint8_t byte;
  HLO_TRY(hlo_bc_byte(c, &byte));
  unsigned shift = 64 - bits;
  *out = (int64_t)((uint64_t)byte << shift) >> shift;
  return hlo_ok();
}

hlo_status_t hlo_bc_read_float(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_dtype_t dtype,
                               double* out) {
  int64_t bits;
  HLO_TRY(read_int(reader, c, hlo_dtype_info(dtype)->bits, &bits));
  // Little-endian: the low bytes of `bits` are the element; sub-byte floats use the low bits.
  unsigned width = hlo_dtype_info(dtype)->bits;
  uint64_t element = (uint64_t)bits & (width < 64 ? ((uint64_t)1 << width) - 1 : UINT64_MAX);
  *out = hlo_dtype_load_double(dtype, &element);
  return hlo_ok();
}

hlo_status_t hlo_bc_read_blob(HLO_UNUSED hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                              hlo_bc_cursor_t* out) {
  uint64_t size;
  HLO_TRY(hlo_bc_varint(c, &size));
  return hlo_bc_slice(c, size, out);
}

// ---- Types from parts

hlo_status_t hlo_bc_make_tensor(hlo_bc_reader_t* reader, const hlo_bc_cursor_t* place,
                                hlo_type_kind_t kind, uint32_t rank, const int64_t* dims,
                                const hlo_bc_type_t* element, const hlo_bc_attr_t* encoding,
                                hlo_bc_type_t* out) {
  if (element->kind != HLO_BC_TYPE_ELEMENT) {
    return hlo_bc_error(place, "a tensor's elements cannot have this type");
  }
  if (rank > HLO_RANK_MAX) {
    return hlo_bc_error(place, "a tensor of rank %u exceeds the limit of %d", rank, HLO_RANK_MAX);
  }
  int64_t known[HLO_RANK_MAX];
  for (uint32_t i = 0; i < rank; ++i) {
    if (dims[i] < 0 && dims[i] != HLO_DIM_DYNAMIC) {
      return hlo_bc_error(place, "a tensor with dimension %lld", (long long)dims[i]);
    }
    known[i] = dims[i] == HLO_DIM_DYNAMIC ? 1 : dims[i];
  }
  int64_t count, bytes;
  if (!hlo_dims_element_count(rank, known, &count) ||
      __builtin_mul_overflow(count, (int64_t)hlo_dtype_size_bytes(element->dtype), &bytes)) {
    return hlo_bc_error(place, "a tensor with more bytes than the address space");
  }
  hlo_type_t fields = {.kind = kind,
                       .dtype = element->dtype,
                       .is_index = element->is_index,
                       .rank = rank,
                       .dims = dims,
                       .quant = element->quant};
  if (encoding && encoding->kind == HLO_BC_ATTR_BOUNDS) {
    if (encoding->attr->count != rank) {
      return hlo_bc_error(place, "%u bounds for a tensor of rank %u", encoding->attr->count, rank);
    }
    fields.bounds = encoding->attr->values;
  } else if (encoding && encoding->kind == HLO_BC_ATTR_PLAIN) {
    fields.encoding = encoding->attr;
  }
  hlo_bc_set_type(out, hlo_type_intern(reader->module, &fields));
  return hlo_module_status(reader->module);
}

hlo_status_t hlo_bc_make_type_attr(hlo_bc_reader_t* reader, const hlo_bc_type_t* type,
                                   const hlo_attr_t** out) {
  hlo_module_t* module = reader->module;
  if (type->kind == HLO_BC_TYPE_IR) {
    *out = hlo_attr_type(module, type->type);
  } else if (type->kind == HLO_BC_TYPE_ELEMENT) {  // no value has this type: store it as text
    const char* name = type->is_index ? "index" : hlo_dtype_info(type->dtype)->mlir_name;
    *out = hlo_attr_opaque(module, name, strlen(name));
  } else {
    *out = hlo_attr_opaque(module, type->text, strlen(type->text));
  }
  return hlo_module_status(module);
}

hlo_status_t hlo_bc_make_int_attr(hlo_bc_reader_t* reader, const hlo_bc_type_t* type,
                                  hlo_bc_cursor_t* c, const hlo_attr_t** out) {
  const hlo_dtype_info_t* info = hlo_dtype_info(type->dtype);
  if (type->kind != HLO_BC_TYPE_ELEMENT ||
      (!hlo_dtype_is_integer(type->dtype) && info->klass != HLO_DTYPE_CLASS_BOOL)) {
    return hlo_bc_error(c, "an integer attribute whose type is not an integer type");
  }
  int64_t value;
  HLO_TRY(read_int(reader, c, info->bits, &value));
  if (info->klass == HLO_DTYPE_CLASS_BOOL) {
    *out = hlo_attr_bool(reader->module, value != 0);
  } else if (type->is_index) {
    hlo_attr_t fields = {
        .kind = HLO_ATTR_KIND_INT, .dtype = type->dtype, .is_index = true, .i = value};
    *out = hlo_attr_intern(reader->module, &fields);
  } else {
    if (hlo_dtype_is_unsigned(type->dtype) && info->bits < 64) {
      value &= (int64_t)(((uint64_t)1 << info->bits) - 1);
    }
    *out = hlo_attr_int(reader->module, type->dtype, value);
  }
  return hlo_module_status(reader->module);
}

hlo_status_t hlo_bc_read_enum(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, uint64_t code,
                              const hlo_bc_enum_code_t* table, size_t count,
                              const hlo_attr_t** out) {
  for (size_t i = 0; i < count; ++i) {
    if (table[i].code != code) continue;
    hlo_enum_kind_t kind = (hlo_enum_kind_t)table[i].kind;
    uint64_t value;
    HLO_TRY(hlo_bc_varint(c, &value));
    if (value > INT32_MAX || !hlo_enum_case_name(kind, (int64_t)value)) {
      return hlo_bc_error(c, "%llu is not a case of %s", (unsigned long long)value,
                          hlo_enum_mnemonic(kind));
    }
    *out = hlo_attr_enum(reader->module, kind, (int64_t)value);
    return hlo_module_status(reader->module);
  }
  return hlo_ok();
}
