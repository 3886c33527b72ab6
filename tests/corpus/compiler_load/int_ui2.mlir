func.func @main(%x: tensor<4xui2>, %y: tensor<4xui2>) -> (tensor<4xui2>, tensor<4xui2>) {
  %0 = stablehlo.add %x, %y : tensor<4xui2>
  %1 = stablehlo.subtract %x, %y : tensor<4xui2>
  %2 = stablehlo.multiply %x, %y : tensor<4xui2>
  %3 = stablehlo.divide %x, %y : tensor<4xui2>
  %4 = stablehlo.maximum %x, %y : tensor<4xui2>
  %5 = stablehlo.minimum %x, %y : tensor<4xui2>
  %6 = stablehlo.power %x, %y : tensor<4xui2>
  %7 = stablehlo.remainder %x, %y : tensor<4xui2>
  %8 = stablehlo.and %x, %y : tensor<4xui2>
  %9 = stablehlo.or %x, %y : tensor<4xui2>
  %10 = stablehlo.xor %x, %y : tensor<4xui2>
  %11 = stablehlo.shift_left %x, %y : tensor<4xui2>
  %12 = stablehlo.shift_right_arithmetic %x, %y : tensor<4xui2>
  %13 = stablehlo.shift_right_logical %x, %y : tensor<4xui2>
  %a = stablehlo.not %x : tensor<4xui2>
  %b = stablehlo.popcnt %x : tensor<4xui2>
  %c = stablehlo.count_leading_zeros %x : tensor<4xui2>

  return %0, %a : tensor<4xui2>, tensor<4xui2>
}
