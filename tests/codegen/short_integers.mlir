// Integers of two and four bits: weights with a scale, besides a product and in its prologue, in
// groups of rows; sums that wrap.
func.func @main(%q: tensor<64x96xi4>, %s: tensor<96xf32>, %u: tensor<64x96xui4>) -> (tensor<64x96xf32>, tensor<64x96xbf16>, tensor<64x96xi8>) {
  %0 = stablehlo.convert %q : (tensor<64x96xi4>) -> tensor<64x96xf32>
  %1 = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<96xf32>) -> tensor<64x96xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<64x96xf32>
  %3 = stablehlo.convert %u : (tensor<64x96xui4>) -> tensor<64x96xbf16>
  %4 = stablehlo.convert %q : (tensor<64x96xi4>) -> tensor<64x96xi8>
  return %2, %3, %4 : tensor<64x96xf32>, tensor<64x96xbf16>, tensor<64x96xi8>
}
// -----
func.func @main(%x: tensor<5x64xf32>, %q: tensor<64x96xi4>, %s: tensor<96xf32>) -> tensor<5x96xf32> {
  %0 = stablehlo.convert %q : (tensor<64x96xi4>) -> tensor<64x96xf32>
  %1 = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<96xf32>) -> tensor<64x96xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<64x96xf32>
  %3 = stablehlo.dot_general %x, %2, contracting_dims = [1] x [0] : (tensor<5x64xf32>, tensor<64x96xf32>) -> tensor<5x96xf32>
  return %3 : tensor<5x96xf32>
}
// -----
func.func @main(%x: tensor<40x64xf32>, %q: tensor<64x96xui4>, %s: tensor<8x1x96xf32>) -> tensor<40x96xf32> {
  %0 = stablehlo.reshape %q : (tensor<64x96xui4>) -> tensor<8x8x96xui4>
  %1 = stablehlo.convert %0 : (tensor<8x8x96xui4>) -> tensor<8x8x96xf32>
  %2 = stablehlo.broadcast_in_dim %s, dims = [0, 1, 2] : (tensor<8x1x96xf32>) -> tensor<8x8x96xf32>
  %3 = stablehlo.multiply %1, %2 : tensor<8x8x96xf32>
  %4 = stablehlo.reshape %3 : (tensor<8x8x96xf32>) -> tensor<64x96xf32>
  %5 = stablehlo.dot_general %x, %4, contracting_dims = [1] x [0] : (tensor<40x64xf32>, tensor<64x96xf32>) -> tensor<40x96xf32>
  return %5 : tensor<40x96xf32>
}
// -----
func.func @main(%q: tensor<64x96xi4>, %k: tensor<96x8xi4>) -> (tensor<64x8xi32>, tensor<64x8xi4>) {
  %0 = stablehlo.dot_general %q, %k, contracting_dims = [1] x [0] : (tensor<64x96xi4>, tensor<96x8xi4>) -> tensor<64x8xi32>
  %1 = stablehlo.dot_general %q, %k, contracting_dims = [1] x [0] : (tensor<64x96xi4>, tensor<96x8xi4>) -> tensor<64x8xi4>
  return %0, %1 : tensor<64x8xi32>, tensor<64x8xi4>
}
// -----
func.func @main(%x: tensor<33x47xf32>, %q: tensor<33x47xi4>, %p: tensor<33x47xi2>) -> (tensor<33x47xi4>, tensor<33x47xi4>, tensor<47x33xi2>, tensor<33xi4>, tensor<33xi4>, tensor<47xi4>, tensor<33x47xi1>) {
  %scale = stablehlo.constant dense<9.0> : tensor<33x47xf32>
  %zero = stablehlo.constant dense<0> : tensor<i4>
  %least = stablehlo.constant dense<-8> : tensor<i4>
  %0 = stablehlo.multiply %x, %scale : tensor<33x47xf32>
  %1 = stablehlo.convert %0 : (tensor<33x47xf32>) -> tensor<33x47xi4>
  %2 = stablehlo.convert %p : (tensor<33x47xi2>) -> tensor<33x47xi4>
  %3 = stablehlo.multiply %q, %q : tensor<33x47xi4>
  %4 = stablehlo.subtract %2, %3 : tensor<33x47xi4>
  %5 = stablehlo.negate %4 : tensor<33x47xi4>
  %6 = stablehlo.transpose %p, dims = [1, 0] : (tensor<33x47xi2>) -> tensor<47x33xi2>
  %7 = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<33x47xi4>, tensor<i4>) -> tensor<33xi4>
  %8 = stablehlo.reduce(%5 init: %least) applies stablehlo.maximum across dimensions = [1] : (tensor<33x47xi4>, tensor<i4>) -> tensor<33xi4>
  %9 = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<33x47xi4>, tensor<i4>) -> tensor<47xi4>
  %10 = stablehlo.compare LT, %q, %2, SIGNED : (tensor<33x47xi4>, tensor<33x47xi4>) -> tensor<33x47xi1>
  return %1, %5, %6, %7, %8, %9, %10 : tensor<33x47xi4>, tensor<33x47xi4>, tensor<47x33xi2>, tensor<33xi4>, tensor<33xi4>, tensor<47xi4>, tensor<33x47xi1>
}
// -----
func.func @main(%i: tensor<ui4>, %a: tensor<20x30xf32>, %q: tensor<ui4>, %n: tensor<i4>) -> (tensor<4x30xf32>, tensor<20xi4>, tensor<ui4>, tensor<f32>, tensor<i4>, tensor<20xi8>) {
  %zero = stablehlo.constant dense<0> : tensor<ui4>
  %0 = stablehlo.dynamic_slice %a, %i, %zero, sizes = [4, 30] : (tensor<20x30xf32>, tensor<ui4>, tensor<ui4>) -> tensor<4x30xf32>
  %1 = stablehlo.iota dim = 0 : tensor<20xi4>
  %2 = stablehlo.add %i, %q : tensor<ui4>
  %3 = stablehlo.convert %2 : (tensor<ui4>) -> tensor<f32>
  %4 = stablehlo.multiply %n, %n : tensor<i4>
  %5 = stablehlo.negate %4 : tensor<i4>
  %6 = stablehlo.convert %5 : (tensor<i4>) -> tensor<i8>
  %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<i8>) -> tensor<20xi8>
  return %0, %1, %2, %3, %5, %7 : tensor<4x30xf32>, tensor<20xi4>, tensor<ui4>, tensor<f32>, tensor<i4>, tensor<20xi8>
}
// -----
// Products of elements below a byte.
func.func @main(%x: tensor<40x50xi1>, %y: tensor<50x60xi1>, %a: tensor<40x50xi4>, %b: tensor<50x60xui4>, %c: tensor<40x50xf4E2M1FN>, %d: tensor<50x60xf6E3M2FN>) -> (tensor<40x60xi1>, tensor<40x60xi32>, tensor<40x40xi4>, tensor<40x60xf32>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<40x50xi1>, tensor<50x60xi1>) -> tensor<40x60xi1>
  %1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<40x50xi4>, tensor<50x60xui4>) -> tensor<40x60xi32>
  %2 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<40x50xi4>, tensor<40x50xi4>) -> tensor<40x40xi4>
  %3 = stablehlo.dot_general %c, %d, contracting_dims = [1] x [0] : (tensor<40x50xf4E2M1FN>, tensor<50x60xf6E3M2FN>) -> tensor<40x60xf32>
  return %0, %1, %2, %3 : tensor<40x60xi1>, tensor<40x60xi32>, tensor<40x40xi4>, tensor<40x60xf32>
}
// -----
// Random rounding to integers.
func.func @main(%a: tensor<70xf32>, %ra: tensor<70xui32>, %b: tensor<70xbf16>, %rb: tensor<70xui16>, %c: tensor<70xf64>, %rc: tensor<70xui64>, %d: tensor<70xf8E5M2>, %rd: tensor<70xui8>) -> (tensor<70xi8>, tensor<70xi4>, tensor<70xi64>, tensor<70xui8>) {
  %large = stablehlo.constant dense<37.3> : tensor<70xf32>
  %odd = stablehlo.constant dense<2654435769> : tensor<70xui32>
  %odd16 = stablehlo.constant dense<40503> : tensor<70xui16>
  %a1 = stablehlo.multiply %a, %large : tensor<70xf32>
  %ra1 = stablehlo.multiply %ra, %odd : tensor<70xui32>
  %rb1 = stablehlo.multiply %rb, %odd16 : tensor<70xui16>
  %0 = "hlo.stochastic_convert"(%a1, %ra1) : (tensor<70xf32>, tensor<70xui32>) -> tensor<70xi8>
  %1 = "hlo.stochastic_convert"(%b, %rb1) : (tensor<70xbf16>, tensor<70xui16>) -> tensor<70xi4>
  %2 = "hlo.stochastic_convert"(%c, %rc) : (tensor<70xf64>, tensor<70xui64>) -> tensor<70xi64>
  %3 = "hlo.stochastic_convert"(%d, %rd) : (tensor<70xf8E5M2>, tensor<70xui8>) -> tensor<70xui8>
  return %0, %1, %2, %3 : tensor<70xi8>, tensor<70xi4>, tensor<70xi64>, tensor<70xui8>
}
