func.func @main(%x: tensor<4xi32>, %y: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %0 = stablehlo.add %x, %y : tensor<4xi32>
  %1 = stablehlo.subtract %x, %y : tensor<4xi32>
  %2 = stablehlo.multiply %x, %y : tensor<4xi32>
  %3 = stablehlo.divide %x, %y : tensor<4xi32>
  %4 = stablehlo.maximum %x, %y : tensor<4xi32>
  %5 = stablehlo.minimum %x, %y : tensor<4xi32>
  %6 = stablehlo.power %x, %y : tensor<4xi32>
  %7 = stablehlo.remainder %x, %y : tensor<4xi32>
  %8 = stablehlo.and %x, %y : tensor<4xi32>
  %9 = stablehlo.or %x, %y : tensor<4xi32>
  %10 = stablehlo.xor %x, %y : tensor<4xi32>
  %11 = stablehlo.shift_left %x, %y : tensor<4xi32>
  %12 = stablehlo.shift_right_arithmetic %x, %y : tensor<4xi32>
  %13 = stablehlo.shift_right_logical %x, %y : tensor<4xi32>
  %a = stablehlo.not %x : tensor<4xi32>
  %b = stablehlo.popcnt %x : tensor<4xi32>
  %c = stablehlo.count_leading_zeros %x : tensor<4xi32>

  return %0, %a : tensor<4xi32>, tensor<4xi32>
}
