// SPDX-License-Identifier: Apache-2.0
// Turns a prepared module into a program that can run (see program.h).
#include "codegen/image/program.h"

#include <string.h>

#include "base/mem.h"
#include "base/tuning.h"
#include "codegen/aot/object.h"
#include "codegen/aot/standalone.h"
#include "codegen/c/build.h"
#include "codegen/emit/entry.h"
#include "codegen/fuse/concurrent.h"
#include "codegen/fuse/fusion.h"
#include "codegen/image/image.h"
#include "codegen/image/machine_code.h"
#include "codegen/isa/isa.h"
#include "codegen/loops/tile_kernel.h"
#include "codegen/memory/remat.h"
#include "codegen/ptx/kernel.h"
#include "codegen/vir/interp.h"
#include "codegen/vir/saved.h"

struct hlo_code_program {
  hlo_call_site_table_t table;  // first member: frame->program points to it
  hlo_module_t* module;
  hlo_arena_t arena;  // call site tables
  hlo_program_entry_t entry;
  size_t temporary_bytes, saved_bytes, code_bytes;
  hlo_jit_t* jit;         // machine code
  hlo_c_program_t* c;     // compiled C source, with constants of `vir`
  hlo_vir_module_t* vir;  // interpreted
};

// ---- executors ----------------------------------------------------------------------------------

static int32_t interpreted_entry(hlo_frame_t* frame) {
  const hlo_code_program_t* program = frame->program;
  uint64_t params[] = {(uint64_t)(uintptr_t)frame};
  int32_t answer = HLO_PROGRAM_ERROR;
  hlo_status_t status =
      hlo_vir_interp_run(program->vir->first_func, params, &(hlo_vir_interp_options_t){0}, &answer);
  return hlo_status_is_ok(status) ? answer : hlo_call_site_fail(frame, 0, status);
}

static hlo_status_t load_code(hlo_code_program_t* program, const hlo_code_t* code,
                              const hlo_code_options_t* options) {
  HLO_TRY(options->pool ? hlo_jit_pool_load(options->pool, code, options->name, &program->jit)
                        : hlo_jit_load(code, options->name, &options->jit, &program->jit));
  program->entry = (hlo_program_entry_t)(uintptr_t)hlo_jit_address(program->jit, 0);
  program->code_bytes = code->size_bytes;
  if (code->funcs[0].saved_bytes > program->saved_bytes) {
    program->saved_bytes = code->funcs[0].saved_bytes;
  }
  return hlo_ok();
}

static hlo_status_t load_machine(hlo_code_program_t* program, const hlo_vir_module_t* vir,
                                 const hlo_code_options_t* options) {
  hlo_code_t code = {0};
  HLO_TRY(hlo_code_compile(vir, &options->target, &code));
  hlo_status_t status = load_code(program, &code, options);
  hlo_code_deinit(&code);
  return status;
}

static hlo_status_t load_c(hlo_code_program_t* program, const hlo_code_options_t* options) {
  const hlo_c_build_options_t build = {.compiler = options->compiler, .target = &options->target};
  HLO_TRY(hlo_c_build(program->vir, &build, &program->c));
  program->entry = (hlo_program_entry_t)(uintptr_t)hlo_c_program_address(program->c, 0);
  size_t saved_bytes = hlo_c_program_saved_bytes(program->c, 0);
  if (saved_bytes > program->saved_bytes) program->saved_bytes = saved_bytes;
  return hlo_ok();
}

// Takes ownership of `vir`.
static hlo_status_t load_vir(hlo_code_program_t* program, hlo_vir_module_t* vir,
                             const hlo_code_options_t* options) {
  if (options->executor == HLO_EXECUTOR_INTERPRETER || options->executor == HLO_EXECUTOR_TILES) {
    program->vir = vir;
    program->entry = interpreted_entry;
    hlo_vir_saved_t saved;
    HLO_TRY(hlo_vir_saved_create(vir->first_func, &program->arena, &saved));
    program->saved_bytes = saved.size_bytes;
    return hlo_ok();
  }
  if (options->executor == HLO_EXECUTOR_C) {
    program->vir = vir;
    return load_c(program, options);
  }
  hlo_status_t status = load_machine(program, vir, options);
  hlo_vir_module_release(vir);
  return status;
}

