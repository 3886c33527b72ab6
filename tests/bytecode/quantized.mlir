// Quantized types of one scale and of one a slice, with signed and unsigned storage.
module @quantized {
  func.func @main(%a: tensor<4x2x!quant.uniform<i8:f32, 0.5:3>>, %b: tensor<4x2x!quant.uniform<u8<0:200>:f32, 0.25>>, %c: tensor<4x2x!quant.uniform<i8<-127:127>:f32:1, {0.5:1, 2.0:-1}>>) -> tensor<4x2xf32> {
    %0 = stablehlo.uniform_dequantize %a : (tensor<4x2x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<4x2xf32>
    %1 = stablehlo.uniform_dequantize %b : (tensor<4x2x!quant.uniform<u8<0:200>:f32, 0.25>>) -> tensor<4x2xf32>
    %2 = stablehlo.uniform_dequantize %c : (tensor<4x2x!quant.uniform<i8<-127:127>:f32:1, {0.5:1, 2.0:-1}>>) -> tensor<4x2xf32>
    return %2 : tensor<4x2xf32>
  }
}
