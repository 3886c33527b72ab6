// Attention: products with a softmax between them, as jax.nn.dot_product_attention and einsum state
// them; computed without the matrix of scores.

// Later keys masked with a finite number; more keys than queries.
func.func @main(%arg0: tensor<1x53x2x8xf32>, %arg1: tensor<1x400x2x8xf32>, %arg2: tensor<1x400x2x8xf32>) -> (tensor<1x53x2x8xf32>) {
  %0 = stablehlo.reshape %arg0 : (tensor<1x53x2x8xf32>) -> tensor<1x53x2x1x8xf32>
  %1 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x53x2x1x8xf32>, tensor<1x400x2x8xf32>) -> tensor<1x2x53x1x400xf32>
  %2 = stablehlo.constant dense<3.5355338454246521e-01> : tensor<f32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<1x2x53x1x400xf32>
  %4 = stablehlo.multiply %1, %3 : tensor<1x2x53x1x400xf32>
  %5 = stablehlo.constant dense<true> : tensor<i1>
  %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<i1>) -> tensor<53x400xi1>
  %7 = stablehlo.iota dim = 0 : tensor<53x400xi32>
  %8 = stablehlo.iota dim = 1 : tensor<53x400xi32>
  %9 = stablehlo.compare GE, %7, %8, SIGNED : (tensor<53x400xi32>, tensor<53x400xi32>) -> tensor<53x400xi1>
  %10 = stablehlo.constant dense<false> : tensor<i1>
  %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<i1>) -> tensor<53x400xi1>
  %12 = stablehlo.select %9, %6, %11 : tensor<53x400xi1>, tensor<53x400xi1>
  %13 = stablehlo.constant dense<-2.3819763250576540e+38> : tensor<f32>
  %14 = stablehlo.broadcast_in_dim %12, dims = [3, 4] : (tensor<53x400xi1>) -> tensor<1x1x2x53x400xi1>
  %15 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<f32>) -> tensor<1x1x2x53x400xf32>
  %16 = stablehlo.transpose %4, dims = [3, 0, 1, 2, 4] : (tensor<1x2x53x1x400xf32>) -> tensor<1x1x2x53x400xf32>
  %17 = stablehlo.select %14, %16, %15 : tensor<1x1x2x53x400xi1>, tensor<1x1x2x53x400xf32>
  %18 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %19 = stablehlo.reduce(%17 init: %18) applies stablehlo.maximum across dimensions = [4] : (tensor<1x1x2x53x400xf32>, tensor<f32>) -> tensor<1x1x2x53xf32>
  %20 = stablehlo.constant dense<0xFF800000> : tensor<1x1x2x53xf32>
  %21 = stablehlo.maximum %20, %19 : tensor<1x1x2x53xf32>
  %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2, 3] : (tensor<1x1x2x53xf32>) -> tensor<1x1x2x53x400xf32>
  %23 = stablehlo.subtract %17, %22 : tensor<1x1x2x53x400xf32>
  %24 = stablehlo.exponential %23 : tensor<1x1x2x53x400xf32>
  %25 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %26 = stablehlo.reduce(%24 init: %25) applies stablehlo.add across dimensions = [4] : (tensor<1x1x2x53x400xf32>, tensor<f32>) -> tensor<1x1x2x53xf32>
  %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2, 3] : (tensor<1x1x2x53xf32>) -> tensor<1x1x2x53x400xf32>
  %28 = stablehlo.divide %24, %27 : tensor<1x1x2x53x400xf32>
  %29 = stablehlo.dot_general %arg2, %28, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<1x400x2x8xf32>, tensor<1x1x2x53x400xf32>) -> tensor<1x2x8x1x53xf32>
  %30 = stablehlo.transpose %29, dims = [0, 4, 1, 3, 2] : (tensor<1x2x8x1x53xf32>) -> tensor<1x53x2x1x8xf32>
  %31 = stablehlo.reshape %30 : (tensor<1x53x2x1x8xf32>) -> tensor<1x53x2x8xf32>
  return %31 : tensor<1x53x2x8xf32>
}
// -----
// A soft cap; the first queries have no key at all: NaN.
func.func @main(%arg0: tensor<53x2x12xf32>, %arg1: tensor<400x2x12xf32>, %arg2: tensor<400x2x5xf32>) -> (tensor<53x2x5xf32>) {
  %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [1] x [1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<53x2x12xf32>, tensor<400x2x12xf32>) -> tensor<2x53x400xf32>
  %1 = stablehlo.constant dense<3.4641015529632568e+00> : tensor<f32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<2x53x400xf32>
  %3 = stablehlo.divide %0, %2 : tensor<2x53x400xf32>
  %4 = stablehlo.iota dim = 0 : tensor<53x400xi32>
  %5 = stablehlo.iota dim = 1 : tensor<53x400xi32>
  %6 = stablehlo.constant dense<20> : tensor<i32>
  %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<i32>) -> tensor<53x400xi32>
  %8 = stablehlo.subtract %4, %7 : tensor<53x400xi32>
  %9 = stablehlo.compare GE, %8, %5, SIGNED : (tensor<53x400xi32>, tensor<53x400xi32>) -> tensor<53x400xi1>
  %10 = stablehlo.constant dense<2.000000e+01> : tensor<f32>
  %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<f32>) -> tensor<2x53x400xf32>
  %12 = stablehlo.divide %3, %11 : tensor<2x53x400xf32>
  %13 = stablehlo.tanh %12 : tensor<2x53x400xf32>
  %14 = stablehlo.multiply %11, %13 : tensor<2x53x400xf32>
  %15 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %16 = stablehlo.broadcast_in_dim %9, dims = [1, 2] : (tensor<53x400xi1>) -> tensor<2x53x400xi1>
  %17 = stablehlo.broadcast_in_dim %15, dims = [] : (tensor<f32>) -> tensor<2x53x400xf32>
  %18 = stablehlo.select %16, %14, %17 : tensor<2x53x400xi1>, tensor<2x53x400xf32>
  %19 = stablehlo.reduce(%18 init: %15) applies stablehlo.maximum across dimensions = [2] : (tensor<2x53x400xf32>, tensor<f32>) -> tensor<2x53xf32>
  %20 = stablehlo.constant dense<0xFF800000> : tensor<2x53xf32>
  %21 = stablehlo.maximum %20, %19 : tensor<2x53xf32>
  %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1] : (tensor<2x53xf32>) -> tensor<2x53x400xf32>
  %23 = stablehlo.subtract %18, %22 : tensor<2x53x400xf32>
  %24 = stablehlo.exponential %23 : tensor<2x53x400xf32>
  %25 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %26 = stablehlo.reduce(%24 init: %25) applies stablehlo.add across dimensions = [2] : (tensor<2x53x400xf32>, tensor<f32>) -> tensor<2x53xf32>
  %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1] : (tensor<2x53xf32>) -> tensor<2x53x400xf32>
  %28 = stablehlo.divide %24, %27 : tensor<2x53x400xf32>
  %29 = stablehlo.dot_general %arg2, %28, batching_dims = [1] x [0], contracting_dims = [0] x [2], precision = [DEFAULT, DEFAULT] : (tensor<400x2x5xf32>, tensor<2x53x400xf32>) -> tensor<2x5x53xf32>
  %30 = stablehlo.transpose %29, dims = [2, 0, 1] : (tensor<2x5x53xf32>) -> tensor<53x2x5xf32>
  return %30 : tensor<53x2x5xf32>
}
// -----
// Lengths of queries and keys: queries past the end see all keys alike.
func.func @main(%arg0: tensor<2x53x1x8xf32>, %arg1: tensor<2x400x1x8xf32>, %arg2: tensor<2x400x1x8xf32>, %arg3: tensor<2xi32>) -> (tensor<2x53x1x8xf32>) {
  %0 = stablehlo.constant dense<53> : tensor<i32>
  %1 = stablehlo.constant dense<0> : tensor<i32>
  %2 = stablehlo.compare EQ, %0, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %3 = stablehlo.constant dense<1> : tensor<i32>
  %4 = stablehlo.select %2, %3, %0 : tensor<i1>, tensor<i32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<i32>) -> tensor<2xi32>
  %6 = stablehlo.remainder %arg3, %5 : tensor<2xi32>
  %7 = stablehlo.constant dense<0> : tensor<2xi32>
  %8 = stablehlo.compare NE, %6, %7, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  %9 = stablehlo.compare LT, %6, %7, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  %10 = stablehlo.compare LT, %4, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<i1>) -> tensor<2xi1>
  %12 = stablehlo.compare NE, %9, %11, UNSIGNED : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  %13 = stablehlo.and %12, %8 : tensor<2xi1>
  %14 = stablehlo.add %6, %5 : tensor<2xi32>
  %15 = stablehlo.select %13, %14, %6 : tensor<2xi1>, tensor<2xi32>
  %16 = stablehlo.constant dense<400> : tensor<i32>
  %17 = stablehlo.compare EQ, %16, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %18 = stablehlo.select %17, %3, %16 : tensor<i1>, tensor<i32>
  %19 = stablehlo.broadcast_in_dim %18, dims = [] : (tensor<i32>) -> tensor<2xi32>
  %20 = stablehlo.remainder %arg3, %19 : tensor<2xi32>
  %21 = stablehlo.compare NE, %20, %7, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  %22 = stablehlo.compare LT, %20, %7, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  %23 = stablehlo.compare LT, %18, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %24 = stablehlo.broadcast_in_dim %23, dims = [] : (tensor<i1>) -> tensor<2xi1>
  %25 = stablehlo.compare NE, %22, %24, UNSIGNED : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  %26 = stablehlo.and %25, %21 : tensor<2xi1>
  %27 = stablehlo.add %20, %19 : tensor<2xi32>
  %28 = stablehlo.select %26, %27, %20 : tensor<2xi1>, tensor<2xi32>
  %29 = stablehlo.reshape %arg0 : (tensor<2x53x1x8xf32>) -> tensor<2x53x1x1x8xf32>
  %30 = stablehlo.dot_general %29, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x53x1x1x8xf32>, tensor<2x400x1x8xf32>) -> tensor<2x1x53x1x400xf32>
  %31 = stablehlo.constant dense<3.5355338454246521e-01> : tensor<f32>
  %32 = stablehlo.broadcast_in_dim %31, dims = [] : (tensor<f32>) -> tensor<2x1x53x1x400xf32>
  %33 = stablehlo.multiply %30, %32 : tensor<2x1x53x1x400xf32>
  %34 = stablehlo.iota dim = 0 : tensor<53xi32>
  %35 = stablehlo.broadcast_in_dim %34, dims = [1] : (tensor<53xi32>) -> tensor<2x53x1xi32>
  %36 = stablehlo.broadcast_in_dim %15, dims = [0] : (tensor<2xi32>) -> tensor<2x53x1xi32>
  %37 = stablehlo.compare LT, %35, %36, SIGNED : (tensor<2x53x1xi32>, tensor<2x53x1xi32>) -> tensor<2x53x1xi1>
  %38 = stablehlo.iota dim = 0 : tensor<400xi32>
  %39 = stablehlo.broadcast_in_dim %38, dims = [2] : (tensor<400xi32>) -> tensor<2x1x400xi32>
  %40 = stablehlo.broadcast_in_dim %28, dims = [0] : (tensor<2xi32>) -> tensor<2x1x400xi32>
  %41 = stablehlo.compare LT, %39, %40, SIGNED : (tensor<2x1x400xi32>, tensor<2x1x400xi32>) -> tensor<2x1x400xi1>
  %42 = stablehlo.broadcast_in_dim %37, dims = [0, 1, 2] : (tensor<2x53x1xi1>) -> tensor<2x53x400xi1>
  %43 = stablehlo.broadcast_in_dim %41, dims = [0, 1, 2] : (tensor<2x1x400xi1>) -> tensor<2x53x400xi1>
  %44 = stablehlo.and %42, %43 : tensor<2x53x400xi1>
  %45 = stablehlo.constant dense<-2.3819763250576540e+38> : tensor<f32>
  %46 = stablehlo.broadcast_in_dim %44, dims = [1, 3, 4] : (tensor<2x53x400xi1>) -> tensor<1x2x1x53x400xi1>
  %47 = stablehlo.broadcast_in_dim %45, dims = [] : (tensor<f32>) -> tensor<1x2x1x53x400xf32>
  %48 = stablehlo.transpose %33, dims = [3, 0, 1, 2, 4] : (tensor<2x1x53x1x400xf32>) -> tensor<1x2x1x53x400xf32>
  %49 = stablehlo.select %46, %48, %47 : tensor<1x2x1x53x400xi1>, tensor<1x2x1x53x400xf32>
  %50 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %51 = stablehlo.reduce(%49 init: %50) applies stablehlo.maximum across dimensions = [4] : (tensor<1x2x1x53x400xf32>, tensor<f32>) -> tensor<1x2x1x53xf32>
  %52 = stablehlo.constant dense<0xFF800000> : tensor<1x2x1x53xf32>
  %53 = stablehlo.maximum %52, %51 : tensor<1x2x1x53xf32>
  %54 = stablehlo.broadcast_in_dim %53, dims = [0, 1, 2, 3] : (tensor<1x2x1x53xf32>) -> tensor<1x2x1x53x400xf32>
  %55 = stablehlo.subtract %49, %54 : tensor<1x2x1x53x400xf32>
  %56 = stablehlo.exponential %55 : tensor<1x2x1x53x400xf32>
  %57 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %58 = stablehlo.reduce(%56 init: %57) applies stablehlo.add across dimensions = [4] : (tensor<1x2x1x53x400xf32>, tensor<f32>) -> tensor<1x2x1x53xf32>
  %59 = stablehlo.broadcast_in_dim %58, dims = [0, 1, 2, 3] : (tensor<1x2x1x53xf32>) -> tensor<1x2x1x53x400xf32>
  %60 = stablehlo.divide %56, %59 : tensor<1x2x1x53x400xf32>
  %61 = stablehlo.dot_general %arg2, %60, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x400x1x8xf32>, tensor<1x2x1x53x400xf32>) -> tensor<2x1x8x1x53xf32>
  %62 = stablehlo.transpose %61, dims = [3, 0, 4, 1, 2] : (tensor<2x1x8x1x53xf32>) -> tensor<1x2x53x1x8xf32>
  %63 = stablehlo.broadcast_in_dim %34, dims = [1] : (tensor<53xi32>) -> tensor<2x53xi32>
  %64 = stablehlo.broadcast_in_dim %15, dims = [0] : (tensor<2xi32>) -> tensor<2x53xi32>
  %65 = stablehlo.compare LT, %63, %64, SIGNED : (tensor<2x53xi32>, tensor<2x53xi32>) -> tensor<2x53xi1>
  %66 = stablehlo.broadcast_in_dim %65, dims = [0, 1] : (tensor<2x53xi1>) -> tensor<2x53x1x1xi1>
  %67 = stablehlo.convert %66 : (tensor<2x53x1x1xi1>) -> tensor<2x53x1x1xf32>
  %68 = stablehlo.broadcast_in_dim %67, dims = [1, 2, 3, 4] : (tensor<2x53x1x1xf32>) -> tensor<1x2x53x1x8xf32>
  %69 = stablehlo.multiply %62, %68 : tensor<1x2x53x1x8xf32>
  %70 = stablehlo.transpose %69, dims = [1, 2, 3, 0, 4] : (tensor<1x2x53x1x8xf32>) -> tensor<2x53x1x1x8xf32>
  %71 = stablehlo.reshape %70 : (tensor<2x53x1x1x8xf32>) -> tensor<2x53x1x8xf32>
  return %71 : tensor<2x53x1x8xf32>
}
// -----
// Grouped heads, a bias and a mask that are broadcast.
func.func @main(%arg0: tensor<2x53x4x8xf32>, %arg1: tensor<2x400x2x8xf32>, %arg2: tensor<2x400x2x8xf32>, %arg3: tensor<1x4x53x400xf32>, %arg4: tensor<2x1x1x400xi1>) -> (tensor<2x53x4x8xf32>) {
  %0 = stablehlo.reshape %arg0 : (tensor<2x53x4x8xf32>) -> tensor<2x53x2x2x8xf32>
  %1 = stablehlo.reshape %arg3 : (tensor<1x4x53x400xf32>) -> tensor<1x2x2x53x400xf32>
  %2 = stablehlo.broadcast_in_dim %arg4, dims = [0, 1, 3, 4] : (tensor<2x1x1x400xi1>) -> tensor<2x1x2x1x400xi1>
  %3 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x53x2x2x8xf32>, tensor<2x400x2x8xf32>) -> tensor<2x2x53x2x400xf32>
  %4 = stablehlo.constant dense<3.5355338454246521e-01> : tensor<f32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<2x2x53x2x400xf32>
  %6 = stablehlo.multiply %3, %5 : tensor<2x2x53x2x400xf32>
  %7 = stablehlo.transpose %6, dims = [3, 0, 1, 2, 4] : (tensor<2x2x53x2x400xf32>) -> tensor<2x2x2x53x400xf32>
  %8 = stablehlo.transpose %1, dims = [2, 0, 1, 3, 4] : (tensor<1x2x2x53x400xf32>) -> tensor<2x1x2x53x400xf32>
  %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3, 4] : (tensor<2x1x2x53x400xf32>) -> tensor<2x2x2x53x400xf32>
  %10 = stablehlo.add %7, %9 : tensor<2x2x2x53x400xf32>
  %11 = stablehlo.transpose %2, dims = [2, 0, 1, 3, 4] : (tensor<2x1x2x1x400xi1>) -> tensor<2x2x1x1x400xi1>
  %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2, 3, 4] : (tensor<2x2x1x1x400xi1>) -> tensor<2x2x2x53x400xi1>
  %13 = stablehlo.constant dense<-2.3819763250576540e+38> : tensor<f32>
  %14 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<f32>) -> tensor<2x2x2x53x400xf32>
  %15 = stablehlo.select %12, %10, %14 : tensor<2x2x2x53x400xi1>, tensor<2x2x2x53x400xf32>
  %16 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %17 = stablehlo.reduce(%15 init: %16) applies stablehlo.maximum across dimensions = [4] : (tensor<2x2x2x53x400xf32>, tensor<f32>) -> tensor<2x2x2x53xf32>
  %18 = stablehlo.constant dense<0xFF800000> : tensor<2x2x2x53xf32>
  %19 = stablehlo.maximum %18, %17 : tensor<2x2x2x53xf32>
  %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3] : (tensor<2x2x2x53xf32>) -> tensor<2x2x2x53x400xf32>
  %21 = stablehlo.subtract %15, %20 : tensor<2x2x2x53x400xf32>
  %22 = stablehlo.exponential %21 : tensor<2x2x2x53x400xf32>
  %23 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %24 = stablehlo.reduce(%22 init: %23) applies stablehlo.add across dimensions = [4] : (tensor<2x2x2x53x400xf32>, tensor<f32>) -> tensor<2x2x2x53xf32>
  %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2, 3] : (tensor<2x2x2x53xf32>) -> tensor<2x2x2x53x400xf32>
  %26 = stablehlo.divide %22, %25 : tensor<2x2x2x53x400xf32>
  %27 = stablehlo.dot_general %arg2, %26, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x400x2x8xf32>, tensor<2x2x2x53x400xf32>) -> tensor<2x2x8x2x53xf32>
  %28 = stablehlo.transpose %27, dims = [0, 4, 1, 3, 2] : (tensor<2x2x8x2x53xf32>) -> tensor<2x53x2x2x8xf32>
  %29 = stablehlo.reshape %28 : (tensor<2x53x2x2x8xf32>) -> tensor<2x53x4x8xf32>
  return %29 : tensor<2x53x4x8xf32>
}
// -----
// A local window, in bf16.
func.func @main(%arg0: tensor<1x53x2x9xbf16>, %arg1: tensor<1x400x2x9xbf16>, %arg2: tensor<1x400x2x9xbf16>) -> (tensor<1x53x2x9xbf16>) {
  %0 = stablehlo.reshape %arg0 : (tensor<1x53x2x9xbf16>) -> tensor<1x53x2x1x9xbf16>
  %1 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x53x2x1x9xbf16>, tensor<1x400x2x9xbf16>) -> tensor<1x2x53x1x400xf32>
  %2 = stablehlo.constant dense<3.3333334326744080e-01> : tensor<f32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<1x2x53x1x400xf32>
  %4 = stablehlo.multiply %1, %3 : tensor<1x2x53x1x400xf32>
  %5 = stablehlo.constant dense<[[0], [1], [2], [3], [4], [5], [6], [7], [8], [9], [10], [11], [12], [13], [14], [15], [16], [17], [18], [19], [20], [21], [22], [23], [24], [25], [26], [27], [28], [29], [30], [31], [32], [33], [34], [35], [36], [37], [38], [39], [40], [41], [42], [43], [44], [45], [46], [47], [48], [49], [50], [51], [52]]> : tensor<53x1xi32>
  %6 = stablehlo.constant dense<"0x090000000A0000000B0000000C0000000D0000000E0000000F000000100000001100000012000000130000001400000015000000160000001700000018000000190000001A0000001B0000001C0000001D0000001E0000001F000000200000002100000022000000230000002400000025000000260000002700000028000000290000002A0000002B0000002C0000002D0000002E0000002F000000300000003100000032000000330000003400000035000000360000003700000038000000390000003A0000003B0000003C0000003D0000003E0000003F000000400000004100000042000000430000004400000045000000460000004700000048000000490000004A0000004B0000004C0000004D0000004E0000004F000000500000005100000052000000530000005400000055000000560000005700000058000000590000005A0000005B0000005C0000005D0000005E0000005F000000600000006100000062000000630000006400000065000000660000006700000068000000690000006A0000006B0000006C0000006D0000006E0000006F000000700000007100000072000000730000007400000075000000760000007700000078000000790000007A0000007B0000007C0000007D0000007E0000007F000000800000008100000082000000830000008400000085000000860000008700000088000000890000008A0000008B0000008C0000008D0000008E0000008F000000900000009100000092000000930000009400000095000000960000009700000098000000990000009A0000009B0000009C0000009D0000009E0000009F000000A0000000A1000000A2000000A3000000A4000000A5000000A6000000A7000000A8000000A9000000AA000000AB000000AC000000AD000000AE000000AF000000B0000000B1000000B2000000B3000000B4000000B5000000B6000000B7000000B8000000B9000000BA000000BB000000BC000000BD000000BE000000BF000000C0000000C1000000C2000000C3000000C4000000C5000000C6000000C7000000C8000000C9000000CA000000CB000000CC000000CD000000CE000000CF000000D0000000D1000000D2000000D3000000D4000000D5000000D6000000D7000000D8000000D9000000DA000000DB000000DC000000DD000000DE000000DF000000E0000000E1000000E2000000E3000000E4000000E5000000E6000000E7000000E8000000E9000000EA000000EB000000EC000000ED000000EE000000EF000000F0000000F1000000F2000000F3000000F4000000F5000000F6000000F7000000F8000000F9000000FA000000FB000000FC000000FD000000FE000000FF000000000100000101000002010000030100000401000005010000060100000701000008010000090100000A0100000B0100000C0100000D0100000E0100000F010000100100001101000012010000130100001401000015010000160100001701000018010000190100001A0100001B0100001C0100001D0100001E0100001F010000200100002101000022010000230100002401000025010000260100002701000028010000290100002A0100002B0100002C0100002D0100002E0100002F010000300100003101000032010000330100003401000035010000360100003701000038010000390100003A0100003B0100003C0100003D0100003E0100003F010000400100004101000042010000430100004401000045010000460100004701000048010000490100004A0100004B0100004C0100004D0100004E0100004F010000500100005101000052010000530100005401000055010000560100005701000058010000590100005A0100005B0100005C0100005D0100005E0100005F010000600100006101000062010000630100006401000065010000660100006701000068010000690100006A0100006B0100006C0100006D0100006E0100006F010000700100007101000072010000730100007401000075010000760100007701000078010000790100007A0100007B0100007C0100007D0100007E0100007F010000800100008101000082010000830100008401000085010000860100008701000088010000890100008A0100008B0100008C0100008D0100008E0100008F010000900100009101000092010000930100009401000095010000960100009701000098010000"> : tensor<1x400xi32>
  %7 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<53x1xi32>) -> tensor<53x400xi32>
  %8 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<1x400xi32>) -> tensor<53x400xi32>
  %9 = stablehlo.compare LE, %7, %8, SIGNED : (tensor<53x400xi32>, tensor<53x400xi32>) -> tensor<53x400xi1>
  %10 = stablehlo.constant dense<"0xFDFFFFFFFEFFFFFFFFFFFFFF000000000100000002000000030000000400000005000000060000000700000008000000090000000A0000000B0000000C0000000D0000000E0000000F000000100000001100000012000000130000001400000015000000160000001700000018000000190000001A0000001B0000001C0000001D0000001E0000001F000000200000002100000022000000230000002400000025000000260000002700000028000000290000002A0000002B0000002C0000002D0000002E0000002F000000300000003100000032000000330000003400000035000000360000003700000038000000390000003A0000003B0000003C0000003D0000003E0000003F000000400000004100000042000000430000004400000045000000460000004700000048000000490000004A0000004B0000004C0000004D0000004E0000004F000000500000005100000052000000530000005400000055000000560000005700000058000000590000005A0000005B0000005C0000005D0000005E0000005F000000600000006100000062000000630000006400000065000000660000006700000068000000690000006A0000006B0000006C0000006D0000006E0000006F000000700000007100000072000000730000007400000075000000760000007700000078000000790000007A0000007B0000007C0000007D0000007E0000007F000000800000008100000082000000830000008400000085000000860000008700000088000000890000008A0000008B0000008C0000008D0000008E0000008F000000900000009100000092000000930000009400000095000000960000009700000098000000990000009A0000009B0000009C0000009D0000009E0000009F000000A0000000A1000000A2000000A3000000A4000000A5000000A6000000A7000000A8000000A9000000AA000000AB000000AC000000AD000000AE000000AF000000B0000000B1000000B2000000B3000000B4000000B5000000B6000000B7000000B8000000B9000000BA000000BB000000BC000000BD000000BE000000BF000000C0000000C1000000C2000000C3000000C4000000C5000000C6000000C7000000C8000000C9000000CA000000CB000000CC000000CD000000CE000000CF000000D0000000D1000000D2000000D3000000D4000000D5000000D6000000D7000000D8000000D9000000DA000000DB000000DC000000DD000000DE000000DF000000E0000000E1000000E2000000E3000000E4000000E5000000E6000000E7000000E8000000E9000000EA000000EB000000EC000000ED000000EE000000EF000000F0000000F1000000F2000000F3000000F4000000F5000000F6000000F7000000F8000000F9000000FA000000FB000000FC000000FD000000FE000000FF000000000100000101000002010000030100000401000005010000060100000701000008010000090100000A0100000B0100000C0100000D0100000E0100000F010000100100001101000012010000130100001401000015010000160100001701000018010000190100001A0100001B0100001C0100001D0100001E0100001F010000200100002101000022010000230100002401000025010000260100002701000028010000290100002A0100002B0100002C0100002D0100002E0100002F010000300100003101000032010000330100003401000035010000360100003701000038010000390100003A0100003B0100003C0100003D0100003E0100003F010000400100004101000042010000430100004401000045010000460100004701000048010000490100004A0100004B0100004C0100004D0100004E0100004F010000500100005101000052010000530100005401000055010000560100005701000058010000590100005A0100005B0100005C0100005D0100005E0100005F010000600100006101000062010000630100006401000065010000660100006701000068010000690100006A0100006B0100006C0100006D0100006E0100006F010000700100007101000072010000730100007401000075010000760100007701000078010000790100007A0100007B0100007C0100007D0100007E0100007F010000800100008101000082010000830100008401000085010000860100008701000088010000890100008A0100008B0100008C010000"> : tensor<1x400xi32>
  %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<1x400xi32>) -> tensor<53x400xi32>
  %12 = stablehlo.compare GE, %7, %11, SIGNED : (tensor<53x400xi32>, tensor<53x400xi32>) -> tensor<53x400xi1>
  %13 = stablehlo.and %12, %9 : tensor<53x400xi1>
  %14 = stablehlo.constant dense<-2.3819763250576540e+38> : tensor<f32>
  %15 = stablehlo.broadcast_in_dim %13, dims = [3, 4] : (tensor<53x400xi1>) -> tensor<1x1x2x53x400xi1>
  %16 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<f32>) -> tensor<1x1x2x53x400xf32>
  %17 = stablehlo.transpose %4, dims = [3, 0, 1, 2, 4] : (tensor<1x2x53x1x400xf32>) -> tensor<1x1x2x53x400xf32>
  %18 = stablehlo.select %15, %17, %16 : tensor<1x1x2x53x400xi1>, tensor<1x1x2x53x400xf32>
  %19 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %20 = stablehlo.reduce(%18 init: %19) applies stablehlo.maximum across dimensions = [4] : (tensor<1x1x2x53x400xf32>, tensor<f32>) -> tensor<1x1x2x53xf32>
  %21 = stablehlo.constant dense<0xFF800000> : tensor<1x1x2x53xf32>
  %22 = stablehlo.maximum %21, %20 : tensor<1x1x2x53xf32>
  %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2, 3] : (tensor<1x1x2x53xf32>) -> tensor<1x1x2x53x400xf32>
  %24 = stablehlo.subtract %18, %23 : tensor<1x1x2x53x400xf32>
  %25 = stablehlo.exponential %24 : tensor<1x1x2x53x400xf32>
  %26 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %27 = stablehlo.reduce(%25 init: %26) applies stablehlo.add across dimensions = [4] : (tensor<1x1x2x53x400xf32>, tensor<f32>) -> tensor<1x1x2x53xf32>
  %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2, 3] : (tensor<1x1x2x53xf32>) -> tensor<1x1x2x53x400xf32>
  %29 = stablehlo.divide %25, %28 : tensor<1x1x2x53x400xf32>
  %30 = stablehlo.convert %29 : (tensor<1x1x2x53x400xf32>) -> tensor<1x1x2x53x400xbf16>
  %31 = stablehlo.dot_general %arg2, %30, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<1x400x2x9xbf16>, tensor<1x1x2x53x400xbf16>) -> tensor<1x2x9x1x53xbf16>
  %32 = stablehlo.transpose %31, dims = [0, 4, 1, 3, 2] : (tensor<1x2x9x1x53xbf16>) -> tensor<1x53x2x1x9xbf16>
  %33 = stablehlo.reshape %32 : (tensor<1x53x2x1x9xbf16>) -> tensor<1x53x2x9xbf16>
  return %33 : tensor<1x53x2x9xbf16>
}
// -----
// f16, the result not transposed; one head.
func.func @main(%arg0: tensor<2x53x16xf16>, %arg1: tensor<2x400x16xf16>, %arg2: tensor<2x400x3xf16>) -> (tensor<2x53x3xf16>) {
  %0 = stablehlo.transpose %arg1, dims = [0, 2, 1] : (tensor<2x400x16xf16>) -> tensor<2x16x400xf16>
  %1 = stablehlo.dot_general %arg0, %0, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x53x16xf16>, tensor<2x16x400xf16>) -> tensor<2x53x400xf16>
  %2 = stablehlo.constant dense<2.500000e-01> : tensor<f16>
  %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f16>) -> tensor<2x53x400xf16>
  %4 = stablehlo.multiply %3, %1 : tensor<2x53x400xf16>
  %5 = stablehlo.constant dense<0xFC00> : tensor<f16>
  %6 = stablehlo.reduce(%4 init: %5) applies stablehlo.maximum across dimensions = [2] : (tensor<2x53x400xf16>, tensor<f16>) -> tensor<2x53xf16>
  %7 = stablehlo.constant dense<0xFC00> : tensor<2x53xf16>
  %8 = stablehlo.maximum %7, %6 : tensor<2x53xf16>
  %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<2x53xf16>) -> tensor<2x53x400xf16>
  %10 = stablehlo.subtract %4, %9 : tensor<2x53x400xf16>
  %11 = stablehlo.exponential %10 : tensor<2x53x400xf16>
  %12 = stablehlo.convert %11 : (tensor<2x53x400xf16>) -> tensor<2x53x400xf32>
  %13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %14 = stablehlo.reduce(%12 init: %13) applies stablehlo.add across dimensions = [2] : (tensor<2x53x400xf32>, tensor<f32>) -> tensor<2x53xf32>
  %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1] : (tensor<2x53xf32>) -> tensor<2x53x1xf32>
  %16 = stablehlo.convert %15 : (tensor<2x53x1xf32>) -> tensor<2x53x1xf16>
  %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2] : (tensor<2x53x1xf16>) -> tensor<2x53x400xf16>
  %18 = stablehlo.divide %11, %17 : tensor<2x53x400xf16>
  %19 = stablehlo.dot_general %18, %arg2, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x53x400xf16>, tensor<2x400x3xf16>) -> tensor<2x53x3xf16>
  return %19 : tensor<2x53x3xf16>
}
// -----
// In a loop, with a mask that is added.
func.func @main(%arg0: tensor<53x4xf32>, %arg1: tensor<400x4xf32>, %arg2: tensor<400x4xf32>) -> (tensor<53x4xf32>) {
  %0 = stablehlo.iota dim = 0 : tensor<11xf32>
  %1 = stablehlo.constant dense<1.000000e+00> : tensor<11xf32>
  %2 = stablehlo.add %1, %0 : tensor<11xf32>
  %3 = stablehlo.constant dense<1.200000e+01> : tensor<11xf32>
  %4 = stablehlo.divide %2, %3 : tensor<11xf32>
  %5 = stablehlo.constant dense<0> : tensor<i32>
  %6:5 = stablehlo.while(%arg3 = %4, %arg4 = %arg1, %arg5 = %arg2, %arg6 = %5, %arg7 = %arg0) : tensor<11xf32>, tensor<400x4xf32>, tensor<400x4xf32>, tensor<i32>, tensor<53x4xf32>
  cond {
    %7 = stablehlo.constant dense<11> : tensor<i32>
    %8 = stablehlo.compare LT, %arg6, %7, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %8 : tensor<i1>
  } do {
    %9 = stablehlo.dynamic_slice %arg3, %arg6, sizes = [1] : (tensor<11xf32>, tensor<i32>) -> tensor<1xf32>
    %10 = stablehlo.reshape %9 : (tensor<1xf32>) -> tensor<f32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<f32>) -> tensor<53x4xf32>
    %12 = stablehlo.multiply %arg7, %11 : tensor<53x4xf32>
    %13 = stablehlo.dot_general %12, %arg4, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<53x4xf32>, tensor<400x4xf32>) -> tensor<53x400xf32>
    %14 = stablehlo.iota dim = 0 : tensor<400xi32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [1] : (tensor<400xi32>) -> tensor<1x400xi32>
    %16 = stablehlo.constant dense<300> : tensor<1x400xi32>
    %17 = stablehlo.compare LT, %15, %16, SIGNED : (tensor<1x400xi32>, tensor<1x400xi32>) -> tensor<1x400xi1>
    %18 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %19 = stablehlo.convert %5 : (tensor<i32>) -> tensor<f32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [] : (tensor<f32>) -> tensor<1x400xf32>
    %21 = stablehlo.broadcast_in_dim %18, dims = [] : (tensor<f32>) -> tensor<1x400xf32>
    %22 = stablehlo.select %17, %20, %21 : tensor<1x400xi1>, tensor<1x400xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1] : (tensor<1x400xf32>) -> tensor<53x400xf32>
    %24 = stablehlo.add %13, %23 : tensor<53x400xf32>
    %25 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %26 = stablehlo.reduce(%24 init: %25) applies stablehlo.maximum across dimensions = [1] : (tensor<53x400xf32>, tensor<f32>) -> tensor<53xf32>
    %27 = stablehlo.constant dense<0xFF800000> : tensor<53xf32>
    %28 = stablehlo.maximum %27, %26 : tensor<53xf32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0] : (tensor<53xf32>) -> tensor<53x400xf32>
    %30 = stablehlo.subtract %24, %29 : tensor<53x400xf32>
    %31 = stablehlo.exponential %30 : tensor<53x400xf32>
    %32 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %33 = stablehlo.reduce(%31 init: %32) applies stablehlo.add across dimensions = [1] : (tensor<53x400xf32>, tensor<f32>) -> tensor<53xf32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [0] : (tensor<53xf32>) -> tensor<53x400xf32>
    %35 = stablehlo.divide %31, %34 : tensor<53x400xf32>
    %36 = stablehlo.dot_general %35, %arg5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<53x400xf32>, tensor<400x4xf32>) -> tensor<53x4xf32>
    %37 = stablehlo.constant dense<1> : tensor<i32>
    %38 = stablehlo.add %arg6, %37 : tensor<i32>
    stablehlo.return %arg3, %arg4, %arg5, %38, %36 : tensor<11xf32>, tensor<400x4xf32>, tensor<400x4xf32>, tensor<i32>, tensor<53x4xf32>
  }
  return %6#4 : tensor<53x4xf32>
}
// -----
// The same with indices of 64 bits.
func.func @main(%arg0: tensor<53x2x12xf32>, %arg1: tensor<400x2x12xf32>, %arg2: tensor<400x2x5xf32>) -> (tensor<53x2x5xf32>) {
  %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [1] x [1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<53x2x12xf32>, tensor<400x2x12xf32>) -> tensor<2x53x400xf32>
  %1 = stablehlo.constant dense<3.4641015529632568e+00> : tensor<f32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<2x53x400xf32>
  %3 = stablehlo.divide %0, %2 : tensor<2x53x400xf32>
  %4 = stablehlo.iota dim = 0 : tensor<53x400xi64>
  %5 = stablehlo.iota dim = 1 : tensor<53x400xi64>
  %6 = stablehlo.constant dense<20> : tensor<i64>
  %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<i64>) -> tensor<53x400xi64>
  %8 = stablehlo.subtract %4, %7 : tensor<53x400xi64>
  %9 = stablehlo.compare GE, %8, %5, SIGNED : (tensor<53x400xi64>, tensor<53x400xi64>) -> tensor<53x400xi1>
  %10 = stablehlo.constant dense<2.000000e+01> : tensor<f32>
  %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<f32>) -> tensor<2x53x400xf32>
  %12 = stablehlo.divide %3, %11 : tensor<2x53x400xf32>
  %13 = stablehlo.tanh %12 : tensor<2x53x400xf32>
  %14 = stablehlo.multiply %11, %13 : tensor<2x53x400xf32>
  %15 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %16 = stablehlo.broadcast_in_dim %9, dims = [1, 2] : (tensor<53x400xi1>) -> tensor<2x53x400xi1>
  %17 = stablehlo.broadcast_in_dim %15, dims = [] : (tensor<f32>) -> tensor<2x53x400xf32>
  %18 = stablehlo.select %16, %14, %17 : tensor<2x53x400xi1>, tensor<2x53x400xf32>
  %19 = stablehlo.reduce(%18 init: %15) applies stablehlo.maximum across dimensions = [2] : (tensor<2x53x400xf32>, tensor<f32>) -> tensor<2x53xf32>
  %20 = stablehlo.constant dense<0xFF800000> : tensor<2x53xf32>
  %21 = stablehlo.maximum %20, %19 : tensor<2x53xf32>
  %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1] : (tensor<2x53xf32>) -> tensor<2x53x400xf32>
  %23 = stablehlo.subtract %18, %22 : tensor<2x53x400xf32>
  %24 = stablehlo.exponential %23 : tensor<2x53x400xf32>
  %25 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %26 = stablehlo.reduce(%24 init: %25) applies stablehlo.add across dimensions = [2] : (tensor<2x53x400xf32>, tensor<f32>) -> tensor<2x53xf32>
  %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1] : (tensor<2x53xf32>) -> tensor<2x53x400xf32>
  %28 = stablehlo.divide %24, %27 : tensor<2x53x400xf32>
  %29 = stablehlo.dot_general %arg2, %28, batching_dims = [1] x [0], contracting_dims = [0] x [2], precision = [DEFAULT, DEFAULT] : (tensor<400x2x5xf32>, tensor<2x53x400xf32>) -> tensor<2x5x53xf32>
  %30 = stablehlo.transpose %29, dims = [2, 0, 1] : (tensor<2x5x53xf32>) -> tensor<53x2x5xf32>
  return %30 : tensor<53x2x5xf32>
}
// -----

