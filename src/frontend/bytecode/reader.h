// SPDX-License-Identifier: Apache-2.0
// The reader of MLIR bytecode: the tables of a file and helpers for the decoders of dialects.
//
// A file is a list of sections: strings, dialects with their op names, attributes and types (each
// entry is decoded on first use), properties, resources, and the IR. Each dialect decodes its own
// attributes and types (hlo_bc_dialect_t); the IR section is generic, and op schemas map its ops to
// the op table (schema.h). Scratch tables are in an arena of the reader; results are interned in
// the module.
// source : MLIR "Bytecode Format"; versions 0 to 6
#pragma once

#include "base/mem.h"
#include "frontend/bytecode/cursor.h"
#include "ir/module.h"

/// Encoding versions that changed the reader's work.
enum {
  HLO_BC_VERSION_DIALECT_VERSIONS = 1,
  HLO_BC_VERSION_LAZY_REGIONS = 2,
  HLO_BC_VERSION_USE_LIST_ORDER = 3,
  HLO_BC_VERSION_ELIDED_ARG_LOCS = 4,
  HLO_BC_VERSION_PROPERTIES = 5,
  HLO_BC_VERSION_SEGMENT_SIZES = 6,
  HLO_BC_VERSION_NEWEST = 6,
};

enum hlo_bc_section {
  HLO_BC_SECTION_STRING,
  HLO_BC_SECTION_DIALECT,
  HLO_BC_SECTION_ATTR_TYPE,
  HLO_BC_SECTION_ATTR_TYPE_OFFSET,
  HLO_BC_SECTION_IR,
  HLO_BC_SECTION_RESOURCE,
  HLO_BC_SECTION_RESOURCE_OFFSET,
  HLO_BC_SECTION_DIALECT_VERSION,
  HLO_BC_SECTION_PROPERTIES,
  HLO_BC_SECTION_COUNT,
};

enum {
  HLO_BC_DEPTH_MAX = 400,           // nesting of attributes, types and locations
  HLO_BC_REGION_DEPTH_MAX = 200,    // nesting of regions
  HLO_BC_WEIGHT_MAX = 1 << 20,      // of an entry: see hlo_bc_entry_t
  HLO_BC_TEXT_MAX_BYTES = 1 << 20,  // of an attribute that is carried as text
};

typedef struct hlo_bc_reader hlo_bc_reader_t;

typedef struct hlo_bc_string {
  const char* text;  // zero-terminated in the file
  uint32_t length;
} hlo_bc_string_t;

/// The kinds of entries of the attribute table.
typedef enum hlo_bc_attr_kind {
  HLO_BC_ATTR_PLAIN,     // attr
  HLO_BC_ATTR_LOCATION,  // loc
  HLO_BC_ATTR_BOUNDS,    // attr is INTS: bounds of a tensor type's dynamic dimensions
} hlo_bc_attr_kind_t;

typedef struct hlo_bc_attr {
  hlo_bc_attr_kind_t kind;
  hlo_loc_t loc;
  const hlo_attr_t* attr;
} hlo_bc_attr_t;

/// The kinds of entries of the type table: the IR does not represent element types as types.
typedef enum hlo_bc_type_kind {
  HLO_BC_TYPE_IR,       // type
  HLO_BC_TYPE_ELEMENT,  // dtype, is_index, quant
  HLO_BC_TYPE_FOREIGN,  // text: a type that the IR lacks (tf32, witness ...)
} hlo_bc_type_kind_t;

typedef struct hlo_bc_type {
  hlo_bc_type_kind_t kind;
  hlo_dtype_t dtype;
  bool is_index;
  const hlo_quant_t* quant;
  const hlo_type_t* type;
  const char* text;
} hlo_bc_type_t;

/// Decoders of the attributes and types of a dialect; NULL if it has only textual ones.
typedef struct hlo_bc_dialect {
  const char* name;
  hlo_status_t (*read_attr)(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_bc_attr_t* out);
  hlo_status_t (*read_type)(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_bc_type_t* out);
} hlo_bc_dialect_t;

extern const hlo_bc_dialect_t hlo_bc_dialect_builtin;
extern const hlo_bc_dialect_t hlo_bc_dialect_chlo;
extern const hlo_bc_dialect_t hlo_bc_dialect_quant;
extern const hlo_bc_dialect_t hlo_bc_dialect_sdy;
extern const hlo_bc_dialect_t hlo_bc_dialect_stablehlo;
extern const hlo_bc_dialect_t hlo_bc_dialect_vhlo;

typedef enum hlo_bc_state { HLO_BC_UNREAD, HLO_BC_READING, HLO_BC_READ } hlo_bc_state_t;