// ---- stages -------------------------------------------------------------------------------------

static bool is_listed(const hlo_code_options_t* options, hlo_listing_form_t form) {
  return options->listing && options->listing->form == form;
}

static void dump_plan(const hlo_plan_t* plan, hlo_dumper_t* dumper) {
  if (!hlo_dump_wants(dumper, HLO_DUMP_STAGE_plan)) return;
  HLO_SCOPED_STRBUF text = {0};
  hlo_plan_print(plan, &text);
  hlo_dump_text(dumper, HLO_DUMP_STAGE_plan, &text);
}

static void dump_vector(const hlo_vir_module_t* vir, hlo_dumper_t* dumper) {
  if (!hlo_dump_wants(dumper, HLO_DUMP_STAGE_vector)) return;
  HLO_SCOPED_STRBUF text = {0};
  hlo_vir_print(vir, &text);
  hlo_dump_text(dumper, HLO_DUMP_STAGE_vector, &text);
}

static hlo_status_t dump_machine_code(const hlo_vir_module_t* vir, const hlo_func_t* func,
                                      const hlo_code_options_t* options) {
  if (options->executor != HLO_EXECUTOR_MACHINE ||
      !hlo_dump_wants(options->dumper, HLO_DUMP_STAGE_asm)) {
    return hlo_ok();
  }
  HLO_SCOPED_STRBUF text = {0};
  const hlo_listing_t listing = {.form = HLO_LISTING_ASM, .out = &text};
  HLO_TRY(hlo_listing_print_code(&listing, vir, func, &options->target));
  hlo_dump_text(options->dumper, HLO_DUMP_STAGE_asm, &text);
  return hlo_ok();
}

static hlo_status_t make_schedule(const hlo_func_t* func, const hlo_code_options_t* options,
                                  hlo_arena_t* arena, hlo_schedule_t** out_schedule) {
  return is_listed(options, HLO_LISTING_FUSION)
             ? hlo_schedule_create_explained(func, &options->target, arena, out_schedule)
             : hlo_schedule_create(func, &options->target, arena, out_schedule);
}

// Lists the kernels by fusion index; the schedule was created with them.
static hlo_status_t list_kernels(const hlo_schedule_t* schedule, hlo_arena_t* arena,
                                 hlo_kernel_t*** out_kernels) {
  hlo_kernel_t** kernels = hlo_arena_array(arena, schedule->fusion_count, sizeof(*kernels));
  HLO_TRY(hlo_arena_status(arena));
  const hlo_step_t* step;
  for (hlo_step_cursor_t cursor = {0}; (step = hlo_schedule_step(schedule, &cursor));) {
    hlo_fusion_t* fusion = step->fusion;
    if (step->kind != HLO_STEP_FUSION) continue;
    kernels[fusion->index] = fusion->kernel;
  }
  *out_kernels = kernels;
  return hlo_ok();
}

// Checks that printed Tile IR can be parsed and prints as the same text.
static hlo_status_t check_tile_text(const char* text, uint32_t number) {
  HLO_SCOPED_ARENA arena = {0};
  HLO_SCOPED_STRBUF reprinted = {0};
  hlo_tile_kernel_t* kernel;
  HLO_TRY(hlo_tile_kernel_parse(&arena, text, &kernel));
  hlo_tile_kernel_print(kernel, &reprinted);
  HLO_TRY(hlo_strbuf_status(&reprinted));
  if (strcmp(hlo_strbuf_text(&reprinted), text) == 0) return hlo_ok();
  return hlo_internal_error("the Tile IR of fusion %u changes when printed and parsed", number);
}

