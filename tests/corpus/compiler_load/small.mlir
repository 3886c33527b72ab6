func.func @main(%x: tensor<4xf8E4M3FN>, %y: tensor<4xf4E2M1FN>) -> (tensor<4xui2>) {
  %0 = stablehlo.convert %x : (tensor<4xf8E4M3FN>) -> tensor<4xf6E2M3FN>
  %1 = stablehlo.convert %y : (tensor<4xf4E2M1FN>) -> tensor<4xf16>
  %2 = stablehlo.add %x, %x : tensor<4xf8E4M3FN>
  %3 = stablehlo.convert %1 : (tensor<4xf16>) -> tensor<4xui2>
  %4 = stablehlo.convert %1 : (tensor<4xf16>) -> tensor<4xf8E8M0FNU>
  return %3 : tensor<4xui2>
}
