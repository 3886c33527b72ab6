// SPDX-License-Identifier: Apache-2.0
// Programs that the application rewrites (see transforms.h).
#include "compiler/transforms.h"

#include <string.h>

#include "compiler/compiler_impl.h"
#include "frontend/hlo/hlo.h"
#include "ir/clone.h"
#include "ir/infer.h"

// Returns true if both entries have the same arguments and results.
static bool has_type_of(const hlo_func_t* func, const hlo_func_t* other) {
  const hlo_type_t *type = func->type, *wanted = other->type;
  if (type->input_count != wanted->input_count || type->element_count != wanted->element_count) {
    return false;
  }
  for (uint32_t i = 0; i < type->element_count; ++i) {
    if (type->elements[i] != hlo_type_import(func->module, wanted->elements[i])) return false;
  }
  return true;
}

static const hlo_attr_t** import_attrs(hlo_module_t* module, const hlo_attr_t** attrs,
                                       uint32_t count) {
  if (!attrs) return NULL;
  const hlo_attr_t** copies = hlo_arena_array(&module->arena, count, sizeof *copies);
  for (uint32_t i = 0; copies && i < count; ++i) {
    copies[i] = attrs[i] ? hlo_attr_import(module, attrs[i]) : NULL;
  }
  return copies;
}

// Gives the new entry what callers rely on: donations, layouts, memory kinds and shardings.
static hlo_status_t import_signature(hlo_func_t* entry, const hlo_func_t* old) {
  if (!has_type_of(entry, old)) {
    return hlo_invalid_argument("the new program has other arguments or results");
  }
  const uint32_t inputs = old->type->input_count;
  entry->arg_attrs = import_attrs(entry->module, old->arg_attrs, inputs);
  entry->result_attrs =
      import_attrs(entry->module, old->result_attrs, old->type->element_count - inputs);
  return hlo_module_status(entry->module);
}

// Reads the new program and prepares it as the old one was.
static hlo_status_t rebuild(const hlo_executable_t* executable, hlo_dumper_t* dumper,
                            hlo_module_t* module) {
  const hlo_module_t* old = executable->module;
  HLO_TRY(hlo_module_verify(module, NULL));
  if (old->name) module->name = hlo_module_string(module, old->name, strlen(old->name));
  module->extra = old->extra ? hlo_attr_import(module, old->extra) : NULL;
  module->extra =
      hlo_attr_dict_with(module, module->extra, HLO_PARTITIONED_ATTR, hlo_attr_unit(module));
  HLO_TRY(hlo_module_status(module));
  HLO_TRY(hlo_compile_run_stages(module, HLO_STAGE_IMPORT, HLO_STAGE_OPTIMISE, &executable->config,
                                 dumper));
  hlo_func_t* entry = hlo_module_entry(module);
  if (!entry) return hlo_invalid_argument("the new program has no entry");
  return import_signature(entry, hlo_module_entry(old));
}

static hlo_status_t replace(hlo_executable_t* executable, const hlo_strbuf_t* proto,
                            hlo_dumper_t* dumper) {
  hlo_module_t* module;
  HLO_TRY(hlo_hlo_proto_read(proto->data, proto->length,
                             &(hlo_hlo_read_options_t){.flat_results = true}, &module));
  hlo_status_t status = rebuild(executable, dumper, module);
  if (!hlo_status_is_ok(status)) {
    hlo_module_release(module);
    return status;
  }
  hlo_module_release(executable->module);
  executable->module = module;
  executable->name = module->name ? module->name : hlo_module_entry(module)->name;
  executable->fingerprint ^= hlo_module_hash(module);
  return hlo_compile_keep_source(executable);
}

hlo_status_t hlo_transforms_run(hlo_executable_t* executable, hlo_dumper_t* dumper) {
  const hlo_transforms_t* transforms = executable->config.transforms;
  if (!transforms || !transforms->is_any(transforms->context)) return hlo_ok();
  HLO_SCOPED_STRBUF proto = {0};
  HLO_SCOPED_STRBUF transformed = {0};
  HLO_TRY_MSG(hlo_hlo_proto_write(executable->module, &proto),
              "for the application's transformations");
  HLO_TRY(transforms->apply(transforms->context, &proto, &transformed));
  HLO_TRY(hlo_strbuf_status(&transformed));
  if (!transformed.length) return hlo_ok();
  return hlo_status_annotate(replace(executable, &transformed, dumper),
                             "after the application's transformations");
}