// Makes Tile IR and appends it to `text`. If the kernel has none, *out_tile is NULL and the reason
// is appended.
static hlo_status_t make_tile(const hlo_kernel_t* kernel, uint32_t number, bool is_checked,
                              hlo_arena_t* arena, hlo_strbuf_t* text,
                              hlo_tile_kernel_t** out_tile) {
  *out_tile = NULL;
  hlo_status_t status = hlo_kernel_to_tile(kernel, arena, out_tile);
  if (hlo_status_is_ok(status)) {
    size_t start = text->length;
    hlo_tile_kernel_print(*out_tile, text);
    return is_checked ? check_tile_text(hlo_strbuf_text(text) + start, number) : status;
  }
  if (hlo_status_code(status) != HLO_STATUS_UNIMPLEMENTED) return status;
  hlo_strbuf_printf(text, "// fusion%u: %s\n", number, hlo_status_message(status));
  hlo_status_release(status);
  return hlo_ok();
}

// Prints the decisions of constraint systems for the kernel as comments.
static hlo_status_t print_decisions(const hlo_kernel_t* kernel, uint32_t number,
                                    hlo_strbuf_t* text) {
  HLO_SCOPED_STRBUF decisions = {0};
  hlo_status_t status = hlo_kernel_explain(kernel, &decisions);
  const char* line = decisions.length ? hlo_strbuf_text(&decisions) : "";
  while (*line) {
    size_t length = strcspn(line, "\n");
    hlo_strbuf_printf(text, "// fusion%u: %.*s\n", number, (int)length, line);
    line += length + (line[length] == '\n');
  }
  return status;
}

// Makes the code of a kernel from its Tile IR, which is stored in the program, unless that cannot
// be lowered.
static hlo_status_t lower_tile(hlo_kernel_t* kernel, hlo_arena_t* arena) {
  hlo_tile_kernel_t* tile;
  hlo_status_t status = hlo_kernel_to_tile(kernel, arena, &tile);
  if (hlo_status_is_ok(status)) status = hlo_kernel_lower_tile(kernel, tile);
  if (hlo_status_code(status) != HLO_STATUS_UNIMPLEMENTED) return status;
  hlo_status_release(status);
  return hlo_ok();
}

// Makes kernels run as Tile IR or code of it; other kernels run as vector IR.
static hlo_status_t use_tiles(hlo_kernel_t* const* kernels, uint32_t count,
                              const hlo_code_options_t* options, hlo_arena_t* arena) {
  HLO_SCOPED_STRBUF text = {0};
  for (uint32_t i = 0; i < count; ++i) {
    hlo_tile_kernel_t* tile = NULL;
    if (!kernels[i]) continue;
    if (options->lowers_tiles) {
      HLO_TRY(lower_tile(kernels[i], arena));
    } else {
      HLO_TRY(make_tile(kernels[i], i, options->check_plan, arena, &text, &tile));
      hlo_kernel_run_as_tile(kernels[i], tile);
    }
  }
  return hlo_ok();
}

// Prints or dumps all kernels as Tile IR.
static hlo_status_t print_tiles(const hlo_plan_t* plan, const hlo_code_options_t* options,
                                hlo_arena_t* arena) {
  bool is_printed = is_listed(options, HLO_LISTING_TILE);
  bool is_dumped = hlo_dump_wants(options->dumper, HLO_DUMP_STAGE_tile);
  if (!is_printed && !is_dumped) return hlo_ok();
  HLO_SCOPED_STRBUF text = {0};
  hlo_status_t status = hlo_ok();
  for (uint32_t i = 0; i < plan->schedule->fusion_count && hlo_status_is_ok(status); ++i) {
    hlo_tile_kernel_t* tile;
    if (!plan->kernels[i]) continue;
    status = print_decisions(plan->kernels[i], i, &text);
    if (hlo_status_is_ok(status)) {
      status = make_tile(plan->kernels[i], i, options->check_plan, arena, &text, &tile);
    }
  }
  if (is_printed) hlo_strbuf_puts(options->listing->out, hlo_strbuf_text(&text));
  if (is_dumped) hlo_dump_text(options->dumper, HLO_DUMP_STAGE_tile, &text);
  return status;
}

