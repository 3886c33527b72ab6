// Depthwise convolutions and their gradients, bytes and bf16 in groups and in tile registers,
// edges, phases of transposed convolutions, operands that are transposed first.
func.func @main(%a: tensor<2x9x20x18xf32>, %b: tensor<3x3x1x18xf32>) -> tensor<2x9x20x18xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 18 : i64, batch_group_count = 1 : i64} : (tensor<2x9x20x18xf32>, tensor<3x3x1x18xf32>) -> tensor<2x9x20x18xf32>
  return %0 : tensor<2x9x20x18xf32>
}
// -----
func.func @main(%a: tensor<2x9x30x20xbf16>, %b: tensor<3x5x1x40xbf16>) -> tensor<2x5x15x40xbf16> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [2, 2]]} {feature_group_count = 20 : i64, batch_group_count = 1 : i64} : (tensor<2x9x30x20xbf16>, tensor<3x5x1x40xbf16>) -> tensor<2x5x15x40xbf16>
  return %0 : tensor<2x5x15x40xbf16>
}
// -----
func.func @main(%a: tensor<2x9x20x18xf64>, %b: tensor<3x3x1x18xf64>) -> tensor<2x7x18x18xf64> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]], rhs_dilate = [2, 2]} {feature_group_count = 18 : i64, batch_group_count = 1 : i64} : (tensor<2x9x20x18xf64>, tensor<3x3x1x18xf64>) -> tensor<2x7x18x18xf64>
  return %0 : tensor<2x7x18x18xf64>
}
// -----
func.func @main(%a: tensor<18x9x20x2xf32>, %b: tensor<2x9x20x18xf32>) -> tensor<3x3x1x18xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 1 : i64, batch_group_count = 18 : i64} : (tensor<18x9x20x2xf32>, tensor<2x9x20x18xf32>) -> tensor<3x3x1x18xf32>
  return %0 : tensor<3x3x1x18xf32>
}
// -----
func.func @main(%a: tensor<2x36x18xf32>, %b: tensor<4x1x18xf32>) -> tensor<2x36x18xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[3, 0]]} {feature_group_count = 18 : i64, batch_group_count = 1 : i64} : (tensor<2x36x18xf32>, tensor<4x1x18xf32>) -> tensor<2x36x18xf32>
  return %0 : tensor<2x36x18xf32>
}
// -----
func.func @main(%a: tensor<2x18x9x20xf32>, %b: tensor<18x1x3x3xf32>) -> tensor<2x18x9x20xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 18 : i64, batch_group_count = 1 : i64} : (tensor<2x18x9x20xf32>, tensor<18x1x3x3xf32>) -> tensor<2x18x9x20xf32>
  return %0 : tensor<2x18x9x20xf32>
}
// -----
func.func @main(%a: tensor<2x9x20x24xbf16>, %b: tensor<3x3x24x40xbf16>) -> tensor<2x9x20x40xbf16> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x20x24xbf16>, tensor<3x3x24x40xbf16>) -> tensor<2x9x20x40xbf16>
  return %0 : tensor<2x9x20x40xbf16>
}
// -----
func.func @main(%a: tensor<2x9x20x7xbf16>, %b: tensor<3x3x7x40xbf16>) -> tensor<2x9x20x40xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x20x7xbf16>, tensor<3x3x7x40xbf16>) -> tensor<2x9x20x40xf32>
  return %0 : tensor<2x9x20x40xf32>
}
// -----
func.func @main(%a: tensor<2x9x20x16xi8>, %b: tensor<3x3x16x40xi8>) -> tensor<2x9x20x40xi32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x20x16xi8>, tensor<3x3x16x40xi8>) -> tensor<2x9x20x40xi32>
  return %0 : tensor<2x9x20x40xi32>
}
// -----
func.func @main(%a: tensor<2x9x20x18xui8>, %b: tensor<3x3x18x40xui8>) -> tensor<2x9x20x40xi32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x20x18xui8>, tensor<3x3x18x40xui8>) -> tensor<2x9x20x40xi32>
  return %0 : tensor<2x9x20x40xi32>
}
// -----
func.func @main(%a: tensor<2x9x20x32xbf16>, %b: tensor<3x3x16x40xbf16>) -> tensor<2x9x20x40xbf16> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 2 : i64, batch_group_count = 1 : i64} : (tensor<2x9x20x32xbf16>, tensor<3x3x16x40xbf16>) -> tensor<2x9x20x40xbf16>
  return %0 : tensor<2x9x20x40xbf16>
}
// -----
func.func @main(%a: tensor<2x9x10x16xbf16>, %b: tensor<4x4x16x40xbf16>) -> tensor<2x18x20x40xbf16> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[2, 2], [2, 2]], lhs_dilate = [2, 2]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x10x16xbf16>, tensor<4x4x16x40xbf16>) -> tensor<2x18x20x40xbf16>
  return %0 : tensor<2x18x20x40xbf16>
}
// -----
func.func @main(%a: tensor<2x9x6x9xf32>, %b: tensor<3x3x2x9xf32>) -> tensor<2x3x15x6xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[0, 0], [2, 3]], lhs_dilate = [3, 1]} {feature_group_count = 3 : i64, batch_group_count = 1 : i64} : (tensor<2x9x6x9xf32>, tensor<3x3x2x9xf32>) -> tensor<2x3x15x6xf32>
  return %0 : tensor<2x3x15x6xf32>
}
// -----
func.func @main(%a: tensor<2x9x6x9xf32>, %b: tensor<3x9x2x2xf32>) -> tensor<2x3x12x18xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]], lhs_dilate = [2, 2]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x6x9xf32>, tensor<3x9x2x2xf32>) -> tensor<2x3x12x18xf32>
  return %0 : tensor<2x3x12x18xf32>
}
// -----
func.func @main(%a: tensor<1x9x300x3xf32>, %b: tensor<7x7x3x64xf32>) -> tensor<1x5x150x64xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[3, 3], [3, 3]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x9x300x3xf32>, tensor<7x7x3x64xf32>) -> tensor<1x5x150x64xf32>
  return %0 : tensor<1x5x150x64xf32>
}
// -----
func.func @main(%a: tensor<2x9x10x16xf32>, %b: tensor<3x3x16x20xf32>) -> tensor<2x19x19x20xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[2, 2], [1, 1]], lhs_dilate = [2, 2]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x10x16xf32>, tensor<3x3x16x20xf32>) -> tensor<2x19x19x20xf32>
  return %0 : tensor<2x19x19x20xf32>
}
// -----
func.func @main(%a: tensor<2x20x8xbf16>, %b: tensor<5x8x20xbf16>) -> tensor<2x58x20xbf16> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[2, 2]], lhs_dilate = [3], reverse = [true]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x20x8xbf16>, tensor<5x8x20xbf16>) -> tensor<2x58x20xbf16>
  return %0 : tensor<2x58x20xbf16>
}
// -----
func.func @main(%a: tensor<3x9x21x18xbf16>, %b: tensor<3x5x10x20xbf16>) -> tensor<3x4x18x20xbf16> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[1, 1], [1, 0]], rhs_dilate = [2, 2]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<3x9x21x18xbf16>, tensor<3x5x10x20xbf16>) -> tensor<3x4x18x20xbf16>
  return %0 : tensor<3x4x18x20xbf16>
}
// -----
func.func @main(%a: tensor<2x9x20x64xbf16>, %b: tensor<3x3x64x40xbf16>) -> tensor<2x9x20x40xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x20x64xbf16>, tensor<3x3x64x40xbf16>) -> tensor<2x9x20x40xf32>
  return %0 : tensor<2x9x20x40xf32>
}
// -----
func.func @main(%a: tensor<1x7x35x32xbf16>, %b: tensor<1x1x32x16xbf16>) -> tensor<1x4x35x16xbf16> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x7x35x32xbf16>, tensor<1x1x32x16xbf16>) -> tensor<1x4x35x16xbf16>
  return %0 : tensor<1x4x35x16xbf16>
}
// -----
func.func @main(%a: tensor<2x9x20x128xi8>, %b: tensor<3x2x64x40xi8>) -> tensor<2x5x20x40xi32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 1], [0, 1]]} {feature_group_count = 2 : i64, batch_group_count = 1 : i64} : (tensor<2x9x20x128xi8>, tensor<3x2x64x40xi8>) -> tensor<2x5x20x40xi32>
  return %0 : tensor<2x5x20x40xi32>
}
// -----
func.func @main(%a: tensor<1x6x17x64xui8>, %b: tensor<2x3x64x24xui8>) -> tensor<1x6x15x24xi32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[0, 1], [2, 0]], rhs_dilate = [1, 2]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x6x17x64xui8>, tensor<2x3x64x24xui8>) -> tensor<1x6x15x24xi32>
  return %0 : tensor<1x6x15x24xi32>
}
// -----
func.func @main(%x: tensor<4x9x17x21xf32>, %g: tensor<4x12x9x11xf32>) -> tensor<12x9x3x3xf32> {
  %0 = stablehlo.convolution(%x, %g) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {pad = [[1, 1], [1, 1]], rhs_dilate = [2, 2]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<4x9x17x21xf32>, tensor<4x12x9x11xf32>) -> tensor<12x9x3x3xf32>
  return %0 : tensor<12x9x3x3xf32>
}
// -----
func.func @main(%a: tensor<2x5x7x40xf32>, %b: tensor<1x1x40x70xf32>) -> tensor<2x5x7x70xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x5x7x40xf32>, tensor<1x1x40x70xf32>) -> tensor<2x5x7x70xf32>
  return %0 : tensor<2x5x7x70xf32>
}
// -----
func.func @main(%a: tensor<2x30x9x11xbf16>, %b: tensor<50x30x1x1xbf16>) -> tensor<2x50x9x11xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x30x9x11xbf16>, tensor<50x30x1x1xbf16>) -> tensor<2x50x9x11xf32>
  return %0 : tensor<2x50x9x11xf32>
}
// -----
func.func @main(%a: tensor<3x9x10x48xbf16>, %b: tensor<3x9x10x20xbf16>) -> tensor<1x1x48x20xbf16> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<3x9x10x48xbf16>, tensor<3x9x10x20xbf16>) -> tensor<1x1x48x20xbf16>
  return %0 : tensor<1x1x48x20xbf16>
}
// -----
func.func @main(%a: tensor<2x9x10x32xi8>, %b: tensor<1x1x16x34xi8>) -> tensor<2x4x4x34xi32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 3], pad = [[-1, 0], [0, 0]]} {feature_group_count = 2 : i64, batch_group_count = 1 : i64} : (tensor<2x9x10x32xi8>, tensor<1x1x16x34xi8>) -> tensor<2x4x4x34xi32>
  return %0 : tensor<2x4x4x34xi32>
}
// -----
func.func @main(%a: tensor<4x40x6xf32>, %b: tensor<6x1x24xf32>) -> tensor<40x4x24xf32> {
  %0 = stablehlo.transpose %a, dims = [1, 0, 2] : (tensor<4x40x6xf32>) -> tensor<40x4x6xf32>
  %1 = stablehlo.exponential %0 : tensor<40x4x6xf32>
  %2 = stablehlo.convolution(%1, %b) dim_numbers = [b, 0, f]x[i, 0, o]->[b, 0, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<40x4x6xf32>, tensor<6x1x24xf32>) -> tensor<40x4x24xf32>
  return %2 : tensor<40x4x24xf32>
}
// -----
func.func @main(%a: tensor<600x17x2xbf16>, %b: tensor<64x600xf32>) -> tensor<64x34xf32> {
  %0 = stablehlo.convert %a : (tensor<600x17x2xbf16>) -> tensor<600x17x2xf32>
  %1 = stablehlo.reshape %0 : (tensor<600x17x2xf32>) -> tensor<600x34xf32>
  %2 = stablehlo.convolution(%b, %1) dim_numbers = [b, f]x[i, o]->[b, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<64x600xf32>, tensor<600x34xf32>) -> tensor<64x34xf32>
  return %2 : tensor<64x34xf32>
}
// -----
func.func @main(%a: tensor<11x9x10x70xf32>, %b: tensor<11x9x10x40xf32>) -> tensor<3x3x70x40xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<11x9x10x70xf32>, tensor<11x9x10x40xf32>) -> tensor<3x3x70x40xf32>
  return %0 : tensor<3x3x70x40xf32>
}
// -----
func.func @main(%a: tensor<4x13x18x3xf32>, %b: tensor<4x6x9x20xf32>) -> tensor<6x5x3x20xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[2, 1], [1, 2]], rhs_dilate = [2, 2], reverse = [false, true]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<4x13x18x3xf32>, tensor<4x6x9x20xf32>) -> tensor<6x5x3x20xf32>
  return %0 : tensor<6x5x3x20xf32>
}
// -----
func.func @main(%a: tensor<70x30x2xf32>, %b: tensor<70x14x33xf32>) -> tensor<9x2x33xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {stride = [2], pad = [[-1, 1]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<70x30x2xf32>, tensor<70x14x33xf32>) -> tensor<9x2x33xf32>
  return %0 : tensor<9x2x33xf32>
}

