// SPDX-License-Identifier: Apache-2.0
// Chooses the location of every live range: linear scan over the instructions. Ranges across a call
// go to callee-saved registers, else to memory; ranges across a suspension go to frame->saved or
// are rematerialized. Without a free register, the range that is cheapest for the room it takes is
// moved to memory as a whole.
#include <string.h>

#include "base/check.h"
#include "base/program_abi.h"
#include "base/tuning.h"
#include "codegen/x86/x86_impl.h"

#define BIT(reg) (1u << (reg))

const uint32_t hlo_x86_callee_saved =
    BIT(HLO_X86_RBX) | BIT(HLO_X86_R12) | BIT(HLO_X86_R13) | BIT(HLO_X86_R14) | BIT(HLO_X86_R15);

enum {
  SIZE_CLASSES = 4,  // slots of 8, 16, 32, 64 bytes
};

// Under a limit, the first ones of this order are used. rax is never allocated.
static const uint8_t general_order[] = {
    HLO_X86_RCX, HLO_X86_RBX, HLO_X86_RDX, HLO_X86_R12, HLO_X86_RSI, HLO_X86_R13, HLO_X86_RDI,
    HLO_X86_R14, HLO_X86_R8,  HLO_X86_R15, HLO_X86_R9,  HLO_X86_R10, HLO_X86_R11,
};
static const uint8_t param_registers[HLO_VIR_MAX_PARAMS] = {HLO_X86_RDI, HLO_X86_RSI, HLO_X86_RDX,
                                                            HLO_X86_RCX};

typedef struct scan {
  hlo_x86_fn_t* f;
  uint32_t used[HLO_X86_CLASS_COUNT];
  uint32_t owner[HLO_X86_CLASS_COUNT][32];  // live range in a register
  uint32_t free_slots[2][SIZE_CLASSES];     // live ranges by next_free: stack, saved
  uint32_t position;
  bool saves_stack;  // an address of the stack would outlive it
} scan_t;

// ---- requirements of a live range

typedef struct crossing {
  bool call, suspend, division;
} crossing_t;

// Events strictly inside a live range; a division also counts at its end.
static crossing_t crossing_of(const hlo_x86_fn_t* f, const hlo_x86_live_range_t* range) {
  const hlo_x86_item_t* all = &f->items[f->item_count - 1];
  if (!(all->calls_before | all->suspends_before | all->divisions_before)) return (crossing_t){0};
  uint32_t first = range->start ? (range->start >> 1) + 1 : 0, last = range->end >> 1;
  if (first > last) return (crossing_t){0};
  const hlo_x86_item_t *begin = &f->items[first], *end = &f->items[last];
  const hlo_x86_item_t* after = end < all ? end + 1 : end;
  return (crossing_t){
      .call = end->calls_before != begin->calls_before,
      .suspend = end->suspends_before != begin->suspends_before,
      .division = after->divisions_before != begin->divisions_before,
  };
}

static bool is_rematerializable(const hlo_x86_fn_t* f, const hlo_vir_value_t* value);

// Returns true for an INVARIANT load from the frame itself or from its table of buffers. The memory
// that those pointers name may be invariant only for a while.
static bool is_of_frame(const hlo_x86_fn_t* f, const hlo_vir_value_t* load) {
  for (uint32_t depth = 0; depth < 2; ++depth) {
    if (load->op != HLO_VIR_iload || !(load->flags & HLO_VIR_INVARIANT)) return false;
    hlo_x86_address_t address = hlo_x86_address_of(load);
    if (address.index || address.disp != (int32_t)address.disp) return false;
    bool is_table = address.disp == offsetof(hlo_frame_t, buffers);
    load = address.base;
    if (load->op == HLO_VIR_param) return (depth == 0 || is_table) && is_rematerializable(f, load);
  }
  return false;
}

