func.func @main(%x: tensor<4x8xf32>, %z: tensor<f32>) -> (tensor<7x3xf32>, tensor<8xf32>) {
  %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 1, 2>, base_dilations = array<i64: 2, 1>, window_dilations = array<i64: 1, 2>, padding = dense<[[1, 0], [0, 2]]> : tensor<2x2xi64>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %9 = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %9 : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<7x3xf32>
  %1 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %9 = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %9 : tensor<f32>
  }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = "stablehlo.reduce_scatter"(%x) <{scatter_dimension = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %9 = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %9 : tensor<f32>
  }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = "stablehlo.map"(%x, %x) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %9 = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %9 : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0, %1 : tensor<7x3xf32>, tensor<8xf32>
}
