// SPDX-License-Identifier: Apache-2.0
// Accounts: who owns the memory of a client, for the messages of exhausted memory. For runtime
// only.
#pragma once

#include <stdatomic.h>

#include "base/memory_kind.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/threads.h"

/// An owner of memory, such as the results of a program. Lives as long as its creator holds it, and
/// beyond that as long as it owns memory. threads: safe
typedef struct hlo_account {
  atomic_uint references;
  struct hlo_account_list* list;
  struct hlo_account *previous, *next;  // in the list, whose lock guards them
  const char* what;                     // static
  _Atomic uint64_t bytes[HLO_MEMORY_KIND_COUNT], blocks[HLO_MEMORY_KIND_COUNT];
  char name[];  // of a program; may be empty
} hlo_account_t;

/// The accounts of a client. threads: safe
typedef struct hlo_account_list {
  hlo_mutex_t lock;
  hlo_account_t* first;
} hlo_account_list_t;

void hlo_account_list_init(hlo_account_list_t* list);
/// All accounts have been freed.
void hlo_account_list_deinit(hlo_account_list_t* list);

/// Opens an account for `what` (static), "results of", `name` (copied).
/// errors: RESOURCE_EXHAUSTED. owner: caller, hlo_account_release()
hlo_status_t hlo_account_create(hlo_account_list_t* list, const char* what, const char* name,
                                hlo_account_t** out_account) HLO_MUST_USE;
/// NULL is fine.
void hlo_account_release(hlo_account_t* account);

/// Adds a block to the account, and removes it again.
void hlo_account_add(hlo_account_t* account, hlo_memory_kind_t kind, size_t size_bytes);
void hlo_account_remove(hlo_account_t* account, hlo_memory_kind_t kind, size_t size_bytes);

/// Appends a line for each of the accounts with the most memory, the largest first.
void hlo_account_list_print(hlo_account_list_t* list, hlo_strbuf_t* out);
