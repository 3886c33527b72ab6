// Attention: products with a softmax between them, as jax.nn.dot_product_attention and einsum state
// them; computed without the matrix of scores.

// Later keys masked with a finite number; more keys than queries.
func.func @main(%arg0: tensor<1x53x2x8xf32>, %arg1: tensor<1x70x2x8xf32>, %arg2: tensor<1x70x2x8xf32>) -> (tensor<1x53x2x8xf32>) {
  %0 = stablehlo.reshape %arg0 : (tensor<1x53x2x8xf32>) -> tensor<1x53x2x1x8xf32>
  %1 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x53x2x1x8xf32>, tensor<1x70x2x8xf32>) -> tensor<1x2x53x1x70xf32>
  %2 = stablehlo.constant dense<3.5355338454246521e-01> : tensor<f32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<1x2x53x1x70xf32>
  %4 = stablehlo.multiply %1, %3 : tensor<1x2x53x1x70xf32>
  %5 = stablehlo.constant dense<true> : tensor<53x70xi1>
  %6 = stablehlo.iota dim = 0 : tensor<53x70xi32>
  %7 = stablehlo.iota dim = 1 : tensor<53x70xi32>
  %8 = stablehlo.compare GE, %6, %7, SIGNED : (tensor<53x70xi32>, tensor<53x70xi32>) -> tensor<53x70xi1>
  %9 = stablehlo.constant dense<false> : tensor<53x70xi1>
  %10 = stablehlo.select %8, %5, %9 : tensor<53x70xi1>, tensor<53x70xi1>
  %11 = stablehlo.constant dense<-2.3819763250576540e+38> : tensor<f32>
  %12 = stablehlo.broadcast_in_dim %10, dims = [3, 4] : (tensor<53x70xi1>) -> tensor<1x1x2x53x70xi1>
  %13 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<f32>) -> tensor<1x1x2x53x70xf32>
  %14 = stablehlo.transpose %4, dims = [3, 0, 1, 2, 4] : (tensor<1x2x53x1x70xf32>) -> tensor<1x1x2x53x70xf32>
  %15 = stablehlo.select %12, %14, %13 : tensor<1x1x2x53x70xi1>, tensor<1x1x2x53x70xf32>
  %16 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %17 = stablehlo.reduce(%15 init: %16) applies stablehlo.maximum across dimensions = [4] : (tensor<1x1x2x53x70xf32>, tensor<f32>) -> tensor<1x1x2x53xf32>
  %18 = stablehlo.constant dense<0xFF800000> : tensor<1x1x2x53xf32>
  %19 = stablehlo.maximum %18, %17 : tensor<1x1x2x53xf32>
  %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3] : (tensor<1x1x2x53xf32>) -> tensor<1x1x2x53x70xf32>
  %21 = stablehlo.subtract %15, %20 : tensor<1x1x2x53x70xf32>
  %22 = stablehlo.exponential %21 : tensor<1x1x2x53x70xf32>
  %23 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %24 = stablehlo.reduce(%22 init: %23) applies stablehlo.add across dimensions = [4] : (tensor<1x1x2x53x70xf32>, tensor<f32>) -> tensor<1x1x2x53xf32>
  %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2, 3] : (tensor<1x1x2x53xf32>) -> tensor<1x1x2x53x70xf32>
  %26 = stablehlo.divide %22, %25 : tensor<1x1x2x53x70xf32>
  %27 = stablehlo.dot_general %arg2, %26, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<1x70x2x8xf32>, tensor<1x1x2x53x70xf32>) -> tensor<1x2x8x1x53xf32>
  %28 = stablehlo.transpose %27, dims = [0, 4, 1, 3, 2] : (tensor<1x2x8x1x53xf32>) -> tensor<1x53x2x1x8xf32>
  %29 = stablehlo.reshape %28 : (tensor<1x53x2x1x8xf32>) -> tensor<1x53x2x8xf32>
  return %29 : tensor<1x53x2x8xf32>
}
// -----
// A soft cap; the first queries have no key at all: NaN.
func.func @main(%arg0: tensor<53x2x12xf32>, %arg1: tensor<70x2x12xf32>, %arg2: tensor<70x2x5xf32>) -> (tensor<53x2x5xf32>) {
  %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [1] x [1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<53x2x12xf32>, tensor<70x2x12xf32>) -> tensor<2x53x70xf32>
  %1 = stablehlo.constant dense<3.4641015529632568e+00> : tensor<f32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<2x53x70xf32>
  %3 = stablehlo.divide %0, %2 : tensor<2x53x70xf32>
  %4 = stablehlo.iota dim = 0 : tensor<53x70xi32>
  %5 = stablehlo.iota dim = 1 : tensor<53x70xi32>
  %6 = stablehlo.constant dense<20> : tensor<53x70xi32>
  %7 = stablehlo.subtract %4, %6 : tensor<53x70xi32>
  %8 = stablehlo.compare GE, %7, %5, SIGNED : (tensor<53x70xi32>, tensor<53x70xi32>) -> tensor<53x70xi1>
  %9 = stablehlo.constant dense<2.000000e+01> : tensor<f32>
  %10 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<f32>) -> tensor<2x53x70xf32>
  %11 = stablehlo.divide %3, %10 : tensor<2x53x70xf32>
  %12 = stablehlo.tanh %11 : tensor<2x53x70xf32>
  %13 = stablehlo.multiply %10, %12 : tensor<2x53x70xf32>
  %14 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %15 = stablehlo.broadcast_in_dim %8, dims = [1, 2] : (tensor<53x70xi1>) -> tensor<2x53x70xi1>
  %16 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<f32>) -> tensor<2x53x70xf32>
  %17 = stablehlo.select %15, %13, %16 : tensor<2x53x70xi1>, tensor<2x53x70xf32>
  %18 = stablehlo.reduce(%17 init: %14) applies stablehlo.maximum across dimensions = [2] : (tensor<2x53x70xf32>, tensor<f32>) -> tensor<2x53xf32>
  %19 = stablehlo.constant dense<0xFF800000> : tensor<2x53xf32>
  %20 = stablehlo.maximum %19, %18 : tensor<2x53xf32>
  %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1] : (tensor<2x53xf32>) -> tensor<2x53x70xf32>
  %22 = stablehlo.subtract %17, %21 : tensor<2x53x70xf32>
  %23 = stablehlo.exponential %22 : tensor<2x53x70xf32>
  %24 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %25 = stablehlo.reduce(%23 init: %24) applies stablehlo.add across dimensions = [2] : (tensor<2x53x70xf32>, tensor<f32>) -> tensor<2x53xf32>
  %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1] : (tensor<2x53xf32>) -> tensor<2x53x70xf32>
  %27 = stablehlo.divide %23, %26 : tensor<2x53x70xf32>
  %28 = stablehlo.dot_general %arg2, %27, batching_dims = [1] x [0], contracting_dims = [0] x [2], precision = [DEFAULT, DEFAULT] : (tensor<70x2x5xf32>, tensor<2x53x70xf32>) -> tensor<2x5x53xf32>
  %29 = stablehlo.transpose %28, dims = [2, 0, 1] : (tensor<2x5x53xf32>) -> tensor<53x2x5xf32>
  return %29 : tensor<53x2x5xf32>
}
// -----
// Lengths of queries and keys: queries past the end see all keys alike.
func.func @main(%arg0: tensor<2x53x1x8xf32>, %arg1: tensor<2x70x1x8xf32>, %arg2: tensor<2x70x1x8xf32>, %arg3: tensor<2xi32>) -> (tensor<2x53x1x8xf32>) {
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
  %16 = stablehlo.constant dense<70> : tensor<i32>
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
  %30 = stablehlo.dot_general %29, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x53x1x1x8xf32>, tensor<2x70x1x8xf32>) -> tensor<2x1x53x1x70xf32>
  %31 = stablehlo.constant dense<3.5355338454246521e-01> : tensor<f32>
  %32 = stablehlo.broadcast_in_dim %31, dims = [] : (tensor<f32>) -> tensor<2x1x53x1x70xf32>
  %33 = stablehlo.multiply %30, %32 : tensor<2x1x53x1x70xf32>
  %34 = stablehlo.iota dim = 0 : tensor<53xi32>
  %35 = stablehlo.broadcast_in_dim %34, dims = [1] : (tensor<53xi32>) -> tensor<2x53x1xi32>
  %36 = stablehlo.broadcast_in_dim %15, dims = [0] : (tensor<2xi32>) -> tensor<2x53x1xi32>
  %37 = stablehlo.compare LT, %35, %36, SIGNED : (tensor<2x53x1xi32>, tensor<2x53x1xi32>) -> tensor<2x53x1xi1>
  %38 = stablehlo.iota dim = 0 : tensor<70xi32>
  %39 = stablehlo.broadcast_in_dim %38, dims = [2] : (tensor<70xi32>) -> tensor<2x1x70xi32>
  %40 = stablehlo.broadcast_in_dim %28, dims = [0] : (tensor<2xi32>) -> tensor<2x1x70xi32>
  %41 = stablehlo.compare LT, %39, %40, SIGNED : (tensor<2x1x70xi32>, tensor<2x1x70xi32>) -> tensor<2x1x70xi1>
  %42 = stablehlo.broadcast_in_dim %37, dims = [0, 1, 2] : (tensor<2x53x1xi1>) -> tensor<2x53x70xi1>
  %43 = stablehlo.broadcast_in_dim %41, dims = [0, 1, 2] : (tensor<2x1x70xi1>) -> tensor<2x53x70xi1>
  %44 = stablehlo.and %42, %43 : tensor<2x53x70xi1>
  %45 = stablehlo.constant dense<-2.3819763250576540e+38> : tensor<f32>
  %46 = stablehlo.broadcast_in_dim %44, dims = [1, 3, 4] : (tensor<2x53x70xi1>) -> tensor<1x2x1x53x70xi1>
  %47 = stablehlo.broadcast_in_dim %45, dims = [] : (tensor<f32>) -> tensor<1x2x1x53x70xf32>
  %48 = stablehlo.transpose %33, dims = [3, 0, 1, 2, 4] : (tensor<2x1x53x1x70xf32>) -> tensor<1x2x1x53x70xf32>
  %49 = stablehlo.select %46, %48, %47 : tensor<1x2x1x53x70xi1>, tensor<1x2x1x53x70xf32>
  %50 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %51 = stablehlo.reduce(%49 init: %50) applies stablehlo.maximum across dimensions = [4] : (tensor<1x2x1x53x70xf32>, tensor<f32>) -> tensor<1x2x1x53xf32>
  %52 = stablehlo.constant dense<0xFF800000> : tensor<1x2x1x53xf32>
  %53 = stablehlo.maximum %52, %51 : tensor<1x2x1x53xf32>
  %54 = stablehlo.broadcast_in_dim %53, dims = [0, 1, 2, 3] : (tensor<1x2x1x53xf32>) -> tensor<1x2x1x53x70xf32>
  %55 = stablehlo.subtract %49, %54 : tensor<1x2x1x53x70xf32>
  %56 = stablehlo.exponential %55 : tensor<1x2x1x53x70xf32>
  %57 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %58 = stablehlo.reduce(%56 init: %57) applies stablehlo.add across dimensions = [4] : (tensor<1x2x1x53x70xf32>, tensor<f32>) -> tensor<1x2x1x53xf32>
  %59 = stablehlo.broadcast_in_dim %58, dims = [0, 1, 2, 3] : (tensor<1x2x1x53xf32>) -> tensor<1x2x1x53x70xf32>
  %60 = stablehlo.divide %56, %59 : tensor<1x2x1x53x70xf32>
  %61 = stablehlo.dot_general %arg2, %60, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x70x1x8xf32>, tensor<1x2x1x53x70xf32>) -> tensor<2x1x8x1x53xf32>
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
func.func @main(%arg0: tensor<2x53x4x8xf32>, %arg1: tensor<2x70x2x8xf32>, %arg2: tensor<2x70x2x8xf32>, %arg3: tensor<1x4x53x70xf32>, %arg4: tensor<2x1x1x70xi1>) -> (tensor<2x53x4x8xf32>) {
  %0 = stablehlo.reshape %arg0 : (tensor<2x53x4x8xf32>) -> tensor<2x53x2x2x8xf32>
  %1 = stablehlo.reshape %arg3 : (tensor<1x4x53x70xf32>) -> tensor<1x2x2x53x70xf32>
  %2 = stablehlo.broadcast_in_dim %arg4, dims = [0, 1, 3, 4] : (tensor<2x1x1x70xi1>) -> tensor<2x1x2x1x70xi1>
  %3 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x53x2x2x8xf32>, tensor<2x70x2x8xf32>) -> tensor<2x2x53x2x70xf32>
  %4 = stablehlo.constant dense<3.5355338454246521e-01> : tensor<f32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<2x2x53x2x70xf32>
  %6 = stablehlo.multiply %3, %5 : tensor<2x2x53x2x70xf32>
  %7 = stablehlo.transpose %6, dims = [3, 0, 1, 2, 4] : (tensor<2x2x53x2x70xf32>) -> tensor<2x2x2x53x70xf32>
  %8 = stablehlo.transpose %1, dims = [2, 0, 1, 3, 4] : (tensor<1x2x2x53x70xf32>) -> tensor<2x1x2x53x70xf32>
  %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3, 4] : (tensor<2x1x2x53x70xf32>) -> tensor<2x2x2x53x70xf32>
  %10 = stablehlo.add %7, %9 : tensor<2x2x2x53x70xf32>
  %11 = stablehlo.transpose %2, dims = [2, 0, 1, 3, 4] : (tensor<2x1x2x1x70xi1>) -> tensor<2x2x1x1x70xi1>
  %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2, 3, 4] : (tensor<2x2x1x1x70xi1>) -> tensor<2x2x2x53x70xi1>
  %13 = stablehlo.constant dense<-2.3819763250576540e+38> : tensor<f32>
  %14 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<f32>) -> tensor<2x2x2x53x70xf32>
  %15 = stablehlo.select %12, %10, %14 : tensor<2x2x2x53x70xi1>, tensor<2x2x2x53x70xf32>
  %16 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %17 = stablehlo.reduce(%15 init: %16) applies stablehlo.maximum across dimensions = [4] : (tensor<2x2x2x53x70xf32>, tensor<f32>) -> tensor<2x2x2x53xf32>
  %18 = stablehlo.constant dense<0xFF800000> : tensor<2x2x2x53xf32>
  %19 = stablehlo.maximum %18, %17 : tensor<2x2x2x53xf32>
  %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3] : (tensor<2x2x2x53xf32>) -> tensor<2x2x2x53x70xf32>
  %21 = stablehlo.subtract %15, %20 : tensor<2x2x2x53x70xf32>
  %22 = stablehlo.exponential %21 : tensor<2x2x2x53x70xf32>
  %23 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %24 = stablehlo.reduce(%22 init: %23) applies stablehlo.add across dimensions = [4] : (tensor<2x2x2x53x70xf32>, tensor<f32>) -> tensor<2x2x2x53xf32>
  %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2, 3] : (tensor<2x2x2x53xf32>) -> tensor<2x2x2x53x70xf32>
  %26 = stablehlo.divide %22, %25 : tensor<2x2x2x53x70xf32>
  %27 = stablehlo.dot_general %arg2, %26, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x70x2x8xf32>, tensor<2x2x2x53x70xf32>) -> tensor<2x2x8x2x53xf32>
  %28 = stablehlo.transpose %27, dims = [0, 4, 1, 3, 2] : (tensor<2x2x8x2x53xf32>) -> tensor<2x53x2x2x8xf32>
  %29 = stablehlo.reshape %28 : (tensor<2x53x2x2x8xf32>) -> tensor<2x53x4x8xf32>
  return %29 : tensor<2x53x4x8xf32>
}
// -----
// A local window, in bf16.
func.func @main(%arg0: tensor<1x53x2x9xbf16>, %arg1: tensor<1x70x2x9xbf16>, %arg2: tensor<1x70x2x9xbf16>) -> (tensor<1x53x2x9xbf16>) {
  %0 = stablehlo.reshape %arg0 : (tensor<1x53x2x9xbf16>) -> tensor<1x53x2x1x9xbf16>
  %1 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x53x2x1x9xbf16>, tensor<1x70x2x9xbf16>) -> tensor<1x2x53x1x70xf32>
  %2 = stablehlo.constant dense<3.3333334326744080e-01> : tensor<f32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<1x2x53x1x70xf32>
  %4 = stablehlo.multiply %1, %3 : tensor<1x2x53x1x70xf32>
  %5 = stablehlo.constant dense<[[[[true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false], [false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false]]]]> : tensor<1x1x53x70xi1>
  %6 = stablehlo.constant dense<-2.3819763250576540e+38> : tensor<f32>
  %7 = stablehlo.broadcast_in_dim %5, dims = [1, 2, 3, 4] : (tensor<1x1x53x70xi1>) -> tensor<1x1x2x53x70xi1>
  %8 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<f32>) -> tensor<1x1x2x53x70xf32>
  %9 = stablehlo.transpose %4, dims = [3, 0, 1, 2, 4] : (tensor<1x2x53x1x70xf32>) -> tensor<1x1x2x53x70xf32>
  %10 = stablehlo.select %7, %9, %8 : tensor<1x1x2x53x70xi1>, tensor<1x1x2x53x70xf32>
  %11 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %12 = stablehlo.reduce(%10 init: %11) applies stablehlo.maximum across dimensions = [4] : (tensor<1x1x2x53x70xf32>, tensor<f32>) -> tensor<1x1x2x53xf32>
  %13 = stablehlo.constant dense<0xFF800000> : tensor<1x1x2x53xf32>
  %14 = stablehlo.maximum %13, %12 : tensor<1x1x2x53xf32>
  %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<1x1x2x53xf32>) -> tensor<1x1x2x53x70xf32>
  %16 = stablehlo.subtract %10, %15 : tensor<1x1x2x53x70xf32>
  %17 = stablehlo.exponential %16 : tensor<1x1x2x53x70xf32>
  %18 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %19 = stablehlo.reduce(%17 init: %18) applies stablehlo.add across dimensions = [4] : (tensor<1x1x2x53x70xf32>, tensor<f32>) -> tensor<1x1x2x53xf32>
  %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3] : (tensor<1x1x2x53xf32>) -> tensor<1x1x2x53x70xf32>
  %21 = stablehlo.divide %17, %20 : tensor<1x1x2x53x70xf32>
  %22 = stablehlo.convert %21 : (tensor<1x1x2x53x70xf32>) -> tensor<1x1x2x53x70xbf16>
  %23 = stablehlo.dot_general %arg2, %22, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<1x70x2x9xbf16>, tensor<1x1x2x53x70xbf16>) -> tensor<1x2x9x1x53xbf16>
  %24 = stablehlo.transpose %23, dims = [0, 4, 1, 3, 2] : (tensor<1x2x9x1x53xbf16>) -> tensor<1x53x2x1x9xbf16>
  %25 = stablehlo.reshape %24 : (tensor<1x53x2x1x9xbf16>) -> tensor<1x53x2x9xbf16>
  return %25 : tensor<1x53x2x9xbf16>
}
// -----
// f16, the result not transposed; one head.
func.func @main(%arg0: tensor<2x53x16xf16>, %arg1: tensor<2x70x16xf16>, %arg2: tensor<2x70x3xf16>) -> (tensor<2x53x3xf16>) {
  %0 = stablehlo.transpose %arg1, dims = [0, 2, 1] : (tensor<2x70x16xf16>) -> tensor<2x16x70xf16>
  %1 = stablehlo.dot_general %arg0, %0, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x53x16xf16>, tensor<2x16x70xf16>) -> tensor<2x53x70xf16>
  %2 = stablehlo.constant dense<2.500000e-01> : tensor<f16>
  %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f16>) -> tensor<2x53x70xf16>
  %4 = stablehlo.multiply %3, %1 : tensor<2x53x70xf16>
  %5 = stablehlo.constant dense<0xFC00> : tensor<f16>
  %6 = stablehlo.reduce(%4 init: %5) applies stablehlo.maximum across dimensions = [2] : (tensor<2x53x70xf16>, tensor<f16>) -> tensor<2x53xf16>
  %7 = stablehlo.constant dense<0xFC00> : tensor<2x53xf16>
  %8 = stablehlo.maximum %7, %6 : tensor<2x53xf16>
  %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<2x53xf16>) -> tensor<2x53x70xf16>
  %10 = stablehlo.subtract %4, %9 : tensor<2x53x70xf16>
  %11 = stablehlo.exponential %10 : tensor<2x53x70xf16>
  %12 = stablehlo.convert %11 : (tensor<2x53x70xf16>) -> tensor<2x53x70xf32>
  %13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %14 = stablehlo.reduce(%12 init: %13) applies stablehlo.add across dimensions = [2] : (tensor<2x53x70xf32>, tensor<f32>) -> tensor<2x53xf32>
  %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1] : (tensor<2x53xf32>) -> tensor<2x53x1xf32>
  %16 = stablehlo.convert %15 : (tensor<2x53x1xf32>) -> tensor<2x53x1xf16>
  %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2] : (tensor<2x53x1xf16>) -> tensor<2x53x70xf16>
  %18 = stablehlo.divide %11, %17 : tensor<2x53x70xf16>
  %19 = stablehlo.dot_general %18, %arg2, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x53x70xf16>, tensor<2x70x3xf16>) -> tensor<2x53x3xf16>
  return %19 : tensor<2x53x3xf16>
}
// -----
// In a loop, with a mask that is added.
func.func @main(%arg0: tensor<53x4xf32>, %arg1: tensor<70x4xf32>, %arg2: tensor<70x4xf32>) -> (tensor<53x4xf32>) {
  %0 = stablehlo.iota dim = 0 : tensor<11xf32>
  %1 = stablehlo.constant dense<1.000000e+00> : tensor<11xf32>
  %2 = stablehlo.add %1, %0 : tensor<11xf32>
  %3 = stablehlo.constant dense<1.200000e+01> : tensor<11xf32>
  %4 = stablehlo.divide %2, %3 : tensor<11xf32>
  %5 = stablehlo.constant dense<0> : tensor<i32>
  %6:5 = stablehlo.while(%arg3 = %4, %arg4 = %arg1, %arg5 = %arg2, %arg6 = %5, %arg7 = %arg0) : tensor<11xf32>, tensor<70x4xf32>, tensor<70x4xf32>, tensor<i32>, tensor<53x4xf32>
  cond {
    %7 = stablehlo.constant dense<11> : tensor<i32>
    %8 = stablehlo.compare LT, %arg6, %7, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %8 : tensor<i1>
  } do {
    %9 = stablehlo.dynamic_slice %arg3, %arg6, sizes = [1] : (tensor<11xf32>, tensor<i32>) -> tensor<1xf32>
    %10 = stablehlo.reshape %9 : (tensor<1xf32>) -> tensor<f32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<f32>) -> tensor<53x4xf32>
    %12 = stablehlo.multiply %arg7, %11 : tensor<53x4xf32>
    %13 = stablehlo.dot_general %12, %arg4, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<53x4xf32>, tensor<70x4xf32>) -> tensor<53x70xf32>
    %14 = stablehlo.iota dim = 0 : tensor<70xi32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [1] : (tensor<70xi32>) -> tensor<1x70xi32>
    %16 = stablehlo.constant dense<40> : tensor<1x70xi32>
    %17 = stablehlo.compare LT, %15, %16, SIGNED : (tensor<1x70xi32>, tensor<1x70xi32>) -> tensor<1x70xi1>
    %18 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %19 = stablehlo.convert %5 : (tensor<i32>) -> tensor<f32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [] : (tensor<f32>) -> tensor<1x70xf32>
    %21 = stablehlo.broadcast_in_dim %18, dims = [] : (tensor<f32>) -> tensor<1x70xf32>
    %22 = stablehlo.select %17, %20, %21 : tensor<1x70xi1>, tensor<1x70xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1] : (tensor<1x70xf32>) -> tensor<53x70xf32>
    %24 = stablehlo.add %13, %23 : tensor<53x70xf32>
    %25 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %26 = stablehlo.reduce(%24 init: %25) applies stablehlo.maximum across dimensions = [1] : (tensor<53x70xf32>, tensor<f32>) -> tensor<53xf32>
    %27 = stablehlo.constant dense<0xFF800000> : tensor<53xf32>
    %28 = stablehlo.maximum %27, %26 : tensor<53xf32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0] : (tensor<53xf32>) -> tensor<53x70xf32>
    %30 = stablehlo.subtract %24, %29 : tensor<53x70xf32>
    %31 = stablehlo.exponential %30 : tensor<53x70xf32>
    %32 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %33 = stablehlo.reduce(%31 init: %32) applies stablehlo.add across dimensions = [1] : (tensor<53x70xf32>, tensor<f32>) -> tensor<53xf32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [0] : (tensor<53xf32>) -> tensor<53x70xf32>
    %35 = stablehlo.divide %31, %34 : tensor<53x70xf32>
    %36 = stablehlo.dot_general %35, %arg5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<53x70xf32>, tensor<70x4xf32>) -> tensor<53x4xf32>
    %37 = stablehlo.constant dense<1> : tensor<i32>
    %38 = stablehlo.add %arg6, %37 : tensor<i32>
    stablehlo.return %arg3, %arg4, %arg5, %38, %36 : tensor<11xf32>, tensor<70x4xf32>, tensor<70x4xf32>, tensor<i32>, tensor<53x4xf32>
  }
  return %6#4 : tensor<53x4xf32>
}
// -----
// The same with indices of 64 bits.
func.func @main(%arg0: tensor<53x2x12xf32>, %arg1: tensor<70x2x12xf32>, %arg2: tensor<70x2x5xf32>) -> (tensor<53x2x5xf32>) {
  %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [1] x [1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<53x2x12xf32>, tensor<70x2x12xf32>) -> tensor<2x53x70xf32>
  %1 = stablehlo.constant dense<3.4641015529632568e+00> : tensor<f32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<2x53x70xf32>
  %3 = stablehlo.divide %0, %2 : tensor<2x53x70xf32>
  %4 = stablehlo.iota dim = 0 : tensor<53x70xi64>
  %5 = stablehlo.iota dim = 1 : tensor<53x70xi64>
  %6 = stablehlo.constant dense<20> : tensor<53x70xi64>
  %7 = stablehlo.subtract %4, %6 : tensor<53x70xi64>
  %8 = stablehlo.compare GE, %7, %5, SIGNED : (tensor<53x70xi64>, tensor<53x70xi64>) -> tensor<53x70xi1>
  %9 = stablehlo.constant dense<2.000000e+01> : tensor<f32>
  %10 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<f32>) -> tensor<2x53x70xf32>
  %11 = stablehlo.divide %3, %10 : tensor<2x53x70xf32>
  %12 = stablehlo.tanh %11 : tensor<2x53x70xf32>
  %13 = stablehlo.multiply %10, %12 : tensor<2x53x70xf32>
  %14 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %15 = stablehlo.broadcast_in_dim %8, dims = [1, 2] : (tensor<53x70xi1>) -> tensor<2x53x70xi1>
  %16 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<f32>) -> tensor<2x53x70xf32>
  %17 = stablehlo.select %15, %13, %16 : tensor<2x53x70xi1>, tensor<2x53x70xf32>
  %18 = stablehlo.reduce(%17 init: %14) applies stablehlo.maximum across dimensions = [2] : (tensor<2x53x70xf32>, tensor<f32>) -> tensor<2x53xf32>
  %19 = stablehlo.constant dense<0xFF800000> : tensor<2x53xf32>
  %20 = stablehlo.maximum %19, %18 : tensor<2x53xf32>
  %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1] : (tensor<2x53xf32>) -> tensor<2x53x70xf32>
  %22 = stablehlo.subtract %17, %21 : tensor<2x53x70xf32>
  %23 = stablehlo.exponential %22 : tensor<2x53x70xf32>
  %24 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %25 = stablehlo.reduce(%23 init: %24) applies stablehlo.add across dimensions = [2] : (tensor<2x53x70xf32>, tensor<f32>) -> tensor<2x53xf32>
  %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1] : (tensor<2x53xf32>) -> tensor<2x53x70xf32>
  %27 = stablehlo.divide %23, %26 : tensor<2x53x70xf32>
  %28 = stablehlo.dot_general %arg2, %27, batching_dims = [1] x [0], contracting_dims = [0] x [2], precision = [DEFAULT, DEFAULT] : (tensor<70x2x5xf32>, tensor<2x53x70xf32>) -> tensor<2x5x53xf32>
  %29 = stablehlo.transpose %28, dims = [2, 0, 1] : (tensor<2x5x53xf32>) -> tensor<53x2x5xf32>
  return %29 : tensor<53x2x5xf32>
}