// Returns true if the value can be computed anywhere from the frame alone.
static bool is_rematerializable(const hlo_x86_fn_t* f, const hlo_vir_value_t* value) {
  switch (value->op) {
    case HLO_VIR_iconst:
    case HLO_VIR_const:
    case HLO_VIR_mask_const:
    case HLO_VIR_lane_iota:
    case HLO_VIR_rodata:
    case HLO_VIR_func_address:
    case HLO_VIR_stack: return true;
    case HLO_VIR_param: return value->imm == 0 && (f->has_call || f->has_suspend);
    case HLO_VIR_iadd: {
      int32_t imm;
      return value->operands[0]->op == HLO_VIR_stack && hlo_x86_in_imm(value->operands[1], &imm) &&
             imm >= 0 && imm <= HLO_X86_MAX_STACK_BYTES;
    }
    default: return is_of_frame(f, value);
  }
}

// Computed by one instruction without operands.
static bool is_cheap(const hlo_x86_fn_t* f, const hlo_x86_live_range_t* range) {
  return range->value->op != HLO_VIR_iload && is_rematerializable(f, range->value);
}

static bool is_copy(const hlo_x86_fn_t* f, const hlo_x86_live_range_t* range) {
  return range >= f->ranges + f->vir->value_count;
}

static unsigned slot_bytes(const hlo_x86_fn_t* f, const hlo_x86_live_range_t* range) {
  if (range->klass != HLO_X86_VECTORS) return 8;
  return range->value->type.elem == HLO_VIR_MASK ? hlo_x86_mask_bytes(f)
                                                 : hlo_x86_width(range->value->type);
}

// ---- slots

static uint32_t size_class(unsigned bytes) {
  return (uint32_t)__builtin_ctz(bytes) - 3;
}

static uint32_t align_up(uint32_t x, uint32_t alignment) {
  return (x + alignment - 1) & ~(alignment - 1);
}

static void take_new_slot(scan_t* s, hlo_x86_live_range_t* range, bool saved) {
  hlo_x86_fn_t* f = s->f;
  unsigned bytes = slot_bytes(s->f, range);
  uint32_t* room = saved ? &f->saved_bytes : &f->frame_bytes;
  *room = align_up(*room, bytes);
  range->slot = (int32_t)*room;
  *room += bytes;
  f->needs_alignment |= !saved && bytes > 8;
}

// Takes a slot for the whole live range, which may have begun earlier: one that was unused since
// then, if one of the first free slots is.
static void take_slot(scan_t* s, hlo_x86_live_range_t* range, bool saved) {
  enum { MAX_TRIES = 16 };
  range->place = saved ? HLO_X86_IN_SAVED : HLO_X86_ON_STACK;
  uint32_t* link = &s->free_slots[saved][size_class(slot_bytes(s->f, range))];
  for (uint32_t tries = 0; tries < MAX_TRIES && *link != HLO_X86_NONE; ++tries) {
    hlo_x86_live_range_t* last = &s->f->ranges[*link];
    if (last->end <= range->start) {
      range->slot = last->slot;
      *link = last->next_free;
      return;
    }
    link = &last->next_free;
  }
  take_new_slot(s, range, saved);
}

// ---- registers

static void put_in_register(scan_t* s, hlo_x86_live_range_t* range, unsigned reg) {
  HLO_ASSERT(range->place != HLO_X86_IN_REGISTER,
             "a live range has one place from beginning to end");
  range->place = HLO_X86_IN_REGISTER;
  range->reg = (uint8_t)reg;
  s->used[range->klass] |= BIT(reg);
  s->owner[range->klass][reg] = range->home;
  if (range->klass == HLO_X86_GENERAL) s->f->pushed |= BIT(reg) & hlo_x86_callee_saved;
}

static void leave_register(scan_t* s, hlo_x86_live_range_t* range) {
  hlo_x86_fn_t* f = s->f;
  if (is_copy(f, range)) {
    range->place = HLO_X86_NOWHERE;
  } else if (is_cheap(f, range)) {
    range->place = HLO_X86_REMATERIALIZED;
  } else {
    take_slot(s, range, false);
  }
  range->reg = HLO_X86_NO_REG;
}

static uint32_t cost_of(const hlo_x86_fn_t* f, const hlo_x86_live_range_t* range) {
  uint32_t factor = is_cheap(f, range) || is_copy(f, range) ? 1 : HLO_TUNING_SPILL_MEMORY_COST;
  return range->weight > UINT32_MAX / factor ? UINT32_MAX : range->weight * factor;
}

// The cost of a live range in memory, for its remaining positions.
typedef struct price {
  uint64_t cost, positions;
} price_t;

