// SPDX-License-Identifier: Apache-2.0
// The transport between threads, used from one thread: who gets what, who is woken, who fails.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_util.h"
#include "comm/comm.h"

enum { PROCESSES = 4 };

typedef struct fixture {
  hlo_comm_t* comm;
  uint32_t woken[PROCESSES];
  int references;  // to parts
} fixture_t;

static fixture_t g;

static void wake(void* context, uint32_t process) {
  ++((fixture_t*)context)->woken[process];
}

static void print_launch(void* context, uint32_t process, hlo_strbuf_t* out) {
  (void)context, (void)process;
  hlo_strbuf_puts(out, "launch");
}

static void print_process(void* context, uint32_t process, hlo_strbuf_t* out) {
  (void)context;
  hlo_strbuf_printf(out, "P%u", process);
}

static void print_label(void* context, const void* label, hlo_strbuf_t* out) {
  (void)context;
  hlo_strbuf_puts(out, label);
}

static void print_wait(void* context, uint32_t process, const hlo_comm_wait_t* wait,
                       hlo_strbuf_t* out) {
  (void)context, (void)process;
  hlo_strbuf_printf(out, "%s %u/%u", (const char*)wait->label, wait->arrived_count,
                    wait->missing_count);
}

static void retain(void* part) {
  (void)part;
  ++g.references;
}

static void release(void* part) {
  (void)part;
  --g.references;
}

static void create(const hlo_comm_faults_t* faults) {
  g = (fixture_t){0};
  const hlo_comm_owner_t owner = {wake,   print_launch, print_process, print_label, print_wait,
                                  retain, release,      faults,        &g};
  hlo_test_check(hlo_comm_create_local(PROCESSES, &owner, &g.comm));
}

static const uint32_t kAll[] = {2, 0, 1, 3}, kPair[] = {0, 1};

static hlo_comm_op_t op_of(hlo_comm_kind_t kind, uint32_t count, const uint32_t* members,
                           uint32_t position, uint32_t site) {
  return (hlo_comm_op_t){
      .call = {.kind = kind, .process = members[position], .position = position, .site = site},
      .signature = 5,
      .part_count = 1,
      .group = {hlo_comm_group_id(count, members), count, members},
      .label = "op"};
}

static int g_parts[PROCESSES];

static void begin(const hlo_comm_op_t* op, hlo_comm_work_t** out_work) {
  void* part = &g_parts[op->call.process];
  if (op->call.kind == HLO_COMM_GATHER) retain(part);
  hlo_test_check(hlo_comm_begin(g.comm, op, &part, out_work));
}

static hlo_comm_state_t ask(const hlo_comm_op_t* op, void** out_parts) {
  hlo_comm_state_t state = HLO_COMM_CANCELLED;
  hlo_test_check(hlo_comm_done(g.comm, &op->call, false, out_parts, &state));
  return state;
}

static void expect_error(hlo_status_t status, hlo_status_code_t code, const char* text) {
  assert_int_equal(hlo_status_code(status), code);
  assert_non_null(strstr(hlo_status_message(status), text));
  hlo_status_release(status);
}

// Twice, so that the second uses the memory of the first.
static void members_get_all_parts(void** state) {
  (void)state;
  create(NULL);
  for (uint32_t round = 1; round <= 2; ++round) {
    hlo_comm_op_t ops[PROCESSES];
    void* parts[PROCESSES];
    for (uint32_t i = 0; i < PROCESSES; ++i) {
      ops[i] = op_of(HLO_COMM_GATHER, PROCESSES, kAll, i, 1);
      begin(&ops[i], NULL);
      if (i == 0) assert_int_equal(ask(&ops[0], parts), HLO_COMM_PENDING);
    }
    assert_int_equal(g.woken[kAll[0]], round);
    for (uint32_t i = 0; i < PROCESSES; ++i) {
      assert_int_equal(ask(&ops[i], parts), HLO_COMM_DONE);
      for (uint32_t k = 0; k < PROCESSES; ++k) {
        assert_ptr_equal(parts[k], &g_parts[kAll[k]]);
        release(parts[k]);
      }
    }
    assert_int_equal(g.references, 0);
  }
  hlo_comm_release(g.comm);
}

// Exchanges of one site overlap: two are begun before the first ends.
static void the_last_member_works(void** state) {
  (void)state;
  create(NULL);
  hlo_comm_op_t ops[2] = {op_of(HLO_COMM_EXCHANGE, 2, kPair, 0, 7),
                          op_of(HLO_COMM_EXCHANGE, 2, kPair, 1, 7)};
  hlo_comm_work_t *first = NULL, *second = NULL;
  begin(&ops[0], &first);
  begin(&ops[0], &second);
  assert_null(first);
  begin(&ops[1], &first);
  begin(&ops[1], &second);
  assert_non_null(first);
  assert_ptr_equal(first->parts[0], &g_parts[0]);
  assert_ptr_equal(first->parts[1], &g_parts[1]);
  assert_int_equal(ask(&ops[0], NULL), HLO_COMM_PENDING);
  assert_false(hlo_comm_end(g.comm, 0));
  hlo_comm_finish(g.comm, first, hlo_ok());
  hlo_comm_finish(g.comm, second, hlo_ok());
  assert_int_equal(g.woken[0], 1);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 2; ++i) assert_int_equal(ask(&ops[i], NULL), HLO_COMM_DONE);
  }
  assert_true(hlo_comm_end(g.comm, 0));
  hlo_comm_release(g.comm);
}

