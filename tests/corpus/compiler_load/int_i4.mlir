func.func @main(%x: tensor<4xi4>, %y: tensor<4xi4>) -> (tensor<4xi4>, tensor<4xi4>) {
  %0 = stablehlo.add %x, %y : tensor<4xi4>
  %1 = stablehlo.subtract %x, %y : tensor<4xi4>
  %2 = stablehlo.multiply %x, %y : tensor<4xi4>
  %3 = stablehlo.divide %x, %y : tensor<4xi4>
  %4 = stablehlo.maximum %x, %y : tensor<4xi4>
  %5 = stablehlo.minimum %x, %y : tensor<4xi4>
  %6 = stablehlo.power %x, %y : tensor<4xi4>
  %7 = stablehlo.remainder %x, %y : tensor<4xi4>
  %8 = stablehlo.and %x, %y : tensor<4xi4>
  %9 = stablehlo.or %x, %y : tensor<4xi4>
  %10 = stablehlo.xor %x, %y : tensor<4xi4>
  %11 = stablehlo.shift_left %x, %y : tensor<4xi4>
  %12 = stablehlo.shift_right_arithmetic %x, %y : tensor<4xi4>
  %13 = stablehlo.shift_right_logical %x, %y : tensor<4xi4>
  %a = stablehlo.not %x : tensor<4xi4>
  %b = stablehlo.popcnt %x : tensor<4xi4>
  %c = stablehlo.count_leading_zeros %x : tensor<4xi4>

  return %0, %a : tensor<4xi4>, tensor<4xi4>
}