// Appends a kernel as PTX, or the reason why it has none.
static hlo_status_t print_ptx(const hlo_kernel_t* kernel, uint32_t number,
                              const hlo_ptx_target_t* target, hlo_strbuf_t* out) {
  HLO_SCOPED_ARENA arena = {0};
  hlo_tile_kernel_t* tile = NULL;
  hlo_status_t status = hlo_kernel_to_tile(kernel, &arena, &tile);
  const size_t start = out->length;
  if (hlo_status_is_ok(status)) status = hlo_ptx_emit_tile(tile, target, NULL, out);
  if (hlo_status_code(status) != HLO_STATUS_UNIMPLEMENTED) return status;
  out->length = start;
  hlo_strbuf_printf(out, "// fusion%u: %s\n", number, hlo_status_message(status));
  hlo_status_release(status);
  return hlo_ok();
}

static hlo_status_t list_ptx(const hlo_plan_t* plan, const hlo_listing_t* listing) {
  hlo_ptx_target_t target;
  HLO_TRY(hlo_ptx_target_parse(listing->gpu, &target));
  for (uint32_t i = 0; i < plan->schedule->fusion_count; ++i) {
    if (plan->kernels[i]) HLO_TRY(print_ptx(plan->kernels[i], i, &target, listing->out));
  }
  return hlo_ok();
}

static hlo_status_t list_tilings(const hlo_plan_t* plan, hlo_strbuf_t* out) {
  for (uint32_t i = 0; i < plan->schedule->fusion_count; ++i) {
    if (!plan->kernels[i]) continue;
    hlo_strbuf_printf(out, "fusion%u\n", i);
    HLO_TRY(hlo_kernel_print_tilings(plan->kernels[i], out));
  }
  return hlo_ok();
}

// scratch: memory that is not needed once the program is made
static hlo_status_t plan_once(const hlo_func_t* func, const hlo_code_options_t* options,
                              hlo_arena_t* arena, hlo_arena_t* scratch, hlo_plan_t** out_plan) {
  hlo_schedule_t* schedule = NULL;
  hlo_kernel_t** kernels = NULL;
  HLO_TRY(make_schedule(func, options, scratch, &schedule));
  if (options->configs) {
    HLO_TRY(hlo_schedule_configure(schedule, func->module, &options->target, options->configs,
                                   scratch));
  }
  HLO_TRY(list_kernels(schedule, scratch, &kernels));
  if (options->executor == HLO_EXECUTOR_TILES || options->lowers_tiles) {
    HLO_TRY(use_tiles(kernels, schedule->fusion_count, options, arena));
  }
  HLO_TRY(hlo_schedule_make_concurrent_groups(schedule, func->module, &options->target, scratch));
  if (options->check_plan) {
    HLO_TRY(hlo_schedule_verify(schedule, func));
    for (uint32_t i = 0; i < schedule->fusion_count; ++i) {
      if (kernels[i]) HLO_TRY(hlo_kernel_verify(kernels[i]));
    }
  }
  return hlo_plan_create(func, schedule, kernels, options->is_checked, scratch, out_plan);
}

