func.func @main(%y: tensor<2x3xf32>, %s: tensor<f32>) -> (tensor<2x3xf32>) {
  %e = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
  %z = stablehlo.constant dense<0> : tensor<2xi32>
  %o = stablehlo.constant dense<1> : tensor<2xi32>
  %f = "stablehlo.async_start"(%y) ({
  ^bb0(%q: tensor<2x3xf32>):
    %9 = stablehlo.negate %q : tensor<2x3xf32>
    stablehlo.return %9 : tensor<2x3xf32>
  }) : (tensor<2x3xf32>) -> !stablehlo.future<tensor<2x3xf32>>
  %0 = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<2x3xf32>>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
