// SPDX-License-Identifier: Apache-2.0
// The registry of the XlaTransform extension (see transform.h). hlocc has no schedule apart from
// the order of a program's instructions, so both stages are at the end of optimisation, one after
// the other.
#include "pjrt/transform.h"

#include <stdatomic.h>

#include "base/vec.h"
#include "pjrt/objects.h"

enum { VERSION = 1 };  // of the callbacks

/// A registered transformation. Compilations hold it while they call it.
typedef struct transform {
  atomic_int count;
  struct transform* next;  // of the same stage, in the order of registration
  PJRT_XlaTransform_Callbacks* callbacks;
  bool is_named;  // else known by its callbacks
  char name[];
} transform_t;

enum { STAGE_COUNT = PJRT_XlaTransform_PipelineStage_kPostScheduler + 1 };

static hlo_mutex_t registry_lock = {.level = HLO_LOCK_LEVEL_FFI};
static transform_t* registry[STAGE_COUNT];

static void release_transform(transform_t* transform) {
  if (atomic_fetch_sub_explicit(&transform->count, 1, memory_order_acq_rel) != 1) return;
  PJRT_XlaTransform_Callbacks* callbacks = transform->callbacks;
  if (callbacks->dtor != NULL) callbacks->dtor(callbacks);
  hlo_mem_free(transform);
}

static hlo_status_t check_stage(PJRT_XlaTransform_PipelineStage stage) {
  if ((unsigned)stage < STAGE_COUNT) return hlo_ok();
  return hlo_invalid_argument("there is no pipeline stage %d", (int)stage);
}

hlo_status_t hlo_pjrt_Register_Xla_Transform(PJRT_Register_Xla_Transform_Args* args) {
  HLO_TRY(check_stage(args->stage));
  PJRT_XlaTransform_Callbacks* callbacks = args->callbacks;
  if (callbacks == NULL || callbacks->transform_hlo_module == NULL) {
    return hlo_invalid_argument("a transformation of programs lacks its function");
  }
  if (callbacks->version != VERSION) {
    return hlo_invalid_argument("a transformation of programs has version %lld, expected %d",
                                (long long)callbacks->version, VERSION);
  }
  const size_t name_size = args->name != NULL ? args->name_size : 0;
  transform_t* added = hlo_mem_alloc_zeroed(sizeof *added + name_size + 1);
  if (added == NULL) return hlo_status_out_of_memory(sizeof *added);
  atomic_init(&added->count, 1);
  added->callbacks = callbacks;
  added->is_named = args->name != NULL;
  if (name_size != 0) memcpy(added->name, args->name, name_size);
  hlo_mutex_lock(&registry_lock);
  transform_t** link = &registry[args->stage];
  while (*link != NULL) link = &(*link)->next;
  *link = added;
  hlo_mutex_unlock(&registry_lock);
  return hlo_ok();
}

static bool is_meant(const transform_t* transform, const PJRT_Clear_Xla_Transform_Args* args) {
  if (args->name == NULL) return !transform->is_named && transform->callbacks == args->callbacks;
  return transform->is_named && strlen(transform->name) == args->name_size &&
         memcmp(transform->name, args->name, args->name_size) == 0;
}

/// Removes all transformations of the name.
hlo_status_t hlo_pjrt_Clear_Xla_Transform(PJRT_Clear_Xla_Transform_Args* args) {
  HLO_TRY(check_stage(args->stage));
  if (args->name == NULL && args->callbacks == NULL) {
    return hlo_invalid_argument("neither the name of a transformation nor its functions are given");
  }
  transform_t* removed = NULL;
  hlo_mutex_lock(&registry_lock);
  for (transform_t** link = &registry[args->stage]; *link != NULL;) {
    transform_t* transform = *link;
    if (!is_meant(transform, args)) {
      link = &transform->next;
      continue;
    }
    *link = transform->next;
    transform->next = removed;
    removed = transform;
  }
  hlo_mutex_unlock(&registry_lock);
  args->cleared = removed != NULL;
  while (removed != NULL) {
    transform_t* next = removed->next;
    release_transform(removed);
    removed = next;
  }
  return hlo_ok();
}

