func.func @main(%x: tensor<4xi1>, %y: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>) {
  %0 = stablehlo.and %x, %y : tensor<4xi1>
  %1 = stablehlo.or %x, %y : tensor<4xi1>
  %2 = stablehlo.xor %x, %y : tensor<4xi1>
  %3 = stablehlo.add %x, %y : tensor<4xi1>
  %4 = stablehlo.multiply %x, %y : tensor<4xi1>
  %5 = stablehlo.maximum %x, %y : tensor<4xi1>
  %6 = stablehlo.minimum %x, %y : tensor<4xi1>
  %a = stablehlo.not %x : tensor<4xi1>

  return %0, %a : tensor<4xi1>, tensor<4xi1>
}
