// Outputs of several sizes in one fusion: reductions besides the sums of rows, columns and
// everything; values per row besides the rows.
func.func @main(%x: tensor<300x1500xf32>) -> (tensor<300xf32>, tensor<300x1500xf32>, tensor<300xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<300x1500xf32>, tensor<f32>) -> tensor<300xf32>
  %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<300xf32>) -> tensor<300x1500xf32>
  %c = stablehlo.subtract %x, %b : tensor<300x1500xf32>
  %e = stablehlo.exponential %c : tensor<300x1500xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<300x1500xf32>, tensor<f32>) -> tensor<300xf32>
  return %m, %e, %s : tensor<300xf32>, tensor<300x1500xf32>, tensor<300xf32>
}
// -----
func.func @main(%x: tensor<7x5xf32>) -> (tensor<7xf32>, tensor<7x5xf32>, tensor<7xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<7x5xf32>, tensor<f32>) -> tensor<7xf32>
  %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<7xf32>) -> tensor<7x5xf32>
  %c = stablehlo.subtract %x, %b : tensor<7x5xf32>
  %e = stablehlo.exponential %c : tensor<7x5xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<7x5xf32>, tensor<f32>) -> tensor<7xf32>
  return %m, %e, %s : tensor<7xf32>, tensor<7x5xf32>, tensor<7xf32>
}
// -----
func.func @main(%x: tensor<8x40x64xf32>) -> (tensor<8x64xf32>, tensor<8x40x64xf32>, tensor<8x64xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<8x40x64xf32>, tensor<f32>) -> tensor<8x64xf32>
  %b = stablehlo.broadcast_in_dim %m, dims = [0, 2] : (tensor<8x64xf32>) -> tensor<8x40x64xf32>
  %c = stablehlo.subtract %x, %b : tensor<8x40x64xf32>
  %e = stablehlo.exponential %c : tensor<8x40x64xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x40x64xf32>, tensor<f32>) -> tensor<8x64xf32>
  return %m, %e, %s : tensor<8x64xf32>, tensor<8x40x64xf32>, tensor<8x64xf32>
}
// -----
func.func @main(%x: tensor<64x33xf32>) -> (tensor<33xf32>, tensor<64x33xf32>, tensor<33xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<64x33xf32>, tensor<f32>) -> tensor<33xf32>
  %b = stablehlo.broadcast_in_dim %m, dims = [1] : (tensor<33xf32>) -> tensor<64x33xf32>
  %c = stablehlo.subtract %x, %b : tensor<64x33xf32>
  %e = stablehlo.exponential %c : tensor<64x33xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x33xf32>, tensor<f32>) -> tensor<33xf32>
  return %m, %e, %s : tensor<33xf32>, tensor<64x33xf32>, tensor<33xf32>
}
// -----
func.func @main(%x: tensor<400x1024xf32>) -> (tensor<400x1024xf32>, tensor<400xf32>, tensor<400xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<400xf32>
  %n = stablehlo.constant dense<1024.0> : tensor<400xf32>
  %t = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<400x1024xf32>, tensor<f32>) -> tensor<400xf32>
  %m = stablehlo.divide %t, %n : tensor<400xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<400xf32>) -> tensor<400x1024xf32>
  %c = stablehlo.subtract %x, %mb : tensor<400x1024xf32>
  %q = stablehlo.multiply %c, %c : tensor<400x1024xf32>
  %v = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<400x1024xf32>, tensor<f32>) -> tensor<400xf32>
  %v1 = stablehlo.add %v, %one : tensor<400xf32>
  %r = stablehlo.rsqrt %v1 : tensor<400xf32>
  %rb = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<400xf32>) -> tensor<400x1024xf32>
  %y = stablehlo.multiply %c, %rb : tensor<400x1024xf32>
  return %y, %m, %r : tensor<400x1024xf32>, tensor<400xf32>, tensor<400xf32>
}
// -----
func.func @main(%x: tensor<3x5x17xf32>) -> (tensor<3x5x17xf32>, tensor<3x5xf32>, tensor<3x5xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<3x5xf32>
  %n = stablehlo.constant dense<17.0> : tensor<3x5xf32>
  %t = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<3x5x17xf32>, tensor<f32>) -> tensor<3x5xf32>
  %m = stablehlo.divide %t, %n : tensor<3x5xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<3x5xf32>) -> tensor<3x5x17xf32>
  %c = stablehlo.subtract %x, %mb : tensor<3x5x17xf32>
  %q = stablehlo.multiply %c, %c : tensor<3x5x17xf32>
  %v = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<3x5x17xf32>, tensor<f32>) -> tensor<3x5xf32>
  %v1 = stablehlo.add %v, %one : tensor<3x5xf32>
  %r = stablehlo.rsqrt %v1 : tensor<3x5xf32>
  %rb = stablehlo.broadcast_in_dim %r, dims = [0, 1] : (tensor<3x5xf32>) -> tensor<3x5x17xf32>
  %y = stablehlo.multiply %c, %rb : tensor<3x5x17xf32>
  return %y, %m, %r : tensor<3x5x17xf32>, tensor<3x5xf32>, tensor<3x5xf32>
}
// -----
func.func @main(%x: tensor<200x8192xf32>, %y: tensor<200x8192xf32>) -> (tensor<200x8192xf32>, tensor<8192xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.tanh %x : tensor<200x8192xf32>
  %u = stablehlo.multiply %t, %y : tensor<200x8192xf32>
  %s = stablehlo.reduce(%u init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<200x8192xf32>, tensor<f32>) -> tensor<8192xf32>
  return %u, %s : tensor<200x8192xf32>, tensor<8192xf32>
}
// -----
func.func @main(%x: tensor<1000x500xf32>, %y: tensor<1000x500xf32>) -> (tensor<1000x500xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.tanh %x : tensor<1000x500xf32>
  %u = stablehlo.multiply %t, %y : tensor<1000x500xf32>
  %s = stablehlo.reduce(%u init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<1000x500xf32>, tensor<f32>) -> tensor<f32>
  return %u, %s : tensor<1000x500xf32>, tensor<f32>
}
// -----
func.func @main(%x: tensor<31x65xf32>, %y: tensor<31x65xf32>) -> (tensor<31x65xf32>, tensor<65xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.tanh %x : tensor<31x65xf32>
  %u = stablehlo.multiply %t, %y : tensor<31x65xf32>
  %s = stablehlo.reduce(%u init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<31x65xf32>, tensor<f32>) -> tensor<65xf32>
  return %u, %s : tensor<31x65xf32>, tensor<65xf32>
}
// -----
func.func @main(%x: tensor<6x20x50xf32>, %y: tensor<6x20x50xf32>) -> (tensor<6x20x50xf32>, tensor<20xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.tanh %x : tensor<6x20x50xf32>
  %u = stablehlo.multiply %t, %y : tensor<6x20x50xf32>
  %s = stablehlo.reduce(%u init: %zero) applies stablehlo.add across dimensions = [0, 2] : (tensor<6x20x50xf32>, tensor<f32>) -> tensor<20xf32>
  return %u, %s : tensor<6x20x50xf32>, tensor<20xf32>
}
// -----
// Few columns of many rows: every chunk sums its own rows.
func.func @main(%x: tensor<30000x33xf32>) -> (tensor<33xf32>, tensor<33xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.constant dense<30000.0> : tensor<33xf32>
  %t = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<30000x33xf32>, tensor<f32>) -> tensor<33xf32>
  %m = stablehlo.divide %t, %n : tensor<33xf32>
  %b = stablehlo.broadcast_in_dim %m, dims = [1] : (tensor<33xf32>) -> tensor<30000x33xf32>
  %c = stablehlo.subtract %x, %b : tensor<30000x33xf32>
  %q = stablehlo.multiply %c, %c : tensor<30000x33xf32>
  %v = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<30000x33xf32>, tensor<f32>) -> tensor<33xf32>
  return %m, %v : tensor<33xf32>, tensor<33xf32>
}
// -----
func.func @main(%x: tensor<40x600x70xbf16>) -> (tensor<70xbf16>, tensor<70xbf16>, tensor<40x600x70xbf16>) {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %low = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %a = stablehlo.multiply %x, %x : tensor<40x600x70xbf16>
  %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<40x600x70xbf16>, tensor<bf16>) -> tensor<70xbf16>
  %m = stablehlo.reduce(%a init: %low) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<40x600x70xbf16>, tensor<bf16>) -> tensor<70xbf16>
  return %s, %m, %a : tensor<70xbf16>, tensor<70xbf16>, tensor<40x600x70xbf16>
}
// -----
// The largest element of each column and its position.
func.func @main(%x: tensor<20000x20xf32>) -> (tensor<20xf32>, tensor<20xi32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %none = stablehlo.constant dense<0> : tensor<i32>
  %i = stablehlo.iota dim = 0 : tensor<20000x20xi32>
  %0:2 = "stablehlo.reduce"(%x, %i, %low, %none) ({
  ^bb0(%a: tensor<f32>, %p: tensor<i32>, %b: tensor<f32>, %q: tensor<i32>):
    %gt = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %nan = stablehlo.compare NE, %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %pick = stablehlo.or %gt, %nan : tensor<i1>
    %eq = stablehlo.compare EQ, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %lt = stablehlo.compare LT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %tie = stablehlo.and %eq, %lt : tensor<i1>
    %at = stablehlo.or %pick, %tie : tensor<i1>
    %v = stablehlo.select %pick, %a, %b : tensor<i1>, tensor<f32>
    %w = stablehlo.select %at, %p, %q : tensor<i1>, tensor<i32>
    stablehlo.return %v, %w : tensor<f32>, tensor<i32>
  }) {dimensions = array<i64: 0>} : (tensor<20000x20xf32>, tensor<20000x20xi32>, tensor<f32>, tensor<i32>) -> (tensor<20xf32>, tensor<20xi32>)
  return %0#0, %0#1 : tensor<20xf32>, tensor<20xi32>
}
// -----
// Rows of a megabyte and more are reduced at two positions at once, with any remainder.
func.func @main(%a: tensor<2x330001xf32>) -> (tensor<2xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<2x330001xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x330001xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1 : tensor<2xf32>, tensor<f32>
}
// -----
func.func @main(%b: tensor<2x330001xi8>) -> tensor<2xi32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %none = stablehlo.constant dense<0> : tensor<i32>
  %a = stablehlo.convert %b : (tensor<2x330001xi8>) -> tensor<2x330001xf32>
  %i = stablehlo.iota dim = 1 : tensor<2x330001xi32>
  %3:2 = stablehlo.reduce(%a init: %low), (%i init: %none) across dimensions = [1] : (tensor<2x330001xf32>, tensor<2x330001xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
    reducer(%x: tensor<f32>, %y: tensor<f32>) (%n: tensor<i32>, %m: tensor<i32>) {
      %g = stablehlo.compare GT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %u = stablehlo.compare NE, %x, %x : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %o = stablehlo.or %g, %u : tensor<i1>
      %e = stablehlo.compare EQ, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %l = stablehlo.compare LT, %n, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %t = stablehlo.and %e, %l : tensor<i1>
      %s = stablehlo.or %o, %t : tensor<i1>
      %v = stablehlo.select %o, %x, %y : tensor<i1>, tensor<f32>
      %k = stablehlo.select %s, %n, %m : tensor<i1>, tensor<i32>
      stablehlo.return %v, %k : tensor<f32>, tensor<i32>
    }
  return %3#1 : tensor<2xi32>
}
