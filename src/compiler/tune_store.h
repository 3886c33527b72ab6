// SPDX-License-Identifier: Apache-2.0
// The choices that a tuner made, by the key of a kernel: in memory, and in a directory for later
// processes.
#pragma once

#include "base/hash.h"
#include "base/log.h"
#include "codegen/loops/kernel_config.h"
#include "codegen/target/target.h"

/// threads: immutable
typedef struct hlo_tune_record {
  hlo_kernel_config_t config;  // empty: the model's choices are the best
  double model_ns, ns;         // of the model's choices, of the config
  uint32_t candidate_count;    // that were tried; 0: the kernel could not be timed alone
  bool is_shared;              // the other processes of the job have it, too; not in files
} hlo_tune_record_t;

/// Makes the key of a kernel (hlo_fusion_choice_digest()) on a machine, for this build of the
/// library. False if builds cannot be told apart.
bool hlo_tune_key_make(const hlo_digest_t* kernel, const hlo_target_t* target,
                       hlo_digest_t* out_key);

/// threads: safe; so are several processes with one directory
typedef struct hlo_tune_store hlo_tune_store_t;

/// directory "": only in memory. It is created for the first record; one that cannot be written to
/// is read, with one warning. is_read_only: nothing is written. errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_tune_store_create(const char* directory, bool is_read_only, const hlo_log_t* log,
                                   hlo_tune_store_t** out_store) HLO_MUST_USE;
/// Nothing is written from now on; called before the first find.
void hlo_tune_store_forbid_writing(hlo_tune_store_t* store);
void hlo_tune_store_release(hlo_tune_store_t* store);
/// Returns false if the key is missing. Damaged and foreign files are missing, with one warning for
/// the first of them.
bool hlo_tune_store_find(hlo_tune_store_t* store, const hlo_digest_t* key,
                         hlo_tune_record_t* out_record);
/// Adds a record or replaces that of the key. Failing files are not errors.
void hlo_tune_store_add(hlo_tune_store_t* store, const hlo_digest_t* key,
                        const hlo_tune_record_t* record);
/// Returns the directory; "": none.
const char* hlo_tune_store_directory(const hlo_tune_store_t* store);

/// Appends a record as text, and reads it: the form of files and of messages between processes.
/// The text includes the key and a checksum; false for any other text.
void hlo_tune_record_print(const hlo_digest_t* key, const hlo_tune_record_t* record,
                           hlo_strbuf_t* out);
bool hlo_tune_record_parse(const char* text, size_t length, const hlo_digest_t* key,
                           hlo_tune_record_t* out_record);
