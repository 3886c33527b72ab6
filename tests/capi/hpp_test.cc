// SPDX-License-Identifier: Apache-2.0
// The C++ types of hlocc.hpp against the shared library, as an application uses them.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <future>

#include "hlocc/hlocc.hpp"

static const char kTwice[] =
    "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %0 = stablehlo.add %a, %a : tensor<4xf32>\n"
    "  return %0 : tensor<4xf32>\n}\n";

#define EXPECT(condition)                                                  \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                        \
    }                                                                      \
  } while (0)

static void test_round_trip() {
  hlocc::client client(1, 2);
  EXPECT(client.device_count() == 1);
  const hlocc::executable twice = client.load(kTwice);
  const std::vector<float> in = {1, 2, 3, 4};
  const hlocc::buffer a = hlocc::buffer::copy_of(client, {4}, in.data());
  hlocc::event end;
  std::vector<hlocc::buffer> results = twice.launch({&a}, &end);
  end.wait();
  EXPECT(end.is_ready() && end.wait_for(std::chrono::seconds(0)));
  EXPECT((results[0].to_vector<float>() == std::vector<float>{2, 4, 6, 8}));
  hlocc::buffer made = hlocc::buffer::create<float>(client, {4});
  for (float& x : made.map_mutable<float>()) x = 5;
  EXPECT(twice.launch({&made})[0].map<float>()[3] == 10);
  std::promise<bool> called;
  results[0].ready().on_ready([&](const hlocc_error_t* error) { called.set_value(!error); });
  EXPECT(called.get_future().get());
}

static void test_lends() {
  hlocc::client client(1, 2);
  const uint32_t first = 0;
  hlocc_compile_options_t options = {};
  options.donated_count = 1;
  options.donated = &first;
  const hlocc::executable twice = client.load(kTwice, options);
  alignas(64) float memory[4] = {1, 2, 3, 4};
  std::atomic<int> released{0};
  {
    const hlocc::buffer lent =
        hlocc::buffer::wrap(client, {4}, memory, [&] { released.fetch_add(1); });
    const hlocc::buffer next = std::move(twice.launch({&lent})[0]);
    EXPECT(lent.is_donated() && released == 0);
    EXPECT(next.map<float>().data() == memory && memory[3] == 8);
  }
  EXPECT(released == 1);
  const float constant[4] = {1, 1, 1, 1};
  { const hlocc::buffer lent = hlocc::buffer::wrap(client, {4}, constant, nullptr); }
}

template <class E, class F>
static E caught(F function) {
  try {
    function();
  } catch (const E& found) {
    return found;
  }
  std::fprintf(stderr, "nothing was thrown\n");
  std::exit(1);
}

static void test_throws() {
  hlocc::client client(1, 2);
  const hlocc::error error =
      caught<hlocc::error>([&] { client.load("func.func @main() {\n  stablehlo.frob\n}\n"); });
  EXPECT(error.code() == HLOCC_UNIMPLEMENTED && error.faults().size() == 1);
  EXPECT(error.faults()[0].line == 2 && error.faults()[0].operation == "stablehlo.frob");
  const hlocc::executable twice = client.load(kTwice);
  caught<std::invalid_argument>([&] { twice.launch({}); });
  const hlocc::buffer made = hlocc::buffer::create<float>(client, {4});
  caught<std::invalid_argument>([&] { made.map<int32_t>(); });
  caught<hlocc::error>([&] { hlocc::buffer::create<float>(client, {4}, 9); });
}

static void test_divides() {
  hlocc::client client(2, 2);
  hlocc_compile_options_t options = {};
  options.partition_count = 2;
  const hlocc::executable twice = client.load(
      "sdy.mesh @mesh = <[\"x\"=2]>\n"
      "func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>})\n"
      "    -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}) {\n"
      "  %0 = stablehlo.add %a, %a : tensor<4xf32>\n"
      "  return %0 : tensor<4xf32>\n}\n",
      options);
  EXPECT(twice.device_count() == 2 && twice.argument(0).element_count == 2);
  EXPECT(twice.argument_part(0, 1).offsets == hlocc::dims{2});
  EXPECT(twice.result_part(0, 1).whole == hlocc::dims{4});
  const float first[2] = {1, 2}, second[2] = {3, 4};
  const hlocc::buffer a = hlocc::buffer::copy_of(client, {2}, first, 0);
  const hlocc::buffer b = hlocc::buffer::copy_of(client, {2}, second, 1);
  const std::vector<hlocc::buffer> results = twice.launch({&a, &b});
  EXPECT((results[0].to_vector<float>() == std::vector<float>{2, 4}));
  EXPECT((results[1].to_vector<float>() == std::vector<float>{6, 8}));
  caught<std::invalid_argument>([&] { twice.launch({&a}); });
  caught<hlocc::error>([&] { twice.result_part(0, 2); });
}

int main() {
  test_round_trip();
  test_divides();
  test_lends();
  test_throws();
  return 0;
}