// The gradients of causal attention with grouped heads.
func.func @main(%arg0: tensor<1x77x4x6xf32>, %arg1: tensor<1x400x2x6xf32>, %arg2: tensor<1x400x2x6xf32>) -> (tensor<1x77x4x6xf32>, tensor<1x400x2x6xf32>, tensor<1x400x2x6xf32>) {
  %0 = stablehlo.reshape %arg0 : (tensor<1x77x4x6xf32>) -> tensor<1x77x2x2x6xf32>
  %1 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x77x2x2x6xf32>, tensor<1x400x2x6xf32>) -> tensor<1x2x77x2x400xf32>
  %2 = stablehlo.constant dense<4.082483e-01> : tensor<f32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<1x2x77x2x400xf32>
  %4 = stablehlo.multiply %1, %3 : tensor<1x2x77x2x400xf32>
  %5 = stablehlo.constant dense<true> : tensor<i1>
  %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<i1>) -> tensor<77x400xi1>
  %7 = call @tril(%6) : (tensor<77x400xi1>) -> tensor<77x400xi1>
  %8 = stablehlo.broadcast_in_dim %7, dims = [2, 3] : (tensor<77x400xi1>) -> tensor<1x2x77x400xi1>
  %9 = stablehlo.constant dense<-2.3819763250576540e+38> : tensor<f32>
  %10:2 = call @_where(%8, %4, %9) : (tensor<1x2x77x400xi1>, tensor<1x2x77x2x400xf32>, tensor<f32>) -> (tensor<2x1x2x77x400xf32>, tensor<2x1x2x77x400xi1>)
  %11 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %12 = stablehlo.reduce(%10#0 init: %11) applies stablehlo.maximum across dimensions = [4] : (tensor<2x1x2x77x400xf32>, tensor<f32>) -> tensor<2x1x2x77xf32>
  %13 = stablehlo.constant dense<0xFF800000> : tensor<2x1x2x77xf32>
  %14 = stablehlo.maximum %13, %12 : tensor<2x1x2x77xf32>
  %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<2x1x2x77xf32>) -> tensor<2x1x2x77x400xf32>
  %16 = stablehlo.subtract %10#0, %15 : tensor<2x1x2x77x400xf32>
  %17 = stablehlo.exponential %16 : tensor<2x1x2x77x400xf32>
  %18 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %19 = stablehlo.reduce(%17 init: %18) applies stablehlo.add across dimensions = [4] : (tensor<2x1x2x77x400xf32>, tensor<f32>) -> tensor<2x1x2x77xf32>
  %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3] : (tensor<2x1x2x77xf32>) -> tensor<2x1x2x77x1xf32>
  %21 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3] : (tensor<2x1x2x77xf32>) -> tensor<2x1x2x77x400xf32>
  %22 = stablehlo.divide %17, %21 : tensor<2x1x2x77x400xf32>
  %23 = stablehlo.multiply %20, %20 : tensor<2x1x2x77x1xf32>
  %24 = stablehlo.constant dense<1.000000e+00> : tensor<2x1x2x77x1xf32>
  %25 = stablehlo.divide %24, %23 : tensor<2x1x2x77x1xf32>
  %26 = stablehlo.dot_general %arg2, %22, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<1x400x2x6xf32>, tensor<2x1x2x77x400xf32>) -> tensor<1x2x6x2x77xf32>
  %27 = stablehlo.transpose %26, dims = [0, 4, 1, 3, 2] : (tensor<1x2x6x2x77xf32>) -> tensor<1x77x2x2x6xf32>
  %28 = stablehlo.reshape %27 : (tensor<1x77x2x2x6xf32>) -> tensor<1x77x4x6xf32>
  %29 = stablehlo.constant dense<2.000000e+00> : tensor<1x77x4x6xf32>
  %30 = stablehlo.multiply %29, %28 : tensor<1x77x4x6xf32>
  %31 = stablehlo.reshape %30 : (tensor<1x77x4x6xf32>) -> tensor<1x77x2x2x6xf32>
  %32 = stablehlo.transpose %31, dims = [0, 2, 4, 3, 1] : (tensor<1x77x2x2x6xf32>) -> tensor<1x2x6x2x77xf32>
  %33 = stablehlo.dot_general %32, %arg2, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x2x6x2x77xf32>, tensor<1x400x2x6xf32>) -> tensor<1x2x2x77x400xf32>
  %34 = stablehlo.transpose %33, dims = [2, 0, 1, 3, 4] : (tensor<1x2x2x77x400xf32>) -> tensor<2x1x2x77x400xf32>
  %35 = stablehlo.dot_general %32, %22, batching_dims = [0, 1] x [1, 2], contracting_dims = [3, 4] x [0, 3], precision = [DEFAULT, DEFAULT] : (tensor<1x2x6x2x77xf32>, tensor<2x1x2x77x400xf32>) -> tensor<1x2x6x400xf32>
  %36 = stablehlo.transpose %35, dims = [0, 3, 1, 2] : (tensor<1x2x6x400xf32>) -> tensor<1x400x2x6xf32>
  %37 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2, 3, 4] : (tensor<2x1x2x77x1xf32>) -> tensor<2x1x2x77x400xf32>
  %38 = stablehlo.multiply %34, %37 : tensor<2x1x2x77x400xf32>
  %39 = stablehlo.multiply %38, %17 : tensor<2x1x2x77x400xf32>
  %40 = stablehlo.reduce(%39 init: %18) applies stablehlo.add across dimensions = [4] : (tensor<2x1x2x77x400xf32>, tensor<f32>) -> tensor<2x1x2x77xf32>
  %41 = stablehlo.reshape %40 : (tensor<2x1x2x77xf32>) -> tensor<2x1x2x77x1xf32>
  %42 = stablehlo.negate %41 : tensor<2x1x2x77x1xf32>
  %43 = stablehlo.divide %34, %21 : tensor<2x1x2x77x400xf32>
  %44 = stablehlo.reduce(%42 init: %18) applies stablehlo.add across dimensions = [1, 4] : (tensor<2x1x2x77x1xf32>, tensor<f32>) -> tensor<2x2x77xf32>
  %45 = stablehlo.broadcast_in_dim %44, dims = [0, 2, 3] : (tensor<2x2x77xf32>) -> tensor<2x1x2x77x400xf32>
  %46 = stablehlo.add %43, %45 : tensor<2x1x2x77x400xf32>
  %47 = stablehlo.multiply %46, %17 : tensor<2x1x2x77x400xf32>
  %48 = call @_where_0(%10#1, %47) : (tensor<2x1x2x77x400xi1>, tensor<2x1x2x77x400xf32>) -> tensor<1x2x77x2x400xf32>
  %49 = stablehlo.multiply %48, %3 : tensor<1x2x77x2x400xf32>
  %50 = stablehlo.dot_general %49, %0, batching_dims = [0, 1] x [0, 2], contracting_dims = [2, 3] x [1, 3], precision = [DEFAULT, DEFAULT] : (tensor<1x2x77x2x400xf32>, tensor<1x77x2x2x6xf32>) -> tensor<1x2x400x6xf32>
  %51 = stablehlo.transpose %50, dims = [0, 2, 1, 3] : (tensor<1x2x400x6xf32>) -> tensor<1x400x2x6xf32>
  %52 = stablehlo.dot_general %49, %arg1, batching_dims = [0, 1] x [0, 2], contracting_dims = [4] x [1], precision = [DEFAULT, DEFAULT] : (tensor<1x2x77x2x400xf32>, tensor<1x400x2x6xf32>) -> tensor<1x2x77x2x6xf32>
  %53 = stablehlo.transpose %52, dims = [0, 2, 1, 3, 4] : (tensor<1x2x77x2x6xf32>) -> tensor<1x77x2x2x6xf32>
  %54 = stablehlo.reshape %53 : (tensor<1x77x2x2x6xf32>) -> tensor<1x77x4x6xf32>
  return %54, %51, %36 : tensor<1x77x4x6xf32>, tensor<1x400x2x6xf32>, tensor<1x400x2x6xf32>
}
func.func private @tril(%arg0: tensor<77x400xi1>) -> tensor<77x400xi1> {
  %0 = stablehlo.iota dim = 0 : tensor<77x400xi32>
  %1 = stablehlo.iota dim = 1 : tensor<77x400xi32>
  %2 = stablehlo.compare GE, %0, %1, SIGNED : (tensor<77x400xi32>, tensor<77x400xi32>) -> tensor<77x400xi1>
  %3 = stablehlo.constant dense<false> : tensor<i1>
  %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<i1>) -> tensor<77x400xi1>
  %5 = stablehlo.select %2, %arg0, %4 : tensor<77x400xi1>, tensor<77x400xi1>
  return %5 : tensor<77x400xi1>
}
func.func private @_where(%arg0: tensor<1x2x77x400xi1>, %arg1: tensor<1x2x77x2x400xf32>, %arg2: tensor<f32>) -> (tensor<2x1x2x77x400xf32>, tensor<2x1x2x77x400xi1>) {
  %0 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2, 3, 4] : (tensor<1x2x77x400xi1>) -> tensor<2x1x2x77x400xi1>
  %1 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<2x1x2x77x400xf32>
  %2 = stablehlo.transpose %arg1, dims = [3, 0, 1, 2, 4] : (tensor<1x2x77x2x400xf32>) -> tensor<2x1x2x77x400xf32>
  %3 = stablehlo.select %0, %2, %1 : tensor<2x1x2x77x400xi1>, tensor<2x1x2x77x400xf32>
  return %3, %0 : tensor<2x1x2x77x400xf32>, tensor<2x1x2x77x400xi1>
}
func.func private @_where_0(%arg0: tensor<2x1x2x77x400xi1>, %arg1: tensor<2x1x2x77x400xf32>) -> tensor<1x2x77x2x400xf32> {
  %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x1x2x77x400xf32>
  %2 = stablehlo.select %arg0, %arg1, %1 : tensor<2x1x2x77x400xi1>, tensor<2x1x2x77x400xf32>
  %3 = stablehlo.transpose %2, dims = [1, 2, 3, 0, 4] : (tensor<2x1x2x77x400xf32>) -> tensor<1x2x77x2x400xf32>
  return %3 : tensor<1x2x77x2x400xf32>
}
// -----