static price_t price_of(const scan_t* s, const hlo_x86_live_range_t* range) {
  const uint32_t now = 2 * s->position;
  return (price_t){cost_of(s->f, range), range->end > now ? range->end - now : 1};
}

// Returns true if a is the better one to move to memory.
static bool is_cheaper(price_t a, price_t b) {
  return a.cost * b.positions < b.cost * a.positions;
}

static hlo_x86_live_range_t* cheapest(const scan_t* s, const hlo_x86_live_range_t* range,
                                      uint32_t allowed, price_t* out_price) {
  hlo_x86_live_range_t* best = NULL;
  for (uint32_t rest = allowed & s->used[range->klass]; rest; rest &= rest - 1) {
    hlo_x86_live_range_t* other = &s->f->ranges[s->owner[range->klass][__builtin_ctz(rest)]];
    const price_t price = price_of(s, other);
    if (best && !is_cheaper(price, *out_price)) continue;
    best = other;
    *out_price = price;
  }
  return best;
}

// Returns the register of an operand that ends here, for a result in its place.
static unsigned dying_register(const scan_t* s, const hlo_x86_live_range_t* range, uint32_t free) {
  const hlo_vir_value_t* value = range->value;
  if (is_copy(s->f, range)) return HLO_X86_NO_REG;
  bool last_first = value->op == HLO_VIR_fma || value->op == HLO_VIR_fnma ||
                    hlo_vir_opcode_class((hlo_vir_opcode_t)value->op) == HLO_VIR_DOT;
  for (uint32_t k = 0; k < value->operand_count; ++k) {
    const hlo_vir_value_t* operand = value->operands[last_first ? value->operand_count - 1 - k : k];
    if (!operand) continue;
    const hlo_x86_live_range_t* other = hlo_x86_live_range(s->f, hlo_x86_resolve(operand));
    other = &s->f->ranges[other->home];
    if (other->place == HLO_X86_IN_REGISTER && other->klass == range->klass &&
        other->end == 2 * s->position && free & BIT(other->reg)) {
      return other->reg;
    }
  }
  return HLO_X86_NO_REG;
}

static void find_register(scan_t* s, hlo_x86_live_range_t* range, uint32_t allowed) {
  uint32_t free = allowed & ~s->used[range->klass];
  if (free) {
    unsigned reg = dying_register(s, range, free);
    if (reg == HLO_X86_NO_REG) {
      uint32_t plain = range->klass == HLO_X86_GENERAL ? free & ~hlo_x86_callee_saved : free;
      reg = (unsigned)__builtin_ctz(plain ? plain : free);
    }
    put_in_register(s, range, reg);
    return;
  }
  price_t price;
  hlo_x86_live_range_t* other = cheapest(s, range, allowed, &price);
  if (!other || !is_cheaper(price, price_of(s, range))) {
    leave_register(s, range);
    return;
  }
  unsigned reg = other->reg;
  leave_register(s, other);
  put_in_register(s, range, reg);
}

// ---- the scan

static bool is_placed(const hlo_x86_fn_t* f, const hlo_x86_live_range_t* range) {
  const hlo_vir_value_t* value = range->value;
  if (!value || value->type.elem == HLO_VIR_VOID || range->is_folded) return false;
  if (&f->ranges[range->home] != range) return false;
  return range->uses > 0 || value->op == HLO_VIR_for;
}

static void place(scan_t* s, hlo_x86_live_range_t* range) {
  hlo_x86_fn_t* f = s->f;
  const hlo_vir_value_t* value = range->value;
  crossing_t crossing = crossing_of(f, range);
  bool is_wanted = value->op == HLO_VIR_iconst && range->end > range->start;
  if ((value->op == HLO_VIR_iconst && !is_wanted) || value->op == HLO_VIR_stack) {
    range->place = HLO_X86_REMATERIALIZED;
    return;
  }
  uint32_t allowed = f->available[range->klass];
  if (range->klass == HLO_X86_GENERAL && crossing.division) allowed &= ~BIT(HLO_X86_RDX);
  if (crossing.suspend) {
    if (!is_copy(f, range) && is_rematerializable(f, value)) {
      range->place = HLO_X86_REMATERIALIZED;
    } else {
      take_slot(s, range, true);
      s->saves_stack |= range->is_of_stack;
    }
  } else if (crossing.call) {
    allowed &= range->klass == HLO_X86_GENERAL ? hlo_x86_callee_saved : 0;
    if (!is_copy(f, range) && is_cheap(f, range)) {
      range->place = HLO_X86_REMATERIALIZED;
    } else if (allowed & ~s->used[range->klass]) {
      find_register(s, range, allowed);
    } else {
      take_slot(s, range, false);
    }
  } else {
    find_register(s, range, allowed);
  }
}

