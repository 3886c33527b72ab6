// Products of operands with a scale for each block: sizes of blocks, dimensions, types, edges, few rows.
func.func @main(%a: tensor<64x96xf8E4M3FN>, %b: tensor<48x96xf8E4M3FN>, %s: tensor<64x3xf8E8M0FNU>, %t: tensor<48x3xf8E8M0FNU>) -> tensor<64x48xf32> {
  %0 = hlo.scaled_dot %a, %b, %s, %t, contracting_dims = [1] x [1] : (tensor<64x96xf8E4M3FN>, tensor<48x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>, tensor<48x3xf8E8M0FNU>) -> tensor<64x48xf32>
  return %0 : tensor<64x48xf32>
}
// -----
func.func @main(%a: tensor<33x96xf8E4M3FN>, %b: tensor<70x96xf8E5M2>, %s: tensor<33x3xf8E8M0FNU>, %t: tensor<70x3xf8E8M0FNU>) -> tensor<33x70xbf16> {
  %0 = hlo.scaled_dot %a, %b, %s, %t, contracting_dims = [1] x [1] : (tensor<33x96xf8E4M3FN>, tensor<70x96xf8E5M2>, tensor<33x3xf8E8M0FNU>, tensor<70x3xf8E8M0FNU>) -> tensor<33x70xbf16>
  return %0 : tensor<33x70xbf16>
}
// -----
func.func @main(%a: tensor<40x160xf8E4M3FN>, %b: tensor<160x72xf8E4M3FN>, %s: tensor<40x5xf8E8M0FNU>, %t: tensor<5x72xf8E8M0FNU>) -> tensor<40x72xf32> {
  %0 = hlo.scaled_dot %a, %b, %s, %t, contracting_dims = [1] x [0] : (tensor<40x160xf8E4M3FN>, tensor<160x72xf8E4M3FN>, tensor<40x5xf8E8M0FNU>, tensor<5x72xf8E8M0FNU>) -> tensor<40x72xf32>
  return %0 : tensor<40x72xf32>
}
// -----
func.func @main(%a: tensor<37x96xf4E2M1FN>, %b: tensor<50x96xf4E2M1FN>, %s: tensor<37x6xf8E4M3FN>, %t: tensor<50x6xf8E4M3FN>) -> tensor<37x50xf32> {
  %0 = hlo.scaled_dot %a, %b, %s, %t, contracting_dims = [1] x [1] : (tensor<37x96xf4E2M1FN>, tensor<50x96xf4E2M1FN>, tensor<37x6xf8E4M3FN>, tensor<50x6xf8E4M3FN>) -> tensor<37x50xf32>
  return %0 : tensor<37x50xf32>
}
// -----
func.func @main(%a: tensor<130x64xf4E2M1FN>, %b: tensor<64x96xf4E2M1FN>, %s: tensor<130x4xf8E4M3FN>, %t: tensor<4x96xf8E4M3FN>) -> tensor<130x96xf32> {
  %0 = hlo.scaled_dot %a, %b, %s, %t, contracting_dims = [1] x [0] : (tensor<130x64xf4E2M1FN>, tensor<64x96xf4E2M1FN>, tensor<130x4xf8E4M3FN>, tensor<4x96xf8E4M3FN>) -> tensor<130x96xf32>
  return %0 : tensor<130x96xf32>
}
// -----
func.func @main(%a: tensor<20x64xf6E3M2FN>, %b: tensor<24x64xf6E2M3FN>, %s: tensor<20x2xf8E8M0FNU>, %t: tensor<24x2xf8E8M0FNU>) -> tensor<20x24xf32> {
  %0 = hlo.scaled_dot %a, %b, %s, %t, contracting_dims = [1] x [1] : (tensor<20x64xf6E3M2FN>, tensor<24x64xf6E2M3FN>, tensor<20x2xf8E8M0FNU>, tensor<24x2xf8E8M0FNU>) -> tensor<20x24xf32>
  return %0 : tensor<20x24xf32>
}
// -----
func.func @main(%a: tensor<1x512xf8E4M3FN>, %b: tensor<96x512xf8E4M3FN>, %s: tensor<1x16xf8E8M0FNU>, %t: tensor<96x16xf8E8M0FNU>) -> tensor<1x96xf32> {
  %0 = hlo.scaled_dot %a, %b, %s, %t, contracting_dims = [1] x [1] : (tensor<1x512xf8E4M3FN>, tensor<96x512xf8E4M3FN>, tensor<1x16xf8E8M0FNU>, tensor<96x16xf8E8M0FNU>) -> tensor<1x96xf32>
  return %0 : tensor<1x96xf32>
}
// -----
func.func @main(%a: tensor<3x512xf4E2M1FN>, %b: tensor<512x40xf4E2M1FN>, %s: tensor<3x32xf8E4M3FN>, %t: tensor<32x40xf8E4M3FN>) -> tensor<3x40xf32> {
  %0 = hlo.scaled_dot %a, %b, %s, %t, contracting_dims = [1] x [0] : (tensor<3x512xf4E2M1FN>, tensor<512x40xf4E2M1FN>, tensor<3x32xf8E4M3FN>, tensor<32x40xf8E4M3FN>) -> tensor<3x40xf32>
  return %0 : tensor<3x40xf32>
}
// -----
func.func @main(%a: tensor<4x256xbf16>, %b: tensor<128x256xf8E4M3FN>, %s: tensor<bf16>, %t: tensor<128x8xf8E8M0FNU>) -> tensor<4x128xf32> {
  %0 = hlo.scaled_dot %a, %b, %s, %t, contracting_dims = [1] x [1] : (tensor<4x256xbf16>, tensor<128x256xf8E4M3FN>, tensor<bf16>, tensor<128x8xf8E8M0FNU>) -> tensor<4x128xf32>
  return %0 : tensor<4x128xf32>
}
// -----
func.func @main(%a: tensor<3x17x64xf8E4M3FN>, %b: tensor<3x64x33xf8E4M3FN>, %s: tensor<3x17x2xf8E8M0FNU>, %t: tensor<3x2x33xf8E8M0FNU>) -> tensor<3x17x33xf32> {
  %0 = hlo.scaled_dot %a, %b, %s, %t, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<3x17x64xf8E4M3FN>, tensor<3x64x33xf8E4M3FN>, tensor<3x17x2xf8E8M0FNU>, tensor<3x2x33xf8E8M0FNU>) -> tensor<3x17x33xf32>
  return %0 : tensor<3x17x33xf32>
}
// -----
func.func @main(%a: tensor<64x5x40xf8E4M3FN>, %b: tensor<30x64x5xf8E4M3FN>, %s: tensor<2x5x40xf8E8M0FNU>, %t: tensor<30x2x5xf8E8M0FNU>) -> tensor<5x40x30xf32> {
  %0 = hlo.scaled_dot %a, %b, %s, %t, batching_dims = [1] x [2], contracting_dims = [0] x [1] : (tensor<64x5x40xf8E4M3FN>, tensor<30x64x5xf8E4M3FN>, tensor<2x5x40xf8E8M0FNU>, tensor<30x2x5xf8E8M0FNU>) -> tensor<5x40x30xf32>
  return %0 : tensor<5x40x30xf32>
}
// -----
func.func @main(%a: tensor<32x96xf8E4M3FN>, %b: tensor<48x96xf8E4M3FN>, %s: tensor<4x3xf8E8M0FNU>, %t: tensor<16x3xf8E8M0FNU>) -> tensor<32x48xf32> {
  %0 = hlo.scaled_dot %a, %b, %s, %t, contracting_dims = [1] x [1] : (tensor<32x96xf8E4M3FN>, tensor<48x96xf8E4M3FN>, tensor<4x3xf8E8M0FNU>, tensor<16x3xf8E8M0FNU>) -> tensor<32x48xf32>
  return %0 : tensor<32x48xf32>
}
// -----
func.func @main(%a: tensor<32x96xf8E4M3FN>, %b: tensor<48x96xf8E4M3FN>, %s: tensor<32x16xf32>, %t: tensor<48x8xf32>) -> tensor<32x48xf32> {
  %0 = hlo.scaled_dot %a, %b, %s, %t, contracting_dims = [1] x [1] : (tensor<32x96xf8E4M3FN>, tensor<48x96xf8E4M3FN>, tensor<32x16xf32>, tensor<48x8xf32>) -> tensor<32x48xf32>
  return %0 : tensor<32x48xf32>
}