// The gradients of recomputed scores with a soft cap, some keys masked.
func.func @main(%arg0: tensor<65x3x7xf32>, %arg1: tensor<390x3x7xf32>, %arg2: tensor<390x3x2xf32>, %arg3: tensor<390xi1>) -> (tensor<65x3x7xf32>, tensor<390x3x7xf32>, tensor<390x3x2xf32>) {
  %0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
  %1:5 = stablehlo.optimization_barrier %arg0, %arg1, %arg2, %arg3, %0 : tensor<65x3x7xf32>, tensor<390x3x7xf32>, tensor<390x3x2xf32>, tensor<390xi1>, tensor<f32>
  %2 = stablehlo.dot_general %1#0, %1#1, batching_dims = [1] x [1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<65x3x7xf32>, tensor<390x3x7xf32>) -> tensor<3x65x390xf32>
  %3 = stablehlo.constant dense<2.000000e+01> : tensor<f32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<3x65x390xf32>
  %5 = stablehlo.divide %2, %4 : tensor<3x65x390xf32>
  %6 = stablehlo.tanh %5 : tensor<3x65x390xf32>
  %7 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<3x65x390xf32>
  %8 = stablehlo.subtract %7, %6 : tensor<3x65x390xf32>
  %9 = stablehlo.multiply %4, %6 : tensor<3x65x390xf32>
  %10 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %11:2 = call @_where(%1#3, %9, %10) : (tensor<390xi1>, tensor<3x65x390xf32>, tensor<f32>) -> (tensor<3x65x390xf32>, tensor<3x65x390xi1>)
  %12 = stablehlo.reduce(%11#0 init: %10) applies stablehlo.maximum across dimensions = [2] : (tensor<3x65x390xf32>, tensor<f32>) -> tensor<3x65xf32>
  %13 = stablehlo.constant dense<0xFF800000> : tensor<3x65xf32>
  %14 = stablehlo.maximum %13, %12 : tensor<3x65xf32>
  %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1] : (tensor<3x65xf32>) -> tensor<3x65x390xf32>
  %16 = stablehlo.subtract %11#0, %15 : tensor<3x65x390xf32>
  %17 = stablehlo.exponential %16 : tensor<3x65x390xf32>
  %18 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %19 = stablehlo.reduce(%17 init: %18) applies stablehlo.add across dimensions = [2] : (tensor<3x65x390xf32>, tensor<f32>) -> tensor<3x65xf32>
  %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1] : (tensor<3x65xf32>) -> tensor<3x65x1xf32>
  %21 = stablehlo.broadcast_in_dim %19, dims = [0, 1] : (tensor<3x65xf32>) -> tensor<3x65x390xf32>
  %22 = stablehlo.divide %17, %21 : tensor<3x65x390xf32>
  %23 = stablehlo.multiply %20, %20 : tensor<3x65x1xf32>
  %24 = stablehlo.constant dense<1.000000e+00> : tensor<3x65x1xf32>
  %25 = stablehlo.divide %24, %23 : tensor<3x65x1xf32>
  %26 = stablehlo.dot_general %1#2, %22, batching_dims = [1] x [0], contracting_dims = [0] x [2], precision = [DEFAULT, DEFAULT] : (tensor<390x3x2xf32>, tensor<3x65x390xf32>) -> tensor<3x2x65xf32>
  %27 = stablehlo.transpose %26, dims = [2, 0, 1] : (tensor<3x2x65xf32>) -> tensor<65x3x2xf32>
  %28 = stablehlo.constant dense<2.000000e+00> : tensor<65x3x2xf32>
  %29 = stablehlo.multiply %28, %27 : tensor<65x3x2xf32>
  %30 = stablehlo.broadcast_in_dim %1#4, dims = [] : (tensor<f32>) -> tensor<65x3x2xf32>
  %31 = stablehlo.multiply %30, %29 : tensor<65x3x2xf32>
  %32 = stablehlo.transpose %31, dims = [1, 2, 0] : (tensor<65x3x2xf32>) -> tensor<3x2x65xf32>
  %33 = stablehlo.dot_general %32, %1#2, batching_dims = [0] x [1], contracting_dims = [1] x [2], precision = [DEFAULT, DEFAULT] : (tensor<3x2x65xf32>, tensor<390x3x2xf32>) -> tensor<3x65x390xf32>
  %34 = stablehlo.dot_general %32, %22, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<3x2x65xf32>, tensor<3x65x390xf32>) -> tensor<3x2x390xf32>
  %35 = stablehlo.transpose %34, dims = [2, 0, 1] : (tensor<3x2x390xf32>) -> tensor<390x3x2xf32>
  %36 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2] : (tensor<3x65x1xf32>) -> tensor<3x65x390xf32>
  %37 = stablehlo.multiply %33, %36 : tensor<3x65x390xf32>
  %38 = stablehlo.multiply %37, %17 : tensor<3x65x390xf32>
  %39 = stablehlo.reduce(%38 init: %18) applies stablehlo.add across dimensions = [2] : (tensor<3x65x390xf32>, tensor<f32>) -> tensor<3x65xf32>
  %40 = stablehlo.reshape %39 : (tensor<3x65xf32>) -> tensor<3x65x1xf32>
  %41 = stablehlo.negate %40 : tensor<3x65x1xf32>
  %42 = stablehlo.divide %33, %21 : tensor<3x65x390xf32>
  %43 = stablehlo.reduce(%41 init: %18) applies stablehlo.add across dimensions = [2] : (tensor<3x65x1xf32>, tensor<f32>) -> tensor<3x65xf32>
  %44 = stablehlo.broadcast_in_dim %43, dims = [0, 1] : (tensor<3x65xf32>) -> tensor<3x65x390xf32>
  %45 = stablehlo.add %42, %44 : tensor<3x65x390xf32>
  %46 = stablehlo.multiply %45, %17 : tensor<3x65x390xf32>
  %47 = call @_where_0(%11#1, %46) : (tensor<3x65x390xi1>, tensor<3x65x390xf32>) -> tensor<3x65x390xf32>
  %48 = stablehlo.multiply %4, %47 : tensor<3x65x390xf32>
  %49 = stablehlo.multiply %48, %8 : tensor<3x65x390xf32>
  %50 = stablehlo.multiply %49, %6 : tensor<3x65x390xf32>
  %51 = stablehlo.add %49, %50 : tensor<3x65x390xf32>
  %52 = stablehlo.divide %51, %4 : tensor<3x65x390xf32>
  %53 = stablehlo.dot_general %52, %1#0, batching_dims = [0] x [1], contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<3x65x390xf32>, tensor<65x3x7xf32>) -> tensor<3x390x7xf32>
  %54 = stablehlo.transpose %53, dims = [1, 0, 2] : (tensor<3x390x7xf32>) -> tensor<390x3x7xf32>
  %55 = stablehlo.dot_general %52, %1#1, batching_dims = [0] x [1], contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<3x65x390xf32>, tensor<390x3x7xf32>) -> tensor<3x65x7xf32>
  %56 = stablehlo.transpose %55, dims = [1, 0, 2] : (tensor<3x65x7xf32>) -> tensor<65x3x7xf32>
  return %56, %54, %35 : tensor<65x3x7xf32>, tensor<390x3x7xf32>, tensor<390x3x2xf32>
}
func.func private @_where(%arg0: tensor<390xi1>, %arg1: tensor<3x65x390xf32>, %arg2: tensor<f32>) -> (tensor<3x65x390xf32>, tensor<3x65x390xi1>) {
  %0 = stablehlo.broadcast_in_dim %arg0, dims = [2] : (tensor<390xi1>) -> tensor<3x65x390xi1>
  %1 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<3x65x390xf32>
  %2 = stablehlo.select %0, %arg1, %1 : tensor<3x65x390xi1>, tensor<3x65x390xf32>
  return %2, %0 : tensor<3x65x390xf32>, tensor<3x65x390xi1>
}
func.func private @_where_0(%arg0: tensor<3x65x390xi1>, %arg1: tensor<3x65x390xf32>) -> tensor<3x65x390xf32> {
  %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<3x65x390xf32>
  %2 = stablehlo.select %arg0, %arg1, %1 : tensor<3x65x390xi1>, tensor<3x65x390xf32>
  return %2 : tensor<3x65x390xf32>
}
