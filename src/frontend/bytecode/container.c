// SPDX-License-Identifier: Apache-2.0
// Header, sections and tables of a bytecode file.
// source : MLIR "Bytecode Format", Top Level Structure and the sections after it
#include <string.h>

#include "frontend/bytecode/reader.h"
#include "frontend/stablehlo/schema.h"

static const char* const section_names[HLO_BC_SECTION_COUNT] = {"string section",
                                                                "dialect section",
                                                                "attribute and type section",
                                                                "offset section",
                                                                "IR section",
                                                                "resource section",
                                                                "resource offsets",
                                                                "dialect version section",
                                                                "properties section"};

enum { RESOURCE_KIND_COUNT = 3 };

static const hlo_bc_dialect_t* const known_dialects[] = {
    &hlo_bc_dialect_builtin, &hlo_bc_dialect_chlo,      &hlo_bc_dialect_quant,
    &hlo_bc_dialect_sdy,     &hlo_bc_dialect_stablehlo, &hlo_bc_dialect_vhlo,
};

hlo_status_t hlo_bc_scratch(hlo_bc_reader_t* reader, size_t count, size_t item_bytes,
                            void* out_pointer) {
  void* memory = hlo_arena_array(&reader->scratch, count ? count : 1, item_bytes);
  if (!memory) return hlo_arena_status(&reader->scratch);
  *(void**)out_pointer = memory;
  return hlo_ok();
}

// ---- Sections

static hlo_status_t read_section(hlo_bc_cursor_t* c, unsigned* out_id, hlo_bc_cursor_t* out) {
  hlo_bc_cursor_t start = *c;
  uint8_t head;
  uint64_t size;
  HLO_TRY(hlo_bc_byte(c, &head));
  HLO_TRY(hlo_bc_varint(c, &size));
  unsigned id = head & 0x7f;
  if (id >= HLO_BC_SECTION_COUNT) return hlo_bc_error(&start, "section kind %u is unknown", id);
  if (head & 0x80) {
    uint64_t alignment;
    HLO_TRY(hlo_bc_varint(c, &alignment));
    HLO_TRY(hlo_bc_align(c, alignment));
  }
  HLO_TRY(hlo_bc_slice(c, size, out));
  out->where = section_names[id];
  *out_id = id;
  return hlo_ok();
}

static hlo_status_t read_sections(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c) {
  while (!hlo_bc_at_end(c)) {
    hlo_bc_cursor_t start = *c, section;
    unsigned id;
    HLO_TRY(read_section(c, &id, &section));
    if (reader->sections[id].pos) {
      return hlo_bc_error(&start, "a second %s", section_names[id]);
    }
    reader->sections[id] = section;
  }
  static const uint8_t required[] = {HLO_BC_SECTION_STRING, HLO_BC_SECTION_DIALECT,
                                     HLO_BC_SECTION_ATTR_TYPE, HLO_BC_SECTION_ATTR_TYPE_OFFSET,
                                     HLO_BC_SECTION_IR};
  for (size_t i = 0; i < sizeof required; ++i) {
    if (!reader->sections[required[i]].pos) {
      return hlo_bc_error(c, "the file has no %s", section_names[required[i]]);
    }
  }
  return hlo_ok();
}

// ---- Strings

// The lengths are in reverse order, before the text of all strings.
static hlo_status_t read_strings(hlo_bc_reader_t* reader) {
  hlo_bc_cursor_t c = reader->sections[HLO_BC_SECTION_STRING];
  const uint8_t* text_end = c.end;
  HLO_TRY(hlo_bc_count(&c, 2, &reader->string_count));  // a length and the zero at the end
  HLO_TRY(hlo_bc_scratch(reader, reader->string_count, sizeof *reader->strings, &reader->strings));
  for (uint32_t i = reader->string_count; i-- > 0;) {
    hlo_bc_cursor_t start = c;
    uint64_t size;
    HLO_TRY(hlo_bc_varint(&c, &size));
    if (size == 0 || size > (uint64_t)(text_end - c.pos) || size > UINT32_MAX) {
      return hlo_bc_error(&start, "string %u of %llu bytes does not fit in the section", i,
                          (unsigned long long)size);
    }
    text_end -= size;
    if (text_end[size - 1] != 0) {
      return hlo_bc_error(&start, "string %u is not ended by a zero byte", i);
    }
    reader->strings[i] = (hlo_bc_string_t){(const char*)text_end, (uint32_t)size - 1};
  }
  if (c.pos != text_end) return hlo_bc_error(&c, "bytes between string lengths and their text");
  return hlo_ok();
}

