// SPDX-License-Identifier: Apache-2.0
// Solutions of systems solved before, looked up by the numbers that determine a system. Of two that
// collide the later one is kept.
#pragma once

#include "base/mem.h"

enum { HLO_TILE_MEMO_KEYS = 32, HLO_TILE_MEMO_VALUES = 3 };

typedef struct hlo_tile_memo hlo_tile_memo_t;

/// NULL when memory is out, which a memo may be anywhere: nothing is remembered then.
/// owner: the arena. threads: confined
hlo_tile_memo_t* hlo_tile_memo_create(hlo_arena_t* arena);
/// The values that were remembered for those keys, at most HLO_TILE_MEMO_KEYS; NULL: none.
const int64_t* hlo_tile_memo_find(const hlo_tile_memo_t* memo, uint32_t count, const int64_t* keys);
/// At most HLO_TILE_MEMO_VALUES.
void hlo_tile_memo_keep(hlo_tile_memo_t* memo, uint32_t count, const int64_t* keys,
                        uint32_t value_count, const int64_t* values);
