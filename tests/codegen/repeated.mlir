// Programs with equal fusions, which share their code.

// The same layer three times, the third one with another constant; products with epilogues.
func.func @main(%x: tensor<24x40xf32>, %w: tensor<40x40xf32>, %b: tensor<40xf32>) -> tensor<24x40xf32> {
  %half = stablehlo.constant dense<0.5> : tensor<24x40xf32>
  %third = stablehlo.constant dense<0.25> : tensor<24x40xf32>
  %bias = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<40xf32>) -> tensor<24x40xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<24x40xf32>, tensor<40x40xf32>) -> tensor<24x40xf32>
  %1 = stablehlo.add %0, %bias : tensor<24x40xf32>
  %2 = stablehlo.multiply %1, %half : tensor<24x40xf32>
  %3 = stablehlo.tanh %2 : tensor<24x40xf32>
  %4 = stablehlo.dot_general %3, %w, contracting_dims = [1] x [0]
      : (tensor<24x40xf32>, tensor<40x40xf32>) -> tensor<24x40xf32>
  %5 = stablehlo.add %4, %bias : tensor<24x40xf32>
  %6 = stablehlo.multiply %5, %half : tensor<24x40xf32>
  %7 = stablehlo.tanh %6 : tensor<24x40xf32>
  %8 = stablehlo.dot_general %7, %w, contracting_dims = [1] x [0]
      : (tensor<24x40xf32>, tensor<40x40xf32>) -> tensor<24x40xf32>
  %9 = stablehlo.add %8, %bias : tensor<24x40xf32>
  %10 = stablehlo.multiply %9, %third : tensor<24x40xf32>
  %11 = stablehlo.tanh %10 : tensor<24x40xf32>
  return %11 : tensor<24x40xf32>
}
// -----
// In chunks; sums of everything in two phases; the same fusion of the same input in both orders.
func.func @main(%x: tensor<300x700xf32>, %y: tensor<300x700xf32>)
    -> (tensor<300x700xf32>, tensor<f32>, tensor<f32>, tensor<300x700xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.sine %x : tensor<300x700xf32>
  %1 = stablehlo.multiply %0, %y : tensor<300x700xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1]
      : (tensor<300x700xf32>, tensor<f32>) -> tensor<f32>
  %3 = stablehlo.sine %y : tensor<300x700xf32>
  %4 = stablehlo.multiply %3, %1 : tensor<300x700xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [0, 1]
      : (tensor<300x700xf32>, tensor<f32>) -> tensor<f32>
  return %1, %2, %5, %4 : tensor<300x700xf32>, tensor<f32>, tensor<f32>, tensor<300x700xf32>
}
// -----
// Slices updated in place inside a loop, at positions known at run time.
func.func @main(%x: tensor<64x32xf32>, %y: tensor<64x32xf32>, %row: tensor<1x32xf32>)
    -> (tensor<64x32xf32>, tensor<64x32xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %limit = stablehlo.constant dense<60> : tensor<i32>
  %0:4 = stablehlo.while(%i = %zero, %a = %x, %b = %y, %r = %row)
      : tensor<i32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<1x32xf32>
    cond {
      %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      %s = stablehlo.dynamic_slice %a, %i, %zero, sizes = [1, 32]
          : (tensor<64x32xf32>, tensor<i32>, tensor<i32>) -> tensor<1x32xf32>
      %t = stablehlo.logistic %s : tensor<1x32xf32>
      %c = stablehlo.dynamic_update_slice %a, %t, %next, %zero
          : (tensor<64x32xf32>, tensor<1x32xf32>, tensor<i32>, tensor<i32>) -> tensor<64x32xf32>
      %u = stablehlo.dynamic_slice %b, %i, %zero, sizes = [1, 32]
          : (tensor<64x32xf32>, tensor<i32>, tensor<i32>) -> tensor<1x32xf32>
      %v = stablehlo.logistic %u : tensor<1x32xf32>
      %d = stablehlo.dynamic_update_slice %b, %v, %next, %zero
          : (tensor<64x32xf32>, tensor<1x32xf32>, tensor<i32>, tensor<i32>) -> tensor<64x32xf32>
      stablehlo.return %next, %c, %d, %r
          : tensor<i32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<1x32xf32>
    }
  return %0#1, %0#2 : tensor<64x32xf32>, tensor<64x32xf32>
}