hlo_status_t hlo_bc_read_string(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_bc_string_t* out) {
  uint32_t index;
  HLO_TRY(hlo_bc_index(c, reader->string_count, "string", &index));
  *out = reader->strings[index];
  return hlo_ok();
}

static hlo_status_t string_at(hlo_bc_reader_t* reader, const hlo_bc_cursor_t* c, uint64_t index,
                              hlo_bc_string_t* out) {
  if (index >= reader->string_count) {
    return hlo_bc_error(c, "reference to string %llu, but the file has only %u",
                        (unsigned long long)index, reader->string_count);
  }
  *out = reader->strings[index];
  return hlo_ok();
}

// ---- Dialects and op names

static bool string_is(hlo_bc_string_t string, const char* text) {
  return strlen(text) == string.length && memcmp(string.text, text, string.length) == 0;
}

static hlo_status_t read_dialect(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, uint32_t i) {
  uint64_t name = 0;
  bool has_version = false;
  if (reader->version >= HLO_BC_VERSION_DIALECT_VERSIONS) {
    HLO_TRY(hlo_bc_varint_flag(c, &name, &has_version));
  } else {
    HLO_TRY(hlo_bc_varint(c, &name));
  }
  HLO_TRY(string_at(reader, c, name, &reader->dialects[i].name));
  for (size_t k = 0; k < sizeof known_dialects / sizeof known_dialects[0]; ++k) {
    if (string_is(reader->dialects[i].name, known_dialects[k]->name)) {
      reader->dialects[i].hooks = known_dialects[k];
    }
  }
  if (!has_version) return hlo_ok();
  hlo_bc_cursor_t start = *c, version;  // no supported dialect reads its version
  unsigned id;
  HLO_TRY(read_section(c, &id, &version));
  if (id != HLO_BC_SECTION_DIALECT_VERSION) {
    return hlo_bc_error(&start, "expected a dialect version section, found %s", section_names[id]);
  }
  return hlo_ok();
}

static hlo_status_t read_op_name(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, uint32_t dialect) {
  hlo_bc_op_name_t op = {.dialect = dialect, .is_registered = true};
  uint64_t name;
  if (reader->version >= HLO_BC_VERSION_PROPERTIES) {
    HLO_TRY(hlo_bc_varint_flag(c, &name, &op.is_registered));
  } else {
    HLO_TRY(hlo_bc_varint(c, &name));
  }
  HLO_TRY(string_at(reader, c, name, &op.name));
  reader->op_names[reader->op_name_count++] = op;
  return hlo_ok();
}

static hlo_status_t read_dialects(hlo_bc_reader_t* reader) {
  hlo_bc_cursor_t c = reader->sections[HLO_BC_SECTION_DIALECT];
  HLO_TRY(hlo_bc_count(&c, 1, &reader->dialect_count));
  if (reader->dialect_count > UINT16_MAX) {
    return hlo_bc_error(&c, "too many dialects (%u)", reader->dialect_count);
  }
  HLO_TRY(
      hlo_bc_scratch(reader, reader->dialect_count, sizeof *reader->dialects, &reader->dialects));
  for (uint32_t i = 0; i < reader->dialect_count; ++i) HLO_TRY(read_dialect(reader, &c, i));
  if (reader->version >= HLO_BC_VERSION_ELIDED_ARG_LOCS) {
    uint32_t total;  // a hint for allocation, not needed here
    HLO_TRY(hlo_bc_count(&c, 1, &total));
  }
  HLO_TRY(hlo_bc_scratch(reader, hlo_bc_left(&c), sizeof *reader->op_names, &reader->op_names));
  while (!hlo_bc_at_end(&c)) {
    uint32_t dialect, count;
    HLO_TRY(hlo_bc_index(&c, reader->dialect_count, "dialect", &dialect));
    HLO_TRY(hlo_bc_count(&c, 1, &count));
    for (uint32_t i = 0; i < count; ++i) HLO_TRY(read_op_name(reader, &c, dialect));
  }
  return hlo_ok();
}

