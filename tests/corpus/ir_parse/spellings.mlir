module {
  func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<f32>, %arg3: tensor<4xi1>, %arg4: tensor<2x3x4xf32>, %arg5: tensor<i32>, %arg6: tensor<2xi64>, %arg7: !stablehlo.token, %arg8: tuple<tensor<f32>, tensor<i32>>, %arg9: tensor<1x8x8x2xf32>, %arg10: tensor<3x3x2x4xf32>, %arg11: tensor<2x4x5xf32>, %arg12: tensor<4xcomplex<f32>>) {
    %r0 = "stablehlo.add"(%arg0, %arg1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %r1 = "stablehlo.transpose"(%arg4) {permutation = dense<[2, 0, 1]> : tensor<3xi64>} : (tensor<2 x 3x4xf32>) -> tensor<4x2x3xf32>
    %r2 = stablehlo.constant dense<"0x01000000FEFFFFFF"> : tensor<2xi32>
    %r3 = stablehlo.constant dense<"0x05"> : tensor<4xi1>
    %r4 = stablehlo.constant dense<[(1.0, 0x7F800000), (-0.5, 2.0e1)]> : tensor<2xcomplex<f32>>
    %r5 = stablehlo.constant dense<[255, 0xFF]> : tensor<2xi8>
    %r6 = "stablehlo.compare"(%arg0, %arg1) {comparison_direction = #stablehlo.comparison_direction<GE>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    return
  }
}
