// SPDX-License-Identifier: Apache-2.0
// Threads that fill a buffer in pieces while another one sets an error: exactly one outcome.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "pjrt/test_util.h"

enum { FILLERS = 8, ROUNDS = 2000, PIECE = 8 };

// A round that all threads play together.
typedef struct game {
  pthread_barrier_t barrier;
  PJRT_AsyncHostToDeviceTransferManager* manager;
  atomic_int sent_count, refused_count;
  char data[(FILLERS + 1) * PIECE];
} game_t;

typedef struct player {
  game_t* game;
  int number;
  unsigned random;
} player_t;

// Returns false if the piece was refused because the buffer has an error.
static bool send_piece(game_t* game, int number, bool is_last) {
  PJRT_AsyncHostToDeviceTransferManager_TransferData_Args args =
      ARGS(AsyncHostToDeviceTransferManager_TransferData, .transfer_manager = game->manager,
           .data = game->data + number * PIECE, .offset = number * PIECE, .transfer_size = PIECE,
           .is_last_transfer = is_last);
  PJRT_Error* error = GetPjrtApi()->PJRT_AsyncHostToDeviceTransferManager_TransferData(&args);
  if (error) {
    hlo_test_destroy_error(error);
    atomic_fetch_add(&game->refused_count, 1);
    return false;
  }
  hlo_test_await(args.done_with_h2d_transfer);
  return true;
}

// Whoever sends the last piece but one sends the last one, too.
static void fill(player_t* player) {
  game_t* game = player->game;
  send_piece(game, player->number, false);
  if (atomic_fetch_add(&game->sent_count, 1) + 1 == FILLERS) send_piece(game, FILLERS, true);
}

static void set_error(player_t* player) {
  player->random = player->random * 1664525u + 1013904223u;
  for (unsigned i = 0; i < player->random >> 28; ++i) sched_yield();
  OK(AsyncHostToDeviceTransferManager_SetBufferError,
     &ARGS(AsyncHostToDeviceTransferManager_SetBufferError,
           .transfer_manager = player->game->manager, .error_code = PJRT_Error_Code_DATA_LOSS,
           .error_message = "lost", .error_message_size = 4));
}

static void* play(void* context) {
  player_t* player = context;
  for (int round = 0; round < ROUNDS; ++round) {
    pthread_barrier_wait(&player->game->barrier);
    if (player->number < FILLERS) {
      fill(player);
    } else {
      set_error(player);
    }
    pthread_barrier_wait(&player->game->barrier);
  }
  return NULL;
}

static void note_outcome(PJRT_Error* error, void* user_arg) {
  atomic_fetch_add((atomic_int*)user_arg, 1);
  hlo_test_destroy_error(error);
}

static PJRT_Buffer* begin_round(PJRT_Client* client, game_t* game) {
  static const int64_t dims[] = {sizeof game->data};
  PJRT_ShapeSpec spec = {.dims = dims, .num_dims = 1, .element_type = PJRT_Buffer_Type_S8};
  PJRT_Client_CreateBuffersForAsyncHostToDevice_Args create =
      ARGS(Client_CreateBuffersForAsyncHostToDevice, .client = client, .shape_specs = &spec,
           .num_shape_specs = 1, .memory = hlo_test_memory_of(hlo_test_device_of(client, 0)));
  OK(Client_CreateBuffersForAsyncHostToDevice, &create);
  game->manager = create.transfer_manager;
  atomic_store(&game->sent_count, 0);
  atomic_store(&game->refused_count, 0);
  PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args retrieve =
      ARGS(AsyncHostToDeviceTransferManager_RetrieveBuffer, .transfer_manager = game->manager);
  OK(AsyncHostToDeviceTransferManager_RetrieveBuffer, &retrieve);
  return retrieve.buffer_out;
}

// Either the error, or all bytes and no refused piece.
static void check_outcome(game_t* game, PJRT_Buffer* buffer, atomic_int* outcomes) {
  PJRT_Event* ready = hlo_test_ready_event(buffer);
  OK(Event_OnReady,
     &ARGS(Event_OnReady, .event = ready, .callback = note_outcome, .user_arg = outcomes));
  PJRT_Error* error = GetPjrtApi()->PJRT_Event_Await(&ARGS(Event_Await, .event = ready));
  if (error) {
    hlo_test_expect_error(error, PJRT_Error_Code_DATA_LOSS, "lost");
  } else {
    char out[sizeof game->data];
    assert_int_equal(game->refused_count, 0);
    hlo_test_download(buffer, out, sizeof out);
    assert_memory_equal(out, game->data, sizeof out);
  }
  OK(Event_Destroy, &ARGS(Event_Destroy, .event = ready));
  OK(AsyncHostToDeviceTransferManager_Destroy,
     &ARGS(AsyncHostToDeviceTransferManager_Destroy, .transfer_manager = game->manager));
  hlo_test_destroy_buffer(buffer);
}

static void pieces_and_errors_have_one_outcome(void** state) {
  (void)state;
  static game_t game;
  for (size_t i = 0; i < sizeof game.data; ++i) game.data[i] = (char)i;
  PJRT_Client* client = hlo_test_create_client(1);
  pthread_barrier_init(&game.barrier, NULL, FILLERS + 2);
  pthread_t threads[FILLERS + 1];
  player_t players[FILLERS + 1];
  for (int i = 0; i <= FILLERS; ++i) {
    players[i] = (player_t){&game, i, 7};
    pthread_create(&threads[i], NULL, play, &players[i]);
  }
  atomic_int outcomes = 0;
  for (int round = 0; round < ROUNDS; ++round) {
    PJRT_Buffer* buffer = begin_round(client, &game);
    pthread_barrier_wait(&game.barrier);
    pthread_barrier_wait(&game.barrier);
    check_outcome(&game, buffer, &outcomes);
  }
  for (int i = 0; i <= FILLERS; ++i) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&game.barrier);
  assert_int_equal(outcomes, ROUNDS);
  hlo_test_destroy_client(client);
}

// The last owner of an event that nobody sets fails it.
static void abandoned_events_fail(void** state) {
  (void)state;
  PJRT_Event_Create_Args create = ARGS(Event_Create);
  OK(Event_Create, &create);
  atomic_int outcomes = 0;
  OK(Event_OnReady,
     &ARGS(Event_OnReady, .event = create.event, .callback = note_outcome, .user_arg = &outcomes));
  OK(Event_Destroy, &ARGS(Event_Destroy, .event = create.event));
  assert_int_equal(outcomes, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pieces_and_errors_have_one_outcome),
      cmocka_unit_test(abandoned_events_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
