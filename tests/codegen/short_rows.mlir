// Arrays with a few innermost elements: transposed in parts of blocks, moved in short vectors, and
// stored beside a reduction of those elements.
func.func @main(%x: tensor<40x6x4xf32>) -> tensor<4x6x40xf32> {
  %0 = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<40x6x4xf32>) -> tensor<4x6x40xf32>
  %1 = stablehlo.multiply %0, %0 : tensor<4x6x40xf32>
  return %1 : tensor<4x6x40xf32>
}
// -----
func.func @main(%x: tensor<37x5x4xf32>) -> tensor<4x5x37xf32> {
  %0 = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<37x5x4xf32>) -> tensor<4x5x37xf32>
  %1 = stablehlo.multiply %0, %0 : tensor<4x5x37xf32>
  return %1 : tensor<4x5x37xf32>
}
// -----
func.func @main(%x: tensor<40x6x12xf32>) -> tensor<12x6x40xf32> {
  %0 = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<40x6x12xf32>) -> tensor<12x6x40xf32>
  %1 = stablehlo.multiply %0, %0 : tensor<12x6x40xf32>
  return %1 : tensor<12x6x40xf32>
}
// -----
func.func @main(%x: tensor<33x7x2xf64>) -> tensor<2x7x33xf64> {
  %0 = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<33x7x2xf64>) -> tensor<2x7x33xf64>
  %1 = stablehlo.multiply %0, %0 : tensor<2x7x33xf64>
  return %1 : tensor<2x7x33xf64>
}
// -----
func.func @main(%x: tensor<70x3x8xbf16>) -> tensor<8x3x70xbf16> {
  %0 = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<70x3x8xbf16>) -> tensor<8x3x70xbf16>
  %1 = stablehlo.multiply %0, %0 : tensor<8x3x70xbf16>
  return %1 : tensor<8x3x70xbf16>
}
// -----
func.func @main(%x: tensor<70x3x12xf16>) -> tensor<12x3x70xf16> {
  %0 = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<70x3x12xf16>) -> tensor<12x3x70xf16>
  %1 = stablehlo.multiply %0, %0 : tensor<12x3x70xf16>
  return %1 : tensor<12x3x70xf16>
}
// -----
func.func @main(%x: tensor<40x6x6xf32>) -> tensor<6x6x40xf32> {
  %0 = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<40x6x6xf32>) -> tensor<6x6x40xf32>
  %1 = stablehlo.multiply %0, %0 : tensor<6x6x40xf32>
  return %1 : tensor<6x6x40xf32>
}
// -----
func.func @main(%x: tensor<130x3x16xui8>) -> tensor<16x3x130xui8> {
  %0 = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<130x3x16xui8>) -> tensor<16x3x130xui8>
  return %0 : tensor<16x3x130xui8>
}
// -----
func.func @main(%x: tensor<130x3x4xi8>) -> tensor<4x3x130xi8> {
  %0 = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<130x3x4xi8>) -> tensor<4x3x130xi8>
  return %0 : tensor<4x3x130xi8>
}
// -----
func.func @main(%x: tensor<40x3x4xcomplex<f32>>) -> tensor<4x3x40xcomplex<f32>> {
  %0 = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<40x3x4xcomplex<f32>>) -> tensor<4x3x40xcomplex<f32>>
  %1 = stablehlo.multiply %0, %0 : tensor<4x3x40xcomplex<f32>>
  return %1 : tensor<4x3x40xcomplex<f32>>
}
// -----
func.func @main(%x: tensor<19x11x2xf32>) -> tensor<11x19x2xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<19x11x2xf32>) -> tensor<11x19x2xf32>
  %1 = stablehlo.add %0, %0 : tensor<11x19x2xf32>
  return %1 : tensor<11x19x2xf32>
}
// -----
func.func @main(%x: tensor<19x11x3xf32>) -> tensor<11x19x3xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<19x11x3xf32>) -> tensor<11x19x3xf32>
  %1 = stablehlo.add %0, %0 : tensor<11x19x3xf32>
  return %1 : tensor<11x19x3xf32>
}
// -----
func.func @main(%x: tensor<19x11x4xf32>) -> tensor<11x19x4xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<19x11x4xf32>) -> tensor<11x19x4xf32>
  %1 = stablehlo.add %0, %0 : tensor<11x19x4xf32>
  return %1 : tensor<11x19x4xf32>
}
// -----
func.func @main(%x: tensor<19x11x5xf32>) -> tensor<11x19x5xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<19x11x5xf32>) -> tensor<11x19x5xf32>
  %1 = stablehlo.add %0, %0 : tensor<11x19x5xf32>
  return %1 : tensor<11x19x5xf32>
}
// -----
func.func @main(%x: tensor<19x11x8xf32>) -> tensor<11x19x8xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<19x11x8xf32>) -> tensor<11x19x8xf32>
  %1 = stablehlo.add %0, %0 : tensor<11x19x8xf32>
  return %1 : tensor<11x19x8xf32>
}
// -----
func.func @main(%x: tensor<19x11x2xf64>) -> tensor<11x19x2xf64> {
  %0 = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<19x11x2xf64>) -> tensor<11x19x2xf64>
  %1 = stablehlo.add %0, %0 : tensor<11x19x2xf64>
  return %1 : tensor<11x19x2xf64>
}
// -----
func.func @main(%x: tensor<19x11x3xf64>) -> tensor<11x19x3xf64> {
  %0 = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<19x11x3xf64>) -> tensor<11x19x3xf64>
  %1 = stablehlo.add %0, %0 : tensor<11x19x3xf64>
  return %1 : tensor<11x19x3xf64>
}
// -----
func.func @main(%x: tensor<19x11x4xbf16>) -> tensor<11x19x4xbf16> {
  %0 = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<19x11x4xbf16>) -> tensor<11x19x4xbf16>
  %1 = stablehlo.add %0, %0 : tensor<11x19x4xbf16>
  return %1 : tensor<11x19x4xbf16>
}
// -----
func.func @main(%x: tensor<19x11x8xf16>) -> tensor<11x19x8xf16> {
  %0 = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<19x11x8xf16>) -> tensor<11x19x8xf16>
  %1 = stablehlo.add %0, %0 : tensor<11x19x8xf16>
  return %1 : tensor<11x19x8xf16>
}
// -----
func.func @main(%x: tensor<19x11x4xi8>) -> tensor<11x19x4xi8> {
  %0 = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<19x11x4xi8>) -> tensor<11x19x4xi8>
  return %0 : tensor<11x19x4xi8>
}
// -----
func.func @main(%x: tensor<19x11x16xui8>) -> tensor<11x19x16xui8> {
  %0 = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<19x11x16xui8>) -> tensor<11x19x16xui8>
  return %0 : tensor<11x19x16xui8>
}
// -----
func.func @main(%x: tensor<19x11x4xi1>) -> tensor<11x19x4xi1> {
  %0 = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<19x11x4xi1>) -> tensor<11x19x4xi1>
  %1 = stablehlo.and %0, %0 : tensor<11x19x4xi1>
  return %1 : tensor<11x19x4xi1>
}
// -----
func.func @main(%x: tensor<70x3xf32>) -> (tensor<70x70x3xf32>, tensor<70x70xf32>) {
  %a = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<70x3xf32>) -> tensor<70x70x3xf32>
  %b = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<70x3xf32>) -> tensor<70x70x3xf32>
  %d = stablehlo.subtract %a, %b : tensor<70x70x3xf32>
  %m = stablehlo.multiply %d, %d : tensor<70x70x3xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%m init: %c) applies stablehlo.add across dimensions = [2] : (tensor<70x70x3xf32>, tensor<f32>) -> tensor<70x70xf32>
  return %d, %r : tensor<70x70x3xf32>, tensor<70x70xf32>
}
// -----
func.func @main(%x: tensor<70x4xf32>) -> (tensor<70x70x4xf32>, tensor<70x70xf32>) {
  %a = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<70x4xf32>) -> tensor<70x70x4xf32>
  %b = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<70x4xf32>) -> tensor<70x70x4xf32>
  %d = stablehlo.subtract %a, %b : tensor<70x70x4xf32>
  %m = stablehlo.multiply %d, %d : tensor<70x70x4xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%m init: %c) applies stablehlo.add across dimensions = [2] : (tensor<70x70x4xf32>, tensor<f32>) -> tensor<70x70xf32>
  return %d, %r : tensor<70x70x4xf32>, tensor<70x70xf32>
}
// -----
// Reductions of transposed arrays: larger than the first cache, so not in one loop nest.
func.func @main(%x: tensor<48x40x36xf32>, %y: tensor<200x150xbf16>) -> (tensor<36x48xf32>, tensor<36x48xf32>, tensor<150xbf16>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %c = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %0 = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<48x40x36xf32>) -> tensor<36x48x40xf32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [2] : (tensor<36x48x40xf32>, tensor<f32>) -> tensor<36x48xf32>
  %2 = stablehlo.negate %x : tensor<48x40x36xf32>
  %3 = stablehlo.reduce(%2 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<48x40x36xf32>, tensor<f32>) -> tensor<48x36xf32>
  %4 = stablehlo.transpose %3, dims = [1, 0] : (tensor<48x36xf32>) -> tensor<36x48xf32>
  %5 = stablehlo.transpose %y, dims = [1, 0] : (tensor<200x150xbf16>) -> tensor<150x200xbf16>
  %6 = stablehlo.reduce(%5 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<150x200xbf16>, tensor<bf16>) -> tensor<150xbf16>
  return %1, %4, %6 : tensor<36x48xf32>, tensor<36x48xf32>, tensor<150xbf16>
}
// -----
func.func @main(%x: tensor<90x7xbf16>) -> tensor<90x7xbf16> {
  %n = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %0 = stablehlo.reduce(%x init: %n) applies stablehlo.maximum across dimensions = [1] : (tensor<90x7xbf16>, tensor<bf16>) -> tensor<90xbf16>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<90xbf16>) -> tensor<90x7xbf16>
  %2 = stablehlo.subtract %x, %1 : tensor<90x7xbf16>
  %3 = stablehlo.exponential %2 : tensor<90x7xbf16>
  return %3 : tensor<90x7xbf16>
}