// ---- Attribute and type entries

static hlo_status_t read_entry_group(hlo_bc_reader_t* reader, hlo_bc_cursor_t* offsets,
                                     hlo_bc_cursor_t* data, hlo_bc_entry_t* entries, uint32_t total,
                                     uint32_t* done) {
  uint32_t dialect, count;
  hlo_bc_cursor_t start = *offsets;
  HLO_TRY(hlo_bc_index(offsets, reader->dialect_count, "dialect", &dialect));
  HLO_TRY(hlo_bc_count(offsets, 1, &count));
  if (count == 0 || count > total - *done) {
    return hlo_bc_error(&start, "a group of %u entries, but only %u are left", count,
                        total - *done);
  }
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t size;
    bool is_custom;
    hlo_bc_cursor_t entry;
    HLO_TRY(hlo_bc_varint_flag(offsets, &size, &is_custom));
    HLO_TRY(hlo_bc_slice(data, size, &entry));
    if (size > UINT32_MAX) return hlo_bc_error(offsets, "an entry of 4 GiB or more");
    entries[(*done)++] = (hlo_bc_entry_t){.data = entry.pos,
                                          .size = (uint32_t)size,
                                          .dialect = (uint16_t)dialect,
                                          .is_custom = is_custom};
  }
  return hlo_ok();
}

static hlo_status_t read_entries(hlo_bc_reader_t* reader) {
  hlo_bc_cursor_t offsets = reader->sections[HLO_BC_SECTION_ATTR_TYPE_OFFSET];
  hlo_bc_cursor_t data = reader->sections[HLO_BC_SECTION_ATTR_TYPE];
  HLO_TRY(hlo_bc_count(&offsets, 1, &reader->attr_count));
  HLO_TRY(hlo_bc_count(&offsets, 1, &reader->type_count));
  HLO_TRY(hlo_bc_scratch(reader, reader->attr_count, sizeof *reader->attrs, &reader->attrs));
  HLO_TRY(hlo_bc_scratch(reader, reader->type_count, sizeof *reader->types, &reader->types));
  for (uint32_t done = 0; done < reader->attr_count;) {
    HLO_TRY(read_entry_group(reader, &offsets, &data, reader->attrs, reader->attr_count, &done));
  }
  for (uint32_t done = 0; done < reader->type_count;) {
    HLO_TRY(read_entry_group(reader, &offsets, &data, reader->types, reader->type_count, &done));
  }
  if (!hlo_bc_at_end(&offsets)) return hlo_bc_error(&offsets, "bytes after the last entry");
  return hlo_ok();
}

// ---- properties: sized ranges, referred to by number

static hlo_status_t read_properties(hlo_bc_reader_t* reader) {
  hlo_bc_cursor_t c = reader->sections[HLO_BC_SECTION_PROPERTIES];
  if (!c.pos || hlo_bc_at_end(&c)) return hlo_ok();
  uint32_t count;
  HLO_TRY(hlo_bc_count(&c, 1, &count));
  HLO_TRY(hlo_bc_scratch(reader, count, sizeof *reader->properties, &reader->properties));
  for (uint32_t i = 0; i < count; ++i) {
    HLO_TRY(hlo_bc_read_blob(reader, &c, &reader->properties[i]));
  }
  reader->properties_count = count;
  if (!hlo_bc_at_end(&c)) return hlo_bc_error(&c, "bytes after the last properties");
  return hlo_ok();
}