/// An attribute or type of the file, decoded on first use into `value`.
typedef struct hlo_bc_entry {
  const uint8_t* data;
  uint32_t size;
  uint16_t dialect;
  uint8_t is_custom;  // encoded by its dialect, else as text
  uint8_t state;
  // The number of entries when expanded to a tree. A small file can share parts to describe a tree
  // of any size, and each walk over it (printing, copying) visits all of them, so the size is
  // bounded.
  uint32_t weight;
  void* value;  // hlo_bc_attr_t or hlo_bc_type_t in scratch
} hlo_bc_entry_t;

struct hlo_bc_op_schema;

typedef struct hlo_bc_op_name {
  uint32_t dialect;
  hlo_bc_string_t name;  // without the dialect
  bool is_registered;    // by the producer: properties then have the op's own encoding
  bool is_bound;
  const struct hlo_bc_op_schema* schema;
} hlo_bc_op_name_t;

typedef struct hlo_bc_resource {
  hlo_bc_string_t key;
  uint8_t kind;  // 0 blob, 1 bool, 2 string
  hlo_bc_cursor_t data;
} hlo_bc_resource_t;

struct hlo_bc_reader {
  hlo_module_t* module;
  hlo_arena_t scratch;
  hlo_literal_keeper_t* keeper;  // of the file's bytes; NULL: literals are copied
  size_t literal_budget;         // bytes that copied literals may still use
  uint64_t version;
  const char* producer;
  uint32_t stablehlo_version;  // of the producer, as 1000 * major + minor; 0 if unknown
  hlo_bc_cursor_t sections[HLO_BC_SECTION_COUNT];
  uint32_t string_count, dialect_count, op_name_count, attr_count, type_count, resource_count,
      properties_count;
  hlo_bc_string_t* strings;
  struct {
    hlo_bc_string_t name;
    const hlo_bc_dialect_t* hooks;
  } * dialects;
  hlo_bc_op_name_t* op_names;
  hlo_bc_entry_t* attrs;
  hlo_bc_entry_t* types;
  hlo_bc_resource_t* resources;
  hlo_bc_cursor_t* properties;
  uint32_t depth;
  uint32_t weight;  // of the entry being decoded, so far
};

/// Reads header and sections of `file` into the tables of a reader whose module and scratch are
/// set.
hlo_status_t hlo_bc_open(hlo_bc_reader_t* reader, const hlo_bc_cursor_t* file) HLO_MUST_USE;
/// Reads the IR section into the module.
hlo_status_t hlo_bc_read_ir(hlo_bc_reader_t* reader) HLO_MUST_USE;

/// Get entries by index (checked), decoded on first use.
hlo_status_t hlo_bc_get_type(hlo_bc_reader_t* reader, const hlo_bc_cursor_t* place, uint64_t index,
                             const hlo_bc_type_t** out) HLO_MUST_USE;

// The following read references, as dialects encode them.
hlo_status_t hlo_bc_read_any(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                             const hlo_bc_attr_t** out) HLO_MUST_USE;
/// Reads an attribute that is not a location.
hlo_status_t hlo_bc_read_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                              const hlo_attr_t** out) HLO_MUST_USE;
/// Reads an attribute; NULL if absent.
hlo_status_t hlo_bc_read_optional_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                       const hlo_attr_t** out) HLO_MUST_USE;
/// Reads an attribute that must have `kind`; `what` names it in the message.
hlo_status_t hlo_bc_read_attr_of(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_attr_kind_t kind,
                                 const char* what, const hlo_attr_t** out) HLO_MUST_USE;
hlo_status_t hlo_bc_read_loc(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                             hlo_loc_t* out) HLO_MUST_USE;
hlo_status_t hlo_bc_read_type(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                              const hlo_bc_type_t** out) HLO_MUST_USE;
/// Reads a type of the IR (tensor, token, ...).
hlo_status_t hlo_bc_read_ir_type(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                 const hlo_type_t** out) HLO_MUST_USE;
/// Reads a list of IR types; the array is in scratch.
hlo_status_t hlo_bc_read_ir_types(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, uint32_t* out_count,
                                  const hlo_type_t*** out) HLO_MUST_USE;
hlo_status_t hlo_bc_read_attrs(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, uint32_t* out_count,
                               const hlo_attr_t*** out) HLO_MUST_USE;
hlo_status_t hlo_bc_read_svarints(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, uint32_t* out_count,
                                  int64_t** out) HLO_MUST_USE;
hlo_status_t hlo_bc_read_string(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                hlo_bc_string_t* out) HLO_MUST_USE;
/// Reads a float of a known format as double.
hlo_status_t hlo_bc_read_float(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, hlo_dtype_t dtype,
                               double* out) HLO_MUST_USE;
/// Reads a count and as many bytes.
hlo_status_t hlo_bc_read_blob(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                              hlo_bc_cursor_t* out) HLO_MUST_USE;

