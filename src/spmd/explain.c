// SPDX-License-Identifier: Apache-2.0
// Events of propagation, and the program with comments about them (see explain.h).
#include "spmd/explain.h"

#include <string.h>

#include "spmd/propagate_log.h"

// ---- events

static uint32_t dim_of_axis(const hlo_spec_t* spec, uint8_t axis) {
  for (uint32_t d = 0; d < spec->rank; ++d) {
    const uint8_t* axes;
    const uint32_t count = hlo_spec_dim(spec, d, &axes);
    if (count && memchr(axes, axis, count)) return d;
  }
  return spec->rank;
}

// Returns true if two dimensions have a factor in common.
static bool is_one_loop(const hlo_prop_step_t* step, uint32_t a, uint32_t a_dim, uint32_t b,
                        uint32_t b_dim) {
  if (!step->rule) return a_dim == b_dim;
  const hlo_dim_factors_t* first = &step->rule->dims[a][a_dim];
  const hlo_dim_factors_t* second = &step->rule->dims[b][b_dim];
  for (uint32_t i = 0; i < first->count; ++i) {
    for (uint32_t k = 0; k < second->count; ++k) {
      if (first->factors[i] == second->factors[k]) return true;
    }
  }
  return false;
}

// The tensor that offers an axis to a dimension.
static uint32_t find_source(const hlo_prop_step_t* step, uint32_t tensor, uint32_t dim,
                            uint8_t axis) {
  const hlo_prop_slot_t* own = step->tensors[tensor].slot;
  for (uint32_t t = 0; t < step->tensor_count; ++t) {
    const hlo_prop_slot_t* slot = step->tensors[t].slot;
    if (!slot || slot == own) continue;
    const uint32_t d = dim_of_axis(&slot->spec, axis);
    if (d < slot->spec.rank && is_one_loop(step, t, d, tensor, dim)) return t;
  }
  return step->tensor_count;
}

hlo_status_t hlo_prop_log(hlo_prop_t* prop, const hlo_prop_step_t* step, uint32_t tensor,
                          uint32_t dim, uint32_t count, const uint8_t* axes,
                          hlo_prop_reason_t reason) {
  hlo_prop_slot_t* slot = step->tensors[tensor].slot;
  for (const hlo_prop_event_t* e = slot->events; e; e = e->next) {
    const bool is_known = e->step == step && e->dim == dim && e->reason == reason &&
                          e->count == count && memcmp(e->axes, axes, count) == 0;
    if (is_known) return hlo_ok();
  }
  hlo_prop_event_t* event = hlo_arena_alloc(&prop->arena, sizeof *event);
  uint8_t* copy = hlo_arena_alloc(&prop->arena, count);
  if (!event || !copy) return hlo_arena_status(&prop->arena);
  memcpy(copy, axes, count);
  *event = (hlo_prop_event_t){.next = slot->events,
                              .step = step,
                              .tensor = tensor,
                              .dim = dim,
                              .count = count,
                              .axes = copy,
                              .reason = reason,
                              .source = find_source(step, tensor, dim, axes[0]),
                              .phase = (uint8_t)prop->phase,
                              .is_aggressive = prop->is_aggressive};
  slot->events = event;
  return hlo_ok();
}

// ---- comments

// Appends axes by their names in the mesh of the slot: "x", "y":(1)2.
static hlo_status_t put_axes(hlo_prop_t* prop, const hlo_prop_slot_t* slot, uint32_t count,
                             const uint8_t* axes, hlo_strbuf_t* out) {
  const hlo_mesh_t* mesh = hlo_prop_mesh(prop, slot);
  hlo_dim_axes_t dim = {.count = count};
  memcpy(dim.axes, axes, count);
  const hlo_spec_t* spec = hlo_spec_make(prop->spmd, 1, &dim, 0);
  const hlo_sharding_t* sharding;
  if (!spec) return hlo_arena_status(&prop->spmd->arena);
  if (!mesh) return hlo_ok();
  HLO_TRY(hlo_spec_to_sharding(prop->spmd, spec, mesh, &sharding));
  const char* first = strstr(sharding->attr->text, "[{");
  const char* last = first ? strstr(first, "}]") : NULL;
  if (last) hlo_strbuf_append(out, first + 2, (size_t)(last - first - 2));
  return hlo_ok();
}

static void put_tensor(const hlo_prop_step_t* step, uint32_t tensor, hlo_printer_t* printer,
                       hlo_strbuf_t* out) {
  const hlo_value_t* value = tensor < step->tensor_count ? step->tensors[tensor].value : NULL;
  if (value) {
    hlo_print_value_name(printer, value);
  } else {
    hlo_strbuf_puts(out, "the result of the function");
  }
}

static void put_step(const hlo_prop_step_t* step, hlo_strbuf_t* out) {
  if (!step->node) return;
  hlo_strbuf_puts(out, " by ");
  hlo_node_print_location(step->node, out);
}