static void note_end(scan_t* s, uint32_t number) {
  hlo_x86_live_range_t* range = &s->f->ranges[number];
  range->next = s->f->ending[range->end];
  s->f->ending[range->end] = number;
}

static void place_range(scan_t* s, uint32_t number) {
  hlo_x86_live_range_t* range = &s->f->ranges[number];
  range->place = HLO_X86_NOWHERE;
  range->reg = HLO_X86_NO_REG;
  if (!is_placed(s->f, range)) return;
  place(s, range);
  note_end(s, number);
}

static void expire(scan_t* s, uint32_t half_position) {
  hlo_x86_fn_t* f = s->f;
  for (uint32_t n = f->ending[half_position]; n != HLO_X86_NONE; n = f->ranges[n].next) {
    hlo_x86_live_range_t* range = &f->ranges[n];
    if (range->place == HLO_X86_IN_REGISTER) {
      s->used[range->klass] &= ~BIT(range->reg);
    } else if (range->place == HLO_X86_ON_STACK || range->place == HLO_X86_IN_SAVED) {
      uint32_t* free_list =
          &s->free_slots[range->place == HLO_X86_IN_SAVED][size_class(slot_bytes(s->f, range))];
      range->next_free = *free_list;
      *free_list = n;
    }
  }
}

// Parameters keep their registers or move to callee-saved ones, so no two of them conflict.
static void place_param(scan_t* s, uint32_t number, const hlo_vir_value_t* param) {
  hlo_x86_fn_t* f = s->f;
  hlo_x86_live_range_t* range = hlo_x86_live_range(f, param);
  range->reg = HLO_X86_NO_REG;
  range->place = HLO_X86_NOWHERE;
  if (!is_placed(f, range)) return;
  crossing_t crossing = crossing_of(f, range);
  uint32_t own = BIT(param_registers[number]);
  uint32_t allowed = f->available[HLO_X86_GENERAL] & (own | hlo_x86_callee_saved);
  if (crossing.division) allowed &= ~BIT(HLO_X86_RDX);
  if (crossing.call) allowed &= ~own;
  allowed &= ~s->used[HLO_X86_GENERAL];
  if (is_rematerializable(f, param)) {
    range->place = HLO_X86_REMATERIALIZED;
  } else if (allowed) {
    put_in_register(s, range, (unsigned)__builtin_ctz(allowed & own ? own : allowed));
  } else {
    take_slot(s, range, false);
  }
  note_end(s, param->number);
}

static void place_copies(scan_t* s, const hlo_x86_control_t* control) {
  for (uint32_t n = control->first_copy; n < control->first_copy + control->copy_count; ++n) {
    const hlo_x86_live_range_t* original = hlo_x86_live_range(s->f, s->f->ranges[n].value);
    s->f->ranges[n].place = HLO_X86_NOWHERE;
    if (s->f->ranges[original->home].place != HLO_X86_IN_REGISTER) place_range(s, n);
  }
}

static void scan_line(scan_t* s) {
  hlo_x86_fn_t* f = s->f;
  for (uint32_t i = 0; i < HLO_VIR_MAX_PARAMS; ++i) {
    if (f->params[i]) place_param(s, i, f->params[i]);
  }
  for (s->position = 0; s->position < f->item_count; ++s->position) {
    const hlo_x86_item_t* item = &f->items[s->position];
    const hlo_vir_value_t* value = item->value;
    bool is_insn = item->kind == HLO_X86_ITEM_INSN;
    bool early = is_insn && hlo_x86_is_early(f, value);
    if (!early) expire(s, 2 * s->position);
    if (is_insn && value->op != HLO_VIR_param) {
      place_range(s, value->number);
      if (value->body && value->op != HLO_VIR_if) {
        place_copies(s, &f->controls[hlo_x86_live_range(f, value)->aux]);
      }
    }
    if (early) expire(s, 2 * s->position);
    expire(s, 2 * s->position + 1);
  }
}

