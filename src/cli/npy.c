// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files (see value.h). A header in Python syntax: {'descr': '<f4', 'fortran_order':
// False, 'shape': (2, 3), }.
// source: NumPy Enhancement Proposal 1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "cli/value.h"

static const char kMagic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

typedef struct npy {
  hlo_dtype_t dtype;
  bool column_major;
  uint32_t rank;
  int64_t dims[HLO_RANK_MAX];
  size_t data_at;
} npy_t;

// Returns "<f4" for types of NumPy itself, "<V2" for those of ml_dtypes.
static void type_text(hlo_dtype_t dtype, char out[8]) {
  size_t width = hlo_dtype_size_bytes(dtype);
  const hlo_dtype_info_t* info = hlo_dtype_info(dtype);
  bool native = info->bits == 8 * width && dtype != HLO_DTYPE_BF16 &&
                !(info->klass == HLO_DTYPE_CLASS_FLOAT && info->bits == 8);
  static const char kLetters[] = {[HLO_DTYPE_CLASS_NONE] = 'V',   [HLO_DTYPE_CLASS_BOOL] = 'b',
                                  [HLO_DTYPE_CLASS_SIGNED] = 'i', [HLO_DTYPE_CLASS_UNSIGNED] = 'u',
                                  [HLO_DTYPE_CLASS_FLOAT] = 'f',  [HLO_DTYPE_CLASS_COMPLEX] = 'c'};
  char letter = native || dtype == HLO_DTYPE_PRED ? kLetters[info->klass] : 'V';
  snprintf(out, 8, "%c%c%u", width == 1 ? '|' : '<', letter, (unsigned)width);
}

static bool find_dtype(const char* text, size_t length, hlo_dtype_t wanted, hlo_dtype_t* out) {
  char known[8];
  type_text(wanted, known);
  if (strlen(known) == length && memcmp(text, known, length) == 0) {
    *out = wanted;
    return true;
  }
  for (int i = 0; i < HLO_DTYPE_COUNT; ++i) {
    type_text((hlo_dtype_t)i, known);
    if (known[1] != 'V' && strlen(known) == length && memcmp(text, known, length) == 0) {
      *out = (hlo_dtype_t)i;
      return true;
    }
  }
  return false;
}

// Returns the text after `'key':` in the header, or NULL.
static const char* find_key(const char* header, const char* key) {
  const char* at = strstr(header, key);
  if (!at) return NULL;
  at += strlen(key);
  return at + strspn(at, ": ");
}

static const char* parse_header(const char* header, hlo_dtype_t wanted, npy_t* npy) {
  const char* descr = find_key(header, "'descr'");
  const char* order = find_key(header, "'fortran_order'");
  const char* shape = find_key(header, "'shape'");
  if (!descr || *descr != '\'' || !order || !shape || *shape != '(')
    return "the header is malformed";
  const char* end = strchr(descr + 1, '\'');
  if (!end || !find_dtype(descr + 1, (size_t)(end - descr - 1), wanted, &npy->dtype)) {
    return "the element type is unknown (void elements need a type before the file: "
           "4xbf16=@file.npy)";
  }
  npy->column_major = strncmp(order, "True", 4) == 0;
  npy->rank = 0;
  const char* at = shape + 1;
  for (;;) {
    at += strspn(at, ", ");
    if (*at == ')') return NULL;
    char* stop;
    long long dim = strtoll(at, &stop, 10);
    if (stop == at || dim < 0 || npy->rank == HLO_RANK_MAX) return "the shape is malformed";
    npy->dims[npy->rank++] = dim;
    at = stop;
  }
}

