// Reductions, windows, selections, sorts and maps with bodies that no loops or library functions are made for: their
// bodies are applied to whole arrays in loops.

// Cumulative windows whose bodies are not one op: an associative one in blocks, and in order.
func.func @main(%x: tensor<1500xf32>) -> tensor<1500xf32> {
  %init = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %m = stablehlo.maximum %a, %b : tensor<f32>
      %s = stablehlo.subtract %a, %b : tensor<f32>
      %p = stablehlo.compare NE, %s, %s : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %q = stablehlo.add %a, %b : tensor<f32>
      %d = stablehlo.abs %s : tensor<f32>
      %n = stablehlo.negate %d : tensor<f32>
      %e = stablehlo.exponential %n : tensor<f32>
      %l = stablehlo.log_plus_one %e : tensor<f32>
      %r = stablehlo.add %m, %l : tensor<f32>
      %v = stablehlo.select %p, %q, %r : tensor<i1>, tensor<f32>
      stablehlo.return %v : tensor<f32>
  }) {window_dimensions = array<i64: 1500>, padding = dense<[[1499, 0]]> : tensor<1x2xi64>}
      : (tensor<1500xf32>, tensor<f32>) -> tensor<1500xf32>
  return %0 : tensor<1500xf32>
}
// -----
func.func @main(%x: tensor<3x700xf32>) -> tensor<3x700xf32> {
  %init = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %m = stablehlo.maximum %a, %b : tensor<f32>
      %s = stablehlo.subtract %a, %b : tensor<f32>
      %p = stablehlo.compare NE, %s, %s : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %q = stablehlo.add %a, %b : tensor<f32>
      %d = stablehlo.abs %s : tensor<f32>
      %n = stablehlo.negate %d : tensor<f32>
      %e = stablehlo.exponential %n : tensor<f32>
      %l = stablehlo.log_plus_one %e : tensor<f32>
      %r = stablehlo.add %m, %l : tensor<f32>
      %v = stablehlo.select %p, %q, %r : tensor<i1>, tensor<f32>
      stablehlo.return %v : tensor<f32>
  }) {window_dimensions = array<i64: 1, 700>, padding = dense<[[0, 0], [0, 699]]> : tensor<2x2xi64>}
      : (tensor<3x700xf32>, tensor<f32>) -> tensor<3x700xf32>
  return %0 : tensor<3x700xf32>
}
// -----
func.func @main(%x: tensor<600x40xf64>) -> tensor<600x40xf64> {
  %init = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
  %0 = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<f64>, %b: tensor<f64>):
      %m = stablehlo.maximum %a, %b : tensor<f64>
      %s = stablehlo.subtract %a, %b : tensor<f64>
      %p = stablehlo.compare NE, %s, %s : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %q = stablehlo.add %a, %b : tensor<f64>
      %d = stablehlo.abs %s : tensor<f64>
      %n = stablehlo.negate %d : tensor<f64>
      %e = stablehlo.exponential %n : tensor<f64>
      %l = stablehlo.log_plus_one %e : tensor<f64>
      %r = stablehlo.add %m, %l : tensor<f64>
      %v = stablehlo.select %p, %q, %r : tensor<i1>, tensor<f64>
      stablehlo.return %v : tensor<f64>
  }) {window_dimensions = array<i64: 600, 1>, padding = dense<[[599, 0], [0, 0]]> : tensor<2x2xi64>}
      : (tensor<600x40xf64>, tensor<f64>) -> tensor<600x40xf64>
  return %0 : tensor<600x40xf64>
}
// -----
func.func @main(%x: tensor<2x600x3xbf16>) -> tensor<2x600x3xbf16> {
  %init = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %0 = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
      %m = stablehlo.maximum %a, %b : tensor<bf16>
      %s = stablehlo.subtract %a, %b : tensor<bf16>
      %p = stablehlo.compare NE, %s, %s : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      %q = stablehlo.add %a, %b : tensor<bf16>
      %d = stablehlo.abs %s : tensor<bf16>
      %n = stablehlo.negate %d : tensor<bf16>
      %e = stablehlo.exponential %n : tensor<bf16>
      %l = stablehlo.log_plus_one %e : tensor<bf16>
      %r = stablehlo.add %m, %l : tensor<bf16>
      %v = stablehlo.select %p, %q, %r : tensor<i1>, tensor<bf16>
      stablehlo.return %v : tensor<bf16>
  }) {window_dimensions = array<i64: 1, 600, 1>, padding = dense<[[0, 0], [599, 0], [0, 0]]> : tensor<3x2xi64>}
      : (tensor<2x600x3xbf16>, tensor<bf16>) -> tensor<2x600x3xbf16>
  return %0 : tensor<2x600x3xbf16>
}
// -----
func.func @main(%x: tensor<2x100x20xf32>) -> tensor<2x100x20xf32> {
  %init = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %m = stablehlo.maximum %a, %b : tensor<f32>
      %s = stablehlo.subtract %a, %b : tensor<f32>
      %p = stablehlo.compare NE, %s, %s : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %q = stablehlo.add %a, %b : tensor<f32>
      %d = stablehlo.abs %s : tensor<f32>
      %n = stablehlo.negate %d : tensor<f32>
      %e = stablehlo.exponential %n : tensor<f32>
      %l = stablehlo.log_plus_one %e : tensor<f32>
      %r = stablehlo.add %m, %l : tensor<f32>
      %v = stablehlo.select %p, %q, %r : tensor<i1>, tensor<f32>
      stablehlo.return %v : tensor<f32>
  }) {window_dimensions = array<i64: 1, 100, 1>, padding = dense<[[0, 0], [0, 99], [0, 0]]> : tensor<3x2xi64>}
      : (tensor<2x100x20xf32>, tensor<f32>) -> tensor<2x100x20xf32>
  return %0 : tensor<2x100x20xf32>
}
// -----
// The order matters.
func.func @main(%x: tensor<700xf32>) -> tensor<700xf32> {
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %h = stablehlo.constant dense<0.5> : tensor<f32>
      %m = stablehlo.multiply %a, %h : tensor<f32>
      %v = stablehlo.subtract %b, %m : tensor<f32>
      stablehlo.return %v : tensor<f32>
  }) {window_dimensions = array<i64: 700>, padding = dense<[[699, 0]]> : tensor<1x2xi64>}
      : (tensor<700xf32>, tensor<f32>) -> tensor<700xf32>
  return %0 : tensor<700xf32>
}
// -----
func.func @main(%x: tensor<4x700xi32>) -> tensor<4x700xi32> {
  %init = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %h = stablehlo.constant dense<3> : tensor<i32>
      %m = stablehlo.multiply %a, %h : tensor<i32>
      %v = stablehlo.subtract %b, %m : tensor<i32>
      stablehlo.return %v : tensor<i32>
  }) {window_dimensions = array<i64: 1, 700>, padding = dense<[[0, 0], [699, 0]]> : tensor<2x2xi64>}
      : (tensor<4x700xi32>, tensor<i32>) -> tensor<4x700xi32>
  return %0 : tensor<4x700xi32>
}
// -----
func.func @main(%x: tensor<4x600xi16>) -> tensor<4x600xi16> {
  %init = stablehlo.constant dense<0> : tensor<i16>
  %0 = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<i16>, %b: tensor<i16>):
      %h = stablehlo.constant dense<3> : tensor<i16>
      %m = stablehlo.multiply %a, %h : tensor<i16>
      %v = stablehlo.subtract %b, %m : tensor<i16>
      stablehlo.return %v : tensor<i16>
  }) {window_dimensions = array<i64: 1, 600>, padding = dense<[[0, 0], [0, 599]]> : tensor<2x2xi64>}
      : (tensor<4x600xi16>, tensor<i16>) -> tensor<4x600xi16>
  return %0 : tensor<4x600xi16>
}
// -----
// Initial values that a body changes.
func.func @main(%x: tensor<600x2xf32>) -> tensor<600x2xf32> {
  %init = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %h = stablehlo.constant dense<0.5> : tensor<f32>
      %m = stablehlo.multiply %a, %h : tensor<f32>
      %v = stablehlo.subtract %b, %m : tensor<f32>
      stablehlo.return %v : tensor<f32>
  }) {window_dimensions = array<i64: 600, 1>, padding = dense<[[599, 0], [0, 0]]> : tensor<2x2xi64>}
      : (tensor<600x2xf32>, tensor<f32>) -> tensor<600x2xf32>
  return %0 : tensor<600x2xf32>
}
// -----
// Windows with more positions than are unrolled, strides and dilations, of two values.
func.func @main(%x: tensor<40x50xf32>, %y: tensor<40x50xi32>) -> (tensor<6x8xf32>, tensor<6x8xi32>) {
  %f = stablehlo.constant dense<-1.0> : tensor<f32>
  %i = stablehlo.constant dense<7> : tensor<i32>
  %0:2 = "stablehlo.reduce_window"(%x, %y, %f, %i) ({
    ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
      %p = stablehlo.compare GT, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %m = stablehlo.select %p, %a, %c : tensor<i1>, tensor<f32>
      %s = stablehlo.add %b, %d : tensor<i32>
      %n = stablehlo.select %p, %s, %d : tensor<i1>, tensor<i32>
      stablehlo.return %m, %n : tensor<f32>, tensor<i32>
  }) {window_dimensions = array<i64: 18, 25>, window_strides = array<i64: 4, 5>, base_dilations = array<i64: 1, 2>,
      window_dilations = array<i64: 2, 3>, padding = dense<[[10, 5], [3, 10]]> : tensor<2x2xi64>}
      : (tensor<40x50xf32>, tensor<40x50xi32>, tensor<f32>, tensor<i32>) -> (tensor<6x8xf32>, tensor<6x8xi32>)
  return %0#0, %0#1 : tensor<6x8xf32>, tensor<6x8xi32>
}
// -----
// Windows of padding and holes.
func.func @main(%x: tensor<3x4xf32>) -> tensor<5x2xf32> {
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %init) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 300000, 20000>, window_strides = array<i64: 50000, 10000>, base_dilations = array<i64: 100000, 9>,
      window_dilations = array<i64: 1, 3>, padding = dense<[[100000, 200000], [20000, 50000]]> : tensor<2x2xi64>}
      : (tensor<3x4xf32>, tensor<f32>) -> tensor<5x2xf32>
  return %0 : tensor<5x2xf32>
}
// -----
// Reductions that capture, and whose bodies hold loops and depend on the order.
func.func @main(%x: tensor<5x6x7xf32>, %k: tensor<f32>, %y: tensor<9x4xi32>) -> (tensor<6xf32>, tensor<9xi32>, tensor<i32>) {
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.reduce"(%x, %init) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %m = stablehlo.multiply %a, %k : tensor<f32>
      %s = stablehlo.subtract %b, %m : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) {dimensions = array<i64: 0, 2>} : (tensor<5x6x7xf32>, tensor<f32>) -> tensor<6xf32>
  %1 = "stablehlo.reduce"(%y, %zero) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %g:2 = stablehlo.while(%p = %a, %q = %b) : tensor<i32>, tensor<i32>
        cond {
          %c = stablehlo.compare NE, %q, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {
          %r = stablehlo.remainder %p, %q : tensor<i32>
          stablehlo.return %q, %r : tensor<i32>, tensor<i32>
        }
      stablehlo.return %g#0 : tensor<i32>
  }) {dimensions = array<i64: 1>} : (tensor<9x4xi32>, tensor<i32>) -> tensor<9xi32>
  %2 = "stablehlo.reduce"(%y, %zero) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %t = stablehlo.constant dense<31> : tensor<i32>
      %m = stablehlo.multiply %a, %t : tensor<i32>
      %s = stablehlo.add %m, %b : tensor<i32>
      stablehlo.return %s : tensor<i32>
  }) {dimensions = array<i64: 1, 0>} : (tensor<9x4xi32>, tensor<i32>) -> tensor<i32>
  return %0, %1, %2 : tensor<6xf32>, tensor<9xi32>, tensor<i32>
}
// -----
// Bodies with accumulators wider than their elements, of complex numbers, and of booleans.
func.func @main(%x: tensor<6x7xbf16>, %z: tensor<6x7xcomplex<f32>>, %p: tensor<6x7xi1>)
    -> (tensor<6xf32>, tensor<7xcomplex<f32>>, tensor<6xi1>) {
  %f = stablehlo.constant dense<0.5> : tensor<f32>
  %c = stablehlo.constant dense<(1.0, 0.5)> : tensor<complex<f32>>
  %t = stablehlo.constant dense<true> : tensor<i1>
  %0 = "stablehlo.reduce"(%x, %f) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %m = stablehlo.multiply %a, %f : tensor<f32>
      %s = stablehlo.subtract %m, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) {dimensions = array<i64: 1>} : (tensor<6x7xbf16>, tensor<f32>) -> tensor<6xf32>
  %1 = "stablehlo.reduce"(%z, %c) ({
    ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
      %m = stablehlo.multiply %a, %c : tensor<complex<f32>>
      %s = stablehlo.subtract %m, %b : tensor<complex<f32>>
      stablehlo.return %s : tensor<complex<f32>>
  }) {dimensions = array<i64: 0>} : (tensor<6x7xcomplex<f32>>, tensor<complex<f32>>) -> tensor<7xcomplex<f32>>
  %2 = "stablehlo.reduce"(%p, %t) ({
    ^bb0(%a: tensor<i1>, %b: tensor<i1>):
      %n = stablehlo.not %b : tensor<i1>
      %s = stablehlo.and %a, %n : tensor<i1>
      %u = stablehlo.or %s, %b : tensor<i1>
      %v = stablehlo.not %u : tensor<i1>
      stablehlo.return %v : tensor<i1>
  }) {dimensions = array<i64: 1>} : (tensor<6x7xi1>, tensor<i1>) -> tensor<6xi1>
  return %0, %1, %2 : tensor<6xf32>, tensor<7xcomplex<f32>>, tensor<6xi1>
}
// -----
// Selections of integers and booleans, in overlapping windows with padding, and by other bodies.
func.func @main(%x: tensor<12x13xi32>, %y: tensor<6x7xi32>) -> tensor<12x13xi32> {
  %init = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.select_and_scatter"(%x, %y, %init) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %p = stablehlo.compare GE, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }, {
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %p = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %p : tensor<i32>
  }) {window_dimensions = array<i64: 3, 3>, window_strides = array<i64: 2, 2>, padding = dense<[[1, 1], [1, 1]]> : tensor<2x2xi64>}
      : (tensor<12x13xi32>, tensor<6x7xi32>, tensor<i32>) -> tensor<12x13xi32>
  return %0 : tensor<12x13xi32>
}
// -----
func.func @main(%x: tensor<2x40xui8>, %y: tensor<2x11xui8>) -> tensor<2x40xui8> {
  %init = stablehlo.constant dense<3> : tensor<ui8>
  %0 = "stablehlo.select_and_scatter"(%x, %y, %init) ({
    ^bb0(%a: tensor<ui8>, %b: tensor<ui8>):
      %p = stablehlo.compare GE, %a, %b : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }, {
    ^bb0(%a: tensor<ui8>, %b: tensor<ui8>):
      %p = stablehlo.add %a, %b : tensor<ui8>
      stablehlo.return %p : tensor<ui8>
  }) {window_dimensions = array<i64: 1, 30>, window_strides = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>}
      : (tensor<2x40xui8>, tensor<2x11xui8>, tensor<ui8>) -> tensor<2x40xui8>
  return %0 : tensor<2x40xui8>
}
// -----
func.func @main(%x: tensor<12x13xf32>, %y: tensor<5x5xf32>) -> tensor<12x13xf32> {
  %init = stablehlo.constant dense<0.25> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %y, %init) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.abs %a : tensor<f32>
      %d = stablehlo.abs %b : tensor<f32>
      %p = stablehlo.compare GT, %c, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }, {
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %h = stablehlo.constant dense<0.5> : tensor<f32>
      %m = stablehlo.multiply %b, %h : tensor<f32>
      %s = stablehlo.subtract %a, %m : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 5, 4>, window_strides = array<i64: 2, 3>, padding = dense<[[1, 0], [1, 2]]> : tensor<2x2xi64>}
      : (tensor<12x13xf32>, tensor<5x5xf32>, tensor<f32>) -> tensor<12x13xf32>
  return %0 : tensor<12x13xf32>
}
// -----
func.func @main(%x: tensor<30xf32>, %y: tensor<3xf32>) -> tensor<30xf32> {
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %y, %init) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.abs %a : tensor<f32>
      %d = stablehlo.abs %b : tensor<f32>
      %p = stablehlo.compare GT, %c, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }, {
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %p = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %p : tensor<f32>
  }) {window_dimensions = array<i64: 3>, window_strides = array<i64: 1>, padding = dense<[[-13, -12]]> : tensor<1x2xi64>}
      : (tensor<30xf32>, tensor<3xf32>, tensor<f32>) -> tensor<30xf32>
  return %0 : tensor<30xf32>
}
// -----
func.func @main(%x: tensor<8x8xi1>, %y: tensor<4x4xi1>) -> tensor<8x8xi1> {
  %init = stablehlo.constant dense<false> : tensor<i1>
  %0 = "stablehlo.select_and_scatter"(%x, %y, %init) ({
    ^bb0(%a: tensor<i1>, %b: tensor<i1>):
      %p = stablehlo.compare GE, %a, %b : (tensor<i1>, tensor<i1>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }, {
    ^bb0(%a: tensor<i1>, %b: tensor<i1>):
      %p = stablehlo.or %a, %b : tensor<i1>
      stablehlo.return %p : tensor<i1>
  }) {window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>}
      : (tensor<8x8xi1>, tensor<4x4xi1>, tensor<i1>) -> tensor<8x8xi1>
  return %0 : tensor<8x8xi1>
}
// -----
// Sorts by comparators of computed keys: stable, of every length, several operands.
func.func @main(%x0: tensor<100xf32>) -> tensor<100xf32> {
  %0 = "stablehlo.sort"(%x0) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.abs %a : tensor<f32>
      %d = stablehlo.abs %b : tensor<f32>
      %p = stablehlo.compare LT, %c, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<100xf32>) -> tensor<100xf32>
  return %0 : tensor<100xf32>
}
// -----
func.func @main(%x0: tensor<1xi32>) -> tensor<1xi32> {
  %0 = "stablehlo.sort"(%x0) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.abs %a : tensor<i32>
      %d = stablehlo.abs %b : tensor<i32>
      %p = stablehlo.compare LT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<1xi32>) -> tensor<1xi32>
  return %0 : tensor<1xi32>
}
// -----
func.func @main(%x0: tensor<2x3xi32>) -> tensor<2x3xi32> {
  %0 = "stablehlo.sort"(%x0) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.abs %a : tensor<i32>
      %d = stablehlo.abs %b : tensor<i32>
      %p = stablehlo.compare LT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<2x3xi32>) -> tensor<2x3xi32>
  return %0 : tensor<2x3xi32>
}
// -----
func.func @main(%x0: tensor<33x5xi64>) -> tensor<33x5xi64> {
  %0 = "stablehlo.sort"(%x0) ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %c = stablehlo.abs %a : tensor<i64>
      %d = stablehlo.abs %b : tensor<i64>
      %p = stablehlo.compare LT, %c, %d : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<33x5xi64>) -> tensor<33x5xi64>
  return %0 : tensor<33x5xi64>
}
// -----
func.func @main(%x0: tensor<4x17xbf16>) -> tensor<4x17xbf16> {
  %0 = "stablehlo.sort"(%x0) ({
    ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
      %c = stablehlo.abs %a : tensor<bf16>
      %d = stablehlo.abs %b : tensor<bf16>
      %p = stablehlo.compare LT, %c, %d : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<4x17xbf16>) -> tensor<4x17xbf16>
  return %0 : tensor<4x17xbf16>
}
// -----
func.func @main(%x0: tensor<3x64x3xf64>) -> tensor<3x64x3xf64> {
  %0 = "stablehlo.sort"(%x0) ({
    ^bb0(%a: tensor<f64>, %b: tensor<f64>):
      %c = stablehlo.abs %a : tensor<f64>
      %d = stablehlo.abs %b : tensor<f64>
      %p = stablehlo.compare LT, %c, %d : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<3x64x3xf64>) -> tensor<3x64x3xf64>
  return %0 : tensor<3x64x3xf64>
}
// -----
func.func @main(%x0: tensor<3x50xi32>, %x1: tensor<3x50xf32>, %x2: tensor<3x50xui8>) -> (tensor<3x50xi32>, tensor<3x50xf32>, tensor<3x50xui8>) {
  %0:3 = "stablehlo.sort"(%x0, %x1, %x2) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>, %f: tensor<f32>, %g: tensor<f32>, %u: tensor<ui8>, %v: tensor<ui8>):
      %k = stablehlo.constant dense<3> : tensor<i32>
      %c = stablehlo.and %a, %k : tensor<i32>
      %d = stablehlo.and %b, %k : tensor<i32>
      %p = stablehlo.compare GT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<3x50xi32>, tensor<3x50xf32>, tensor<3x50xui8>) -> (tensor<3x50xi32>, tensor<3x50xf32>, tensor<3x50xui8>)
  return %0#0, %0#1, %0#2 : tensor<3x50xi32>, tensor<3x50xf32>, tensor<3x50xui8>
}
// -----
// A comparator with loops, true for equal keys: they are reversed.
func.func @main(%x0: tensor<2x21xi32>) -> tensor<2x21xi32> {
  %0 = "stablehlo.sort"(%x0) ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %z = stablehlo.constant dense<0> : tensor<i32>
      %k = stablehlo.constant dense<12> : tensor<i32>
      %g:2 = stablehlo.while(%i = %a, %s = %k) : tensor<i32>, tensor<i32>
        cond {
          %c = stablehlo.compare NE, %s, %z : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {
          %r = stablehlo.remainder %i, %s : tensor<i32>
          stablehlo.return %s, %r : tensor<i32>, tensor<i32>
        }
      %h:2 = stablehlo.while(%i = %b, %s = %k) : tensor<i32>, tensor<i32>
        cond {
          %c = stablehlo.compare NE, %s, %z : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {
          %r = stablehlo.remainder %i, %s : tensor<i32>
          stablehlo.return %s, %r : tensor<i32>, tensor<i32>
        }
      %p = stablehlo.compare LE, %g#0, %h#0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<2x21xi32>) -> tensor<2x21xi32>
  return %0 : tensor<2x21xi32>
}
// -----
// A map with a loop in its body.
func.func @main(%x: tensor<4x5xi32>, %k: tensor<i32>) -> tensor<4x5xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.map"(%x) ({
    ^bb0(%a: tensor<i32>):
      %g:2 = stablehlo.while(%p = %a, %q = %k) : tensor<i32>, tensor<i32>
        cond {
          %c = stablehlo.compare NE, %q, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {
          %r = stablehlo.remainder %p, %q : tensor<i32>
          stablehlo.return %q, %r : tensor<i32>, tensor<i32>
        }
      stablehlo.return %g#0 : tensor<i32>
  }) {dimensions = array<i64: 0, 1>} : (tensor<4x5xi32>) -> tensor<4x5xi32>
  return %0 : tensor<4x5xi32>
}
