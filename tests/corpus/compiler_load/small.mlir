func.func @main(%y: tensor<2x3xf32>, %s: tensor<f32>) -> (tensor<2x3xf32>) {
  %e = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
  %z = stablehlo.constant dense<0> : tensor<2xi32>
  %o = stablehlo.constant dense<1> : tensor<2xi32>
  %t = stablehlo.create_token : !stablehlo.token
  %0 = stablehlo.custom_call @Sharding(%y) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  interpreter.print %y : tensor<2x3xf32>
  %1 = "stablehlo.cross-replica-sum"(%y) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
