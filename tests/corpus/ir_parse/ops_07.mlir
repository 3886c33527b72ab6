module {
  func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<f32>, %arg3: tensor<4xi1>, %arg4: tensor<2x3x4xf32>, %arg5: tensor<i32>, %arg6: tensor<2xi64>, %arg7: !stablehlo.token, %arg8: tuple<tensor<f32>, tensor<i32>>, %arg9: tensor<1x8x8x2xf32>, %arg10: tensor<3x3x2x4xf32>, %arg11: tensor<2x4x5xf32>, %arg12: tensor<4xcomplex<f32>>) {
    %r0 = chlo.erf %arg0 : tensor<4xf32> -> tensor<4xf32>
    %r1:2 = chlo.top_k(%arg0, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
    %r2 = "chlo.constant_like"(%arg0) <{value = 1.500000e+00 : f32}> : (tensor<4xf32>) -> tensor<4xf32>
    check.expect_eq_const %arg5, dense<3> : tensor<i32>
    check.expect_almost_eq %arg0, %arg1, tolerance = 1.000000e-03 : f64 : tensor<4xf32>
    return
  }
}
