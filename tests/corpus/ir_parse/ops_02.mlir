module {
  func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<f32>, %arg3: tensor<4xi1>, %arg4: tensor<2x3x4xf32>, %arg5: tensor<i32>, %arg6: tensor<2xi64>, %arg7: !stablehlo.token, %arg8: tuple<tensor<f32>, tensor<i32>>, %arg9: tensor<1x8x8x2xf32>, %arg10: tensor<3x3x2x4xf32>, %arg11: tensor<2x4x5xf32>, %arg12: tensor<4xcomplex<f32>>) {
    %r0 = stablehlo.iota dim = 1 : tensor<2x3xi32>
    %r1 = stablehlo.slice %arg4 [0:2, 1:3:2, 0:0] : (tensor<2x3x4xf32>) -> tensor<2x1x0xf32>
    %r2 = stablehlo.dynamic_slice %arg0, %arg5, sizes = [2] : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>
    %r3 = stablehlo.pad %arg0, %arg2, low = [-1], high = [2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<5xf32>
    %r4 = stablehlo.concatenate %arg0, %arg1, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
    return
  }
}