void hlo_pjrt_destroy_pass_trace(
    HLO_UNUSED PJRT_Xla_Transform_Destroy_Hlo_Pass_Pipeline_Trace_Args* args) {}

// --- Calls ---------------------------------------------------------------------------------------

static bool is_any(HLO_UNUSED void* context) {
  hlo_mutex_lock(&registry_lock);
  bool is = false;
  for (int stage = 0; stage < STAGE_COUNT; ++stage) is |= registry[stage] != NULL;
  hlo_mutex_unlock(&registry_lock);
  return is;
}

/// The transformations of a compilation, retained: those that are registered when it starts.
typedef HLO_VEC(transform_t*) transform_list_t;

static hlo_status_t take_all(transform_list_t* out) {
  bool is_complete = true;
  hlo_mutex_lock(&registry_lock);
  for (int stage = 0; stage < STAGE_COUNT; ++stage) {
    for (transform_t* at = registry[stage]; at != NULL && is_complete; at = at->next) {
      is_complete = hlo_vec_push(out, at);
      if (is_complete) atomic_fetch_add_explicit(&at->count, 1, memory_order_relaxed);
    }
  }
  hlo_mutex_unlock(&registry_lock);
  return is_complete ? hlo_ok() : hlo_status_out_of_memory(sizeof(transform_t*));
}

static hlo_status_t read_answer(const PJRT_XlaTransform_Args* answer, hlo_strbuf_t* out) {
  const PJRT_XlaTransform_version_and_error* header = &answer->header;
  if (header->has_error) {
    hlo_status_t status =
        hlo_pjrt_foreign_status(header->code, header->error_msg.data, header->error_msg.size);
    return hlo_status_is_ok(status) ? hlo_internal_error("it failed without a code") : status;
  }
  if (!answer->changed) return hlo_ok();
  if (answer->transformed_hlo_module.data == NULL || answer->transformed_hlo_module.size == 0) {
    return hlo_invalid_argument("it returns no program");
  }
  hlo_strbuf_append(out, answer->transformed_hlo_module.data, answer->transformed_hlo_module.size);
  return hlo_strbuf_status(out);
}

/// Appends the program that one transformation returns, nothing if it changes nothing.
static hlo_status_t call(const transform_t* transform, const hlo_strbuf_t* proto,
                         hlo_strbuf_t* out) {
  PJRT_XlaTransform_Args args = {
      .struct_size = PJRT_XlaTransform_Args_STRUCT_SIZE,
      .header.api_version = VERSION,
      .hlo_module = {hlo_strbuf_text(proto), proto->length},
  };
  transform->callbacks->transform_hlo_module(transform->callbacks, &args);
  hlo_status_t status = read_answer(&args, out);
  if (args.header.cleanup_fn != NULL) args.header.cleanup_fn(args.header.data);
  return hlo_status_annotate(status, "in transformation '%s'", transform->name);
}

/// Each transformation gets what the one before it returned.
static hlo_status_t apply(HLO_UNUSED void* context, const hlo_strbuf_t* proto, hlo_strbuf_t* out) {
  transform_list_t list = {0};
  hlo_status_t status = take_all(&list);
  for (size_t i = 0; i < list.count; ++i) {
    if (hlo_status_is_ok(status)) {
      HLO_SCOPED_STRBUF answer = {0};
      status = call(list.items[i], out->length != 0 ? out : proto, &answer);
      if (hlo_status_is_ok(status) && answer.length != 0) {
        hlo_strbuf_deinit(out);
        *out = answer;
        answer = (hlo_strbuf_t){0};
      }
    }
    release_transform(list.items[i]);
  }
  hlo_vec_deinit(&list);
  return status;
}

const hlo_transforms_t* hlo_pjrt_transforms(void) {
  static const hlo_transforms_t transforms = {.is_any = is_any, .apply = apply};
  return &transforms;
}
