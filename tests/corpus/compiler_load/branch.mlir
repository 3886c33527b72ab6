func.func @main(%p: tensor<i1>, %n: tensor<i32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %y : tensor<4xf32>
  }, {
    %9 = stablehlo.negate %y : tensor<4xf32>
    stablehlo.return %9 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %1:2 = "stablehlo.case"(%n) ({
    stablehlo.return %0, %n : tensor<4xf32>, tensor<i32>
  }, {
    stablehlo.return %y, %n : tensor<4xf32>, tensor<i32>
  }) : (tensor<i32>) -> (tensor<4xf32>, tensor<i32>)
  %2 = stablehlo.composite "a.b" %y {composite_attributes = {n = 1 : i64}, decomposition = @f} : (tensor<4xf32>) -> tensor<4xf32>
  %3:2 = stablehlo.optimization_barrier %2, %n : tensor<4xf32>, tensor<i32>
  return %1#0, %3#0 : tensor<4xf32>, tensor<4xf32>
}
func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