// Recomputes values until temporaries are within the limit, or until that no longer helps.
static hlo_status_t fit_plan(hlo_module_t* module, const hlo_func_t* func,
                             const hlo_code_options_t* options, hlo_arena_t* arena,
                             hlo_arena_t* scratch, hlo_plan_t** plan) {
  hlo_remat_t* remat;
  HLO_TRY(hlo_remat_create(module, func, &options->target, scratch, &remat));
  uint32_t misses = 0;
  for (uint32_t i = 0; i < HLO_TUNING_REMAT_MAX_STEPS && misses < HLO_TUNING_REMAT_MAX_MISSES;
       ++i) {
    uint64_t bytes = (*plan)->temporary_bytes;
    uint32_t count;
    if (bytes <= options->temporary_limit) break;
    HLO_TRY(hlo_remat_step(remat, *plan, bytes - options->temporary_limit, &count));
    if (!count) break;
    hlo_plan_t* next;
    HLO_TRY(plan_once(func, options, arena, scratch, &next));
    if (next->temporary_bytes < bytes) {
      *plan = next;
      misses = 0;
    } else {
      hlo_remat_undo(remat);
      ++misses;
    }
  }
  return hlo_ok();
}

static hlo_status_t make_plan(hlo_module_t* module, const hlo_func_t* func,
                              const hlo_code_options_t* options, hlo_arena_t* arena,
                              hlo_arena_t* scratch, hlo_plan_t** out_plan) {
  HLO_TRY(plan_once(func, options, arena, scratch, out_plan));
  if (options->temporary_limit) {
    HLO_TRY(fit_plan(module, func, options, arena, scratch, out_plan));
  }
  HLO_TRY(print_tiles(*out_plan, options, scratch));
  dump_plan(*out_plan, options->dumper);
  if (is_listed(options, HLO_LISTING_FUSION)) {
    HLO_TRY(hlo_schedule_print((*out_plan)->schedule, func, options->listing->out));
  }
  if (is_listed(options, HLO_LISTING_PLAN)) hlo_plan_print(*out_plan, options->listing->out);
  if (is_listed(options, HLO_LISTING_PTX)) HLO_TRY(list_ptx(*out_plan, options->listing));
  if (is_listed(options, HLO_LISTING_TILINGS)) {
    HLO_TRY(list_tilings(*out_plan, options->listing->out));
  }
  return options->check_plan ? hlo_plan_check(*out_plan) : hlo_ok();
}

static hlo_status_t list_code(const hlo_code_program_t* program, const hlo_plan_t* plan,
                              hlo_vir_module_t* vir, const hlo_code_options_t* options) {
  const hlo_listing_t* listing = options->listing;
  if (listing->form == HLO_LISTING_C && listing->header) {
    return hlo_standalone_print(plan, &program->table, vir, listing->name, listing->out,
                                listing->header);
  }
  if (listing->form == HLO_LISTING_OBJECT) {
    return hlo_object_print(plan, &program->table, vir, &options->target, listing->name,
                            listing->out, listing->header);
  }
  return hlo_listing_print_code(listing, vir, plan->func, &options->target);
}

static hlo_status_t prepare_call_sites(hlo_code_program_t* program,
                                       const hlo_code_options_t* options) {
  return hlo_call_site_table_prepare(&program->table, options->replica_count,
                                     options->partition_count, &program->arena);
}

static hlo_status_t create_vir(const hlo_code_options_t* options, hlo_vir_module_t** out_vir) {
  HLO_TRY(hlo_vir_module_create(out_vir));
  (*out_vir)->has_half = options->target.has_half;
  (*out_vir)->has_permute = options->target.has_permute;
  (*out_vir)->subnormals = options->target.subnormals;
  (*out_vir)->has_scale = options->target.has_scale && options->executor != HLO_EXECUTOR_C;
  return hlo_ok();
}

// Returns true if the vector IR of the whole program is needed, to run, print or verify it.
static bool needs_whole_vir(const hlo_code_options_t* options) {
  return options->executor != HLO_EXECUTOR_MACHINE || options->listing || options->check_plan ||
         hlo_dump_wants(options->dumper, HLO_DUMP_STAGE_vector) ||
         hlo_dump_wants(options->dumper, HLO_DUMP_STAGE_asm);
}

