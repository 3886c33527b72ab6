module {
  func.func private @f(%arg0: tensor<i32>, %arg1: tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>) {
    %0:2 = stablehlo.while(%arg2 = %arg0, %arg3 = %arg1) : tensor<i32>, tensor<4xf32>
    cond {
      %1 = stablehlo.compare LT, %arg2, %arg0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %2 = func.call @g(%arg3) : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %arg2, %2 : tensor<i32>, tensor<4xf32>
    }
    %3:2 = stablehlo.reduce(%0#1 init: %arg0), (%0#1 init: %arg0) across dimensions = [0] : (tensor<4xf32>, tensor<4xf32>, tensor<i32>, tensor<i32>) -> (tensor<f32>, tensor<f32>)
     reducer(%arg4: tensor<f32>, %arg6: tensor<f32>) (%arg5: tensor<f32>, %arg7: tensor<f32>) {
      stablehlo.return %arg4, %arg7 : tensor<f32>, tensor<f32>
    }
    %4 = "stablehlo.case"(%arg0) ({
      stablehlo.return %0#0 : tensor<i32>
    }, {
      stablehlo.return %arg0 : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    %5 = "stablehlo.sort"(%arg1) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg8: tensor<f32>, %arg9: tensor<f32>):
      %6 = stablehlo.compare GT, %arg8, %arg9, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %6 : tensor<i1>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %7 = sdy.manual_computation(%5) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%arg10: tensor<2xf32>) {
      sdy.return %arg10 : tensor<2xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    return %4, %7 : tensor<i32>, tensor<4xf32>
  }
}
