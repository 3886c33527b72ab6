// SPDX-License-Identifier: Apache-2.0
// Calls a program that was compiled ahead of time: to plain C, which needs no part of hlocc to
// build or run, or to an object file, which needs no compiler.
//
//   hlocc compile --emit=c --header=softmax.h -o softmax.c ../c/softmax.mlir
//   cc -O2 $(sed -n 's|^//   -std|-std|p' softmax.h) main.c softmax.c -lm -o softmax
//
//   hlocc compile -o softmax.o --header=softmax.h ../c/softmax.mlir
//   cc -O2 main.c softmax.o -lhlocc_rt -lpthread -ldl -lm -o softmax
#include <math.h>
#include <stdio.h>

#include "softmax.h"

int main(void) {
  enum { ROWS = 2, COLUMNS = 4 };
  float x[ROWS][COLUMNS] = {{0, 1, 2, 3}, {4, 4, 4, 4}}, y[ROWS][COLUMNS];
  const void* arguments[] = {x};
  void* results[] = {y};
  if (softmax_run(arguments, results) != 0) return 1;
  for (int row = 0; row < ROWS; ++row) {
    float sum = 0;
    for (int column = 0; column < COLUMNS; ++column) {
      printf("%s%g", column ? " " : "", (double)y[row][column]);
      sum += y[row][column];
    }
    printf("\n");
    if (fabsf(sum - 1) > 1e-6f) return 1;
  }
  return y[1][0] == 0.25f ? 0 : 1;
}
