// Computed shapes that are known when the program is compiled: through calls and loops.
func.func @main(%x: tensor<5xf32>, %y: tensor<2x6xf32>) -> (tensor<?x?xf32>, tensor<?xf32>, tensor<?x6xf32>) {
  %dims = stablehlo.constant dense<5> : tensor<1xi32>
  %v = stablehlo.dynamic_reshape %x, %dims : (tensor<5xf32>, tensor<1xi32>) -> tensor<?xf32>
  %0 = call @table(%v) : (tensor<?xf32>) -> tensor<?x?xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %many = stablehlo.constant dense<20> : tensor<i32>
  %1:2 = stablehlo.while(%i = %zero, %a = %v) : tensor<i32>, tensor<?xf32>
  cond {
    %c = stablehlo.compare LT, %i, %many : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %n = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?xf32>) -> tensor<i32>
    %shape = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
    %f = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
    %s = stablehlo.sine %a : tensor<?xf32>
    %sum = stablehlo.add %s, %f : tensor<?xf32>
    stablehlo.return %next, %sum : tensor<i32>, tensor<?xf32>
  }
  %low = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
  %high = stablehlo.constant dense<[2, 5]> : tensor<2xi32>
  %steps = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %pads = stablehlo.constant dense<[1, 1]> : tensor<2xi32>
  %f0 = stablehlo.constant dense<0.5> : tensor<f32>
  %2 = stablehlo.real_dynamic_slice %y, %low, %high, %steps : (tensor<2x6xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
  %3 = stablehlo.dynamic_pad %2, %f0, %pads, %low, %steps : (tensor<?x?xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x6xf32>
  return %0, %1#1, %3 : tensor<?x?xf32>, tensor<?xf32>, tensor<?x6xf32>
}
func.func private @table(%x: tensor<?xf32>) -> tensor<?x?xf32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %0 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %1 = stablehlo.concatenate %0, %0, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %2 = stablehlo.dynamic_broadcast_in_dim %x, %1, dims = [0] : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %3 = stablehlo.dynamic_broadcast_in_dim %x, %1, dims = [1] : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %4 = stablehlo.dot_general %2, %3, contracting_dims = [1] x [0] : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %4 : tensor<?x?xf32>
}