// The following read attributes and types that several dialects encode alike.
//
// Reads a list of attributes.
hlo_status_t hlo_bc_read_array_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                    const hlo_attr_t** out) HLO_MUST_USE;
/// Reads pairs of name (a string attribute) and attribute.
hlo_status_t hlo_bc_read_dict_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                   const hlo_attr_t** out) HLO_MUST_USE;
/// Reads a float type and a value of that type.
hlo_status_t hlo_bc_read_float_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                    const hlo_attr_t** out) HLO_MUST_USE;
/// Reads a tensor type and the bytes of its elements.
hlo_status_t hlo_bc_read_dense_attr(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                    const hlo_attr_t** out) HLO_MUST_USE;
/// Reads the types of inputs and the types of results.
hlo_status_t hlo_bc_read_function_type(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                       hlo_bc_type_t* out) HLO_MUST_USE;
/// Reads the type of the parts of a complex number.
hlo_status_t hlo_bc_read_complex_type(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                      hlo_bc_type_t* out) HLO_MUST_USE;
/// Reads the type of a tensor or buffer; layouts and encodings of buffers are dropped.
hlo_status_t hlo_bc_read_shaped_type(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                     hlo_type_kind_t kind, bool has_encoding, bool has_layout,
                                     hlo_bc_type_t* out) HLO_MUST_USE;
/// Reads the type of a future or tuple.
hlo_status_t hlo_bc_read_group_type(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, bool is_future,
                                    hlo_bc_type_t* out) HLO_MUST_USE;
/// Reads a tensor type of unknown rank, which no value can have.
hlo_status_t hlo_bc_read_unranked_type(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c,
                                       hlo_bc_type_t* out) HLO_MUST_USE;
/// Reads a uniform quantized type with one scale, or one per slice along an axis.
hlo_status_t hlo_bc_read_quantized_type(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, bool per_axis,
                                        hlo_bc_type_t* out) HLO_MUST_USE;

/// Makes a tensor (or, with `kind`, buffer) type from its parts; checks rank, dims and total size.
/// `encoding` (may be NULL) is a bounds entry or an attribute that is carried.
hlo_status_t hlo_bc_make_tensor(hlo_bc_reader_t* reader, const hlo_bc_cursor_t* place,
                                hlo_type_kind_t kind, uint32_t rank, const int64_t* dims,
                                const hlo_bc_type_t* element, const hlo_bc_attr_t* encoding,
                                hlo_bc_type_t* out) HLO_MUST_USE;
/// Makes the attribute for a type: TYPE, or OPAQUE text if the IR lacks the type.
hlo_status_t hlo_bc_make_type_attr(hlo_bc_reader_t* reader, const hlo_bc_type_t* type,
                                   const hlo_attr_t** out) HLO_MUST_USE;
/// Reads the value of an integer of element type `type` as INT or BOOL.
hlo_status_t hlo_bc_make_int_attr(hlo_bc_reader_t* reader, const hlo_bc_type_t* type,
                                  hlo_bc_cursor_t* c, const hlo_attr_t** out) HLO_MUST_USE;
/// Makes a LITERAL attribute of tensor type `type` from raw bytes in MLIR's dense layout; borrows
/// the bytes if they are usable in place.
hlo_status_t hlo_bc_make_literal(hlo_bc_reader_t* reader, const hlo_bc_cursor_t* data,
                                 const hlo_type_t* type, const hlo_attr_t** out) HLO_MUST_USE;

/// A code of a dialect's encoding for the attributes of one enumeration.
typedef struct hlo_bc_enum_code {
  uint8_t code;
  uint8_t kind;  // hlo_enum_kind_t
} hlo_bc_enum_code_t;
/// Reads the case of an enumeration if `code` is in the table, else leaves *out unchanged.
hlo_status_t hlo_bc_read_enum(hlo_bc_reader_t* reader, hlo_bc_cursor_t* c, uint64_t code,
                              const hlo_bc_enum_code_t* table, size_t count,
                              const hlo_attr_t** out) HLO_MUST_USE;

static inline void hlo_bc_set_attr(hlo_bc_attr_t* out, const hlo_attr_t* attr) {
  *out = (hlo_bc_attr_t){.kind = HLO_BC_ATTR_PLAIN, .attr = attr};
}
static inline void hlo_bc_set_type(hlo_bc_type_t* out, const hlo_type_t* type) {
  *out = (hlo_bc_type_t){.kind = HLO_BC_TYPE_IR, .type = type};
}
static inline void hlo_bc_set_foreign_type(hlo_bc_type_t* out, const char* text) {
  *out = (hlo_bc_type_t){.kind = HLO_BC_TYPE_FOREIGN, .text = text};
}
/// Allocates zeroed scratch memory.
hlo_status_t hlo_bc_scratch(hlo_bc_reader_t* reader, size_t count, size_t item_bytes,
                            void* out_pointer) HLO_MUST_USE;
