module {
  func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<f32>, %arg3: tensor<4xi1>, %arg4: tensor<2x3x4xf32>, %arg5: tensor<i32>, %arg6: tensor<2xi64>, %arg7: !stablehlo.token, %arg8: tuple<tensor<f32>, tensor<i32>>, %arg9: tensor<1x8x8x2xf32>, %arg10: tensor<3x3x2x4xf32>, %arg11: tensor<2x4x5xf32>, %arg12: tensor<4xcomplex<f32>>) {
    %r0 = stablehlo.compare EQ, %arg0, %arg1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %r1 = stablehlo.select %arg3, %arg0, %arg1 : tensor<4xi1>, tensor<4xf32>
    %r2 = stablehlo.clamp %arg2, %arg0, %arg2 : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %r3 = stablehlo.constant dense<[1, -2]> : tensor<2xi8>
    %r4 = stablehlo.constant {a = 1 : i64} dense<2.500000e+00> : tensor<3xf32>
    return
  }
}
