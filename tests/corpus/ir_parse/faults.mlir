func.func @f(%a: tensor<4xf32>) {
  %0 = stablehlo.add %a, %b : tensor<4xf32>
  %1 = foo.bar %a
  %2 = stablehlo.constant dense<[1, 2]> : tensor<3xi32>
  %3 = stablehlo.iota dim = 0 : tensor<99999999999999999999xf32>
  %4 = "stablehlo.add"(%a, %a) <{x = 1}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