static const char* parse_npy(const uint8_t* bytes, size_t size, hlo_dtype_t wanted, npy_t* npy) {
  if (size < 12 || memcmp(bytes, kMagic, sizeof kMagic) != 0) return "not a NumPy file";
  size_t length = bytes[8] | (size_t)bytes[9] << 8;
  size_t start = 10;
  if (bytes[6] >= 2) {
    length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    start = 12;
  }
  if (length > size - start) return "the file ends within the header";
  char* header = hlo_mem_strndup((const char*)bytes + start, length);
  if (!header) return "out of memory";
  const char* fault = parse_header(header, wanted, npy);
  hlo_mem_free(header);
  npy->data_at = start + length;
  return fault;
}

// Copies column-major elements: the first index varies fastest in the file.
static void copy_column_major(const uint8_t* data, hlo_tensor_t* tensor) {
  size_t width = hlo_dtype_size_bytes(tensor->dtype);
  uint8_t* out = tensor->data;
  int64_t index[HLO_RANK_MAX] = {0};
  if (tensor->element_count == 0) return;
  do {
    int64_t place = 0;
    for (uint32_t d = tensor->rank; d-- > 0;) place = place * tensor->dims[d] + index[d];
    memcpy(out, data + place * (int64_t)width, width);
    out += width;
  } while (hlo_index_next(tensor->rank, tensor->dims, index));
}

static hlo_status_t make_tensor(const char* path, const npy_t* npy, const uint8_t* data,
                                size_t size, hlo_tensor_t** out_tensor) {
  int64_t count;
  size_t wanted;
  if (!hlo_dims_element_count(npy->rank, npy->dims, &count) ||
      !hlo_size_mul((size_t)count, hlo_dtype_size_bytes(npy->dtype), &wanted) || wanted != size) {
    return hlo_invalid_argument("%s: the size of the data does not match the shape", path);
  }
  hlo_tensor_t* tensor;
  HLO_TRY(hlo_tensor_create(npy->dtype, npy->rank, npy->dims, &tensor));
  if (npy->column_major) {
    copy_column_major(data, tensor);
  } else if (size) {
    memcpy(tensor->data, data, size);
  }
  *out_tensor = tensor;
  return hlo_ok();
}

hlo_status_t hlo_npy_read(const char* path, hlo_dtype_t wanted, hlo_tensor_t** out_tensor) {
  uint8_t* bytes;
  size_t size;
  HLO_TRY(hlo_os_file_read(path, 0, &bytes, &size));
  npy_t npy;
  const char* fault = parse_npy(bytes, size, wanted, &npy);
  hlo_status_t status =
      fault ? hlo_invalid_argument("%s: %s", path, fault)
            : make_tensor(path, &npy, bytes + npy.data_at, size - npy.data_at, out_tensor);
  hlo_mem_free(bytes);
  return status;
}

hlo_status_t hlo_npy_write(const char* path, const hlo_tensor_t* tensor) {
  enum { PREFIX = 10, ALIGNMENT = 64 };
  if (tensor->kind != HLO_TYPE_TENSOR) {
    return hlo_invalid_argument("%s: only tensors can be saved", path);
  }
  char type[8];
  type_text(tensor->dtype, type);
  HLO_SCOPED_STRBUF file = {0};
  hlo_strbuf_append(&file, kMagic, sizeof kMagic);
  hlo_strbuf_append(&file, "\1\0\0\0", 4);
  hlo_strbuf_printf(&file, "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
  for (uint32_t d = 0; d < tensor->rank; ++d) {
    hlo_strbuf_printf(&file, "%lld,%s", (long long)tensor->dims[d],
                      d + 1 < tensor->rank ? " " : "");
  }
  hlo_strbuf_puts(&file, "), }");
  while ((file.length + 1) % ALIGNMENT && !file.failed) hlo_strbuf_putc(&file, ' ');
  hlo_strbuf_putc(&file, '\n');
  size_t length = file.length - PREFIX;
  if (!file.failed) {
    file.data[8] = (char)(length & 0xff);
    file.data[9] = (char)(length >> 8);
  }
  hlo_strbuf_append(&file, tensor->data, tensor->size_bytes);
  HLO_TRY(hlo_strbuf_status(&file));
  return hlo_os_file_write(path, file.data, file.length);
}
