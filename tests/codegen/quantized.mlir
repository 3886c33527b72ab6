// Quantized values: per tensor and along an axis, ops that compute, move and reduce.

func.func @main(%a: tensor<3x8xf32>, %b: tensor<8x4xf32>) -> (tensor<3x8xf32>, tensor<3x4xf32>, tensor<8xf32>, tensor<3x8xi1>, tensor<8x3xf32>, tensor<3x8xbf16>) {
  %0 = stablehlo.uniform_quantize %a : (tensor<3x8xf32>) -> tensor<3x8x!quant.uniform<i8:f32, 0.03:5>>
  %1 = stablehlo.uniform_quantize %b : (tensor<8x4xf32>) -> tensor<8x4x!quant.uniform<i8<-127:127>:f32:1, {0.01, 0.02, 0.03, 0.04}>>
  %2 = stablehlo.add %0, %0 : (tensor<3x8x!quant.uniform<i8:f32, 0.03:5>>, tensor<3x8x!quant.uniform<i8:f32, 0.03:5>>) -> tensor<3x8x!quant.uniform<i8:f32, 0.05>>
  %3 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<3x8x!quant.uniform<i8:f32, 0.03:5>>, tensor<8x4x!quant.uniform<i8<-127:127>:f32:1, {0.01, 0.02, 0.03, 0.04}>>) -> tensor<3x4x!quant.uniform<i32:f32, 0.001>>
  %4 = stablehlo.uniform_dequantize %2 : (tensor<3x8x!quant.uniform<i8:f32, 0.05>>) -> tensor<3x8xf32>
  %5 = stablehlo.uniform_dequantize %3 : (tensor<3x4x!quant.uniform<i32:f32, 0.001>>) -> tensor<3x4xf32>
  %z = stablehlo.constant dense<5> : tensor<i8>
  %y = stablehlo.bitcast_convert %z : (tensor<i8>) -> tensor<!quant.uniform<i8:f32, 0.03:5>>
  %6 = stablehlo.reduce(%0 init: %y) across dimensions = [0] : (tensor<3x8x!quant.uniform<i8:f32, 0.03:5>>, tensor<!quant.uniform<i8:f32, 0.03:5>>) -> tensor<8x!quant.uniform<i8:f32, 0.03:5>>
    reducer(%x: tensor<!quant.uniform<i8:f32, 0.03:5>>, %w: tensor<!quant.uniform<i8:f32, 0.03:5>>) {
    %s = stablehlo.maximum %x, %w : tensor<!quant.uniform<i8:f32, 0.03:5>>
    stablehlo.return %s : tensor<!quant.uniform<i8:f32, 0.03:5>>
  }
  %7 = stablehlo.uniform_dequantize %6 : (tensor<8x!quant.uniform<i8:f32, 0.03:5>>) -> tensor<8xf32>
  %8 = stablehlo.compare LT, %0, %0 : (tensor<3x8x!quant.uniform<i8:f32, 0.03:5>>, tensor<3x8x!quant.uniform<i8:f32, 0.03:5>>) -> tensor<3x8xi1>
  %9 = stablehlo.transpose %0, dims = [1, 0] : (tensor<3x8x!quant.uniform<i8:f32, 0.03:5>>) -> tensor<8x3x!quant.uniform<i8:f32, 0.03:5>>
  %10 = stablehlo.uniform_quantize %9 : (tensor<8x3x!quant.uniform<i8:f32, 0.03:5>>) -> tensor<8x3x!quant.uniform<u8:f32, 0.01:100>>
  %11 = stablehlo.uniform_dequantize %10 : (tensor<8x3x!quant.uniform<u8:f32, 0.01:100>>) -> tensor<8x3xf32>
  %h = stablehlo.convert %a : (tensor<3x8xf32>) -> tensor<3x8xbf16>
  %12 = stablehlo.uniform_quantize %h : (tensor<3x8xbf16>) -> tensor<3x8x!quant.uniform<i4:bf16, 0.25:-1>>
  %13 = stablehlo.tanh %12 : tensor<3x8x!quant.uniform<i4:bf16, 0.25:-1>>
  %14 = stablehlo.uniform_dequantize %13 : (tensor<3x8x!quant.uniform<i4:bf16, 0.25:-1>>) -> tensor<3x8xbf16>
  return %4, %5, %7, %8, %11, %14 : tensor<3x8xf32>, tensor<3x4xf32>, tensor<8xf32>, tensor<3x8xi1>, tensor<8x3xf32>, tensor<3x8xbf16>
}
// -----
// Zero points of products of bytes.
func.func @main(%x: tensor<20x2x9xui8>, %y: tensor<9x18x2xi8>, %a: tensor<3x9xi8>, %b: tensor<9x18xi8>) -> (tensor<2x20x18xi32>, tensor<3x18xi32>, tensor<3x18xi32>) {
  %three = stablehlo.constant dense<3> : tensor<20x2x9xi32>
  %two = stablehlo.constant dense<2> : tensor<9x18x2xi32>
  %x1 = stablehlo.convert %x : (tensor<20x2x9xui8>) -> tensor<20x2x9xi32>
  %x2 = stablehlo.subtract %x1, %three : tensor<20x2x9xi32>
  %y1 = stablehlo.convert %y : (tensor<9x18x2xi8>) -> tensor<9x18x2xi32>
  %y2 = stablehlo.add %y1, %two : tensor<9x18x2xi32>
  %0 = stablehlo.dot_general %x2, %y2, batching_dims = [1] x [2], contracting_dims = [2] x [0] : (tensor<20x2x9xi32>, tensor<9x18x2xi32>) -> tensor<2x20x18xi32>
  %one = stablehlo.constant dense<1> : tensor<3x9xi32>
  %four = stablehlo.constant dense<4> : tensor<9x18xi32>
  %a1 = stablehlo.convert %a : (tensor<3x9xi8>) -> tensor<3x9xi32>
  %a2 = stablehlo.subtract %a1, %one : tensor<3x9xi32>
  %b1 = stablehlo.convert %b : (tensor<9x18xi8>) -> tensor<9x18xi32>
  %b2 = stablehlo.subtract %b1, %four : tensor<9x18xi32>
  %1 = stablehlo.dot_general %a1, %b2, contracting_dims = [1] x [0] : (tensor<3x9xi32>, tensor<9x18xi32>) -> tensor<3x18xi32>
  %2 = stablehlo.dot_general %a2, %b1, contracting_dims = [1] x [0] : (tensor<3x9xi32>, tensor<9x18xi32>) -> tensor<3x18xi32>
  return %0, %1, %2 : tensor<2x20x18xi32>, tensor<3x18xi32>, tensor<3x18xi32>
}