static hlo_status_t make_from_whole_vir(hlo_code_program_t* program, const hlo_plan_t* plan,
                                        const hlo_code_options_t* options) {
  hlo_vir_module_t* vir = NULL;
  HLO_TRY(create_vir(options, &vir));
  hlo_status_t status =
      hlo_entry_build(plan, &options->target, &program->table, &program->arena, vir);
  if (hlo_status_is_ok(status)) {
    dump_vector(vir, options->dumper);
    if (is_listed(options, HLO_LISTING_VIR)) hlo_vir_print(vir, options->listing->out);
    if (options->check_plan) status = hlo_vir_verify(vir, options->target.vector_bytes);
  }
  if (hlo_status_is_ok(status) && options->listing) {
    status = list_code(program, plan, vir, options);
  }
  if (hlo_status_is_ok(status)) status = dump_machine_code(vir, plan->func, options);
  if (!hlo_status_is_ok(status)) {
    hlo_vir_module_release(vir);
    return status;
  }
  return load_vir(program, vir, options);
}

// Makes machine code with the vector IR of only one function per thread in memory.
static hlo_status_t make_machine_code(hlo_code_program_t* program, const hlo_plan_t* plan,
                                      const hlo_code_options_t* options) {
  hlo_vir_module_t* first = NULL;
  HLO_TRY(create_vir(options, &first));
  hlo_entry_t* entry = NULL;
  hlo_code_t code = {0};
  hlo_status_t status =
      hlo_entry_create(plan, &options->target, &program->table, &program->arena, first, &entry);
  if (hlo_status_is_ok(status)) {
    status = hlo_machine_code_make(entry, first, &options->target, options->kernels,
                                   options->parallel, options->helper_store, &code);
  }
  if (hlo_status_is_ok(status)) status = load_code(program, &code, options);
  hlo_code_deinit(&code);
  hlo_vir_module_release(first);
  return status;
}

static void reserve_step_times(hlo_code_program_t* program) {
  program->table.step_times_offset = program->saved_bytes;
  program->saved_bytes += program->table.step_span_count * sizeof(uint64_t);
}

static hlo_status_t make_program(hlo_code_program_t* program, const hlo_func_t* func,
                                 const hlo_code_options_t* options, hlo_arena_t* arena) {
  hlo_plan_t* plan = NULL;
  HLO_TRY(make_plan(program->module, func, options, &program->arena, arena, &plan));
  program->temporary_bytes = plan->temporary_bytes;
  program->saved_bytes = HLO_PROGRAM_SAVED_START;
  HLO_TRY(hlo_call_site_table_init(plan, &program->arena, &program->table));
  program->table.tile_meaning = options->tile_meaning;
  program->table.is_profiled = options->is_profiled;
  HLO_TRY(prepare_call_sites(program, options));
  HLO_TRY(needs_whole_vir(options) ? make_from_whole_vir(program, plan, options)
                                   : make_machine_code(program, plan, options));
  reserve_step_times(program);
  return hlo_ok();
}

// Takes ownership of the module.
static hlo_status_t create_empty(hlo_module_t* module, hlo_code_program_t** out_program) {
  hlo_code_program_t* program = hlo_mem_alloc_zeroed(sizeof *program);
  if (!program) {
    hlo_module_release(module);
    return hlo_status_out_of_memory(sizeof *program);
  }
  program->module = module;
  hlo_arena_init(&program->arena, 0);
  *out_program = program;
  return hlo_ok();
}

hlo_status_t hlo_code_program_create(hlo_module_t* module, const hlo_func_t* func,
                                     const hlo_code_options_t* options,
                                     hlo_code_program_t** out_program) {
  hlo_code_program_t* program = NULL;
  HLO_TRY(create_empty(module, &program));
  HLO_SCOPED_ARENA scratch = {0};
  hlo_status_t status = make_program(program, func, options, &scratch);
  if (!hlo_status_is_ok(status)) {
    hlo_code_program_release(program);
    return status;
  }
  *out_program = program;
  return hlo_ok();
}