static void members_have_to_agree(void** state) {
  (void)state;
  create(NULL);
  hlo_comm_op_t op = op_of(HLO_COMM_EXCHANGE, 2, kPair, 0, 7);
  hlo_comm_work_t* work = NULL;
  op.channel_id = 3;
  begin(&op, &work);
  op = op_of(HLO_COMM_EXCHANGE, 2, kPair, 1, 9);
  op.channel_id = 3;
  op.signature = 6;
  void* part = &g_parts[1];
  expect_error(hlo_comm_begin(g.comm, &op, &part, &work), HLO_STATUS_INVALID_ARGUMENT,
               "different types");
  assert_null(work);
  hlo_comm_release(g.comm);
}

static void messages_keep_their_order(void** state) {
  (void)state;
  create(NULL);
  const hlo_comm_message_t message = {
      .source = 3, .target = 1, .channel_id = 2, .part_count = 1, .label = "recv"};
  void* got = NULL;
  hlo_comm_state_t at = HLO_COMM_DONE;
  hlo_test_check(hlo_comm_recv(g.comm, &message, &got, &at));
  assert_int_equal(at, HLO_COMM_PENDING);
  uint32_t arrived[PROCESSES], missing[PROCESSES];
  hlo_comm_wait_t wait = {.capacity = PROCESSES, .arrived = arrived, .missing = missing};
  assert_true(hlo_comm_find_wait(g.comm, 0, 1, &wait));
  assert_true(wait.is_recv && arrived[0] == 1 && missing[0] == 3);
  for (int i = 0; i < 3; ++i) {
    void* part = &g_parts[i];
    retain(part);
    hlo_test_check(hlo_comm_send(g.comm, &message, &part));
  }
  assert_int_equal(g.woken[1], 1);
  for (int i = 0; i < 2; ++i) {
    hlo_test_check(hlo_comm_recv(g.comm, &message, &got, &at));
    assert_int_equal(at, HLO_COMM_DONE);
    assert_ptr_equal(got, &g_parts[i]);
    release(got);
  }
  hlo_comm_release(g.comm);
  assert_int_equal(g.references, 0);
}

static void waits_without_end_fail(void** state) {
  (void)state;
  create(NULL);
  const hlo_comm_op_t op = op_of(HLO_COMM_GATHER, 2, kPair, 0, 1);
  void* parts[2];
  begin(&op, NULL);
  assert_int_equal(ask(&op, parts), HLO_COMM_PENDING);
  assert_true(hlo_comm_is_waiting(g.comm, 0));
  assert_true(hlo_comm_end(g.comm, 1));
  assert_int_equal(g.woken[0], 1);
  hlo_comm_state_t at;
  expect_error(hlo_comm_done(g.comm, &op.call, false, parts, &at), HLO_STATUS_FAILED_PRECONDITION,
               "launch: a device has ended for which others wait: P0 op 1/1");
  hlo_comm_release(g.comm);
  assert_int_equal(g.references, 0);
}

static hlo_comm_fault_t lose_second(void* context, uint64_t run_id, uint32_t process,
                                    const void* label) {
  (void)run_id, (void)label;
  return process == 1 ? *(hlo_comm_fault_t*)context : HLO_COMM_FAULT_NONE;
}

// Nobody knows that a lost process waits; the failure of the launch wakes it.
static void processes_get_lost(void** state) {
  (void)state;
  hlo_comm_fault_t fault = HLO_COMM_FAULT_LOST;
  hlo_comm_faults_t faults = {lose_second, &fault};
  create(&faults);
  const hlo_comm_op_t ops[] = {op_of(HLO_COMM_GATHER, 2, kPair, 0, 1),
                               op_of(HLO_COMM_GATHER, 2, kPair, 1, 1)};
  void* parts[2];
  begin(&ops[0], NULL);
  begin(&ops[1], NULL);
  for (int i = 0; i < 2; ++i) assert_int_equal(ask(&ops[i], parts), HLO_COMM_PENDING);
  assert_true(hlo_comm_is_lost(g.comm, 1) && !hlo_comm_is_waiting(g.comm, 1));
  hlo_status_t error = hlo_internal_error("given up");
  hlo_comm_fail(g.comm, error);
  hlo_status_release(error);
  for (int i = 0; i < 2; ++i) {
    hlo_comm_state_t at;
    assert_int_equal(g.woken[i], 1);
    expect_error(hlo_comm_done(g.comm, &ops[i].call, false, parts, &at), HLO_STATUS_INTERNAL,
                 "given up");
  }
  fault = HLO_COMM_FAULT_ERROR;
  void* part = &g_parts[1];
  retain(part);
  expect_error(hlo_comm_begin(g.comm, &ops[1], &part, NULL), HLO_STATUS_INTERNAL,
               "P1 has failed in op");
  hlo_comm_release(g.comm);
  assert_int_equal(g.references, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(members_get_all_parts),  cmocka_unit_test(the_last_member_works),
      cmocka_unit_test(members_have_to_agree),  cmocka_unit_test(messages_keep_their_order),
      cmocka_unit_test(waits_without_end_fail), cmocka_unit_test(processes_get_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
