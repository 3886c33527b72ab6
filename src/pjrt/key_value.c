// SPDX-License-Identifier: Apache-2.0
// The key-value store of a job of several processes, through the callbacks of the framework: the
// tuner of a client shares its work there.
#include <string.h>

#include "base/tuning.h"
#include "compiler/tuner.h"
#include "pjrt/objects.h"

enum { NS_PER_MS = 1000000 };

// Makes the error that a callback returns.
static PJRT_Error* make_error(PJRT_Error_Code code, const char* message, size_t message_size) {
  return hlo_pjrt_error_create(hlo_pjrt_foreign_status(code, message, message_size));
}

static PJRT_CallbackError error_maker = make_error;

// Returns the status of a callback's error, and frees it.
static hlo_status_t take_error(PJRT_Error* error) {
  if (!error) return hlo_ok();
  const char* message = NULL;
  size_t size = 0;
  error->vtable->message(error, &message, &size);
  const hlo_status_t status =
      hlo_pjrt_foreign_status(error->vtable->get_code(error), message, size);
  error->vtable->destroy(error);
  return status;
}

static hlo_status_t set_value(void* context, const char* key, const char* value,
                              size_t size_bytes) {
  const hlo_pjrt_job_t* job = context;
  PJRT_KeyValuePutCallback_Args args = {.struct_size = PJRT_KeyValuePutCallback_Args_STRUCT_SIZE,
                                        .key = key,
                                        .key_size = strlen(key),
                                        .value = value,
                                        .value_size = size_bytes,
                                        .callback_error = &error_maker,
                                        .user_arg = job->put_arg};
  return take_error(job->put(&args));
}

static hlo_status_t get_value(void* context, const char* key, uint64_t timeout_ns,
                              hlo_strbuf_t* out_value) {
  const hlo_pjrt_job_t* job = context;
  const uint64_t ms = timeout_ns / NS_PER_MS;
  PJRT_KeyValueGetCallback_Args args = {.struct_size = PJRT_KeyValueGetCallback_Args_STRUCT_SIZE,
                                        .key = key,
                                        .key_size = strlen(key),
                                        .timeout_in_ms = ms < INT32_MAX ? (int)ms : INT32_MAX,
                                        .callback_error = &error_maker,
                                        .user_arg = job->get_arg};
  HLO_TRY(take_error(job->get(&args)));
  hlo_strbuf_append(out_value, args.value, args.value_size);
  if (args.value_deleter_callback) args.value_deleter_callback(args.value);
  return hlo_strbuf_status(out_value);
}

void hlo_pjrt_job_share(hlo_pjrt_job_t* job, hlo_tuner_t* tuner) {
  if (!tuner || job->process_count < 2 || !job->get || !job->put) return;
  const hlo_tune_share_t share = {.context = job,
                                  .process_index = job->process_index,
                                  .process_count = job->process_count,
                                  .timeout_ns = HLO_TUNING_TUNE_SHARE_TIMEOUT_NS,
                                  .set = set_value,
                                  .get = get_value};
  hlo_tuner_set_share(tuner, &share);
}