static hlo_status_t load_image(hlo_code_program_t* program, const hlo_func_t* func,
                               const void* bytes, size_t size_bytes,
                               const hlo_code_options_t* options) {
  hlo_image_t image;
  hlo_status_t status = hlo_image_read(bytes, size_bytes, func, &program->arena, &image);
  program->table = image.table;
  HLO_TRY(status);
  program->temporary_bytes = image.temporary_bytes;
  program->saved_bytes = image.saved_bytes;
  HLO_TRY(prepare_call_sites(program, options));
  image.code.isa = hlo_code_isa_of(&options->target);
  if (!image.code.isa) {
    return hlo_failed_precondition(
        "the compiled program has machine code, but this target has no encoder");
  }
  return load_code(program, &image.code, options);
}

hlo_status_t hlo_code_program_load(hlo_module_t* module, const hlo_func_t* func, const void* image,
                                   size_t image_bytes, const hlo_code_options_t* options,
                                   hlo_code_program_t** out_program) {
  hlo_code_program_t* program = NULL;
  HLO_TRY(create_empty(NULL, &program));
  hlo_status_t status = load_image(program, func, image, image_bytes, options);
  if (!hlo_status_is_ok(status)) {
    hlo_code_program_release(program);
    return status;
  }
  program->module = module;
  *out_program = program;
  return hlo_ok();
}

hlo_status_t hlo_code_program_save(const hlo_code_program_t* program, hlo_strbuf_t* out) {
  const hlo_call_site_table_t* table = &program->table;
  if (!program->jit || table->memory_check || table->is_profiled) return hlo_ok();
  return hlo_image_write(hlo_jit_code(program->jit), &program->table, program->temporary_bytes,
                         program->saved_bytes, out);
}

void hlo_code_program_release(hlo_code_program_t* program) {
  if (!program) return;
  hlo_call_site_table_deinit(&program->table);
  hlo_jit_release(program->jit);
  hlo_c_program_release(program->c);
  hlo_vir_module_release(program->vir);
  hlo_arena_deinit(&program->arena);
  hlo_module_release(program->module);
  hlo_mem_free(program);
}

hlo_program_entry_t hlo_code_program_entry(const hlo_code_program_t* program) {
  return program->entry;
}

const void* hlo_code_program_data(const hlo_code_program_t* program) {
  return program;
}

const hlo_module_t* hlo_code_program_module(const hlo_code_program_t* program) {
  return program->module;
}

size_t hlo_code_program_temporary_bytes(const hlo_code_program_t* program) {
  return program->temporary_bytes;
}

size_t hlo_code_program_saved_bytes(const hlo_code_program_t* program) {
  return program->saved_bytes;
}

size_t hlo_code_program_code_bytes(const hlo_code_program_t* program) {
  return program->code_bytes;
}

uint64_t hlo_code_program_code_hash(const hlo_code_program_t* program) {
  const hlo_code_t* code = program->jit ? hlo_jit_code(program->jit) : NULL;
  return code ? hlo_hash_bytes(code->bytes, code->size_bytes, 0) : 0;
}

void hlo_code_program_count_spills(const hlo_code_program_t* program, uint32_t* out_words,
                                   uint32_t* out_vectors) {
  *out_words = *out_vectors = 0;
  const hlo_code_t* code = program->jit ? hlo_jit_code(program->jit) : NULL;
  for (uint32_t i = 0; code && i < code->func_count; ++i) {
    *out_words += code->funcs[i].spilled_words;
    *out_vectors += code->funcs[i].spilled_vectors;
  }
}

uint32_t hlo_code_program_foreign_calls(const hlo_code_program_t* program,
                                        const hlo_node_t* const** out_nodes) {
  *out_nodes = program->table.foreign_nodes;
  return program->table.foreign_count;
}
