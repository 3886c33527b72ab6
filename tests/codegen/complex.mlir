// Complex values: in registers as pairs of reals, in buffers as complex elements.
func.func @main(%x: tensor<7x33xcomplex<f32>>, %y: tensor<7x33xcomplex<f32>>, %s: tensor<complex<f32>>, %e: tensor<0x3xcomplex<f32>>)
    -> (tensor<7x33xcomplex<f32>>, tensor<7x33xf32>, tensor<33x7xcomplex<f32>>, tensor<7x33xi1>, tensor<complex<f32>>,
        tensor<3x0xcomplex<f32>>, tensor<9x35xcomplex<f32>>, tensor<33x7xcomplex<f64>>) {
  %0 = stablehlo.multiply %x, %y : tensor<7x33xcomplex<f32>>
  %1 = stablehlo.subtract %0, %y : tensor<7x33xcomplex<f32>>
  %2 = stablehlo.imag %1 : (tensor<7x33xcomplex<f32>>) -> tensor<7x33xf32>
  %3 = stablehlo.transpose %1, dims = [1, 0] : (tensor<7x33xcomplex<f32>>) -> tensor<33x7xcomplex<f32>>
  %4 = stablehlo.maximum %x, %y : tensor<7x33xcomplex<f32>>
  %5 = stablehlo.compare NE, %4, %x : (tensor<7x33xcomplex<f32>>, tensor<7x33xcomplex<f32>>) -> tensor<7x33xi1>
  %6 = stablehlo.multiply %s, %s : tensor<complex<f32>>
  %7 = stablehlo.transpose %e, dims = [1, 0] : (tensor<0x3xcomplex<f32>>) -> tensor<3x0xcomplex<f32>>
  %8 = stablehlo.pad %1, %6, low = [1, 0], high = [1, 2], interior = [0, 0] : (tensor<7x33xcomplex<f32>>, tensor<complex<f32>>) -> tensor<9x35xcomplex<f32>>
  %9 = stablehlo.reverse %3, dims = [0] : tensor<33x7xcomplex<f32>>
  %10 = stablehlo.convert %9 : (tensor<33x7xcomplex<f32>>) -> tensor<33x7xcomplex<f64>>
  return %1, %2, %3, %5, %6, %7, %8, %10 : tensor<7x33xcomplex<f32>>, tensor<7x33xf32>, tensor<33x7xcomplex<f32>>,
    tensor<7x33xi1>, tensor<complex<f32>>, tensor<3x0xcomplex<f32>>, tensor<9x35xcomplex<f32>>, tensor<33x7xcomplex<f64>>
}
// -----
// Sums and products.
func.func @main(%x: tensor<19x17xcomplex<f32>>, %y: tensor<17x40xcomplex<f32>>, %r: tensor<19x17xf32>, %v: tensor<17xcomplex<f32>>,
    %b: tensor<50x4x4xcomplex<f32>>)
    -> (tensor<17xcomplex<f32>>, tensor<complex<f32>>, tensor<19x40xcomplex<f32>>, tensor<17x17xcomplex<f32>>, tensor<19xcomplex<f32>>,
        tensor<50x4x4xcomplex<f32>>, tensor<complex<f32>>) {
  %z = stablehlo.constant dense<(0.5,-0.5)> : tensor<complex<f32>>
  %one = stablehlo.constant dense<(1.0,0.0)> : tensor<complex<f32>>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<19x17xcomplex<f32>>, tensor<complex<f32>>) -> tensor<17xcomplex<f32>>
  %1 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<19x17xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
  %2 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<19x17xcomplex<f32>>, tensor<17x40xcomplex<f32>>) -> tensor<19x40xcomplex<f32>>
  %3 = stablehlo.convert %r : (tensor<19x17xf32>) -> tensor<19x17xcomplex<f32>>
  %4 = stablehlo.dot_general %x, %3, contracting_dims = [0] x [0] : (tensor<19x17xcomplex<f32>>, tensor<19x17xcomplex<f32>>) -> tensor<17x17xcomplex<f32>>
  %5 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<19x17xcomplex<f32>>, tensor<17xcomplex<f32>>) -> tensor<19xcomplex<f32>>
  %6 = stablehlo.dot_general %b, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<50x4x4xcomplex<f32>>, tensor<50x4x4xcomplex<f32>>) -> tensor<50x4x4xcomplex<f32>>
  %7 = stablehlo.reduce(%v init: %one) applies stablehlo.multiply across dimensions = [0] : (tensor<17xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
  return %0, %1, %2, %4, %5, %6, %7 : tensor<17xcomplex<f32>>, tensor<complex<f32>>, tensor<19x40xcomplex<f32>>, tensor<17x17xcomplex<f32>>,
    tensor<19xcomplex<f32>>, tensor<50x4x4xcomplex<f32>>, tensor<complex<f32>>
}
// -----
// Contractions of a few elements: batches, several dimensions, none at all, a zero part, more than
// a few.
func.func @main(%g: tensor<2x2x2x2xcomplex<f64>>, %s: tensor<3x2x5x2x7xcomplex<f64>>, %b: tensor<9x3x4xcomplex<f64>>, %c: tensor<4x9x6xcomplex<f64>>,
    %r: tensor<4x9x6xf64>, %m: tensor<9x8x5xcomplex<f64>>, %e: tensor<6x0xcomplex<f64>>)
    -> (tensor<2x2x3x5x7xcomplex<f64>>, tensor<9x3x6xcomplex<f64>>, tensor<9x3x6xcomplex<f64>>, tensor<9x3x4x8x5xcomplex<f64>>, tensor<9x5x5xcomplex<f64>>, tensor<6x6xcomplex<f64>>) {
  %0 = stablehlo.dot_general %g, %s, contracting_dims = [3, 2] x [1, 3] : (tensor<2x2x2x2xcomplex<f64>>, tensor<3x2x5x2x7xcomplex<f64>>) -> tensor<2x2x3x5x7xcomplex<f64>>
  %1 = stablehlo.dot_general %b, %c, batching_dims = [0] x [1], contracting_dims = [2] x [0] : (tensor<9x3x4xcomplex<f64>>, tensor<4x9x6xcomplex<f64>>) -> tensor<9x3x6xcomplex<f64>>
  %2 = stablehlo.convert %r : (tensor<4x9x6xf64>) -> tensor<4x9x6xcomplex<f64>>
  %3 = stablehlo.dot_general %b, %2, batching_dims = [0] x [1], contracting_dims = [2] x [0] : (tensor<9x3x4xcomplex<f64>>, tensor<4x9x6xcomplex<f64>>) -> tensor<9x3x6xcomplex<f64>>
  %4 = stablehlo.dot_general %b, %m, batching_dims = [0] x [0], contracting_dims = [] x [] : (tensor<9x3x4xcomplex<f64>>, tensor<9x8x5xcomplex<f64>>) -> tensor<9x3x4x8x5xcomplex<f64>>
  %5 = stablehlo.dot_general %m, %m, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<9x8x5xcomplex<f64>>, tensor<9x8x5xcomplex<f64>>) -> tensor<9x5x5xcomplex<f64>>
  %6 = stablehlo.dot_general %e, %e, contracting_dims = [1] x [1] : (tensor<6x0xcomplex<f64>>, tensor<6x0xcomplex<f64>>) -> tensor<6x6xcomplex<f64>>
  return %0, %1, %3, %4, %5, %6 : tensor<2x2x3x5x7xcomplex<f64>>, tensor<9x3x6xcomplex<f64>>, tensor<9x3x6xcomplex<f64>>, tensor<9x3x4x8x5xcomplex<f64>>, tensor<9x5x5xcomplex<f64>>, tensor<6x6xcomplex<f64>>
}
// -----
// Tall matrices: one product of buffers in place, of values without a buffer, with batches and
// transposed operands.
func.func @main(%x: tensor<101x9xcomplex<f32>>, %y: tensor<9x3xcomplex<f32>>, %t: tensor<3x9xcomplex<f32>>,
    %b: tensor<3x40x5x7xcomplex<f64>>, %w: tensor<7x2x3x5xcomplex<f64>>, %m: tensor<50x6x6xcomplex<f32>>)
    -> (tensor<101x3xcomplex<f32>>, tensor<101x3xcomplex<f32>>, tensor<101xcomplex<f32>>, tensor<3x40x2xcomplex<f64>>, tensor<50x6x6xcomplex<f32>>, tensor<9x9xcomplex<f32>>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<101x9xcomplex<f32>>, tensor<9x3xcomplex<f32>>) -> tensor<101x3xcomplex<f32>>
  %1 = stablehlo.multiply %x, %x : tensor<101x9xcomplex<f32>>
  %2 = stablehlo.dot_general %1, %t, contracting_dims = [1] x [1] : (tensor<101x9xcomplex<f32>>, tensor<3x9xcomplex<f32>>) -> tensor<101x3xcomplex<f32>>
  %3 = stablehlo.slice %y [0:9, 1:2] : (tensor<9x3xcomplex<f32>>) -> tensor<9x1xcomplex<f32>>
  %4 = stablehlo.reshape %3 : (tensor<9x1xcomplex<f32>>) -> tensor<9xcomplex<f32>>
  %5 = stablehlo.dot_general %x, %4, contracting_dims = [1] x [0] : (tensor<101x9xcomplex<f32>>, tensor<9xcomplex<f32>>) -> tensor<101xcomplex<f32>>
  %6 = stablehlo.dot_general %b, %w, batching_dims = [0] x [2], contracting_dims = [2, 3] x [3, 0] : (tensor<3x40x5x7xcomplex<f64>>, tensor<7x2x3x5xcomplex<f64>>) -> tensor<3x40x2xcomplex<f64>>
  %7 = stablehlo.dot_general %m, %m, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<50x6x6xcomplex<f32>>, tensor<50x6x6xcomplex<f32>>) -> tensor<50x6x6xcomplex<f32>>
  %8 = stablehlo.dot_general %7, %m, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<50x6x6xcomplex<f32>>, tensor<50x6x6xcomplex<f32>>) -> tensor<50x6x6xcomplex<f32>>
  %9 = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<101x9xcomplex<f32>>, tensor<101x9xcomplex<f32>>) -> tensor<9x9xcomplex<f32>>
  return %0, %2, %5, %6, %8, %9 : tensor<101x3xcomplex<f32>>, tensor<101x3xcomplex<f32>>, tensor<101xcomplex<f32>>, tensor<3x40x2xcomplex<f64>>, tensor<50x6x6xcomplex<f32>>, tensor<9x9xcomplex<f32>>
}
// -----
// Few rows or columns and a large matrix, which is read in place: its parts become columns, or are
// contracted; with batches, several dimensions of each kind in any order, vectors, and a small
// operand without a buffer.
func.func @main(%v: tensor<33xcomplex<f32>>, %r: tensor<3x33xcomplex<f32>>, %m: tensor<33x70xcomplex<f32>>, %t: tensor<70x33xcomplex<f32>>,
    %s: tensor<5x3x7x2xcomplex<f64>>, %w: tensor<7x3x41x5x6xcomplex<f64>>, %u: tensor<41x3x6x5x7xcomplex<f64>>)
    -> (tensor<70xcomplex<f32>>, tensor<70xcomplex<f32>>, tensor<70xcomplex<f32>>, tensor<3x70xcomplex<f32>>, tensor<70x3xcomplex<f32>>, tensor<70x12xcomplex<f32>>,
        tensor<3x2x41x6xcomplex<f64>>, tensor<3x41x6x2xcomplex<f64>>, tensor<3x2x41x6xcomplex<f64>>) {
  %0 = stablehlo.dot_general %v, %m, contracting_dims = [0] x [0] : (tensor<33xcomplex<f32>>, tensor<33x70xcomplex<f32>>) -> tensor<70xcomplex<f32>>
  %1 = stablehlo.dot_general %m, %v, contracting_dims = [0] x [0] : (tensor<33x70xcomplex<f32>>, tensor<33xcomplex<f32>>) -> tensor<70xcomplex<f32>>
  %2 = stablehlo.dot_general %v, %t, contracting_dims = [0] x [1] : (tensor<33xcomplex<f32>>, tensor<70x33xcomplex<f32>>) -> tensor<70xcomplex<f32>>
  %3 = stablehlo.multiply %r, %r : tensor<3x33xcomplex<f32>>
  %4 = stablehlo.dot_general %3, %t, contracting_dims = [1] x [1] : (tensor<3x33xcomplex<f32>>, tensor<70x33xcomplex<f32>>) -> tensor<3x70xcomplex<f32>>
  %5 = stablehlo.dot_general %m, %3, contracting_dims = [0] x [1] : (tensor<33x70xcomplex<f32>>, tensor<3x33xcomplex<f32>>) -> tensor<70x3xcomplex<f32>>
  %6 = stablehlo.concatenate %r, %3, %r, %3, dim = 0 : (tensor<3x33xcomplex<f32>>, tensor<3x33xcomplex<f32>>, tensor<3x33xcomplex<f32>>, tensor<3x33xcomplex<f32>>) -> tensor<12x33xcomplex<f32>>
  %7 = stablehlo.dot_general %m, %6, contracting_dims = [0] x [1] : (tensor<33x70xcomplex<f32>>, tensor<12x33xcomplex<f32>>) -> tensor<70x12xcomplex<f32>>
  %8 = stablehlo.dot_general %s, %w, batching_dims = [1] x [1], contracting_dims = [2, 0] x [0, 3] : (tensor<5x3x7x2xcomplex<f64>>, tensor<7x3x41x5x6xcomplex<f64>>) -> tensor<3x2x41x6xcomplex<f64>>
  %9 = stablehlo.dot_general %w, %s, batching_dims = [1] x [1], contracting_dims = [0, 3] x [2, 0] : (tensor<7x3x41x5x6xcomplex<f64>>, tensor<5x3x7x2xcomplex<f64>>) -> tensor<3x41x6x2xcomplex<f64>>
  %10 = stablehlo.dot_general %s, %u, batching_dims = [1] x [1], contracting_dims = [0, 2] x [3, 4] : (tensor<5x3x7x2xcomplex<f64>>, tensor<41x3x6x5x7xcomplex<f64>>) -> tensor<3x2x41x6xcomplex<f64>>
  return %0, %1, %2, %4, %5, %7, %8, %9, %10 : tensor<70xcomplex<f32>>, tensor<70xcomplex<f32>>, tensor<70xcomplex<f32>>, tensor<3x70xcomplex<f32>>, tensor<70x3xcomplex<f32>>, tensor<70x12xcomplex<f32>>,
    tensor<3x2x41x6xcomplex<f64>>, tensor<3x41x6x2xcomplex<f64>>, tensor<3x2x41x6xcomplex<f64>>
}
// -----
// Loops and branches, library calls in between, values of outer scopes.
func.func @main(%x: tensor<64xcomplex<f32>>, %m: tensor<64xcomplex<f32>>, %p: tensor<i1>)
    -> (tensor<64xcomplex<f32>>, tensor<4x64xcomplex<f32>>, tensor<64xcomplex<f32>>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %rows = stablehlo.constant dense<(0.0,1.0)> : tensor<4x64xcomplex<f32>>
  %0:3 = stablehlo.while(%i = %zero, %z = %x, %all = %rows) : tensor<i32>, tensor<64xcomplex<f32>>, tensor<4x64xcomplex<f32>>
  cond {
    %c = stablehlo.constant dense<4> : tensor<i32>
    %l = stablehlo.compare LT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  } do {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %none = stablehlo.constant dense<0> : tensor<i32>
    %j = stablehlo.add %i, %c : tensor<i32>
    %f = stablehlo.fft %z, type = FFT, length = [64] : (tensor<64xcomplex<f32>>) -> tensor<64xcomplex<f32>>
    %w = stablehlo.multiply %f, %m : tensor<64xcomplex<f32>>
    %g = stablehlo.fft %w, type = IFFT, length = [64] : (tensor<64xcomplex<f32>>) -> tensor<64xcomplex<f32>>
    %row = stablehlo.reshape %g : (tensor<64xcomplex<f32>>) -> tensor<1x64xcomplex<f32>>
    %next = stablehlo.dynamic_update_slice %all, %row, %i, %none : (tensor<4x64xcomplex<f32>>, tensor<1x64xcomplex<f32>>, tensor<i32>, tensor<i32>) -> tensor<4x64xcomplex<f32>>
    stablehlo.return %j, %g, %next : tensor<i32>, tensor<64xcomplex<f32>>, tensor<4x64xcomplex<f32>>
  }
  %1 = "stablehlo.if"(%p) ({
    %n = stablehlo.negate %0#1 : tensor<64xcomplex<f32>>
    stablehlo.return %n : tensor<64xcomplex<f32>>
  }, {
    stablehlo.return %x : tensor<64xcomplex<f32>>
  }) : (tensor<i1>) -> tensor<64xcomplex<f32>>
  return %0#1, %0#2, %1 : tensor<64xcomplex<f32>>, tensor<4x64xcomplex<f32>>, tensor<64xcomplex<f32>>
}
// -----
// Ops with regions, and movements by indices.
func.func @main(%x: tensor<40xcomplex<f32>>, %u: tensor<5xcomplex<f32>>, %k: tensor<1x1x3xcomplex<f32>>)
    -> (tensor<40xcomplex<f32>>, tensor<40xcomplex<f32>>, tensor<5xcomplex<f32>>, tensor<38xcomplex<f32>>, tensor<1x1x40xcomplex<f32>>, tensor<40xcomplex<f32>>) {
  %z = stablehlo.constant dense<(0.0,0.0)> : tensor<complex<f32>>
  %i = stablehlo.constant dense<[[3], [39], [3], [0], [17]]> : tensor<5x1xi32>
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
    %s = stablehlo.add %a, %b : tensor<complex<f32>>
    stablehlo.return %s : tensor<complex<f32>>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
    : (tensor<40xcomplex<f32>>, tensor<5x1xi32>, tensor<5xcomplex<f32>>) -> tensor<40xcomplex<f32>>
  %1 = "stablehlo.scatter"(%0, %i, %u) ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
    %s = stablehlo.multiply %a, %b : tensor<complex<f32>>
    stablehlo.return %s : tensor<complex<f32>>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
    : (tensor<40xcomplex<f32>>, tensor<5x1xi32>, tensor<5xcomplex<f32>>) -> tensor<40xcomplex<f32>>
  %2 = "stablehlo.gather"(%1, %i) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1>} : (tensor<40xcomplex<f32>>, tensor<5x1xi32>) -> tensor<5xcomplex<f32>>
  %3 = "stablehlo.reduce_window"(%x, %z) ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
    %s = stablehlo.add %a, %b : tensor<complex<f32>>
    stablehlo.return %s : tensor<complex<f32>>
  }) {window_dimensions = array<i64: 3>} : (tensor<40xcomplex<f32>>, tensor<complex<f32>>) -> tensor<38xcomplex<f32>>
  %4 = stablehlo.reshape %x : (tensor<40xcomplex<f32>>) -> tensor<1x1x40xcomplex<f32>>
  %5 = stablehlo.convolution(%4, %k) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = [[1, 1]]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x40xcomplex<f32>>, tensor<1x1x3xcomplex<f32>>) -> tensor<1x1x40xcomplex<f32>>
  %6 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
    %p = stablehlo.real %a : (tensor<complex<f32>>) -> tensor<f32>
    %q = stablehlo.real %b : (tensor<complex<f32>>) -> tensor<f32>
    %l = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<40xcomplex<f32>>) -> tensor<40xcomplex<f32>>
  return %0, %1, %2, %3, %5, %6 : tensor<40xcomplex<f32>>, tensor<40xcomplex<f32>>, tensor<5xcomplex<f32>>, tensor<38xcomplex<f32>>, tensor<1x1x40xcomplex<f32>>, tensor<40xcomplex<f32>>
}
// -----
// A loop reads elements of a buffer and overwrites others.
func.func @main(%xs: tensor<9x4xcomplex<f32>>) -> tensor<9x4xcomplex<f32>> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %one, %x = %xs) : tensor<i32>, tensor<9x4xcomplex<f32>>
  cond {
    %c = stablehlo.constant dense<9> : tensor<i32>
    %p = stablehlo.compare LT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %none = stablehlo.constant dense<0> : tensor<i32>
    %h = stablehlo.subtract %i, %c : tensor<i32>
    %j = stablehlo.add %i, %c : tensor<i32>
    %row = stablehlo.dynamic_slice %x, %h, %none, sizes = [1, 4] : (tensor<9x4xcomplex<f32>>, tensor<i32>, tensor<i32>) -> tensor<1x4xcomplex<f32>>
    %old = stablehlo.dynamic_slice %x, %i, %none, sizes = [1, 4] : (tensor<9x4xcomplex<f32>>, tensor<i32>, tensor<i32>) -> tensor<1x4xcomplex<f32>>
    %new = stablehlo.multiply %row, %old : tensor<1x4xcomplex<f32>>
    %all = stablehlo.dynamic_update_slice %x, %new, %i, %none : (tensor<9x4xcomplex<f32>>, tensor<1x4xcomplex<f32>>, tensor<i32>, tensor<i32>) -> tensor<9x4xcomplex<f32>>
    stablehlo.return %j, %all : tensor<i32>, tensor<9x4xcomplex<f32>>
  }
  return %0#1 : tensor<9x4xcomplex<f32>>
}