static void put_reason(const hlo_prop_slot_t* slot, const hlo_prop_event_t* event,
                       hlo_strbuf_t* out) {
  const uint32_t dim = dim_of_axis(&slot->spec, event->axes[0]);
  switch (event->reason) {
    case HLO_PROP_TAKEN: {
      static const char* const phases[] = {"ops that pass values on, with one use",
                                           "ops that pass values on", "dimensions passed through",
                                           "all ops but broadcasts", "all ops"};
      hlo_strbuf_printf(out, " (%s%s)", phases[event->phase],
                        event->is_aggressive ? ", in spite of a conflict" : "");
      return;
    }
    case HLO_PROP_DIFFERENT: hlo_strbuf_puts(out, ": another axis divides it"); return;
    case HLO_PROP_USED:
      if (dim < slot->spec.rank) hlo_strbuf_printf(out, ": it divides dimension %u", dim);
      return;
    case HLO_PROP_CLOSED: hlo_strbuf_puts(out, ": the dimension is closed"); return;
    case HLO_PROP_REPLICATED: hlo_strbuf_puts(out, ": the program replicates it"); return;
    case HLO_PROP_UNEVEN: hlo_strbuf_puts(out, ": its parts would be strides"); return;
  }
}

typedef struct explanation {
  hlo_prop_t* prop;
  hlo_status_t status;
} explanation_t;

// Returns the axes of an event. Propagation refuses the first one of a list; the source has those
// after it as well.
static hlo_dim_axes_t axes_of_event(const hlo_prop_event_t* event) {
  hlo_dim_axes_t list = {.count = event->count};
  memcpy(list.axes, event->axes, event->count);
  if (event->reason == HLO_PROP_TAKEN || event->source >= event->step->tensor_count) return list;
  const hlo_spec_t* spec = &event->step->tensors[event->source].slot->spec;
  const uint8_t* axes = NULL;
  const uint32_t dim = dim_of_axis(spec, event->axes[0]);
  const uint32_t count = dim < spec->rank ? hlo_spec_dim(spec, dim, &axes) : 0;
  uint32_t first = 0;
  while (first < count && axes[first] != event->axes[0]) ++first;
  if (first == count) return list;
  list.count = count - first;
  memcpy(list.axes, axes + first, list.count);
  return list;
}

static hlo_status_t explain_event(hlo_prop_t* prop, const hlo_prop_slot_t* slot,
                                  const hlo_prop_event_t* event, hlo_printer_t* printer,
                                  const hlo_value_t* value) {
  const bool is_taken = event->reason == HLO_PROP_TAKEN;
  // Axes that were refused first and taken later are no loss.
  if (!is_taken && dim_of_axis(&slot->spec, event->axes[0]) == event->dim) return hlo_ok();
  hlo_strbuf_t* out = hlo_print_comment(printer);
  hlo_print_value_name(printer, value);
  hlo_strbuf_printf(out, " dimension %u: ", event->dim);
  const hlo_dim_axes_t axes = axes_of_event(event);
  HLO_TRY(put_axes(prop, slot, axes.count, axes.axes, out));
  hlo_strbuf_puts(out, is_taken ? " from " : " is refused from ");
  put_tensor(event->step, event->source, printer, out);
  put_step(event->step, out);
  put_reason(slot, event, out);
  return hlo_ok();
}

static hlo_status_t explain_slot(hlo_prop_t* prop, const hlo_prop_slot_t* slot,
                                 hlo_printer_t* printer, const hlo_value_t* value) {
  if (slot->is_stated) {
    hlo_strbuf_t* out = hlo_print_comment(printer);
    hlo_print_value_name(printer, value);
    hlo_strbuf_puts(out, hlo_spec_axis_count(&slot->spec) ? " is divided as the program states"
                                                          : " is whole, as the program states");
  }
  uint32_t count = 0;
  for (const hlo_prop_event_t* e = slot->events; e; e = e->next) ++count;
  const hlo_prop_event_t** events = hlo_arena_array(&prop->arena, count, sizeof *events);
  if (!events) return hlo_arena_status(&prop->arena);
  uint32_t at = count;
  for (const hlo_prop_event_t* e = slot->events; e; e = e->next) events[--at] = e;
  for (uint32_t i = 0; i < count; ++i) {
    HLO_TRY(explain_event(prop, slot, events[i], printer, value));
  }
  return hlo_ok();
}

static void explain_value(void* context, hlo_printer_t* printer, const hlo_value_t* value) {
  explanation_t* x = context;
  const hlo_prop_slot_t* slot = hlo_prop_slot(x->prop, value);
  if (slot && hlo_status_is_ok(x->status)) x->status = explain_slot(x->prop, slot, printer, value);
}

hlo_status_t hlo_spmd_explain(hlo_module_t* module, uint32_t device_count,
                              const hlo_print_options_t* options, hlo_strbuf_t* out) {
  hlo_spmd_t spmd;
  hlo_prop_t prop = {.spmd = &spmd, .func = hlo_module_entry(module), .is_logged = true};
  explanation_t x = {.prop = &prop};
  hlo_print_options_t with_notes = *options;
  with_notes.note = explain_value;
  with_notes.note_context = &x;
  hlo_arena_init(&prop.arena, 0);
  x.status = hlo_spmd_init(&spmd, module, device_count);
  prop.grid = spmd.grid;
  const bool has_body = prop.func && prop.func->body;
  if (hlo_status_is_ok(x.status) && has_body) x.status = hlo_prop_run(&prop);
  if (hlo_status_is_ok(x.status)) x.status = hlo_spmd_annotate(&spmd);
  if (hlo_status_is_ok(x.status)) hlo_print_module(module, &with_notes, out);
  hlo_arena_deinit(&prop.arena);
  hlo_spmd_deinit(&spmd);
  return x.status;
}