// -----
// Features before spatial dimensions, with and without strides: transposed first.
func.func @main(%x: tensor<2x9x11x13xf32>, %w: tensor<17x9x3x3xf32>, %v: tensor<9x24x5x3xf32>, %h: tensor<2x24x9x9xbf16>,
    %k: tensor<16x24x3x3xbf16>) -> (tensor<2x17x6x4xf32>, tensor<2x24x11x13xf32>, tensor<2x16x7x7xbf16>) {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [2, 3], pad = [[1, 1], [1, 2]], rhs_dilate = [1, 2]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x9x11x13xf32>, tensor<17x9x3x3xf32>) -> tensor<2x17x6x4xf32>
  %1 = stablehlo.convolution(%x, %v) dim_numbers = [b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1],
      window = {pad = [[2, 2], [1, 1]], reverse = [true, true]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x9x11x13xf32>, tensor<9x24x5x3xf32>) -> tensor<2x24x11x13xf32>
  %2 = stablehlo.convolution(%h, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x24x9x9xbf16>, tensor<16x24x3x3xbf16>) -> tensor<2x16x7x7xbf16>
  return %0, %1, %2 : tensor<2x17x6x4xf32>, tensor<2x24x11x13xf32>, tensor<2x16x7x7xbf16>
}
// -----
func.func @main(%a: tensor<2x48x48x80xf32>, %b: tensor<2x48x48x80xf32>) -> tensor<3x3x1x80xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 1 : i64, batch_group_count = 80 : i64} : (tensor<2x48x48x80xf32>, tensor<2x48x48x80xf32>) -> tensor<3x3x1x80xf32>
  return %0 : tensor<3x3x1x80xf32>
}
// -----
func.func @main(%a: tensor<2x41x40x64xf32>, %b: tensor<2x41x40x64xf32>) -> tensor<3x3x16x64xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 1 : i64, batch_group_count = 4 : i64} : (tensor<2x41x40x64xf32>, tensor<2x41x40x64xf32>) -> tensor<3x3x16x64xf32>
  return %0 : tensor<3x3x16x64xf32>
}
// -----
func.func @main(%a: tensor<2x70x70x36xbf16>, %b: tensor<2x69x70x20xbf16>) -> tensor<2x1x36x20xbf16> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[0, 0], [0, 0]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x70x70x36xbf16>, tensor<2x69x70x20xbf16>) -> tensor<2x1x36x20xbf16>
  return %0 : tensor<2x1x36x20xbf16>
}
// -----
func.func @main(%a: tensor<1x4x4x512xf32>, %b: tensor<3x3x512x64xf32>) -> tensor<1x4x4x64xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x4x4x512xf32>, tensor<3x3x512x64xf32>) -> tensor<1x4x4x64xf32>
  return %0 : tensor<1x4x4x64xf32>
}
// -----
func.func @main(%a: tensor<1x4x4x512xi8>, %b: tensor<3x3x512x64xi8>) -> tensor<1x4x4x64xi32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x4x4x512xi8>, tensor<3x3x512x64xi8>) -> tensor<1x4x4x64xi32>
  return %0 : tensor<1x4x4x64xi32>
}
// -----
func.func @main(%a: tensor<2x30x2xf32>, %b: tensor<3x2x3xf32>) -> tensor<2x10x3xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [3]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x30x2xf32>, tensor<3x2x3xf32>) -> tensor<2x10x3xf32>
  return %0 : tensor<2x10x3xf32>
}
// -----
// A window of one element that reaches no element of a dilated input has nothing to multiply.
func.func @main(%a: tensor<2x7x5x24xf32>, %b: tensor<1x1x24x40xf32>) -> tensor<2x14x10x40xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[0, 1], [0, 1]], lhs_dilate = [2, 2]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x7x5x24xf32>, tensor<1x1x24x40xf32>) -> tensor<2x14x10x40xf32>
  return %0 : tensor<2x14x10x40xf32>
}
// -----
func.func @main(%a: tensor<2x7x5x24xbf16>, %b: tensor<1x1x24x40xbf16>) -> tensor<2x21x15x40xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [2, 0]], lhs_dilate = [3, 3]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x7x5x24xbf16>, tensor<1x1x24x40xbf16>) -> tensor<2x21x15x40xf32>
  return %0 : tensor<2x21x15x40xf32>
}
// -----
func.func @main(%a: tensor<2x7x5x24xf32>, %b: tensor<1x2x24x40xf32>) -> tensor<2x21x10x40xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[0, 2], [1, 1]], lhs_dilate = [3, 2], reverse = [true, true]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x7x5x24xf32>, tensor<1x2x24x40xf32>) -> tensor<2x21x10x40xf32>
  return %0 : tensor<2x21x10x40xf32>
}
// -----
func.func @main(%a: tensor<2x24x7x5xf32>, %b: tensor<40x24x1x1xf32>) -> tensor<2x40x14x10xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 0], [0, 1]], lhs_dilate = [2, 2]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x24x7x5xf32>, tensor<40x24x1x1xf32>) -> tensor<2x40x14x10xf32>
  return %0 : tensor<2x40x14x10xf32>
}
// -----
func.func @main(%a: tensor<2x7x5x24xf32>, %b: tensor<1x1x1x24xf32>) -> tensor<2x14x10x24xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[0, 1], [0, 1]], lhs_dilate = [2, 2]} {feature_group_count = 24 : i64, batch_group_count = 1 : i64} : (tensor<2x7x5x24xf32>, tensor<1x1x1x24xf32>) -> tensor<2x14x10x24xf32>
  return %0 : tensor<2x14x10x24xf32>
}
// -----
func.func @main(%a: tensor<2x7x5x32xi8>, %b: tensor<1x1x32x48xi8>) -> tensor<2x14x10x48xi32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[0, 1], [0, 1]], lhs_dilate = [2, 2]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x7x5x32xi8>, tensor<1x1x32x48xi8>) -> tensor<2x14x10x48xi32>
  return %0 : tensor<2x14x10x48xi32>
}
// -----
// Each channel has a window of its own: no rows of a narrow product, although they are contiguous.
func.func @main(%a: tensor<1x8x36xf32>, %b: tensor<3x1x8xf32>) -> tensor<1x12x8xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b,f,0]x[0,i,o]->[b,0,f], window = {stride = [3], pad = [[0, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 8 : i64} : (tensor<1x8x36xf32>, tensor<3x1x8xf32>) -> tensor<1x12x8xf32>
  return %0 : tensor<1x12x8xf32>
}
// -----
// Elements below a byte.
func.func @main(%a: tensor<2x9x10x3xi1>, %b: tensor<3x2x3x4xi1>) -> tensor<2x9x9x4xi1> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [0, 0]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x10x3xi1>, tensor<3x2x3x4xi1>) -> tensor<2x9x9x4xi1>
  return %0 : tensor<2x9x9x4xi1>
}
// -----
func.func @main(%a: tensor<2x9x10x3xi4>, %b: tensor<3x2x3x4xi4>) -> tensor<2x9x9x4xi4> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [0, 0]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x10x3xi4>, tensor<3x2x3x4xi4>) -> tensor<2x9x9x4xi4>
  return %0 : tensor<2x9x9x4xi4>
}
// -----
func.func @main(%a: tensor<2x9x10x3xui2>, %b: tensor<3x2x3x4xui2>) -> tensor<2x9x9x4xui2> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [0, 0]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x10x3xui2>, tensor<3x2x3x4xui2>) -> tensor<2x9x9x4xui2>
  return %0 : tensor<2x9x9x4xui2>
}
// -----
func.func @main(%a: tensor<2x9x10x3xf4E2M1FN>, %b: tensor<3x2x3x4xf4E2M1FN>) -> tensor<2x9x9x4xf4E2M1FN> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [0, 0]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<2x9x10x3xf4E2M1FN>, tensor<3x2x3x4xf4E2M1FN>) -> tensor<2x9x9x4xf4E2M1FN>
  return %0 : tensor<2x9x9x4xf4E2M1FN>
}