// ---- Resources

// Reads the entries of `group`: external ones are skipped, those of dialects are recorded for their
// handles.
static hlo_status_t read_resource_group(hlo_bc_reader_t* reader, hlo_bc_cursor_t* offsets,
                                        hlo_bc_cursor_t* data, bool keep) {
  uint32_t count;
  HLO_TRY(hlo_bc_count(offsets, 3, &count));
  for (uint32_t i = 0; i < count; ++i) {
    hlo_bc_resource_t resource = {0};
    uint64_t size;
    HLO_TRY(hlo_bc_read_string(reader, offsets, &resource.key));
    HLO_TRY(hlo_bc_varint(offsets, &size));
    HLO_TRY(hlo_bc_byte(offsets, &resource.kind));
    if (resource.kind >= RESOURCE_KIND_COUNT) {
      return hlo_bc_error(offsets, "resource kind %u is unknown", resource.kind);
    }
    HLO_TRY(hlo_bc_slice(data, size, &resource.data));
    if (keep) reader->resources[reader->resource_count++] = resource;
  }
  return hlo_ok();
}

static hlo_status_t read_resources(hlo_bc_reader_t* reader) {
  hlo_bc_cursor_t offsets = reader->sections[HLO_BC_SECTION_RESOURCE_OFFSET];
  hlo_bc_cursor_t data = reader->sections[HLO_BC_SECTION_RESOURCE];
  if (!offsets.pos) return hlo_ok();
  if (!data.pos) return hlo_bc_error(&offsets, "resource offsets without a resource section");
  uint32_t external;
  HLO_TRY(hlo_bc_scratch(reader, hlo_bc_left(&offsets) / 3, sizeof *reader->resources,
                         &reader->resources));
  HLO_TRY(hlo_bc_count(&offsets, 2, &external));
  for (uint32_t i = 0; i < external; ++i) {
    hlo_bc_string_t provider;
    HLO_TRY(hlo_bc_read_string(reader, &offsets, &provider));
    HLO_TRY(read_resource_group(reader, &offsets, &data, false));
  }
  while (!hlo_bc_at_end(&offsets)) {
    uint32_t dialect;
    HLO_TRY(hlo_bc_index(&offsets, reader->dialect_count, "dialect", &dialect));
    HLO_TRY(read_resource_group(reader, &offsets, &data, true));
  }
  return hlo_ok();
}

// ---- The file

hlo_status_t hlo_bc_open(hlo_bc_reader_t* reader, const hlo_bc_cursor_t* file) {
  hlo_bc_cursor_t c = *file, magic;
  size_t producer_length;
  HLO_TRY(hlo_bc_slice(&c, 4, &magic));
  if (memcmp(magic.pos, "ML\xefR", 4) != 0) return hlo_bc_error(&magic, "not MLIR bytecode");
  HLO_TRY(hlo_bc_varint(&c, &reader->version));
  HLO_TRY(hlo_bc_text(&c, &reader->producer, &producer_length));
  if (reader->version > HLO_BC_VERSION_NEWEST) {
    return hlo_unimplemented(
        "MLIR bytecode version %llu (made by \"%.64s\") is newer than %d, the newest supported "
        "version",
        (unsigned long long)reader->version, reader->producer, HLO_BC_VERSION_NEWEST);
  }
  reader->stablehlo_version = hlo_stablehlo_version(reader->producer);
  if (reader->stablehlo_version / 1000 > HLO_STABLEHLO_MAJOR) {
    return hlo_unimplemented(
        "the file was made by %.64s, which is newer than StableHLO v%d.%d.0, the newest supported "
        "version",
        reader->producer, HLO_STABLEHLO_MAJOR, HLO_STABLEHLO_MINOR);
  }
  HLO_TRY(read_sections(reader, &c));
  HLO_TRY(read_strings(reader));
  HLO_TRY(read_dialects(reader));
  HLO_TRY(read_entries(reader));
  HLO_TRY(read_properties(reader));
  return read_resources(reader);
}
