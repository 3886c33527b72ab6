// SPDX-License-Identifier: Apache-2.0
// The profiler extension: recordings of the process (base/recording.h) as XSpace. Hosts leave the
// struct_size of most argument blocks unset, so these functions do not read it.
#include "pjrt/profiler.h"

#include <string.h>

#include "base/mem.h"
#include "base/recording.h"
#include "pjrt/xspace.h"

struct PLUGIN_Profiler_Error {
  hlo_status_t status;  // OK only in `no_memory_for_error`
};

/// threads: external
struct PLUGIN_Profiler {
  bool is_recording;
  hlo_recording_t* recording;  // NULL: none
  hlo_strbuf_t space;          // lent to the host until the next start
};

// --- Errors --------------------------------------------------------------------------------------

/// The fallback of error_create(); constant and never freed.
static const PLUGIN_Profiler_Error no_memory_for_error = {0};

static PLUGIN_Profiler_Error* error_create(hlo_status_t status) {
  if (hlo_status_is_ok(status)) return NULL;
  PLUGIN_Profiler_Error* error = hlo_mem_alloc(sizeof *error);
  if (error == NULL) {
    hlo_status_release(status);
    return (PLUGIN_Profiler_Error*)&no_memory_for_error;
  }
  error->status = status;
  return error;
}

static void error_destroy(PLUGIN_Profiler_Error_Destroy_Args* args) {
  if (args->error == NULL || hlo_status_is_ok(args->error->status)) return;
  hlo_status_release(args->error->status);
  hlo_mem_free(args->error);
}

static void error_message(PLUGIN_Profiler_Error_Message_Args* args) {
  args->message = hlo_status_is_ok(args->error->status) ? "out of memory while reporting an error"
                                                        : hlo_status_message(args->error->status);
  args->message_size = strlen(args->message);
}

static PLUGIN_Profiler_Error* error_get_code(PLUGIN_Profiler_Error_GetCode_Args* args) {
  const hlo_status_t status = args->error->status;
  args->code =
      hlo_status_is_ok(status) ? HLO_STATUS_RESOURCE_EXHAUSTED : (int)hlo_status_code(status);
  return NULL;
}

// --- Profilers -----------------------------------------------------------------------------------

/// The options select tracers of hosts and other devices.
static PLUGIN_Profiler_Error* create(PLUGIN_Profiler_Create_Args* args) {
  PLUGIN_Profiler* profiler = hlo_mem_alloc_zeroed(sizeof *profiler);
  if (profiler == NULL) return error_create(hlo_status_out_of_memory(sizeof *profiler));
  args->profiler = profiler;
  return NULL;
}

static void forget(PLUGIN_Profiler* profiler) {
  hlo_recording_release(profiler->recording);
  profiler->recording = NULL;
  hlo_strbuf_deinit(&profiler->space);
  profiler->space = (hlo_strbuf_t){0};
}

/// Does nothing if the profiler is not recording.
static hlo_status_t end_recording(PLUGIN_Profiler* profiler) {
  if (!profiler->is_recording) return hlo_ok();
  profiler->is_recording = false;
  return hlo_recording_stop(&profiler->recording);
}

static PLUGIN_Profiler_Error* destroy(PLUGIN_Profiler_Destroy_Args* args) {
  PLUGIN_Profiler* profiler = args->profiler;
  if (profiler == NULL) return NULL;
  hlo_status_t status = end_recording(profiler);
  forget(profiler);
  hlo_mem_free(profiler);
  return error_create(status);
}

/// Does nothing if the profiler is recording.
static PLUGIN_Profiler_Error* start(PLUGIN_Profiler_Start_Args* args) {
  PLUGIN_Profiler* profiler = args->profiler;
  if (profiler->is_recording) return NULL;
  forget(profiler);
  hlo_status_t status = hlo_recording_start();
  profiler->is_recording = hlo_status_is_ok(status);
  return error_create(status);
}

static PLUGIN_Profiler_Error* stop(PLUGIN_Profiler_Stop_Args* args) {
  return error_create(end_recording(args->profiler));
}

// --- Recordings ----------------------------------------------------------------------------------

static hlo_status_t serialize_once(const hlo_recording_t* recording, hlo_strbuf_t* space) {
  if (recording == NULL || space->length) return hlo_ok();
  hlo_xspace_write(recording, space);
  hlo_status_t status = hlo_strbuf_status(space);
  if (!hlo_status_is_ok(status)) {
    hlo_strbuf_deinit(space);
    *space = (hlo_strbuf_t){0};
  }
  return status;
}

static hlo_status_t check_stopped(const PLUGIN_Profiler* profiler) {
  if (!profiler->is_recording) return hlo_ok();
  return hlo_failed_precondition("the profiler is recording: stop it before its data are read");
}

/// Without a buffer, lends the data, as hosts expect, and tells their size; with one, copies them.
static PLUGIN_Profiler_Error* collect_data(PLUGIN_Profiler_CollectData_Args* args) {
  PLUGIN_Profiler* profiler = args->profiler;
  hlo_status_t status = check_stopped(profiler);
  if (hlo_status_is_ok(status)) status = serialize_once(profiler->recording, &profiler->space);
  if (!hlo_status_is_ok(status)) return error_create(status);
  const hlo_strbuf_t* space = &profiler->space;
  if (args->buffer == NULL) {
    args->buffer = (uint8_t*)space->data;
  } else if (args->buffer != (uint8_t*)space->data && space->length) {
    memcpy(args->buffer, space->data, space->length);
  }
  args->buffer_size_in_bytes = space->length;
  return NULL;
}

// jaxlib 0.10 crashes unless the table ends with collect_data; later versions accept such a table.
const PLUGIN_Profiler_Api hlo_pjrt_profiler_api = {
    .struct_size = PJRT_STRUCT_SIZE(PLUGIN_Profiler_Api, collect_data),
    .error_destroy = error_destroy,
    .error_message = error_message,
    .error_get_code = error_get_code,
    .create = create,
    .destroy = destroy,
    .start = start,
    .stop = stop,
    .collect_data = collect_data,
};