// Counts the values that lie on the stack. Masks count as vectors.
static void count_spills(hlo_x86_fn_t* f) {
  f->spilled_words = f->spilled_vectors = 0;
  for (uint32_t i = 0; i < f->vir->value_count; ++i) {
    const hlo_x86_live_range_t* range = &f->ranges[i];
    if (range->place != HLO_X86_ON_STACK || range->home != i) continue;
    *(range->klass == HLO_X86_GENERAL ? &f->spilled_words : &f->spilled_vectors) += 1;
  }
}

static uint32_t keep_lowest(uint32_t mask, uint32_t count) {
  uint32_t kept = 0;
  for (; mask && count; --count) {
    kept |= mask & -mask;
    mask &= mask - 1;
  }
  return kept;
}

// The registers available to live ranges: all but the reserve and those that a test withholds.
static void choose_available(hlo_x86_fn_t* f) {
  const uint8_t* limit = f->unit->limits.registers;
  uint32_t general = 0, count = sizeof general_order;
  if (limit[HLO_X86_GENERAL] && limit[HLO_X86_GENERAL] < count) count = limit[HLO_X86_GENERAL];
  count -= f->reserve[HLO_X86_GENERAL] < count ? f->reserve[HLO_X86_GENERAL] : count;
  for (uint32_t i = 0; i < count; ++i) general |= BIT(general_order[i]);
  if (f->has_call || f->has_suspend) general &= ~BIT(HLO_X86_RBX);
  if (f->has_suspend) general &= ~BIT(HLO_X86_R12);
  f->available[HLO_X86_GENERAL] = general;

  uint32_t all[HLO_X86_CLASS_COUNT] = {
      [HLO_X86_VECTORS] = hlo_x86_vector_registers(f),
      [HLO_X86_MASKS] = f->is_avx512 ? 0xfe : 0,
  };
  for (uint32_t c = HLO_X86_VECTORS; c < HLO_X86_CLASS_COUNT; ++c) {
    uint32_t room = (uint32_t)__builtin_popcount(all[c]);
    if (limit[c] && limit[c] < room) room = limit[c];
    room -= f->reserve[c] < room ? f->reserve[c] : room;
    f->available[c] = keep_lowest(all[c], room);
  }
}

hlo_status_t hlo_x86_allocate(hlo_x86_fn_t* f) {
  scan_t s = {.f = f};
  uint32_t ends = 2 * f->item_count;
  if (!f->ending) f->ending = hlo_arena_array(f->arena, ends, sizeof *f->ending);
  HLO_TRY(hlo_arena_status(f->arena));
  memset(f->ending, 0xff, ends * sizeof *f->ending);
  memset(s.free_slots, 0xff, sizeof s.free_slots);
  choose_available(f);
  f->frame_bytes = f->objects_bytes;
  f->needs_alignment = f->objects_bytes > 0 || f->calls_fma;
  f->saved_bytes = f->has_suspend ? HLO_PROGRAM_SAVED_START : 0;
  f->pushed = 0;
  if (f->has_call || f->has_suspend) f->pushed |= BIT(HLO_X86_RBX);
  if (f->has_suspend) f->pushed |= BIT(HLO_X86_R12);
  if (f->has_suspend && (f->params[1] || f->params[2] || f->params[3])) {
    return hlo_unimplemented("%s: suspend in a function of several parameters", f->vir->name);
  }
  scan_line(&s);
  count_spills(f);
  if (s.saves_stack) {
    return hlo_unimplemented("%s: an address of the stack that is live across a suspend",
                             f->vir->name);
  }
  f->frame_bytes = align_up(f->frame_bytes, 64);
  if (f->frame_bytes > HLO_X86_MAX_STACK_BYTES) {
    return hlo_unimplemented("%s: %u bytes of stack, more than %d", f->vir->name, f->frame_bytes,
                             HLO_X86_MAX_STACK_BYTES);
  }
  return hlo_ok();
}
